"""Messages and streams (FORMAT §2, §3, §6 directory, §7)."""

import struct
from dataclasses import dataclass
from dataclasses import field as default

from .codecs import NONE, ZSTD, decompress
from .cursor import Cursor
from .errors import FormatError, Kind
from .nodes import Chunk
from .schema import Field, read_schema
from .xxh3 import xxh3_64

MAGIC = b"CLN1"
HEADER = 64
SCHEMA, CHUNK, END = 1, 2, 3
KINDS = {SCHEMA: "schema", CHUNK: "chunk", END: "end"}


@dataclass(frozen=True)
class Limits:
    message_bytes: int = 1 << 30
    decoded_bytes: int = 2 << 30


@dataclass
class Message:
    kind: int
    codec: int
    checksum: int
    rows: int
    sequence: int
    body: bytes
    start: int
    where: str
    length: int
    trace: list = default(default_factory=list)  # (position in the body, size, text)


@dataclass
class Stream:
    fields: list[Field]
    metadata: list
    columns: list[list]
    chunks: list[int]
    messages: list[Message]

    def to_json(self) -> dict:
        """The canonical form of vectors/README.md."""
        shown = {"metadata": self.metadata} if self.metadata else {}
        shown["schema"] = [field.describe() for field in self.fields]
        shown["rows"] = sum(self.chunks)
        shown["chunks"] = self.chunks
        shown["columns"] = self.columns
        return shown


def checksum_of(message: bytes) -> int:
    return xxh3_64(message[24:], xxh3_64(message[:16]))


def read_message(data: bytes, start: int, number: int, limits: Limits) -> Message:
    """The message at `start`. Its body is decoded by its codec."""
    where = f"message {number}"
    if len(data) - start < HEADER:
        raise FormatError(Kind.TRUNCATED, where, f"{len(data) - start} bytes are less than a header")
    header = data[start : start + HEADER]
    magic, kind, codec, zero, length, checksum, rows, sequence, body_length = struct.unpack("<4sBBHQQIIQ", header[:40])
    if magic != MAGIC:
        raise FormatError(Kind.MAGIC, where, f"magic {magic!r}")
    if kind not in KINDS:
        raise FormatError(Kind.MESSAGE_KIND, where, f"unknown kind {kind}")
    where += f" ({KINDS[kind]})"
    if codec > ZSTD or (kind != CHUNK and codec != NONE):
        raise FormatError(Kind.CODEC, where, f"codec {codec}")
    if not HEADER <= length <= limits.message_bytes:
        raise FormatError(Kind.LENGTH, where, f"length {length}")
    if length > len(data) - start:
        raise FormatError(Kind.TRUNCATED, where, f"only {len(data) - start} of {length} bytes are present")
    message = data[start : start + length]
    if checksum != checksum_of(message):
        raise FormatError(Kind.CHECKSUM, where, "the checksum is wrong")
    if zero or any(header[40:]) or (kind != CHUNK and (rows or sequence)):
        raise FormatError(Kind.ZERO, where, "a header field is not zero")
    if body_length > limits.decoded_bytes:
        raise FormatError(Kind.LIMIT, where, f"a body of {body_length} bytes")
    if codec == NONE and body_length != length - HEADER:
        raise FormatError(Kind.LENGTH, where, f"a body of {body_length} bytes in a message of {length}")
    body = decompress(codec, message[HEADER:], body_length, where)
    return Message(kind, codec, checksum, rows, sequence, body, start, where, length)


def read_chunk(message: Message, fields: list[Field], limits: Limits) -> list[list]:
    directory = Cursor(message.body, message.where, trace=message.trace)
    starts = [directory.u32(f"start of column {i}") for i in range(len(fields))]
    directory.align(8)
    ends = [*starts, len(message.body)][1:] if starts else []
    if starts[:1] not in ([], [directory.at]) or (not starts and len(message.body)):
        raise directory.fail(Kind.DIRECTORY, "the first column does not start right after the directory")
    if any(start % 8 or start >= end for start, end in zip(starts, ends, strict=True)):
        raise directory.fail(Kind.DIRECTORY, "the columns' positions are not ascending multiples of 8 within the body")
    chunk = Chunk(message.rows, limits.decoded_bytes, message.where)
    columns = []
    for i, field in enumerate(fields):
        where = f"{message.where}, column {i} {field.name!r}"
        columns.append(chunk.column(Cursor(message.body, where, starts[i], ends[i], message.trace), field))
    return columns


def read_end(message: Message, stream: Stream) -> None:
    c = Cursor(message.body, message.where, trace=message.trace)
    rows, chunks, checksum = c.u64("rows"), c.u64("chunks"), c.u64("checksum")
    c.finish()
    of_all = xxh3_64(b"".join(m.checksum.to_bytes(8, "little") for m in stream.messages))
    if (rows, chunks) != (sum(stream.chunks), len(stream.chunks)):
        was = f"{sum(stream.chunks)} rows in {len(stream.chunks)} chunks"
        raise FormatError(Kind.TOTALS, message.where, f"{rows} rows in {chunks} chunks declared, {was} received")
    if checksum != of_all:
        raise FormatError(Kind.TOTALS, message.where, "the checksum over all messages is wrong")


def read_stream(data: bytes, limits: Limits = Limits()) -> Stream:
    """A whole stream. Raises `FormatError` for every error."""
    stream = Stream([], [], [], [], [])
    at = 0
    while True:
        number = len(stream.messages)
        if at == len(data):
            raise FormatError(Kind.TRUNCATED, f"message {number}", "the stream ends before its end message")
        message = read_message(data, at, number, limits)
        at += message.length
        if (message.kind == SCHEMA) != (number == 0):
            raise FormatError(Kind.ORDER, message.where, "a stream is one schema, chunks, one end")
        if message.kind == SCHEMA:
            c = Cursor(message.body, message.where, trace=message.trace)
            stream.fields, stream.metadata = read_schema(c)
            stream.columns = [[] for _ in stream.fields]
        elif message.kind == CHUNK:
            if message.sequence != len(stream.chunks):
                problem = f"chunk {message.sequence} instead of {len(stream.chunks)}"
                raise FormatError(Kind.SEQUENCE, message.where, problem)
            for column, values in zip(stream.columns, read_chunk(message, stream.fields, limits), strict=True):
                column += values
            stream.chunks.append(message.rows)
        else:
            read_end(message, stream)
            stream.messages.append(message)
            if at != len(data):
                raise FormatError(Kind.TRAILING, message.where, f"{len(data) - at} bytes after the end message")
            return stream
        stream.messages.append(message)
