"""A client of PostgreSQL's protocol by hand, for what a well-behaved driver does not do."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import psycopg

from tests.testbed.serving import TIMEOUT, Server


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for another process or thread to get somewhere, but not for ever."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def comes_in(server: Server) -> bool:
    """Whether a new session is accepted."""
    try:
        psycopg.connect(server.dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def hand_shake(server: Server, *, small_buffer: bool = False) -> socket.socket:
    """A session by hand, ready for its first query."""
    client = socket.socket()
    if small_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((server.host, server.port))
    client.settimeout(TIMEOUT)
    body = (196608).to_bytes(4, "big") + b"user\0tester\0\0"
    client.sendall((len(body) + 4).to_bytes(4, "big") + body)
    received = b""
    while not received.endswith(b"Z\0\0\0\x05I"):
        received += client.recv(65536)
    return client


def send_query(client: socket.socket, query: str) -> None:
    body = query.encode() + b"\0"
    client.sendall(b"Q" + (len(body) + 4).to_bytes(4, "big") + body)


def received(client: socket.socket, query: str) -> int:
    """Run a query, read its answer to the end and throw it away; its bytes."""
    send_query(client, query)
    buffer = bytearray(1 << 20)
    total, end = 0, b""
    while not end.endswith(b"Z\0\0\0\x05I"):
        count = client.recv_into(buffer)
        assert count > 0
        total += count
        end = (end + bytes(buffer[max(0, count - 6) : count]))[-6:]
    return total
