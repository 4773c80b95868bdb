"""Messages and streams (FORMAT §2 to §4, §7), and codecs that are simple enough to check by reading."""

import struct

from reader.xxh3 import xxh3_64

from .body import Body
from .nodes import As, write_node

SCHEMA, CHUNK, END = 1, 2, 3
NONE, LZ4, ZSTD = 0, 1, 2
TYPES = ["null", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES += ["float16", "float32", "float64", "decimal32", "decimal64", "decimal128", "decimal256", "date32", "date64"]
TYPES += ["time32", "time64", "timestamp", "duration"]
TYPES += ["interval_year_month", "interval_day_time", "interval_month_day_nano"]
TYPES += ["utf8", "large_utf8", "binary", "large_binary", "fixed_size_binary"]
TYPES += ["list", "large_list", "fixed_size_list", "struct", "map", "dictionary"]
UNITS = ["s", "ms", "us", "ns"]


def message(kind: int, body: bytes, rows: int = 0, sequence: int = 0, codec: int = NONE, **over) -> bytes:
    """A message with its checksum. `over` replaces header fields: magic, zero, length, checksum, body_length, tail,
    and `stored`: the body after the codec."""
    stored = over.get("stored", lz4_block(body) if codec == LZ4 else body)
    length = over.get("length", 64 + len(stored))
    start = over.get("magic", b"CLN1") + struct.pack("<BBHQ", kind, codec, over.get("zero", 0), length)
    rest = (
        struct.pack("<IIQ", rows, sequence, over.get("body_length", len(body))) + over.get("tail", bytes(24)) + stored
    )
    checksum = over.get("checksum", xxh3_64(rest, xxh3_64(start)))
    return start + struct.pack("<Q", checksum) + rest


def schema_body(fields: list[dict], metadata: list = ()) -> bytes:
    body = Body().u32(0, len(fields))
    write_metadata(body, metadata)
    for field in fields:
        write_field(body, field)
    return bytes(body)


def write_metadata(body: Body, pairs: list) -> None:
    body.u32(len(pairs))
    for key, value in pairs:
        body.string(key).string(value)


def write_field(body: Body, field: dict) -> None:
    children = field.get("children", [])
    flags = field["nullable"] | bool(field.get("ordered")) << 1 | bool(field.get("keys_sorted")) << 2
    body.string(field["name"]).u8(TYPES.index(field["type"]), flags).u16(len(children))
    if "precision" in field:
        body.u8(field["precision"], field["scale"] % 256)
    if "unit" in field:
        body.u8(UNITS.index(field["unit"]))
    if "zone" in field:
        body.u8(field["zone"] is not None)
        if field["zone"] is not None:
            body.string(field["zone"])
    for key in ("width", "size"):
        if key in field:
            body.u32(field[key])
    if "index" in field:
        body.u8(TYPES.index(field["index"]))
    write_metadata(body, field.get("metadata", []))
    for child in children:
        write_field(body, child)


def chunk_body(columns: list[bytes]) -> bytes:
    """Encoded columns must have been built with `encode_column` for their positions in this body."""
    directory = Body()
    at = (4 * len(columns) + 7) // 8 * 8
    for column in columns:
        directory.u32(at)
        at += len(column)
    return bytes(directory.align(8)) + b"".join(columns)


def encode_chunk(fields: list[dict], columns: list[list], hows: list[As]) -> bytes:
    """The body of a chunk. Nodes are written in place, because alignment counts from the start of the body."""
    body = Body(bytes((4 * len(fields) + 7) // 8 * 8))
    starts = []
    for field, values, how in zip(fields, columns, hows, strict=True):
        starts.append(len(body.data))
        write_node(body, field, values, how)
    for i, start in enumerate(starts):
        body.data[4 * i : 4 * i + 4] = struct.pack("<I", start)
    return bytes(body)


def end_message(messages: list[bytes], rows: int, chunks: int, total: int | None = None, **over) -> bytes:
    checksums = b"".join(m[16:24] for m in messages)
    body = Body().u64(rows, chunks, xxh3_64(checksums) if total is None else total)
    return message(END, bytes(body), **over)


def zstd_frame(blocks: list[tuple[str, bytes, int]]) -> bytes:
    """One Zstandard frame (RFC 8878 §3.1.1) of blocks ("raw", bytes, 0) or ("rle", one byte, times)."""
    size = sum(len(data) if kind == "raw" else times for kind, data, times in blocks)
    out = bytes.fromhex("28b52ffd") + b"\xa0" + struct.pack("<I", size)  # single segment, 4 bytes of content size
    for i, (kind, data, times) in enumerate(blocks):
        count, code = (len(data), 0) if kind == "raw" else (times, 1)
        out += (count << 3 | code << 1 | (i == len(blocks) - 1)).to_bytes(3, "little") + data
    return out


def lz4_block(data: bytes) -> bytes:
    """One LZ4 block: greedy matches over four-byte keys, the last five bytes literal, no match in the last twelve."""
    out = bytearray()
    seen: dict[bytes, int] = {}
    anchor = at = 0

    def run(length: int) -> bytes:
        length -= 15
        return b"\xff" * (length // 255) + bytes([length % 255]) if length >= 0 else b""

    while at + 12 < len(data):
        key = data[at : at + 4]
        candidate = seen.get(key)
        seen[key] = at
        if candidate is None or at - candidate > 65535:
            at += 1
            continue
        end = at + 4
        while end < len(data) - 5 and data[end] == data[candidate + end - at]:
            end += 1
        literals, match = at - anchor, end - at - 4
        out.append(min(literals, 15) << 4 | min(match, 15))
        out += run(literals) + data[anchor:at] + struct.pack("<H", at - candidate) + run(match)
        anchor = at = end
    literals = len(data) - anchor
    out.append(min(literals, 15) << 4)
    return bytes(out + run(literals) + data[anchor:])
