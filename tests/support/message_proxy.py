"""A proxy before a real PostgreSQL that rewrites single messages."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.support.proxy import end
from tests.testbed import postgres as pg

#: Gets a message and gives the bytes to pass on.
Rewriting = Callable[[bytes], bytes]


def unchanged() -> Rewriting:
    return bytes


@contextmanager
def rewriting(
    cluster: pg.Cluster, *, asked: Callable[[], Rewriting] = unchanged, said: Callable[[], Rewriting] = unchanged
) -> Iterator[str]:
    """The URI of the proxy. Called for each connection, `asked` gives what rewrites the client's messages, but not the
    first one, and `said` what rewrites the server's.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    server = socket.create_connection(("127.0.0.1", cluster.port))
                    for arguments in ((client, server, asked(), False), (server, client, said(), True)):
                        threading.Thread(target=pass_on, args=arguments, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        port = listener.getsockname()[1]
        yield f"postgresql://{pg.SUPERUSER}@127.0.0.1:{port}/postgres?sslmode=disable"


def pass_on(source: socket.socket, target: socket.socket, rewrite: Rewriting, begun: bool) -> None:
    """Pass on messages to the end. A client's first message (`begun` is false) has no type."""
    received = b""
    with suppress(OSError):
        while data := source.recv(65536):
            received += data
            sent = b""
            while (head := 0 if not begun else 1) + 4 <= len(received):
                size = head + int.from_bytes(received[head : head + 4], "big")
                if size > len(received):
                    break
                sent += rewrite(received[:size]) if begun else received[:size]
                received, begun = received[size:], True
            target.sendall(sent)
    end(source, target)
