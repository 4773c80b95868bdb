"""What was committed is there and what was not is not: after deaths, losses of power, and disks that are full."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg import errors

from tests.attacks.killing import kill
from tests.support import disks
from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, serve

#: Rows of a transaction.
ROWS = 10


class Writer:
    """A client that commits one transaction after the other, and again connects when it is disconnected."""

    def __init__(self, server: Server) -> None:
        self._server = server
        #: The transactions that the server has said are committed, and the one that it was told to commit.
        self.committed, self.tried = 0, 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._is_over.is_set():
            with (
                contextlib.suppress(psycopg.OperationalError),
                psycopg.connect(self._server.dsn, autocommit=True) as client,
            ):
                # Of a transaction whose end was not told the client cannot know.
                [(done,)] = client.execute("select coalesce(max(i), 0) from t").fetchall()
                assert done in (self.committed, self.tried)
                self.committed = done
                while not self._is_over.is_set():
                    self._one(client)

    def _one(self, client: psycopg.Connection) -> None:
        self.tried = self.committed + 1
        half = f"insert into t select {self.tried}, 'some text' from range({ROWS // 2})"
        with client.transaction():
            client.execute(half)
            client.execute(half)
        self.committed = self.tried


def check(rows: list[tuple[int, int]], least: int, most: int) -> None:
    """Every transaction is there whole, from the first to one that was committed or under way."""
    assert rows == [(i, ROWS) for i in range(1, len(rows) + 1)]
    assert least <= len(rows) <= most


COUNTS = "select i, count(*) from t group by i order by i"


def test_kills_lose_nothing_that_was_committed(tmp_path: Path) -> None:
    with serve(tmp_path / "shop.duckdb", "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t (i integer, s varchar)")
        with Writer(server) as writer:
            for _ in range(4):
                before = writer.committed
                wait_until(lambda before=before: writer.committed > before + 20)
                kill(server)
        with psycopg.connect(server.dsn) as client:
            check(client.execute(COUNTS).fetchall(), writer.committed, writer.tried)


def test_a_loss_of_power_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    """The files as they are at one moment, while the server writes: what a disk has when the power goes."""
    with serve(tmp_path / "shop.duckdb", "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t (i integer, s varchar)")
        with Writer(server) as writer:
            for number in range(5):
                before = writer.committed
                wait_until(lambda before=before: writer.committed > before + 10)
                if number == 2:
                    with psycopg.connect(server.dsn, autocommit=True) as client:
                        client.execute("checkpoint")
                least = writer.committed
                os.kill(server.worker, signal.SIGSTOP)
                copy = tmp_path / f"copy{number}"
                copy.mkdir()
                for path in tmp_path.glob("shop.duckdb*"):
                    if path.is_file():
                        shutil.copy(path, copy)
                most = writer.tried
                os.kill(server.worker, signal.SIGCONT)
                with duckdb.connect(str(copy / "shop.duckdb")) as database:
                    check(database.execute(COUNTS).fetchall(), least, most)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    with disks.small_disk(tmp_path / "disk", "24m") as path:
        yield path


#: What may be said of a disk without room: that, or that the engine's process was ended for it.
NO_ROOM = (errors.DiskFull, errors.CrashShutdown)

FILLING = {
    "insert": "insert into t select i, random()::varchar || random() from range(2000000) x(i)",
    "create table as": "create table u as select i, random()::varchar as s from range(5000000) x(i)",
    "update": "update t set s = repeat(random()::varchar, 2000)",
}


@pytest.mark.parametrize("how", [*FILLING, "copy", "transaction"])
def test_a_full_disk_is_an_error_and_the_server_goes_on(small_disk: Path, how: str) -> None:
    with serve(small_disk / "shop.duckdb", "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t as select range as i, range::varchar as s from range(1000)")
            client.execute("checkpoint")
        with pytest.raises(NO_ROOM), psycopg.connect(server.dsn, autocommit=how != "transaction") as client:
            if how == "copy":
                with client.cursor().copy("copy t from stdin") as copy:
                    for number in range(200_000):
                        copy.write_row((number, os.urandom(200).hex()))
            elif how == "transaction":
                for _ in range(100):
                    client.execute("insert into t select i, random()::varchar || random() from range(100000) x(i)")
                client.commit()
            else:
                client.execute(FILLING[how])
                client.execute("checkpoint")
                raise AssertionError("there was room")
        disks.resize(small_disk, "400m")
        wait_until(lambda: answers(server))
        with psycopg.connect(server.dsn, autocommit=True) as client:
            # What failed is not there, what was before is.
            assert client.execute("select count(*), sum(i) from t").fetchone() == (1000, 499_500)
            client.execute("insert into t values (-1, 'now there is room')")
            client.execute("checkpoint")
            assert client.execute("select count(*) from t").fetchone() == (1001,)


def test_a_checkpoint_without_room_loses_nothing(small_disk: Path) -> None:
    with serve(small_disk / "shop.duckdb", "--create") as server:
        committed = 0
        with contextlib.suppress(*NO_ROOM), psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t (i integer, s varchar)")
            # Transactions, and checkpoints between them, until there is no room.
            while True:
                client.execute(
                    "insert into t select %s, repeat(md5(random()::varchar), 500) from range(50)", [committed]
                )
                committed += 1
                if committed % 7 == 0:
                    client.execute("checkpoint")
        assert committed > 0
        disks.resize(small_disk, "400m")
        wait_until(lambda: answers(server))
        with psycopg.connect(server.dsn, autocommit=True) as client:
            rows = client.execute(COUNTS).fetchall()
            # The last one may have been committed without room to say so.
            assert rows[:committed] == [(i, 50) for i in range(committed)] and len(rows) <= committed + 1
            client.execute("insert into t values (-1, 'room')")
            client.execute("checkpoint")


def test_results_that_are_set_aside_find_no_room(small_disk: Path) -> None:
    """A portal's rest is written to the temporary directory when its session runs something else."""
    with serve("--temp-directory", small_disk) as server, psycopg.connect(server.dsn) as client:
        client.execute("declare c cursor for select i, repeat('x', 1000) from range(200000) t(i)")
        client.execute("fetch 1 from c")
        with pytest.raises((errors.DiskFull, errors.IoError)):
            client.execute("select 1")
        client.rollback()
        assert client.execute("select 1").fetchone() == (1,)


def answers(server: Server) -> bool:
    try:
        with psycopg.connect(server.dsn, connect_timeout=10) as client:
            return client.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False
