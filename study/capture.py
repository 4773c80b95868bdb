"""Records the bytes between a client and a server with a proxy on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

JOIN_TIMEOUT = 60


@dataclass
class Turn:
    """The bytes of a client without an answer in between, and the server's answer."""

    asked: bytes = b""
    answered: bytes = b""


@dataclass
class Conversation:
    """A connection. Bytes are recorded before they are passed on, so the record is complete when they arrive."""

    turns: list[Turn] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, data: bytes, *, by_client: bool) -> None:
        with self.lock:
            if not self.turns or (by_client and self.turns[-1].answered):
                self.turns.append(Turn())
            if by_client:
                self.turns[-1].asked += data
            else:
                self.turns[-1].answered += data

    @property
    def answered(self) -> bytes:
        """All bytes of the server."""
        with self.lock:
            return b"".join(turn.answered for turn in self.turns)


class Tap:
    """The proxy: its port on 127.0.0.1, and the conversations in the order in which they began."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.conversations: list[Conversation] = []
        self._target = target
        self._open: list[socket.socket] = []
        self._pumps: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                heard = Conversation()
                self.conversations.append(heard)
                for source, target, by_client in ((client, server, True), (server, client, False)):
                    pump = threading.Thread(target=_pump, args=(source, target, heard, by_client), daemon=True)
                    self._pumps.append(pump)
                    pump.start()

    def answer(self, is_question: Callable[[bytes], bool]) -> bytes:
        """The server's answer to the last question that satisfies `is_question`."""
        for conversation in reversed(self.conversations):
            with conversation.lock:
                for turn in reversed(conversation.turns):
                    if is_question(turn.asked):
                        return turn.answered
        raise LookupError("the client did not ask this")

    def close(self) -> None:
        # close() does not wake a thread that waits in accept() or recv().
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in (self._acceptor, *self._pumps):
            thread.join(JOIN_TIMEOUT)
        for one in (self._listener, *self._open):
            one.close()


def _pump(source: socket.socket, target: socket.socket, heard: Conversation, by_client: bool) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            heard.note(data, by_client=by_client)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def tapped(host: str, port: int) -> Iterator[Tap]:
    """A proxy in front of a server."""
    tap = Tap((host, port))
    try:
        yield tap
    finally:
        tap.close()
