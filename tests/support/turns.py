"""A proxy that counts round trips: each time that a client sends something after it has received something."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from tests.support.proxy import end


class Turns:
    """Passes on the bytes of clients and of a server, and counts the turns of the latest connection.

    Connecting the socket is not counted.

    A client that sends the messages of a turn with one call needs no delay to be counted rightly: the server cannot
    answer before it has the last one.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        # Of the latest connection: an earlier one may still say that it ends.
        self._count = [0]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def taken(self) -> int:
        """The turns since the last call."""
        count, self._count[0] = self._count[0], 0
        return count

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(self._server)
                for connection in (client, upstream):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._count = count = [0]
                has_answered = threading.Event()
                has_answered.set()
                threading.Thread(target=self._ask, args=(client, upstream, has_answered, count), daemon=True).start()
                threading.Thread(target=self._answer, args=(client, upstream, has_answered), daemon=True).start()

    def _ask(
        self, client: socket.socket, upstream: socket.socket, has_answered: threading.Event, count: list[int]
    ) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if has_answered.is_set():
                    has_answered.clear()
                    count[0] += 1
                upstream.sendall(data)
        end(client, upstream)

    def _answer(self, client: socket.socket, upstream: socket.socket, has_answered: threading.Event) -> None:
        with suppress(OSError):
            while data := upstream.recv(65536):
                # Before the client can know it.
                has_answered.set()
                client.sendall(data)
        end(client, upstream)
