"""MySQL's and MariaDB's protocol: result sets in text and in binary.
<https://mariadb.com/kb/en/clientserver-protocol/>."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Literal

from study.capture import Conversation
from study.pieces import Annotated, Kind, Malformed, Reader

#: Capabilities that change a result set's bytes. Those above 32 bits exist only in MariaDB.
LONG_PASSWORD, COMPRESS, DEPRECATE_EOF = 1 << 0, 1 << 5, 1 << 24
EXTENDED_METADATA, CACHE_METADATA = 1 << 35, 1 << 36
#: Types of columns, and the types that are strings.
LONG, STRINGS = 0x03, (0x0F, 0xFC, 0xFD, 0xFE)
NULL = 0xFB
#: The first byte of a length of more than one byte, and the number of bytes that follow.
LONGER = {0xFC: 2, 0xFD: 3, 0xFE: 8}
#: The first byte of the last packet.
LAST = 0xFE
#: A command's first byte.
COM_STMT_EXECUTE = 0x17


@dataclass
class Packets:
    """Reads packets, whose numbers begin with `number`."""

    reader: Reader
    number: int = 1

    def head(self, kind: Kind, what: str) -> int:
        """The length of the next packet."""
        length = self.reader.integer(3, f"length of {what}", kind, "little")
        number = self.reader.integer(1, "packet number", kind)
        if number != self.number & 0xFF:
            raise self.reader.malformed(f"packet {number} instead of {self.number & 0xFF}")
        self.number += 1
        return length

    def peek(self) -> tuple[int, int]:
        """The length of the next packet and its first byte."""
        ahead = self.reader.data[self.reader.at : self.reader.at + 5]
        if len(ahead) < 5:
            raise self.reader.malformed("the answer ends before its last packet")
        return int.from_bytes(ahead[:3], "little"), ahead[4]


def agreed(conversation: Conversation) -> int:
    """The capabilities that server and client have in common, from their first packets."""
    greeting, response = conversation.turns[0].answered, conversation.turns[1].asked
    after_version = greeting.index(b"\0", 5) + 1
    # Connection, scramble, filler; the capabilities' halves around character set and status; the scramble's length.
    fixed = greeting[after_version + 13 :]
    server = int.from_bytes(fixed[0:2], "little") | int.from_bytes(fixed[5:7], "little") << 16
    client = int.from_bytes(response[4:8], "little")
    if not server & LONG_PASSWORD:
        server |= int.from_bytes(fixed[14:18], "little") << 32
        client |= int.from_bytes(response[32:36], "little") << 32
    return server & client


def is_execution(asked: bytes) -> bool:
    return len(asked) > 4 and asked[4] == COM_STMT_EXECUTE


def annotate(data: bytes, capabilities: int, form: Literal["text", "binary"]) -> Annotated:
    """The answer to COM_QUERY (text) or COM_STMT_EXECUTE (binary)."""
    if not capabilities & COMPRESS:
        return result_set(data, capabilities, form)
    outer = Reader(data)
    plain = b""
    number = 1
    while outer.left:
        length = outer.integer(3, "compressed length", "batch", "little")
        found = outer.integer(1, "compressed packet's number", "batch")
        if found != number & 0xFF:
            raise outer.malformed(f"compressed packet {found} instead of {number & 0xFF}")
        number += 1
        size = outer.integer(3, "length before compression", "batch", "little")
        packed = outer.take(length, "compressed packets" if size else "packets, not compressed", "compressed")
        plain += inflated(outer, packed, size) if size else packed
    inner = result_set(plain, capabilities, form)
    return Annotated(outer.finish(), inner.rows, inner.pieces)


def inflated(outer: Reader, packed: bytes, size: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(packed, size + 1)
    except zlib.error as error:
        raise outer.malformed(f"the compressed bytes before it: {error}") from None
    if len(plain) != size or not inflater.eof or inflater.unused_data:
        raise outer.malformed(f"the compressed bytes do not decompress to {size} bytes")
    return plain


def result_set(data: bytes, capabilities: int, form: Literal["text", "binary"]) -> Annotated:
    reader = Reader(data)
    packets = Packets(reader)
    with reader.within(packets.head("columns", "packet"), "the number of columns"):
        count = reader.integer(1, "number of columns", "columns")
        described = not capabilities & CACHE_METADATA or reader.integer(1, "columns are described:", "columns") == 1
    if not described:
        raise reader.malformed("the columns are not described, because the client is assumed to know them")
    types = []
    for _ in range(count):
        with reader.within(packets.head("columns", "column's description"), "a column's description"):
            types.append(column(reader, extended=bool(capabilities & EXTENDED_METADATA)))
    if not capabilities & DEPRECATE_EOF:
        last(reader, packets, "end of the columns", "columns")
    rows = []
    while not is_last(packets, capabilities):
        with reader.within(packets.head("row", "row"), "a row"):
            rows.append(text_row(reader, types) if form == "text" else binary_row(reader, types))
    last(reader, packets, "end of the rows", "ends")
    return Annotated(reader.finish(), rows)


def is_last(packets: Packets, capabilities: int) -> bool:
    length, first = packets.peek()
    return first == LAST and length < (0xFFFFFF if capabilities & DEPRECATE_EOF else 9)


def last(reader: Reader, packets: Packets, what: str, kind: Kind) -> None:
    with reader.within(packets.head(kind, "packet"), what):
        reader.expect(bytes([LAST]), f"header of the {what}", kind)
        reader.take(reader.left, f"{what}: status, warnings", kind)


def column(reader: Reader, *, extended: bool) -> int:
    """One column's description; returns its type."""
    for what in ("catalog", "schema", "table's alias", "table", "column's alias", "column"):
        string(reader, what, "columns", "columns")
    if extended:
        string(reader, "extended type", "columns", "columns")
    reader.expect(b"\x0c", "length of what follows", "columns")
    reader.take(2, "character set", "columns")
    reader.take(4, "greatest length", "columns")
    type_ = reader.integer(1, "type", "columns")
    reader.take(2, "flags", "columns")
    reader.take(1, "decimals", "columns")
    reader.take(2, "filler", "columns")
    return type_


def string(reader: Reader, what: str, of_length: Kind, kind: Kind) -> bytes | None:
    """A string with its length before it, or NULL."""
    length = reader.integer(1, f"length of {what}", of_length)
    if length == NULL:
        reader.say("NULL", "null")
        return None
    if more := LONGER.get(length):
        length = reader.integer(more, f"length of {what}", of_length, "little")
    found = reader.take(length, what, kind)
    if found:
        reader.say(f"{what} {found.decode('utf-8', 'backslashreplace')!r}")
    return found


def text_row(reader: Reader, types: list[int]) -> tuple[Any, ...]:
    return tuple(converted(reader, type_, string(reader, "value", "length", "value")) for type_ in types)


def binary_row(reader: Reader, types: list[int]) -> tuple[Any, ...]:
    reader.expect(b"\0", "header of a row", "row")
    # Its first two bits are reserved.
    nulls = int.from_bytes(reader.take((len(types) + 9) // 8, "NULLs, a bit a column", "null"), "little") >> 2
    if nulls >> len(types):
        raise reader.malformed("a NULL in a column that does not exist")
    values: list[Any] = []
    for number, type_ in enumerate(types):
        if nulls >> number & 1:
            values.append(None)
        elif type_ == LONG:
            values.append(reader.integer(4, "value", "value", "little", signed=True))
        else:
            values.append(converted(reader, type_, string(reader, "value", "length", "value")))
    return tuple(values)


def converted(reader: Reader, type_: int, text: bytes | None) -> int | str | None:
    if text is None:
        return None
    try:
        if type_ == LONG:
            return int(text)
        if type_ in STRINGS:
            return text.decode()
    except ValueError as error:
        raise reader.malformed(f"the value before it: {error}") from None
    raise Malformed(f"a column of type {type_}, which the table does not have")
