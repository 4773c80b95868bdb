"""PostgreSQL's protocol 3: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.

And COPY's binary format: <https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS>.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from study.pieces import Annotated, Kind, Reader

#: The messages of a result.
TYPES = {
    b"1": "ParseComplete",
    b"2": "BindComplete",
    b"T": "RowDescription",
    b"D": "DataRow",
    b"H": "CopyOutResponse",
    b"d": "CopyData",
    b"c": "CopyDone",
    b"C": "CommandComplete",
    b"S": "ParameterStatus",
    b"Z": "ReadyForQuery",
}
#: Type numbers, src/include/catalog/pg_type.dat; DuckDB's VARCHAR is announced as text or varchar.
INT4, TEXT, VARCHAR = 23, 25, 1043
COPY_SIGNATURE = b"PGCOPY\n\xff\r\n\0"

#: Type and format (0 text, 1 binary) of a column.
Column = tuple[int, int]


def annotate(data: bytes, inside: Callable[[bytes], Annotated] | None = None) -> Annotated:
    """The answer to a query, to ReadyForQuery. `inside` annotates the stream within CopyData messages."""
    reader = Reader(data)
    columns: list[Column] = []
    rows: list[tuple[Any, ...]] = []
    stream = b""
    last = b""
    while last != b"Z":
        frame = len(reader.pieces)
        last = reader.take(1, "message type", "ends")
        if last not in TYPES:
            raise reader.malformed(f"a message of type {last!r} before it")
        kind: Kind = "row" if last == b"D" else "columns" if last == b"T" else "ends"
        reader.say(f"message type {last.decode()}: {TYPES[last]}", kind)
        length = reader.integer(4, "message length", kind)
        with reader.within(length - 4, TYPES[last]):
            match last:
                case b"T":
                    columns = description(reader)
                case b"D":
                    rows.append(data_row(reader, columns))
                case b"d":
                    stream += reader.carry(frame)
                case b"Z":
                    status(reader)
                case _:
                    reader.take(reader.left, TYPES[last], "ends")
    carried = inside(stream) if inside else Annotated([], [])
    return Annotated(reader.finish(carried.pieces), carried.rows if inside else rows)


def status(reader: Reader) -> None:
    if reader.take(1, "transaction status", "ends") not in (b"I", b"T"):
        raise reader.malformed("the query has failed")


def description(reader: Reader) -> list[Column]:
    columns = []
    for _ in range(reader.integer(2, "number of columns", "columns")):
        name = reader.until(b"\0", "name", "columns").decode("utf-8", "backslashreplace")
        reader.say(f"name {name!r}")
        reader.take(4, "table", "columns")
        reader.take(2, "column of the table", "columns")
        type_ = reader.integer(4, "type", "columns")
        reader.take(2, "size of the type", "columns")
        reader.take(4, "modifier of the type", "columns")
        columns.append((type_, reader.integer(2, "format", "columns")))
    return columns


def data_row(reader: Reader, columns: list[Column]) -> tuple[Any, ...]:
    count = reader.integer(2, "number of fields", "row")
    if count != len(columns):
        raise reader.malformed(f"{count} fields in {len(columns)} columns")
    return tuple(field(reader, *column) for column in columns)


def field(reader: Reader, type_: int, format_: int) -> int | str | None:
    length = reader.integer(4, "length", "length", signed=True)
    if length == -1:
        reader.say("length -1: NULL", "null")
        return None
    raw = reader.take(length, "value", "value")
    try:
        value = read(raw, type_, format_)
    except (ValueError, struct.error) as error:
        raise reader.malformed(f"the value before it: {error}") from None
    if raw:
        reader.say(f"value {value!r}")
    return value


def read(raw: bytes, type_: int, format_: int) -> int | str:
    if type_ in (TEXT, VARCHAR):
        return raw.decode()
    if type_ != INT4:
        raise ValueError(f"type {type_} is not one of the table's")
    return struct.unpack(">i", raw)[0] if format_ else int(raw)


def copy_binary(stream: bytes) -> Annotated:
    """The stream of COPY … (FORMAT binary) for an int4 and a varchar column: it does not contain its types."""
    reader = Reader(stream)
    reader.expect(COPY_SIGNATURE, "signature", "ends")
    reader.expect(b"\0\0\0\0", "flags", "ends")
    reader.take(reader.integer(4, "length of the header's extension", "ends"), "extension", "ends")
    rows = []
    while (count := reader.integer(2, "number of fields", "row", signed=True)) != -1:
        if count != 2:
            raise reader.malformed(f"{count} fields in 2 columns")
        rows.append(tuple(field(reader, type_, 1) for type_ in (INT4, VARCHAR)))
    reader.say("end of the rows: -1", "ends")
    return Annotated(reader.finish(), rows)
