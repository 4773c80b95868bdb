"""Arrow's IPC stream: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

Its metadata is in flatbuffers (format/Message.fbs, format/Schema.fbs). This module reads only the parts that it needs
to annotate the bytes of a body: columns of 32-bit integers and of strings.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from study.pieces import Annotated, Kind, Malformed, Reader

CONTINUATION = b"\xff\xff\xff\xff"
SCHEMA, RECORD_BATCH = 1, 3
#: Schema.fbs, union Type; the buffers of each type, of which the first is the validity.
INT, UTF8 = 2, 5
BUFFERS = {INT: 2, UTF8: 3}


@dataclass(frozen=True)
class Table:
    """A table of a flatbuffer. <https://flatbuffers.dev/internals/>"""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> Table:
        return cls(data, unpack(data, "<I", 0))

    def field(self, number: int) -> int | None:
        """The position of a field's value, if it has one."""
        vtable = self.at - unpack(self.data, "<i", self.at)
        size = unpack(self.data, "<H", vtable)
        entry = 4 + 2 * number
        offset = unpack(self.data, "<H", vtable + entry) if entry < size else 0
        return self.at + offset if offset else None

    def number(self, number: int, form: str) -> int:
        at = self.field(number)
        return 0 if at is None else unpack(self.data, form, at)

    def table(self, number: int) -> Table:
        at = self.field(number)
        if at is None:
            raise Malformed(f"a flatbuffer lacks the field {number}")
        return Table(self.data, at + unpack(self.data, "<I", at))

    def vector(self, number: int) -> tuple[int, int]:
        """The position of a vector's first item, and the number of items."""
        at = self.field(number)
        if at is None:
            return 0, 0
        at += unpack(self.data, "<I", at)
        return at + 4, unpack(self.data, "<I", at)

    def tables(self, number: int) -> list[Table]:
        at, count = self.vector(number)
        places = range(at, at + 4 * count, 4)
        return [Table(self.data, place + unpack(self.data, "<I", place)) for place in places]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """A vector of structs of two 64-bit integers."""
        at, count = self.vector(number)
        places = range(at, at + 16 * count, 16)
        return [(unpack(self.data, "<q", place), unpack(self.data, "<q", place + 8)) for place in places]


def unpack(data: bytes, form: str, at: int) -> int:
    if at < 0 or at + struct.calcsize(form) > len(data):
        raise Malformed(f"a flatbuffer of {len(data)} bytes points to {at}")
    return struct.unpack_from(form, data, at)[0]


@dataclass(frozen=True)
class Message:
    """The contents of a message's metadata."""

    type: int
    header: Table
    body: int

    @classmethod
    def read(cls, metadata: bytes) -> Message:
        table = Table.root(metadata)
        return cls(table.number(1, "<B"), table.table(2), table.number(3, "<q"))

    @property
    def kind(self) -> Kind:
        return "columns" if self.type == SCHEMA else "batch"

    @property
    def described(self) -> str:
        """A short description."""
        if self.type == SCHEMA:
            return "flatbuffer: Schema"
        return f"flatbuffer: RecordBatch of {self.header.number(0, '<q')} rows"

    def types(self) -> list[int]:
        """The columns' types of a schema."""
        found = []
        for field in self.header.tables(1):
            type_ = field.number(2, "<B")
            if type_ not in BUFFERS or (type_ == INT and field.table(3).number(0, "<i") != 32):
                raise Malformed(f"a column of type {type_}, which the table does not have")
            found.append(type_)
        return found


def annotate(data: bytes) -> Annotated:
    """A whole stream, to its end."""
    reader = Reader(data)
    types: list[int] | None = None
    rows: list[tuple[Any, ...]] = []
    while True:
        size = int.from_bytes(reader.data[reader.at + 4 : reader.at + 8], "little")
        message = Message.read(reader.data[reader.at + 8 : reader.at + 8 + size]) if size else None
        kind: Kind = message.kind if message else "ends"
        reader.expect(CONTINUATION, "continuation", kind)
        reader.integer(4, "length of the metadata", kind, "little")
        if message is None:
            return Annotated(reader.finish(), rows)
        reader.take(size, message.described, kind)
        if message.type == SCHEMA:
            types = message.types()
        else:
            with reader.within(message.body, "the body"):
                rows += body(reader, message, types)


def body(reader: Reader, message: Message, types: list[int] | None) -> list[tuple[Any, ...]]:
    """The buffers of a batch's columns."""
    if message.type != RECORD_BATCH or types is None:
        raise reader.malformed(f"an unexpected message of type {message.type}")
    if message.header.field(3) is not None:
        raise reader.malformed("a compressed body")
    start = reader.at
    count = message.header.number(0, "<q")
    nodes, buffers = message.header.pairs(1), message.header.pairs(2)
    if len(nodes) != len(types) or len(buffers) != sum(BUFFERS[type_] for type_ in types):
        raise reader.malformed(f"{len(nodes)} nodes and {len(buffers)} buffers for {len(types)} columns")
    columns: list[list[Any]] = []

    def buffer(what: str, kind: Kind, need: int) -> bytes:
        """The next buffer, of which the first `need` bytes are used. A writer may make it longer."""
        offset, length = buffers.pop(0)
        if start + offset < reader.at or need > length:
            raise reader.malformed(f"{what} at {start + offset} has {length} bytes, but {need} are needed")
        reader.take(start + offset - reader.at, "padding", "padding")
        found = reader.take(need, what, kind)
        reader.take(length - need, "padding", "padding")
        return found

    for (rows, nulls), type_ in zip(nodes, types, strict=True):
        if rows != count:
            raise reader.malformed(f"a column of {rows} rows in a batch of {count}")
        is_known_valid = nulls == 0 and buffers[0][1] == 0
        bits = buffer("validity, a bit a row", "null", 0 if is_known_valid else (count + 7) // 8)
        validity = [True] * count if is_known_valid else valid(reader, bits, count, nulls)
        if type_ == INT:
            cells: list[Any] = numbers(buffer(f"{count} values of 4 bytes", "value", 4 * count))
        else:
            offsets = numbers(buffer(f"{count + 1} offsets", "length", 4 * count + 4))
            cells = strings(reader, buffer("characters", "value", offsets[-1]), offsets)
        columns.append([cell if ok else None for cell, ok in zip(cells, validity, strict=True)])
    reader.take(reader.left, "padding", "padding")
    return list(zip(*columns, strict=True))


def valid(reader: Reader, raw: bytes, count: int, nulls: int) -> list[bool]:
    bits = int.from_bytes(raw, "little")
    found = [bool(bits >> row & 1) for row in range(count)]
    if found.count(False) != nulls:
        raise reader.malformed(f"{found.count(False)} NULLs, but {nulls} are announced")
    return found


def numbers(raw: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(raw) // 4}i", raw))


def strings(reader: Reader, raw: bytes, offsets: list[int]) -> list[str]:
    if any(not 0 <= a <= b <= len(raw) for a, b in pairwise(offsets)):
        raise reader.malformed(f"the offsets do not ascend to {len(raw)}")
    try:
        return [raw[a:b].decode() for a, b in pairwise(offsets)]
    except ValueError as error:
        raise reader.malformed(f"the characters before it: {error}") from None
