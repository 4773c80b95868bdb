"""A man in the middle who ends TLS on his side, for PostgreSQL's protocol."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.certificates import Pair
from tests.support.proxy import SSL_REQUEST


class TlsProxy:
    """Decrypts what clients send, passes it on, and encrypts the answers."""

    def __init__(self, upstream: tuple[str, int], pair: Pair, *, direct: bool, encrypt: bool) -> None:
        self._upstream = upstream
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pair.certificate, pair.key)
        self._direct, self._encrypt = direct, encrypt
        if direct:
            self._context.set_alpn_protocols(["postgresql"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        #: After so many decrypted bytes from the server the connection is ended, by TLS's own rules.
        self.limit: int | None = None
        #: The first bytes that came decrypted on each connection.
        self.openings: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._upstream) as server:
            if not self._direct:
                client.recv(len(SSL_REQUEST))
                client.sendall(b"S")
            with self._context.wrap_socket(client, server_side=True) as secure:
                if not self._encrypt:
                    self._pass(secure, server)
                    return
                server.sendall(SSL_REQUEST)
                assert server.recv(1) == b"S"
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                with context.wrap_socket(server) as onward:
                    self._pass(secure, onward)

    def _pass(self, client: ssl.SSLSocket, server: socket.socket) -> None:
        passed, first = 0, True
        while True:
            pending = [end for end in (client, server) if isinstance(end, ssl.SSLSocket) and end.pending()]
            for end in pending or select.select([client, server], [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                if end is client:
                    if first:
                        self.openings.append(data)
                        first = False
                    server.sendall(data)
                    continue
                if self.limit is not None and passed + len(data) > self.limit:
                    client.sendall(data[: self.limit - passed])
                    client.unwrap()
                    return
                passed += len(data)
                client.sendall(data)


@contextmanager
def tls_proxy(
    upstream: tuple[str, int], pair: Pair, *, direct: bool = False, encrypt: bool = True
) -> Iterator[TlsProxy]:
    """With `direct`, TLS begins unasked; without `encrypt`, the server is spoken to in the clear."""
    proxy = TlsProxy(upstream, pair, direct=direct, encrypt=encrypt)
    try:
        yield proxy
    finally:
        proxy.close()
