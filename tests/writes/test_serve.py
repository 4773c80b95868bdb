"""`write_sql` to `colonnade serve`: transactions, and what a broken write leaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support.programs import program
from tests.support.proxy import Proxy
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server, serve

server = pytest.fixture(own_server, scope="module")
session = pytest.fixture(connected)
BATCH = pa.record_batch({"a": pa.array(range(10_000)), "b": ["some text"] * 10_000})


@pytest.fixture
def uri(server: Server, session: psycopg.Connection) -> str:
    session.execute("drop table if exists t")
    session.execute("drop table if exists u")
    return f"postgresql://tester@{server.host}:{server.port}/test"


def test_a_transaction_of_the_user(uri: str) -> None:
    with colonnade.connect(uri) as connection:
        connection.execute("begin")
        colonnade.write_sql(BATCH, connection, "t")
        with pytest.raises(colonnade.ProgrammingError):
            colonnade.read_sql(uri, "select * from t")
        connection.execute("commit")
    assert colonnade.read_sql(uri, "select * from t", return_type="arrow").num_rows == 10_000
    # The server has no savepoints after a write. So a write that fails makes the user's transaction fail, unless the
    # server has stored nothing yet.
    with colonnade.connect(uri) as connection:
        connection.execute("begin")

        def failing() -> Iterator[pa.RecordBatch]:
            yield from [BATCH] * 30
            raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            colonnade.write_sql(failing(), connection, "t", if_exists="append")
        try:
            connection.execute("insert into t values (1, 'x')")
            expected = 10_001
        except colonnade.DatabaseError as error:
            assert error.sqlstate == "25P02"
            expected = 10_000
        connection.execute("commit")
    assert colonnade.read_sql(uri, "select * from t", return_type="arrow").num_rows == expected


def test_a_temporary_table_ends_with_the_connection(uri: str) -> None:
    colonnade.write_sql(pa.table({"a": [1]}), uri, "t")
    with colonnade.connect(uri) as connection:
        colonnade.write_sql(pa.table({"a": [2]}), connection, "t", temporary=True)
        colonnade.write_sql(pa.table({"a": [3]}), connection, "t", temporary=True, if_exists="append")
        assert connection.query("select a from t").to_arrow()["a"].to_pylist() == [2, 3]
    assert colonnade.read_sql(uri, "select a from t", return_type="arrow")["a"].to_pylist() == [1]


def test_names_that_differ_in_case_are_one_table(uri: str) -> None:
    colonnade.write_sql(pa.table({"a": [1]}), uri, "t")
    for mode in ("append", "replace"):
        with pytest.raises(colonnade.ProgrammingError, match='called "t"'):
            colonnade.write_sql(pa.table({"a": [1]}), uri, "T", if_exists=mode)


def test_a_connection_that_is_cut_at_any_byte_leaves_nothing(
    server: Server, session: psycopg.Connection, uri: str
) -> None:
    """Or all rows, if the answer to COMMIT is cut: then the error says that nobody knows."""
    proxy = Proxy(server)
    table = pa.table({"a": range(1000)})
    try:
        colonnade.write_sql(table, proxy.uri, "t")
        length = proxy.passed
        session.execute("drop table t")
        unknown = 0
        for proxy.limit in [*range(1, length - 60, 97), *range(length - 60, length)]:
            try:
                colonnade.write_sql(table, proxy.uri, "t")
            except colonnade.OperationalError as error:
                exists = session.execute("select count(*) from duckdb_tables() where table_name = 't'").fetchone()
                assert exists == (0,) or error.sqlstate == "08007"
                unknown += error.sqlstate == "08007"
            else:
                assert session.execute("select count(*) from t").fetchone() == (1000,)
            session.execute("drop table if exists t")
        assert unknown > 1
    finally:
        proxy.close()


def test_a_killed_server_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.duckdb"
    with serve(file, "--create") as running:
        uri = f"postgresql://tester@{running.host}:{running.port}/a"
        colonnade.write_sql(pa.table({"a": [1], "b": ["x"]}), uri, "t")

        def killing() -> Iterator[pa.RecordBatch]:
            for number in range(100):
                yield BATCH
                if number == 60:
                    os.kill(running.worker, signal.SIGKILL)
                    time.sleep(0.2)

        with pytest.raises(colonnade.OperationalError):
            colonnade.write_sql(killing(), uri, "t", if_exists="append")
        for _ in range(100):
            try:
                assert colonnade.read_sql(uri, "select * from t", return_type="arrow").num_rows == 1
                break
            except colonnade.OperationalError:
                time.sleep(0.1)  # The supervisor starts the next worker.
        else:
            pytest.fail("no worker was started again")


def test_a_statement_timeout_leaves_nothing(uri: str) -> None:
    def slow() -> Iterator[pa.RecordBatch]:
        for number in range(50):
            yield BATCH
            time.sleep(0.1 if number > 20 else 0)

    with colonnade.connect(f"{uri}?options=-c%20statement_timeout%3D1s") as connection:
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(slow(), connection, "t")
        assert caught.value.sqlstate == "57014"
    with pytest.raises(colonnade.ProgrammingError):
        colonnade.read_sql(uri, "select * from t")


class SlowLink:
    """Passes bytes on to a server, from an address of this machine that is not the loopback's, at a limited rate."""

    def __init__(self, server: Server, address: str, rate: int) -> None:
        self._server, self._rate = server, rate
        self._listener = socket.create_server((address, 0))
        self.uri = f"postgresql://tester@{address}:{self._listener.getsockname()[1]}/test"
        #: Bytes from the client.
        self.passed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                upstream = socket.create_connection((self._server.host, self._server.port))
                threading.Thread(target=self._forward, args=(client, upstream), daemon=True).start()
                threading.Thread(target=self._answer, args=(upstream, client), daemon=True).start()

    def _forward(self, client: socket.socket, upstream: socket.socket) -> None:
        begun, here = time.monotonic(), 0
        with suppress(OSError):
            while data := client.recv(16384):
                here += len(data)
                self.passed += len(data)
                time.sleep(max(0.0, here / self._rate - (time.monotonic() - begun)))
                upstream.sendall(data)
            upstream.shutdown(socket.SHUT_WR)

    def _answer(self, upstream: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := upstream.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)


def other_address() -> str:
    """An address of this machine beside the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent.
            probe.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("this machine has only the loopback interface")
        return probe.getsockname()[0]


def test_a_slow_link_gets_fewer_bytes(server: Server, uri: str) -> None:
    link = SlowLink(server, other_address(), rate=10_000_000)
    words = ["the same words in each of the rows, and a number " + str(n * 7919 % 100_003) for n in range(100_000)]
    table = pa.table({"n": range(100_000), "k": [n % 7 for n in range(100_000)], "t": words})
    try:
        with colonnade.connect(link.uri) as connection:
            for mode in ("fail", "append"):
                before = link.passed
                colonnade.write_sql(table, connection, "t", if_exists=mode)  # type: ignore[arg-type]
                assert link.passed - before < 0.5 * table.nbytes
        assert colonnade.read_sql(uri, "select * from t", return_type="arrow").equals(pa.concat_tables([table] * 2))
    finally:
        link.close()


def test_readers_see_all_or_nothing(uri: str) -> None:
    colonnade.write_sql(pa.Table.from_batches([BATCH]), uri, "t")
    seen, done = set[int](), threading.Event()

    def read() -> None:
        with colonnade.connect(uri) as reader:
            while not done.is_set():
                seen.add(reader.query("select count(*) as n from t").to_arrow()["n"][0].as_py())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    colonnade.write_sql(iter([BATCH] * 100), uri, "t", if_exists="append")
    colonnade.write_sql(iter([BATCH] * 30), uri, "t", if_exists="replace")
    done.set()
    for reader in readers:
        reader.join()
    assert seen <= {10_000, 1_010_000, 300_000}


def test_psql_pipes_in_both_directions(server: Server, session: psycopg.Connection, uri: str, tmp_path: Path) -> None:
    psql = program("psql")
    session.execute("create table t as select i as n, 'text ' || i as s from range(100000) r(i)")
    session.execute("create table u as select * from t limit 0")
    run = [psql, "-X", "-q", "-h", str(server.host), "-p", str(server.port), "-U", "tester", "-d", "test", "-c"]
    file = tmp_path / "n.cln"
    with file.open("wb") as out:
        subprocess.run([*run, "copy t to stdout (format colonnade)"], stdout=out, check=True)
    with file.open("rb") as data:
        subprocess.run([*run, "copy u from stdin (format colonnade)"], stdin=data, check=True)
    assert session.execute("select count(*), sum(n) from u").fetchone() == (100_000, 4_999_950_000)


def test_a_server_in_front_of_a_source_is_refused(stock: pg.Cluster) -> None:
    with serve("--source", stock.uri()) as front:
        uri = f"postgresql://tester@{front.host}:{front.port}/test"
        with pytest.raises(colonnade.NotSupportedError, match="cannot be written to") as caught:
            colonnade.write_sql(pa.table({"a": [1]}), uri, "t")
    assert caught.value.sqlstate == "0A000" and caught.value.hint


def test_upserts_of_frames_at_once(uri: str, session: psycopg.Connection) -> None:
    session.execute("create or replace table frames (id int primary key, who int)")
    begun = threading.Barrier(4)

    def write(who: int) -> None:
        begun.wait()
        for _ in range(5):
            rows = pa.table({"id": pa.array(range(200), pa.int32()), "who": pa.array([who] * 200, pa.int32())})
            assert colonnade.write_sql(rows, uri, "frames", if_exists="upsert", key=["id"]).rows == 200

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(write, range(4))) == [None] * 4
    # Each write is one transaction.
    assert session.execute("select count(*), count(distinct who) from frames").fetchone() == (200, 1)


def test_an_upsert_in_a_transaction_of_the_user_says_to_repeat_it(uri: str, session: psycopg.Connection) -> None:
    session.execute("create or replace table frames (id int primary key, who int)")
    rows = pa.table({"id": pa.array([1], pa.int32()), "who": pa.array([1], pa.int32())})
    with colonnade.connect(uri) as connection:
        connection.execute("begin")
        connection.execute("select * from frames")
        session.execute("insert into frames values (1, 0)")
        with pytest.raises(colonnade.OperationalError) as caught:
            connection.write(rows, "frames", if_exists="upsert", key=["id"])
        assert caught.value.sqlstate == "40001"
        connection.execute("rollback")
        # What waits for the table is gone in any case.
        with pytest.raises(colonnade.DatabaseError):
            connection.write(pa.concat_tables([rows, rows]), "frames", if_exists="upsert", key=["id"])
        assert connection.write(rows, "frames", if_exists="upsert", key=["id"]).rows == 1
