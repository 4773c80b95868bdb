"""A worker process that is killed while it reads."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import colonnade
import psutil

from tests.engines.ledger import QUERY, Ledger
from tests.support.proxy import end, forward

#: Bytes of the server's answers after which a connection is held: more than a login, less than a part has.
_ENOUGH = 30_000
_TIMEOUT = 120


class _Holding:
    """A proxy that holds the first connection on which so many bytes have arrived, of those made since it is armed."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.is_armed = False
        self._chosen = threading.Lock()
        self._is_held = threading.Event()
        self._client_port = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def kill(self) -> int:
        """Waits for the held connection, kills the process that reads from it, and returns the id of the process."""
        assert self._is_held.wait(_TIMEOUT), "no part was read"
        (reader,) = {
            found.pid
            for found in psutil.net_connections("tcp4")
            if found.laddr.port == self._client_port and found.raddr and found.raddr.port == self.port
        }
        assert reader is not None and reader != os.getpid()
        os.kill(reader, signal.SIGKILL)
        return reader

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, (_, port) = self._listener.accept()
                upstream = socket.create_connection(self._server)
                threading.Thread(target=forward, args=(client, upstream), daemon=True).start()
                threading.Thread(
                    target=self._answer, args=(client, upstream, port if self.is_armed else None), daemon=True
                ).start()

    def _answer(self, client: socket.socket, upstream: socket.socket, port: int | None) -> None:
        passed = 0
        with suppress(OSError):
            while data := upstream.recv(16_384):
                client.sendall(data)
                passed += len(data)
                # The lock stays taken: only one connection is ever held.
                if port is not None and passed >= _ENOUGH and self._chosen.acquire(blocking=False):
                    self._client_port = port
                    self._is_held.set()
                    # The kernel closes the socket of a killed process.
                    _wait_for_end(client)
                    break
        end(client, upstream)


def _wait_for_end(client: socket.socket) -> None:
    """Waits until the peer has closed. What it says is read by another thread."""
    while client.recv(1, socket.MSG_PEEK):
        threading.Event().wait(0.05)


@contextmanager
def plan_of_killed_reader(ledger: Ledger) -> Iterator[colonnade.Plan]:
    """A plan of the ledger. The process that reads the first part is killed in the middle of it, during the block."""
    target = urlsplit(ledger.uri)
    proxy = _Holding((target.hostname or "", target.port or 0))
    through = target._replace(netloc=f"{target.username}@127.0.0.1:{proxy.port}").geturl()
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(proxy.kill()))
    try:
        with colonnade.plan(through, QUERY, **ledger.options) as plan:
            proxy.is_armed = True
            killer.start()
            yield plan
            killer.join()
    finally:
        proxy.close()
    assert killed, "no reader was killed"
