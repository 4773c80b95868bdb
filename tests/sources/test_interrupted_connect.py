"""Ctrl-C while a connection is made."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from tests.support.proxy import forward
from tests.testbed import postgres as pg

#: polars has a handler of its own for Ctrl-C, after which waits without a limit continue.
PROGRAM = """
import sys, colonnade, polars
try:
    colonnade.connect(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
"""


def adbc(port: int) -> str:
    libpq = f"postgresql://{pg.SUPERUSER}@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"
    return f"adbc:adbc_driver_postgresql?uri={quote(libpq, safe='')}"


def uri(source: str, port: int) -> str:
    """What connects to the port, and sends its first bytes without waiting for the server."""
    return {
        "postgresql": f"postgresql://tester@127.0.0.1:{port}/",
        "adbc": adbc(port),
        "odbc": f"odbc:Driver={{PostgreSQL Unicode}};Server=127.0.0.1;Port={port};UID=u;PWD=p;Database=d",
    }[source]


@contextmanager
def connecting(source: str) -> Iterator[tuple[subprocess.Popen[str], socket.socket, bytes]]:
    """A process that connects to a server that does not answer, its connection, and what it has sent."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, uri(source, listener.getsockname()[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # The interpreter only raises KeyboardInterrupt if the signal was not ignored when it started.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        try:
            listener.settimeout(60)
            client, _ = listener.accept()
            with client:
                first = client.recv(65536)
                assert first
                yield process, client, first
        finally:
            process.kill()


def interrupt(process: subprocess.Popen[str]) -> None:
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "interrupted\n"
    watchdog.cancel()


@pytest.mark.parametrize("source", ["postgresql", "adbc", "odbc"])
def test_ctrl_c_while_connecting(source: str) -> None:
    with connecting(source) as (process, _, _):
        interrupt(process)
        assert process.communicate(timeout=60) == ("", None) and process.returncode == 0


def test_a_connection_that_opens_after_ctrl_c_is_closed(stock: pg.Cluster) -> None:
    with connecting("adbc") as (process, client, first):
        interrupt(process)
        with socket.create_connection(("127.0.0.1", stock.port)) as upstream:
            upstream.sendall(first)
            client.settimeout(60)
            back = threading.Thread(target=forward, args=(upstream, client), daemon=True)
            back.start()
            # It ends when the client closes its connection. The process goes on.
            last = first
            while received := client.recv(65536):
                upstream.sendall(received)
                last = received
            assert last.endswith(b"X\0\0\0\4")
            assert process.poll() is None
