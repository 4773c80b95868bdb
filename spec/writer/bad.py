"""The bad vectors: streams with one error. Every checksum is right unless it is the error."""

from collections.abc import Callable, Iterator

from .bad_nodes import bad_nodes
from .bad_schemas import bad_schemas
from .body import Body
from .cases import field
from .nodes import As
from .stream import (
    CHUNK,
    END,
    LZ4,
    SCHEMA,
    ZSTD,
    encode_chunk,
    end_message,
    lz4_block,
    message,
    schema_body,
    zstd_frame,
)

Vector = tuple[str, str, str, bytes]  # name, kind of error, what is wrong, the stream

NUMBER = field("n", "int32", False)
SCHEMA_MESSAGE = message(SCHEMA, schema_body([NUMBER]))


def chunk(values: list, sequence: int = 0, codec: int = 0, **over) -> bytes:
    return message(CHUNK, encode_chunk([NUMBER], [values], [As()]), len(values), sequence, codec, **over)


def stream(messages: list[bytes], rows: int, schema: bytes = SCHEMA_MESSAGE, **over) -> bytes:
    messages = [schema, *messages]
    return b"".join(messages) + end_message(messages, rows, **{"chunks": len(messages) - 1, **over})


def bad_messages() -> Iterator[Vector]:
    good = stream([chunk([1, 2])], 2)
    half = len(SCHEMA_MESSAGE) + 40
    yield "empty", "truncated", "no byte at all", b""
    yield "header_cut", "truncated", "half a header", good[:half]
    yield "body_cut", "truncated", "a message shorter than its length", good[:-8]
    yield "end_missing", "truncated", "no end message", SCHEMA_MESSAGE + chunk([1, 2])
    yield "schema_only", "truncated", "nothing after the schema", SCHEMA_MESSAGE
    yield "trailing_byte", "trailing", "a byte after the end message", good + b"\0"
    yield "trailing_stream", "trailing", "a second stream after the first", good + good
    yield "magic", "magic", "the magic of another version", stream([chunk([1, 2], magic=b"CLN2")], 2)
    yield "magic_first", "magic", "not a stream at all", b"PAR1" + good[4:]
    yield "checksum_header", "checksum", "a checksum that is wrong", stream([chunk([1, 2], checksum=1)], 2)
    yield "checksum_body", "checksum", "a flipped bit in the body", good[:-1] + bytes([good[-1] ^ 1])
    yield "kind_0", "message kind", "kind 0", stream([message(0, b"")], 0)
    yield "kind_4", "message kind", "kind 4", stream([message(4, b"")], 0)
    yield "codec_3", "codec", "an unknown codec", stream([chunk([1, 2], codec=3)], 2)
    yield (
        "codec_schema",
        "codec",
        "a compressed schema",
        stream([], 0, message(SCHEMA, schema_body([NUMBER]), codec=LZ4)),
    )
    yield "codec_end", "codec", "a compressed end", SCHEMA_MESSAGE + end_message([SCHEMA_MESSAGE], 0, 0, codec=LZ4)
    yield "length_63", "length", "a message shorter than its header", stream([chunk([1, 2], length=63)], 2)
    yield "length_huge", "length", "a message of 2^63 bytes", stream([chunk([1, 2], length=1 << 63)], 2)
    yield (
        "length_beyond",
        "truncated",
        "a last message longer than what is left",
        SCHEMA_MESSAGE + chunk([1, 2], length=4096),
    )
    yield "body_length_short", "length", "a body length below the body", stream([chunk([1, 2], body_length=8)], 2)
    yield (
        "body_length_huge",
        "limit",
        "a body of 2^62 bytes",
        stream([chunk([1, 2], codec=LZ4, body_length=1 << 62)], 2),
    )
    yield "header_zero", "zero", "bytes 6 and 7 of a header", stream([chunk([1, 2], zero=1)], 2)
    yield "header_tail", "zero", "the last byte of a header", stream([chunk([1, 2], tail=bytes(23) + b"\1")], 2)
    yield (
        "schema_rows",
        "zero",
        "rows in a schema message",
        stream([], 0, message(SCHEMA, schema_body([NUMBER]), rows=1)),
    )
    sequenced = message(SCHEMA, schema_body([NUMBER]), sequence=1)
    yield "schema_sequence", "zero", "a sequence in a schema message", stream([], 0, sequenced)
    yield "no_schema", "order", "a chunk first", chunk([1, 2]) + end_message([chunk([1, 2])], 2, 1)
    yield "two_schemas", "order", "a second schema", stream([SCHEMA_MESSAGE, chunk([1, 2])], 2)
    yield "sequence_gap", "sequence", "chunk 1 is missing", stream([chunk([1]), chunk([2], 2)], 2)
    yield "sequence_swapped", "sequence", "chunks in the wrong order", stream([chunk([1], 1), chunk([2], 0)], 2)
    yield "sequence_twice", "sequence", "the same chunk twice", stream([chunk([1]), chunk([1])], 2)
    yield "end_rows", "totals", "a wrong number of rows", stream([chunk([1, 2])], 3)
    yield "end_chunks", "totals", "a wrong number of chunks", stream([chunk([1, 2])], 2, chunks=2)
    yield "end_checksum", "totals", "a wrong checksum over all", stream([chunk([1, 2])], 2, total=7)
    messages = [SCHEMA_MESSAGE, chunk([1])]
    swapped = b"".join(messages) + end_message([SCHEMA_MESSAGE, chunk([2])], 1, 1)
    yield "end_of_another", "totals", "the end message of another stream of equal size", swapped
    long_end = message(END, bytes(25))
    yield "end_longer", "leftover", "an end message with a byte more", SCHEMA_MESSAGE + long_end
    yield "end_shorter", "bounds", "an end message of 16 bytes", SCHEMA_MESSAGE + message(END, bytes(16))


def bad_codecs() -> Iterator[Vector]:
    body = encode_chunk([NUMBER], [[1, 2]], [As()])

    def stored(data: bytes, codec: int, length: int = len(body)) -> bytes:
        return stream([chunk([1, 2], codec=codec, stored=data, body_length=length)], 2)

    packed = lz4_block(body)
    frame = zstd_frame([("raw", body, 0)])
    for name, data, why in (
        ("lz4_garbage", b"\xff" * 40, "no LZ4 block"),
        ("lz4_empty", b"", "no bytes"),
        ("lz4_cut", packed[:-1], "a block that is cut off"),
        ("lz4_longer", packed + b"\0", "a byte after the block"),
        ("lz4_offset_0", b"\x10A\0\0" + bytes([0x50]) + b"ABCDE", "a match offset of 0"),
        ("lz4_offset_far", b"\x10A\x09\0" + bytes([0x50]) + b"ABCDE", "a match before the start"),
        ("lz4_run_on", b"\xf0" + b"\xff" * 30, "a length that never ends"),
        ("lz4_bomb", b"\x1f\0\1\0" + b"\xff" * 60 + b"\0\x50ABCDE", "a match of 15 KB in a body of 80 bytes"),
    ):
        yield name, "decompress", why, stored(data, LZ4)
    yield "lz4_body_length", "decompress", "a body one byte longer than the block", stored(packed, LZ4, len(body) + 1)
    for name, data, why in (
        ("zstd_garbage", b"\x28\xb5\x2f\xfd" + b"\xff" * 40, "a frame of nonsense"),
        ("zstd_not_a_frame", b"\xff" * 40, "no frame"),
        ("zstd_empty", b"", "no bytes"),
        ("zstd_cut", frame[:-1], "a frame that is cut off"),
        ("zstd_longer", frame + b"\0", "a byte after the frame"),
        ("zstd_two_frames", frame + frame, "a second frame"),
        ("zstd_skippable", b"\x50\x2a\x4d\x18\0\0\0\0" + frame, "a skippable frame first"),
        ("zstd_bomb", zstd_frame([("rle", b"\0", 100000)]), "a frame of 100 KB for a body of 80 bytes"),
    ):
        yield name, "decompress", why, stored(data, ZSTD)
    yield "zstd_body_length", "decompress", "a body one byte longer than the frame", stored(frame, ZSTD, len(body) + 1)


def bad_directories() -> Iterator[Vector]:
    fields = [NUMBER, NUMBER]
    schema = message(SCHEMA, schema_body(fields))

    def of(starts: list[int], change: Callable[[bytes], bytes] = lambda body: body) -> bytes:
        columns = encode_chunk(fields, [[1], [2]], [As("packed"), As("packed")])[8:]
        body = change(bytes(Body().u32(*starts).align(8)) + columns)
        return stream([message(CHUNK, body, 1)], 1, schema)

    yield "directory_gap", "directory", "the first column starts late", of([16, 24])
    yield "directory_unaligned", "directory", "a start that is no multiple of 8", of([8, 28])
    yield "directory_descending", "directory", "column 1 starts before column 0", of([8, 0])
    yield "directory_same", "directory", "both columns start at the same place", of([8, 8])
    yield "directory_beyond", "directory", "a column beyond the body", of([8, 4096])
    yield "directory_at_end", "directory", "a column of no bytes", of([8, 40])
    yield "directory_early", "bounds", "a column cut off by the next one's start", of([8, 16])
    yield "directory_late", "leftover", "a column with the first bytes of the next one", of([8, 32])
    yield "column_cut", "bounds", "a last column that is cut off", of([8, 24], lambda body: body[:-8])
    yield "column_longer", "leftover", "eight bytes after the last column", of([8, 24], lambda body: body + bytes(8))
    yield "directory_cut", "bounds", "half a directory", of([8, 24], lambda body: body[:4])
    empty = message(SCHEMA, schema_body([]))
    yield "no_columns_body", "directory", "a body without columns", stream([message(CHUNK, bytes(8), 1)], 1, empty)


def bad_vectors() -> Iterator[Vector]:
    yield from bad_messages()
    yield from bad_codecs()
    yield from bad_directories()
    for name, kind, why, body in bad_schemas():
        yield name, kind, why, stream([], 0, message(SCHEMA, body))
    for name, kind, why, fields, rows, body in bad_nodes():
        yield name, kind, why, stream([message(CHUNK, body, rows)], rows, message(SCHEMA, schema_body(fields)))
