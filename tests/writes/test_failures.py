"""All rows or none: what a failure at each step leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support.proxy import Proxy
from tests.support.raw_client import wait_until
from tests.support.sqlite_files import make
from tests.testbed import postgres as pg
from tests.writes.places import Place

BATCH = pa.record_batch({"a": pa.array(range(10_000), pa.int64()), "b": ["some text"] * 10_000})
MANY = 50


def test_a_bad_value_in_the_middle_names_its_column_and_row(place: Place) -> None:
    bad = pa.record_batch({"a": [7, 8], "b": ["x", "y"]})
    table = pa.Table.from_batches([BATCH, BATCH, bad])
    place.execute(f"create table t (a {'integer' if place.is_sqlite else 'bigint'} primary key, b text)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        colonnade.write_sql(table, place.uri, "t", if_exists="append")
    assert caught.value.sqlstate is not None and caught.value.sqlstate.startswith("23")
    text = str(caught.value)
    if place.is_duckdb:
        # DuckDB names the key, and the server also the rows that it inserted at once.
        assert 'key "0"' in text
        assert "Rows 1 to 20002 of the data." in text or not place.is_serve
    else:
        assert "10001" in text or "row 1000" in text or "line 1000" in text
    assert place.rows() == []


def test_a_value_that_does_not_fit_leaves_nothing(in_postgres: Place) -> None:
    values = pa.chunked_array([pa.array([1] * 100_000, pa.uint64()), pa.array([2, 2**63], pa.uint64())])
    in_postgres.execute("create table t (a bigint)")
    with pytest.raises(colonnade.DataError, match=r'column "a", row 100002: 9223372036854775808') as caught:
        colonnade.write_sql(pa.table({"a": values}), in_postgres.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "22003" and in_postgres.rows() == []


def test_a_replaced_table_comes_back(place: Place) -> None:
    colonnade.write_sql(pa.table({"old": [1]}), place.uri, "t")
    for mode in ("replace", "truncate"):
        with pytest.raises(ZeroDivisionError):
            colonnade.write_sql(failing(ZeroDivisionError(), columns={"old": [2]}), place.uri, "t", if_exists=mode)
        assert place.rows() == [{"old": 1}]


def failing(
    error: BaseException, after: int = 3, columns: dict[str, list[int]] | None = None
) -> Iterator[pa.RecordBatch]:
    batch = BATCH if columns is None else pa.record_batch(columns)
    for _ in range(after):
        yield batch
    raise error


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_an_exception_of_the_generator_is_raised_as_it_is(place: Place, error: BaseException) -> None:
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(type(error)) as caught:
            colonnade.write_sql(failing(error), connection, "t")
        assert caught.value is error
        assert not place.exists()
        # The connection can be used again.
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
    assert place.rows() == [{"a": 1}]


def test_a_generator_whose_columns_change_is_refused(place: Place) -> None:
    with pytest.raises(colonnade.InterfaceError, match="the first one"):
        colonnade.write_sql(iter([BATCH, BATCH.select(["a"])]), place.uri, "t")
    assert not place.exists()


def test_ctrl_c_leaves_nothing(place: Place) -> None:
    begun, sent = threading.Event(), list[float]()

    def many() -> Iterator[pa.RecordBatch]:
        # Not without an end: an interrupt that is lost must not fill the disk.
        for _ in range(5000):
            yield BATCH
            begun.set()

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(KeyboardInterrupt):
            colonnade.write_sql(many(), connection, "t")
        thread.join()
        # At once, and not after a time limit.
        assert time.monotonic() - sent[0] < 4
        assert not place.exists()
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
    assert place.rows() == [{"a": 1}]


def test_cancel_leaves_nothing(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:

        def cancelling() -> Iterator[pa.RecordBatch]:
            for number in range(MANY):
                yield BATCH
                if number == 5:
                    connection.cancel()
                    time.sleep(0.2)

        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(cancelling(), connection, "t")
        assert caught.value.sqlstate == ("70100" if place.is_mariadb else "57014")
        assert not place.exists()
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t")


def killing(session: psycopg.Connection, name: str) -> Iterator[pa.RecordBatch]:
    for number in range(MANY):
        yield BATCH
        if number == 5:
            session.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s", [name]
            )
            time.sleep(0.2)


def test_a_killed_backend_leaves_nothing(in_postgres: Place, session: psycopg.Connection) -> None:
    uri = f"{in_postgres.uri}&application_name=killed_writer"
    with colonnade.connect(uri) as connection:
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(killing(session, "killed_writer"), connection, "t")
        assert caught.value.sqlstate == "57P01"
        assert not connection.is_open
    assert not in_postgres.exists()


def test_a_connection_that_is_cut_at_any_byte_leaves_nothing(
    cluster: pg.Cluster, in_postgres: Place, session: psycopg.Connection
) -> None:
    """Or all rows, if the answer to COMMIT is cut: then the error says that nobody knows."""
    proxy = Proxy(("127.0.0.1", cluster.port))
    options = in_postgres.uri.partition("?")[2]
    uri = f"{cluster.uri(tcp=True).replace(str(cluster.port), str(proxy.port))}?application_name=cut&{options}"
    table = pa.table({"a": range(1000)})
    writers = "select count(*) from pg_stat_activity where application_name = 'cut'"
    try:
        colonnade.write_sql(table, uri, "t")
        length = proxy.passed
        session.execute("drop table t")
        unknown = 0
        # Every byte of the last answers, and some of those before.
        for proxy.limit in [*range(1, length - 120, 61), *range(length - 120, length)]:
            try:
                colonnade.write_sql(table, uri, "t")
            except colonnade.OperationalError as error:
                # A COMMIT may still be under way.
                wait_until(lambda: session.execute(writers).fetchone() == (0,))
                exists = session.execute("select to_regclass('t') is not null").fetchone() == (True,)
                assert not exists or error.sqlstate == "08007"
                unknown += error.sqlstate == "08007"
            else:
                # What follows the answer to COMMIT does not matter.
                assert session.execute("select count(*) from t").fetchone() == (1000,)
            session.execute("drop table if exists t")
        assert unknown > 1
    finally:
        proxy.close()


KILLED = """
import os, sys, time
import colonnade, pyarrow as pa

def batches():
    for _ in range(30):
        yield pa.record_batch({"a": pa.array(range(20_000)), "b": ["some text"] * 20_000})
    time.sleep(0.5)
    os.kill(os.getpid(), 9)

colonnade.write_sql(batches(), sys.argv[1], "t", if_exists="append")
"""


def test_a_killed_client_leaves_nothing(place: Place) -> None:
    colonnade.write_sql(pa.table({"a": [1], "b": ["x"]}), place.uri, "t")
    # Windows gives the number itself.
    assert abs(subprocess.run([sys.executable, "-c", KILLED, place.uri]).returncode) == signal.SIGKILL
    if place.is_sqlite:
        with pytest.raises(colonnade.DatabaseError, match="writer died"):
            place.rows()
        # Any program that may write rolls back.
        place.execute("create index i on t (a)")
    colonnade.write_sql(pa.table({"a": [2], "b": ["y"]}), place.uri, "t", if_exists="append")
    assert place.rows() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_a_failed_transaction_of_the_user_is_left_alone(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("create table t (a int)")
        connection.execute("begin; insert into t values (1); savepoint colonnade_write; insert into t values (2)")
        with pytest.raises(colonnade.ProgrammingError):
            connection.execute("select wrong")
        with pytest.raises(colonnade.DatabaseError) as caught:
            colonnade.write_sql(pa.table({"a": [3]}), connection, "t", if_exists="append")
        assert caught.value.sqlstate == "25P02"
        # Still failed, and the savepoint is still there.
        with pytest.raises(colonnade.DatabaseError):
            connection.execute("select 1")
        connection.execute("rollback to savepoint colonnade_write; commit")
    assert in_postgres.rows() == [{"a": 1}]


def test_ctrl_c_leaves_a_lock(in_postgres: Place, session: psycopg.Connection) -> None:
    session.execute("create table t (a int)")
    with session.transaction(), colonnade.connect(in_postgres.uri) as connection:
        session.execute("lock table t in access exclusive mode")
        timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            colonnade.write_sql(pa.table({"a": [1]}), connection, "t", if_exists="append")
        timer.join()
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]
    assert in_postgres.rows() == []


def test_a_reader_never_sees_a_part(place: Place) -> None:
    colonnade.write_sql(pa.Table.from_batches([BATCH]), place.uri, "t")
    if place.is_sqlite:
        place.execute("pragma journal_mode=wal")
    seen = list[int]()

    def counting() -> Iterator[pa.RecordBatch]:
        for _ in range(20):
            yield BATCH
            count = colonnade.read_sql(place.uri, "select count(*) as n from t", return_type="arrow")
            seen.append(count["n"][0].as_py())

    colonnade.write_sql(counting(), place.uri, "t", if_exists="append")
    assert seen == [10_000] * 20
    assert place.table().num_rows == 210_000


def test_a_write_is_part_of_an_open_transaction(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("begin")
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
        assert not in_postgres.exists()
        with pytest.raises(ValueError, match="mine"):
            colonnade.write_sql(failing(ValueError("mine")), connection, "u")
        connection.execute("commit")
    assert in_postgres.rows() == [{"a": 1}] and not in_postgres.exists("u")


def test_a_deferred_constraint_fails_at_the_commit(in_postgres: Place) -> None:
    in_postgres.execute("create table t (a int unique deferrable initially deferred)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        colonnade.write_sql(pa.table({"a": [1, 2, 1]}), in_postgres.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "23505" and in_postgres.rows() == []


def test_the_server_says_where_a_value_was_refused(in_postgres: Place) -> None:
    in_postgres.execute("create table t (a int check (a < 3), b json)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        colonnade.write_sql(pa.table({"a": [1, 2, 3]}), in_postgres.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "23514" and "line 3" in (caught.value.detail or "")
    with pytest.raises(colonnade.DataError) as caught:
        colonnade.write_sql(pa.table({"b": ["1", "{"]}), in_postgres.uri, "t", if_exists="append")
    assert "line 2, column b" in (caught.value.detail or "") and in_postgres.rows() == []


DROP_ROWS = """
    create function drop_row() returns trigger language plpgsql as 'begin return null; end';
    create trigger drops before insert on t for each row when (new.a = 2) execute function drop_row();
"""


@pytest.mark.parametrize("which", ["in_postgres", "in_sqlite"])
def test_a_trigger_that_drops_a_row_is_noticed(which: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(which)
    place.execute("create table t (a int)")
    if place.is_sqlite:
        place.execute("create trigger drops before insert on t when new.a = 2 begin select raise(ignore); end")
    else:
        place.execute(DROP_ROWS)
    with pytest.raises(colonnade.DatabaseError, match="stored 2 of 3 rows"):
        colonnade.write_sql(pa.table({"a": [1, 2, 3]}), place.uri, "t", if_exists="append")
    assert place.rows() == []


@pytest.mark.parametrize("conflict", ["ignore", "replace", "rollback"])
def test_a_constraint_of_sqlite_that_hides_conflicts_is_an_error(in_sqlite: Place, conflict: str) -> None:
    in_sqlite.execute(f"create table t (a integer unique on conflict {conflict}, b text)")
    in_sqlite.execute("insert into t values (2, 'old')")
    with pytest.raises(colonnade.IntegrityError, match="UNIQUE"):
        colonnade.write_sql(pa.table({"a": [1, 2], "b": ["x", "y"]}), in_sqlite.uri, "t", if_exists="append")
    assert in_sqlite.rows() == [{"a": 2, "b": "old"}]


def test_null_in_the_key_of_an_sqlite_table_is_refused(in_sqlite: Place) -> None:
    in_sqlite.execute("create table t (a integer primary key)")
    with pytest.raises(colonnade.DataError, match=r'column "a", row 2: NULL'):
        colonnade.write_sql(pa.table({"a": [1, None]}), in_sqlite.uri, "t", if_exists="append")
    assert in_sqlite.rows() == []


def test_a_read_only_server_is_reported(in_postgres: Place) -> None:
    uri = in_postgres.uri.replace("search_path", "default_transaction_read_only=on%20-c%20search_path", 1)
    with pytest.raises(colonnade.DatabaseError) as caught:
        colonnade.write_sql(pa.table({"a": [1]}), uri, "t")
    assert caught.value.sqlstate == "25006"


def test_a_locked_table_can_be_left(in_postgres: Place, session: psycopg.Connection) -> None:
    session.execute("create table t (a int)")
    with session.transaction():
        session.execute("lock table t in access exclusive mode")
        uri = in_postgres.uri.replace("search_path", "lock_timeout=200%20-c%20search_path", 1)
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(pa.table({"a": [1]}), uri, "t", if_exists="append")
        assert caught.value.sqlstate == "55P03"


#: Another process that holds the lock until its input ends. A second library in this process would not see ours.
LOCK = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("begin immediate")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_locked_sqlite_file_is_reported(tmp_path: Path) -> None:
    uri = make(tmp_path / "a.db", "create table t (a int)")
    with subprocess.Popen([sys.executable, "-c", LOCK, tmp_path / "a.db"], stdin=PIPE, stdout=PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdout.readline()
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(pa.table({"a": [1]}), f"{uri}?timeout=0.2", "t", if_exists="append")
        other.stdin.close()
    assert caught.value.sqlstate == "55P03"
    colonnade.write_sql(pa.table({"a": [1]}), uri, "t", if_exists="append")


def test_an_sqlite_file_of_others_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    uri = make(path, "create table t (a int)")
    with pytest.raises(colonnade.NotSupportedError, match="immutable"):
        colonnade.write_sql(pa.table({"a": [1]}), f"{uri}?immutable=1", "t", if_exists="append")


WRITES: list[Callable[[str], object]] = [
    lambda uri: colonnade.write_sql(iter([BATCH] * 3), uri, "t"),
    lambda uri: colonnade.write_sql(pa.table({"a": [1]}), uri, "t", if_exists="create_append"),
]


@pytest.mark.parametrize("write", WRITES)
def test_no_journal_is_left(tmp_path: Path, write: Callable[[str], object]) -> None:
    uri = make(tmp_path / "a.db", "")
    write(uri)
    with pytest.raises(ZeroDivisionError):
        colonnade.write_sql(failing(ZeroDivisionError(), after=20), uri, "u")
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_a_table_has_a_name(place: Place) -> None:
    with pytest.raises(ValueError, match="table is '': give the table's name"):
        colonnade.write_sql(pa.table({"a": [1]}), place.uri, "")
