"""COPY statements as they stand, through psycopg, read by the specification's independent reader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg import pq
from reader.stream import read_stream

COLONNADE = "to stdout (format colonnade"


def payloads(session: psycopg.Connection, statement: str) -> list[bytes]:
    """The messages of the stream, by the simple protocol."""
    session.pgconn.send_query(statement.encode())
    return answer(session.pgconn)


def copied(session: psycopg.Connection, statement: str) -> dict[str, list[Any]]:
    """The columns by name, in the reader's canonical form."""
    return columns(payloads(session, statement))


def columns(messages: list[bytes]) -> dict[str, list[Any]]:
    stream = read_stream(b"".join(messages)).to_json()
    names = [field["name"] for field in stream["schema"]]
    assert len(set(names)) == len(names)
    return dict(zip(names, stream["columns"], strict=True))


def extended(session: psycopg.Connection, statement: str, *, name: bytes = b"") -> dict[str, list[Any]]:
    """The same by the extended protocol: Parse, Bind, Execute; `name` is that of a prepared statement."""
    connection = session.pgconn
    if name:
        prepared = connection.prepare(name, statement.encode())
        assert prepared.status == pq.ExecStatus.COMMAND_OK, prepared.error_message
        connection.send_query_prepared(name, [])
    else:
        connection.send_query_params(statement.encode(), [])
    return columns(answer(connection))


def answer(connection: pq.abc.PGconn) -> list[bytes]:
    """CopyData up to the end of what has been sent; the COPY's tag must count the stream's rows. Raises psycopg's error
    for the server's."""
    messages: list[bytes] = []
    rows: int | None = None
    result = connection.get_result()
    while result is not None:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            while connection.get_result() is not None:
                pass
            raise psycopg.errors.error_from_result(result)
        if result.status == pq.ExecStatus.COPY_OUT:
            while (received := connection.get_copy_data(0))[0] > 0:
                messages.append(bytes(received[1]))
        if (result.command_status or b"").startswith(b"COPY "):
            rows = result.command_tuples
        result = connection.get_result()
    assert rows == read_stream(b"".join(messages)).to_json()["rows"]
    return messages


def stream_of(session: psycopg.Connection, statement: str) -> bytes:
    """The whole stream that a COPY TO sends."""
    return b"".join(payloads(session, statement))


def send(session: psycopg.Connection, statement: str, pieces: Iterable[bytes], *, fail: bytes | None = None) -> int:
    """Sends each piece as one CopyData message. Returns the rows in the command's tag. Raises psycopg's error for the
    server's. `fail` is what the client says if it ends with CopyFail."""
    connection = session.pgconn
    # Otherwise a piece may be refused because the server has not read the earlier ones yet.
    connection.nonblocking = 0
    result = connection.exec_(statement.encode())
    if result.status == pq.ExecStatus.COPY_IN:
        for piece in pieces:
            connection.put_copy_data(piece)
        connection.put_copy_end(fail)
        result = connection.get_result()
        assert result is not None
        while connection.get_result() is not None:
            pass
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)
    assert (result.command_status or b"").startswith(b"COPY ")
    return result.command_tuples or 0


def cut(stream: bytes, size: int) -> list[bytes]:
    """The stream in pieces of `size` bytes."""
    return [stream[at : at + size] for at in range(0, len(stream), size)]
