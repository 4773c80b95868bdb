"""Conversations with real servers, recorded, changed and played back, for a client in a process of its own."""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds after which a client that gives no answer is taken for one that hangs.
WATCHDOG = 120.0
#: Seconds for which a server that was changed waits for what the client may have no reason to say any more.
SILENCE = 0.2

CLIENT = """
import json, sys
import colonnade, pyarrow
for line in sys.stdin:
    asked = json.loads(line)
    try:
        with colonnade.connect(asked["uri"]) as connection:
            table = connection.query(asked["sql"], **asked["options"]).to_arrow()
            answer = {"rows": sorted(map(repr, table.to_pylist())) if table.num_rows < 1000 else table.num_rows}
    except colonnade.Error as error:
        answer = {"error": type(error).__name__, "text": str(error), "sqlstate": error.sqlstate}
    print(json.dumps(answer), flush=True)
"""


class Client:
    """Reads results; what it takes of time and memory is known."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self, uri: str, sql: str, **options: Any) -> dict[str, Any]:
        """The rows, or the error's class. Anything else fails the test, and so does waiting for ever."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"uri": uri, "sql": sql, "options": options}) + "\n")
        self._process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            assert selector.select(WATCHDOG), "the client hangs"
        line = self._process.stdout.readline()
        assert line, f"the client died: {self._process.wait()}"
        return json.loads(line)

    @property
    def peak(self) -> int:
        """Bytes of memory at most so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(text.split()[1]) * 1024 for text in status.splitlines() if text.startswith("VmHWM:"))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def own_client() -> Iterator[Client]:
    """A client for `client = pytest.fixture(own_client)`."""
    running = Client()
    try:
        yield running
    finally:
        running.close()


@dataclass
class Turn:
    """What a client says, by its length, and what the server says to it."""

    heard: int = 0
    said: bytes = b""


@dataclass
class Recording:
    """The turns of one connection."""

    turns: list[Turn] = field(default_factory=lambda: [Turn()])

    def hear(self, count: int) -> None:
        if self.turns[-1].said:
            self.turns.append(Turn())
        self.turns[-1].heard += count

    def say(self, data: bytes) -> None:
        self.turns[-1].said += data


def record(server: tuple[str, int], talk: Callable[[int], object]) -> list[Turn]:
    """What a client and a server say while `talk` uses the port that it is given."""
    recording = Recording()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pass_on() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection(server) as upstream, selectors.DefaultSelector() as selector:
                for end in (client, upstream):
                    selector.register(end, selectors.EVENT_READ)
                while True:
                    for ready, _ in selector.select():
                        data = ready.fileobj.recv(65536)
                        if not data:
                            return
                        if ready.fileobj is client:
                            recording.hear(len(data))
                            upstream.sendall(data)
                        else:
                            recording.say(data)
                            client.sendall(data)

        thread = threading.Thread(target=pass_on, daemon=True)
        thread.start()
        talk(listener.getsockname()[1])
        thread.join(WATCHDOG)
        assert not thread.is_alive()
    # The last thing that a client says is its goodbye.
    return [turn for turn in recording.turns if turn.said]


@contextmanager
def playing(turns: list[Turn], *, patience: float = SILENCE) -> Iterator[int]:
    """The port of a server that says what was recorded, to its first client; others are turned away."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def play() -> None:
            client, _ = listener.accept()
            with client, suppress(OSError):
                client.settimeout(patience)
                for turn in turns:
                    missing = turn.heard
                    while missing > 0:
                        data = client.recv(65536)
                        if not data:
                            return
                        missing -= len(data)
                    client.sendall(turn.said)
                client.shutdown(socket.SHUT_WR)
                client.settimeout(WATCHDOG)
                while client.recv(65536):
                    pass

        def serve() -> None:
            with suppress(OSError):
                play()
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            # To close it would leave the thread waiting, and with it the descriptor open.
            listener.shutdown(socket.SHUT_RDWR)


def changed(turns: list[Turn], at: int, said: bytes, *, over: bool = False) -> list[Turn]:
    """The turns with another answer; with `over`, the connection ends behind it."""
    new = [*turns[:at], Turn(turns[at].heard, said)]
    return new if over else [*new, *turns[at + 1 :]]
