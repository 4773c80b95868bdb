"""Batches are cut by the sizes of their own rows. A slice of views or of a dictionary shares all bytes with others, so
a size of whole buffers would make a message of every row."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import colonnade
import polars as pl
import pyarrow as pa
import pytest
from colonnade._core import Stream

from tests.support.proxy import end, forward
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

ROWS = 30_000
#: 60 MB, more than one message may have.
TEXTS = [f"{row:0>2000}" for row in range(ROWS)]
DATA: dict[str, Callable[[], Any]] = {
    "texts of polars": lambda: pl.DataFrame({"a": TEXTS}),
    "views": lambda: pa.table({"a": pa.array(TEXTS, pa.string_view())}),
    "views of bytes": lambda: pa.table({"a": pa.array([text.encode() for text in TEXTS], pa.binary_view())}),
    "a dictionary": lambda: pa.table({"a": pa.array(TEXTS).dictionary_encode()}),
    "categories of polars": lambda: pl.DataFrame({"a": pl.Series(TEXTS, dtype=pl.Categorical)}),
}
#: Those of a list have no type in PostgreSQL's stream.
LISTS: dict[str, Callable[[], Any]] = {
    "lists of polars": lambda: pl.DataFrame({"a": [[text] for text in TEXTS]}),
    "structs of polars": lambda: pl.DataFrame({"a": [{"t": text} for text in TEXTS]}),
}


class Recorder:
    """Passes both sides' bytes on, and keeps those of clients."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._said: list[bytearray] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                said = bytearray()
                self._said.append(said)
                threading.Thread(target=forward, args=(server, client), daemon=True).start()
                threading.Thread(target=self._record, args=(client, server, said), daemon=True).start()

    def _record(self, client: socket.socket, server: socket.socket, said: bytearray) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 20):
                said += data
                server.sendall(data)
        end(server)

    def copied(self) -> int:
        """The number of CopyData messages."""
        return sum(kind == b"d" for said in self._said for kind in kinds(bytes(said)))

    def close(self) -> None:
        self._listener.close()


def kinds(said: bytes) -> Iterator[bytes]:
    """The types of a client's messages after those of its start, which have none."""
    at = 0
    while at + 8 <= len(said) and said[at] == 0:
        at += struct.unpack_from(">i", said, at)[0]
    while at + 5 <= len(said):
        yield said[at : at + 1]
        at += 1 + struct.unpack_from(">i", said, at + 1)[0]


@pytest.fixture(params=["extension", "serve"])
def recorded(request: pytest.FixtureRequest) -> Iterator[tuple[Recorder, str]]:
    """A server that takes rows as columns, and its URI by way of the recorder."""
    if request.param == "extension":
        cluster: pg.Cluster = request.getfixturevalue("extended")
        recorder = Recorder("127.0.0.1", cluster.port)
        uri = f"postgresql://{pg.SUPERUSER}@127.0.0.1:{recorder.port}/postgres"
    else:
        server: Server = request.getfixturevalue("server")
        assert server.host is not None and server.port is not None
        recorder = Recorder(server.host, server.port)
        uri = f"postgresql://tester@127.0.0.1:{recorder.port}/test"
    yield recorder, uri
    recorder.close()


@pytest.mark.parametrize("kind", [*DATA, *LISTS])
def test_rows_are_not_sent_one_by_one(recorded: tuple[Recorder, str], kind: str) -> None:
    recorder, uri = recorded
    if kind in LISTS and uri.endswith("/postgres"):
        pytest.skip("such columns go as rows")
    with colonnade.connect(uri) as connection:
        assert connection.write((DATA | LISTS)[kind](), "sized", if_exists="replace").rows == ROWS
        assert connection.query("select count(*) as n from sized").to_arrow()["n"].to_pylist() == [ROWS]
    assert recorder.copied() < 100


@pytest.mark.parametrize("kind", [*DATA, *LISTS])
def test_a_result_is_cut_by_its_own_bytes(kind: str) -> None:
    stream, _ = Stream.from_arrow((DATA | LISTS)[kind](), "the data", "", chunk_bytes=8 << 20)
    sizes = []
    while (batch := stream.next()) is not None:
        sizes.append(len(batch))
    assert sum(sizes) == ROWS and 7 <= len(sizes) < 40
