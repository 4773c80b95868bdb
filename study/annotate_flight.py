"""Arrow Flight: FlightData messages (Flight.proto) in gRPC's messages in HTTP/2's frames (RFC 9113, section 4 and 6).

<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from study import annotate_arrow
from study.annotate_arrow import SCHEMA, Message
from study.pieces import Annotated, Malformed, Reader

FRAMES = ["DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE"]
DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
#: Flags of DATA and HEADERS.
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20
FRAME_HEAD = 9
#: FlightData's fields, by number; all are bytes.
FIELDS = {1: "flight_descriptor", 2: "data_header", 3: "app_metadata", 1000: "data_body"}
LENGTH_DELIMITED = 2


def answer(said: bytes) -> bytes:
    """The part of a server's bytes on a connection that ends with the end of its one stream."""
    at = 0
    while at + FRAME_HEAD <= len(said):
        kind, flags = said[at + 3], said[at + 4]
        at += FRAME_HEAD + int.from_bytes(said[at : at + 3], "big")
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            return said[:at]
    raise Malformed(f"the stream does not end within {len(said)} bytes")


def annotate(data: bytes) -> Annotated:
    """All frames of a server that answers one DoGet, to the end of its stream."""
    reader = Reader(data)
    messages = b""
    ended = False
    while not ended:
        frame = len(reader.pieces)
        length = int.from_bytes(reader.data[reader.at : reader.at + 3], "big")
        kind = int.from_bytes(reader.data[reader.at + 3 : reader.at + 4], "big")
        if kind not in (DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE):
            raise reader.malformed(f"a frame {FRAMES[kind] if kind < len(FRAMES) else kind}")
        reader.integer(3, f"{FRAMES[kind]} frame, length", "ends")
        reader.integer(1, "type", "ends")
        flags = reader.integer(1, "flags", "ends")
        stream = reader.integer(4, "stream", "ends")
        if (kind in (DATA, HEADERS)) != (stream == 1):
            raise reader.malformed(f"a frame {FRAMES[kind]} on stream {stream}")
        with reader.within(length, FRAMES[kind]):
            if kind == DATA:
                if flags & PADDED:
                    raise reader.malformed("a padded frame")
                messages += reader.carry(frame)
            elif kind == HEADERS:
                if flags & (PADDED | PRIORITY) or not flags & END_HEADERS:
                    raise reader.malformed(f"HEADERS with flags {flags}")
                reader.take(length, "trailers, HPACK" if flags & END_STREAM else "headers, HPACK", "ends")
            else:
                reader.take(length, {SETTINGS: "settings", PING: "ping"}.get(kind, "window"), "ends")
        ended = kind in (DATA, HEADERS) and bool(flags & END_STREAM)
    carried = grpc(messages)
    return Annotated(reader.finish(carried.pieces), carried.rows)


def grpc(data: bytes) -> Annotated:
    """The messages of the stream, each with one FlightData."""
    reader = Reader(data)
    types: list[int] | None = None
    rows: list[tuple[Any, ...]] = []
    while reader.left:
        first = len(reader.pieces)
        reader.expect(b"\0", "gRPC: not compressed", "batch")
        with reader.within(reader.integer(4, "gRPC message length", "batch"), "a gRPC message"):
            message, found = flight_data(reader, types)
        rows += found
        if message.type == SCHEMA:
            types = message.types()
            reader.pieces[first:] = [replace(piece, kind="columns") for piece in reader.pieces[first:]]
    return Annotated(reader.finish(), rows)


def flight_data(reader: Reader, types: list[int] | None) -> tuple[Message, list[tuple[Any, ...]]]:
    message, rows, has_body = None, [], False
    while reader.left:
        tag = varint(reader, "tag")
        name = FIELDS.get(tag >> 3)
        if name is None or tag & 7 != LENGTH_DELIMITED:
            raise reader.malformed(f"tag {tag} of FlightData")
        reader.say(f"tag of {name}")
        length = varint(reader, f"length of {name}")
        reader.say(f"length of {name} {length}")
        if name == "data_header":
            message = Message.read(reader.data[reader.at : reader.at + length])
            reader.take(length, message.described, message.kind)
        elif name == "data_body" and message:
            has_body = True
            if length != message.body:
                raise reader.malformed(f"a body of {length} bytes, but {message.body} are announced")
            with reader.within(length, "the body"):
                if message.type != SCHEMA:
                    rows = annotate_arrow.body(reader, message, types)
                else:
                    reader.take(length, "body of a schema", "columns")
        else:
            reader.take(length, name, "batch")
    if message is None or (message.type != SCHEMA and not has_body):
        raise reader.malformed("FlightData without header or body")
    return message, rows


def varint(reader: Reader, what: str) -> int:
    """An integer of Protocol Buffers: seven bits per byte, the least significant ones first."""
    length = 1
    while reader.data[reader.at + length - 1 : reader.at + length] > b"\x7f":
        length += 1
    value = 0
    for byte in reversed(reader.take(length, what, "batch")):
        value = value << 7 | byte & 0x7F
    return value
