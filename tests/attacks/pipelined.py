"""A client of PostgreSQL's protocol that sends many statements before it reads the first answer."""

from __future__ import annotations

import os
import select
import socket
import time
from collections import Counter

from tests.attacks.attackers import Target
from tests.testbed.serving import TIMEOUT


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def simple(statement: bytes) -> bytes:
    return message(b"Q", statement + b"\0")


def extended(statement: bytes, values: list[bytes]) -> bytes:
    """Prepared without a name, described, and run for some rows, with these values for its parameters."""
    bound = b"".join(len(value).to_bytes(4, "big") + value for value in values)
    return (
        message(b"P", b"\0" + statement + b"\0\0\0")
        + message(b"B", b"\0\0\0\0" + len(values).to_bytes(2, "big") + bound + b"\0\0")
        + message(b"D", b"P\0")
        + message(b"E", b"\0" + (100).to_bytes(4, "big"))
        + message(b"S", b"")
    )


class Client:
    """A connection of a reader's that sends many statements before it reads the first answer."""

    def __init__(self, attacked: Target) -> None:
        # libpq logs in; then its socket is ours.
        self.connection = attacked.connect("reader")
        self.socket = socket.socket(fileno=os.dup(self.connection.pgconn.socket))
        self.socket.setblocking(False)

    def close(self) -> None:
        self.socket.close()
        self.connection.close()

    def run(self, requests: list[bytes], codes: Counter[str]) -> int:
        """Send these and read the answers; how many were answered, fewer if the connection broke."""
        unsent, received, answered = memoryview(b"".join(requests)), b"", 0
        deadline = time.monotonic() + 20 * TIMEOUT
        while answered < len(requests):
            writing = [self.socket] if unsent else []
            readable, writable, _ = select.select([self.socket], writing, [], max(0, deadline - time.monotonic()))
            if not readable and not writable:
                raise TimeoutError("a statement gave no answer")
            try:
                if writable:
                    unsent = unsent[self.socket.send(unsent) :]
                if readable:
                    more = self.socket.recv(1 << 18)
                    if not more:
                        return answered
                    received += more
            except ConnectionError:
                return answered
            at = 0
            while len(received) >= at + 5:
                end = at + 1 + int.from_bytes(received[at + 1 : at + 5], "big")
                if len(received) < end:
                    break
                kind = received[at : at + 1]
                if kind == b"Z":
                    answered += 1
                elif kind == b"E":
                    parts = received[at + 5 : end].split(b"\0")
                    fields = {part[:1]: part[1:] for part in parts if part}
                    codes[fields[b"C"].decode()] += 1
                    if fields[b"V"] == b"FATAL":
                        return answered
                elif kind == b"G":
                    # It waits for data that nobody has. A Sync that was sent before does not count.
                    is_extended = requests[answered].startswith(b"P")
                    end_of_copy = message(b"f", b"none\0") + (message(b"S", b"") if is_extended else b"")
                    unsent = memoryview(end_of_copy + bytes(unsent))
                at = end
            received = received[at:]
        return answered
