"""Logins by hand, and what a server asks and says before they succeed."""

from __future__ import annotations

import socket
from types import TracebackType

from tests.testbed.serving import TIMEOUT, Server

Message = tuple[bytes, bytes]


class RawClient:
    """Sends messages as they are told, and gives those that come."""

    def __init__(self, host: str | None, port: int | None) -> None:
        self.socket = socket.create_connection((host, port), timeout=TIMEOUT)
        self.buffer = b""

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def start(self, user: str) -> None:
        body = (196608).to_bytes(4, "big") + b"user\0" + user.encode() + b"\0\0"
        self.socket.sendall((len(body) + 4).to_bytes(4, "big") + body)

    def send(self, kind: bytes, body: bytes) -> None:
        self.socket.sendall(kind + (len(body) + 4).to_bytes(4, "big") + body)

    def message(self) -> Message | None:
        """The next message; None at the end."""
        while len(self.buffer) < 5 or len(self.buffer) < 1 + int.from_bytes(self.buffer[1:5], "big"):
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.buffer += more
        end = 1 + int.from_bytes(self.buffer[1:5], "big")
        found, self.buffer = (self.buffer[:1], self.buffer[5:end]), self.buffer[end:]
        return found

    def expect(self, kinds: bytes) -> Message:
        """The next message of one of these kinds."""
        while (found := self.message()) is not None:
            if found[0] in kinds:
                return found
        raise EOFError(f"the server hung up before {kinds!r}")

    def rest(self) -> list[Message]:
        """All messages until the server hangs up."""
        found = []
        while (one := self.message()) is not None:
            found.append(one)
        return found

    def first(self, mechanism: bytes = b"SCRAM-SHA-256") -> Message:
        """Begins a login; the server's answer."""
        self.expect(b"R")
        data = b"n,,n=,r=abcdefgh"
        self.send(b"p", mechanism + b"\0" + len(data).to_bytes(4, "big") + data)
        return self.expect(b"RE")


def raw_login(server: Server, name: str, mechanism: bytes = b"SCRAM-SHA-256") -> str:
    """The error that a made-up proof gets."""
    with RawClient(server.host, server.port) as client:
        client.start(name)
        kind, body = client.first(mechanism)
        if kind == b"E":
            return body.decode()
        nonce = body[4:].split(b",")[0]
        client.send(b"p", b"c=biws," + nonce + b",p=" + b"A" * 43 + b"=")
        return client.expect(b"E")[1].decode()


def question(server: Server, name: str) -> str:
    """The salt and the iterations that a user is asked with."""
    with RawClient(server.host, server.port) as client:
        client.start(name)
        return client.first()[1][4:].decode().split(",", 1)[1]
