"""Peers that misbehave: a proxy that cuts or changes what a server says, and a server that says what it is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle

from tests.testbed.serving import Server


class Proxy:
    """Passes a server's bytes on to clients, one connection after the other, up to a limit. Servers take turns."""

    def __init__(self, *servers: Server | tuple[str, int]) -> None:
        self._targets = cycle(
            [server if isinstance(server, tuple) else (server.host, server.port) for server in servers]
        )
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        #: After so many bytes from the server the connection ends.
        self.limit: int | None = None
        #: The number of the byte that arrives inverted.
        self.flipped: int | None = None
        #: Bytes that the server sent on the last connection that was made.
        self.passed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/test"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(next(self._targets))
                self.passed = 0
                threading.Thread(target=forward, args=(client, upstream), daemon=True).start()
                threading.Thread(target=self._answer, args=(client, upstream), daemon=True).start()

    def _answer(self, client: socket.socket, upstream: socket.socket) -> None:
        limit, flipped = self.limit, self.flipped
        passed = 0
        with suppress(OSError):
            while (limit is None or passed < limit) and (data := upstream.recv(65536)):
                data = data if limit is None else data[: limit - passed]
                if flipped is not None and passed <= flipped < passed + len(data):
                    at = flipped - passed
                    data = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
                # Before the client can know it.
                passed += len(data)
                self.passed = passed
                client.sendall(data)
        end(client, upstream)


def end(*connections: socket.socket) -> None:
    """Ends connections. Another thread may wait for their bytes, so closing alone would not end them."""
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def forward(source: socket.socket, target: socket.socket) -> None:
    """Passes on what one side says, to its end."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def gate(server: tuple[str, int], kind: bytes) -> Iterator[str]:
    """The URI of a proxy that holds what the first client sends from the first message of this kind on, until the
    server has taken notice of a second client, which is a request to cancel."""
    noticed = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as closing:

        def hold(client: socket.socket, upstream: socket.socket) -> None:
            with suppress(OSError):
                while data := client.recv(65536):
                    if data.startswith(kind):
                        noticed.wait(60)
                    upstream.sendall(data)
                upstream.shutdown(socket.SHUT_WR)

        def answer(client: socket.socket, upstream: socket.socket, last: threading.Event) -> None:
            forward(upstream, client)
            last.set()

        def serve() -> None:
            ends = threading.Event()
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    upstream = socket.create_connection(server)
                    for connection in (client, upstream):
                        closing.enter_context(connection)
                    threading.Thread(target=hold, args=(client, upstream), daemon=True).start()
                    threading.Thread(target=answer, args=(client, upstream, ends), daemon=True).start()
                    ends = noticed

        threading.Thread(target=serve, daemon=True).start()
        yield f"postgresql://tester@127.0.0.1:{listener.getsockname()[1]}/postgres"


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of PostgreSQL's protocol."""
    return kind + struct.pack(">I", len(body) + 4) + body


SSL_REQUEST = struct.pack(">II", 8, 80877103)
#: What a Colonnade server says after the start-up message.
WELCOME = (
    message(b"R", struct.pack(">I", 0))
    + message(b"S", b"server_version\x0015.0 (test)\0")
    + message(b"S", b"colonnade\x001\0")
    + message(b"K", struct.pack(">II", 1, 2))
    + message(b"Z", b"I")
)
COPY_OUT = message(b"H", struct.pack(">bhh", 1, 1, 1))
READY = message(b"Z", b"I")


@contextmanager
def peer(welcome: bytes, answer: bytes | Callable[[bytes], bytes] = b"", *, hang_up: bool = True) -> Iterator[str]:
    """The URI of a server that greets with `welcome` and answers the first query with `answer`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    if client.recv(65536) == SSL_REQUEST:
                        client.sendall(b"N")
                        client.recv(65536)
                    client.sendall(welcome)
                    if query := client.recv(65536):
                        client.sendall(answer(query) if callable(answer) else answer)
                        if not hang_up:
                            while client.recv(65536):
                                pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"postgresql://tester@127.0.0.1:{listener.getsockname()[1]}/test"
    finally:
        listener.close()
