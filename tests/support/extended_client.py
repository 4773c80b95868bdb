"""The extended query protocol by hand."""

from __future__ import annotations

import struct

from tests.support.raw_client import hand_shake
from tests.testbed.serving import Server


class Raw:
    """The extended protocol's messages."""

    def __init__(self, server: Server) -> None:
        self.socket = hand_shake(server)
        self.sent = b""

    def close(self) -> None:
        self.socket.close()

    def add(self, kind: bytes, body: bytes = b"") -> Raw:
        self.sent += kind + struct.pack("!i", len(body) + 4) + body
        return self

    def query(self, sql: str) -> Raw:
        return self.add(b"Q", sql.encode() + b"\0")

    def parse(self, sql: str, name: str = "") -> Raw:
        return self.add(b"P", name.encode() + b"\0" + sql.encode() + b"\0\0\0")

    def bind(self, portal: str = "", name: str = "", *values: bytes) -> Raw:
        body = b"".join(struct.pack("!i", len(value)) + value for value in values)
        return self.add(
            b"B", portal.encode() + b"\0" + name.encode() + b"\0\0\0" + struct.pack("!h", len(values)) + body + b"\0\0"
        )

    def execute(self, portal: str = "", rows: int = 0) -> Raw:
        return self.add(b"E", portal.encode() + b"\0" + struct.pack("!i", rows))

    def answers(self, until: bytes = b"Z") -> list[tuple[bytes, bytes]]:
        self.socket.sendall(self.sent)
        self.sent = b""
        found = []
        while not found or found[-1][0] != until:
            head = self.exactly(5)
            found.append((head[:1], self.exactly(struct.unpack("!i", head[1:])[0] - 4)))
        return found

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            assert part
            data += part
        return data

    def kinds(self, until: bytes = b"Z") -> bytes:
        return b"".join(kind for kind, _ in self.answers(until))
