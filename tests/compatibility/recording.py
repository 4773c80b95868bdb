"""A recorded conversation in PostgreSQL's protocol, and what it means.

A recording is a list of connections, and a connection a list of turns: what the client sent, and what the server
answered before the client sent more.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reader.check import canonical
from reader.stream import read_stream

SSL_REQUEST = struct.pack(">II", 8, 80877103)
TIMEOUT = 60
#: The answer to a question about the catalog that the recorded client did not ask: an error, and the end.
NOT_RECORDED = b"E\0\0\0\x21SERROR\0C0A000\0Mnot recorded\0\0Z\0\0\0\x05I"


@dataclass
class Turn:
    """Bytes of the client, and the server's answer."""

    client: bytes = b""
    server: bytes = b""


@dataclass(frozen=True)
class Recording:
    """What a release's client and server have said, and what the client has read."""

    about: dict[str, str]
    seen: list[object]
    connections: list[list[Turn]]

    @classmethod
    def of_text(cls, text: str) -> Recording:
        data = json.loads(text)
        turns = [
            [Turn(bytes.fromhex(turn["client"]), bytes.fromhex(turn["server"])) for turn in connection]
            for connection in data["connections"]
        ]
        return cls(data["about"], data["seen"], turns)

    @property
    def text(self) -> str:
        turns = [
            [{"client": turn.client.hex(), "server": turn.server.hex()} for turn in connection]
            for connection in self.connections
        ]
        return json.dumps({"about": self.about, "seen": self.seen, "connections": turns}, indent=1) + "\n"


@dataclass(frozen=True)
class Message:
    """A message of the protocol. A client's first ones, and the answer to a request for TLS, have no kind."""

    kind: bytes
    body: bytes


def messages(data: bytes, *, kinds: bool = True) -> list[Message]:
    """The messages in these bytes, which are whole. `kinds` is false for what a client sends before its login."""
    found, at = [], 0
    while at < len(data):
        kind = data[at : at + 1] if kinds else b""
        [length] = struct.unpack_from(">I", data, at + len(kind))
        end = at + len(kind) + length
        assert length >= 4 and end <= len(data), "a message is cut off"
        found.append(Message(kind, data[at + len(kind) + 4 : end]))
        at = end
    return found


def is_whole(data: bytes) -> bool:
    """Whether the bytes of a server end with a message's end."""
    at = 0
    while at + 5 <= len(data):
        at += 1 + struct.unpack_from(">I", data, at + 1)[0]
    return at == len(data)


def meaning(data: bytes) -> list[object]:
    """What an answer, or a client's turn, means: its messages without what may differ between two runs or two
    releases. A stream of CopyData is its decoded columns."""
    found: list[object] = []
    stream = b""
    for message in messages(data):
        match message.kind:
            case b"d":
                stream += message.body
            case b"E" if b"\0C" in message.body:
                found.append(("error", sqlstate(message.body)))
            case b"S" | b"K" | b"N":
                pass  # parameters, keys for cancels and notices; `parameters` reads the first
            case b"G" | b"H":
                found.append(message.kind.decode())
            case _:
                if stream:
                    found.append(columns(stream))
                    stream = b""
                found.append((message.kind.decode(), message.body))
    return found


def columns(stream: bytes) -> str:
    """The logical value of a stream of the format, however it is divided into chunks."""
    value = read_stream(stream).to_json()
    return canonical({**value, "chunks": []})


def sqlstate(body: bytes) -> str:
    """Of an ErrorResponse."""
    fields = {field[:1]: field[1:].decode() for field in body.split(b"\0") if field}
    return fields[b"C"]


def parameters(data: bytes) -> dict[str, str]:
    """The ParameterStatus messages."""
    pairs = [message.body.split(b"\0")[:2] for message in messages(data) if message.kind == b"S"]
    return {name.decode(): value.decode() for name, value in pairs}


@contextmanager
def recorder(target: tuple[str, int]) -> Iterator[tuple[int, list[list[Turn]]]]:
    """A port that passes each connection on to a server, and what was said so far."""
    connections: list[list[Turn]] = []
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                turns: list[Turn] = []
                connections.append(turns)
                thread = threading.Thread(target=_pass_on, args=(client, socket.create_connection(target), turns))
                thread.start()
                threads.append(thread)

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield listener.getsockname()[1], connections
        for thread in threads:
            thread.join(TIMEOUT)
        listener.shutdown(socket.SHUT_RDWR)


def _pass_on(client: socket.socket, server: socket.socket, turns: list[Turn]) -> None:
    with client, server, selectors.DefaultSelector() as selector:
        selector.register(client, selectors.EVENT_READ)
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                data = key.fileobj.recv(1 << 20)
                if not data:
                    return
                if key.fileobj is client:
                    if not turns or turns[-1].server:
                        turns.append(Turn())
                    turns[-1].client += data
                    server.sendall(data)
                else:
                    turns[-1].server += data
                    client.sendall(data)


class Mismatch(AssertionError):
    """A peer says something else than in the recording."""


def replay_client(recording: Recording, target: tuple[str, int]) -> Iterator[tuple[Turn, bytes]]:
    """Says to a server what the recorded client said. Yields each turn after the login with the server's answer."""
    for turns in recording.connections:
        with socket.create_connection(target, timeout=TIMEOUT) as server:
            for turn in turns:
                server.sendall(turn.client)
                if turn.client == SSL_REQUEST:
                    assert server.recv(1) == turn.server
                elif turn.server:
                    yield turn, _answer(server, messages(turn.server))
                else:
                    assert server.recv(1) == b"", "the server goes on after Terminate"


def _answer(server: socket.socket, recorded: list[Message]) -> bytes:
    """An answer that ends as the recorded one."""
    last = recorded[-1].kind
    expected = [message.kind for message in recorded].count(last)
    data = b""
    while not is_whole(data) or [message.kind for message in messages(data)].count(last) < expected:
        received = server.recv(1 << 20)
        if not received:
            raise Mismatch(f"the server ended the connection after {data[-200:]!r}")
        data += received
    return data


@contextmanager
def replay_server(recording: Recording) -> Iterator[int]:
    """A port where a client gets the recorded server's answers.

    Raises:
        Mismatch: The client said something that the recorded server has not answered. This is raised at the end.
    """
    problems: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT)

        def serve() -> None:
            try:
                for turns in recording.connections:
                    client, _ = listener.accept()
                    with client:
                        client.settimeout(TIMEOUT)
                        for number, turn in enumerate(turns):
                            _expect(client, turn, is_typed=number > 1)
                            client.sendall(turn.server)
            except (OSError, AssertionError, struct.error) as problem:
                problems.append(problem)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join(TIMEOUT)
            if problems:
                raise Mismatch("the recorded server has no answer to what the client said") from problems[0]


def _expect(client: socket.socket, turn: Turn, *, is_typed: bool) -> None:
    """Receives a turn that asks for the same as the recorded one. Which statements look into the catalog, and how, may
    differ, and a further one is refused; COPY must be the same, because an older server refuses options that it does
    not know."""
    recorded = messages(turn.client, kinds=is_typed)
    data = b""
    while not data or (is_typed and not (is_whole(data) and messages(data)[-1].kind == recorded[-1].kind)):
        received = client.recv(1 << 20)
        if not received:
            raise Mismatch(f"the client ended the connection instead of {turn.client[:300]!r}")
        data += received
        if is_typed and is_whole(data) and b"pg_catalog." in data and b"pg_catalog." not in turn.client:
            client.sendall(NOT_RECORDED)
            data = b""
    if not is_typed:
        return
    said = messages(data)
    if recorded[-1].kind == b"c":
        if meaning(data) != meaning(turn.client):
            raise Mismatch("the client sent other rows")
    elif [message.kind for message in said] != [message.kind for message in recorded]:
        raise Mismatch(f"the client said {data[:300]!r} instead of {turn.client[:300]!r}")
    elif b"FORMAT colonnade" in turn.client and said != recorded:
        raise Mismatch(f"the client said {data[:3000]!r} instead of {turn.client[:3000]!r}")
