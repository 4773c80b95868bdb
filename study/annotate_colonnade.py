"""A Colonnade stream, annotated by the reader in spec/, which is independent of the code that wrote the bytes."""

from __future__ import annotations

import sys
from typing import Any

import machine

from study.pieces import Annotated, Kind, Malformed, Reader

sys.path.insert(0, str(machine.ROOT / "spec"))

from reader.annotate import HEADER_FIELDS
from reader.errors import FormatError
from reader.stream import CHUNK, SCHEMA, Message, read_stream

#: The kinds of a chunk's bytes, by their names in spec/reader. All other names describe the chunk or a column.
KINDS: dict[str, Kind] = {"padding": "padding", "bitmap": "null", "data": "value", "data length": "batch"}


def annotate(data: bytes) -> Annotated:
    """A whole stream, whose chunks are not compressed by a codec."""
    try:
        stream = read_stream(data)
    except FormatError as error:
        raise Malformed(str(error)) from None
    reader = Reader(data)
    for message in stream.messages:
        if message.codec:
            raise reader.malformed(f"a chunk in codec {message.codec}")
        of_message(reader, message)
    rows: list[tuple[Any, ...]] = list(zip(*stream.columns, strict=True))
    return Annotated(reader.finish(), rows)


def of_message(reader: Reader, message: Message) -> None:
    kind: Kind = "batch" if message.kind == CHUNK else "columns" if message.kind == SCHEMA else "ends"
    for size, label in HEADER_FIELDS:
        if label in ("magic", "zero"):
            reader.take(size, f"{message.where}: {label}" if label == "magic" else label, kind)
        else:
            reader.integer(size, label, kind, "little")
    start = reader.at
    heading = ""
    for at, size, label in message.trace:
        if size == 0:
            heading = heading if label.startswith("^") else label
            continue
        if start + at != reader.at:
            raise reader.malformed(f"the next part of the body is at {start + at}")
        reader.take(size, label, of_chunk(label, heading) if message.kind == CHUNK else kind)


def of_chunk(label: str, heading: str) -> Kind:
    """The kind of a part of a chunk's body, from its name in the trace and the node that contains it."""
    name = label.partition(" = ")[0]
    if name in KINDS:
        return KINDS[name]
    if name.endswith(" offsets"):
        return "length"
    if " values of " in name or name == "the value" or name.startswith("block "):
        return "length" if heading.startswith("node: lengths") else "value"
    return "batch"
