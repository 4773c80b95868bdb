"""The clients that need no library: they use a socket and discard the result."""

from __future__ import annotations

import re
import socket
import struct

from place import Place
from readers import CONNECTED, READY, Asked, Received, Steps, reader


@reader
def copy(asked: Asked) -> Steps:
    """COPY whose result is discarded. `format` is text or binary."""
    yield READY
    connection = socket.create_connection((asked.place.host, asked.place.port))
    _log_in(connection, asked.place)
    yield CONNECTED
    yield _answered(connection, f"COPY ({asked.query}) TO STDOUT (FORMAT {asked.options['format']})")


@reader
def drain(asked: Asked) -> Steps:
    """Any statement over the unix socket, whose result is discarded. This is the server's work without a client's.
    Options are `statement`, and the statements `before` it."""
    yield READY
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"{asked.place.directory}/.s.PGSQL.{asked.place.port}")
    _log_in(connection, asked.place)
    for statement in asked.options.get("before", ()):
        _answered(connection, statement)
    yield _answered(connection, asked.options["statement"])


def _log_in(connection: socket.socket, place: Place) -> None:
    """PostgreSQL's startup message, version 3.0, for a server with trust authentication."""
    login = struct.pack(">I", 196608) + f"user\0{place.user}\0database\0{place.database}\0\0".encode()
    connection.sendall(struct.pack(">I", len(login) + 4) + login)
    _drained(connection)


def _answered(connection: socket.socket, statement: str) -> Received:
    text = statement.encode() + b"\0"
    connection.sendall(b"Q" + struct.pack(">I", len(text) + 4) + text)
    return _drained(connection)


def _drained(connection: socket.socket) -> Received:
    """Receives until ReadyForQuery. The rows are those of a COPY's CommandComplete."""
    buffer = bytearray(1 << 20)
    total, end = 0, b""
    while not end.endswith(b"Z\0\0\0\x05I"):
        count = connection.recv_into(buffer)
        if count == 0:
            raise EOFError("the server closed the connection")
        total += count
        end = (end + bytes(buffer[max(0, count - 64) : count]))[-64:]
    tag = re.search(rb"COPY (\d+)\0", end)
    return Received(total, int(tag[1]) if tag else None)


@reader
def csv(asked: Asked) -> Steps:
    """A CSV file over a plain socket (`csv_server.py`), decompressed and discarded."""
    import pyarrow as pa
    from csv_server import BLOCK_HEAD, HEAD

    yield READY
    connection = socket.create_connection((asked.place.host, asked.place.port))
    yield CONNECTED
    connection.sendall(f"{asked.table}\n".encode())
    # Large reads are not buffered.
    with connection.makefile("rb") as stream:
        size, rows = HEAD.unpack(stream.read(HEAD.size))
        left = size
        if asked.place.codec == "none":
            buffer = memoryview(bytearray(1 << 20))
            while left and (count := stream.readinto1(buffer)):
                left -= count
        else:
            codec = pa.Codec(asked.place.codec)
            while left and (head := stream.read(BLOCK_HEAD.size)):
                compressed, plain = BLOCK_HEAD.unpack(head)
                left -= len(codec.decompress(stream.read(compressed), decompressed_size=plain))
    if left:
        raise EOFError(f"{left} bytes are missing")
    yield Received(size, rows)
