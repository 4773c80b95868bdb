"""`colonnade.dbapi` when servers die and queries are stopped: always an error, never a short result."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal

import colonnade
import pandas as pd
import pytest
from colonnade import dbapi

from tests.sources.every_source import Source
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

ENDLESS = {
    "serve": "select i from range(1000000000000) t(i)",
    "postgresql": "select generate_series(1, 1000000000000) as i",
    "mysql": "select seq from seq_1_to_1000000000000",
}


@contextmanager
def breakable(request: pytest.FixtureRequest, name: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """The URI of a server, and what kills the server or the side of the connection that is there."""
    match name:
        case "serve":
            with serve("--listen", "127.0.0.1:0") as server:
                yield f"postgresql://tester@{server.host}:{server.port}/test", server.process.kill
        case "mysql":
            maria: mariadb.Server = request.getfixturevalue("maria")
            yield maria.uri(), lambda: [maria.run(f"kill {thread}") for thread in maria.threads()]
        case _:
            stock: pg.Cluster = request.getfixturevalue("stock")
            end = b"select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dies'"

            def kill() -> None:
                with stock.connect() as session:
                    session.execute(end)

            yield stock.uri(tcp=True, application_name="dies"), kill


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("name", ["serve", "postgresql", "mysql"])
@pytest.mark.parametrize(
    "read",
    [
        lambda cursor: cursor.fetchall(),
        lambda cursor: [cursor.fetchone() for _ in range(10_000_000)],
        lambda cursor: list(cursor),
        lambda cursor: cursor.fetch_arrow_table(),
        lambda cursor: cursor.fetch_record_batch().read_all(),
        lambda cursor: cursor.fetch_polars(),
    ],
    ids=["all", "one", "iteration", "table", "reader", "polars"],
)
def test_a_server_that_dies_while_rows_are_fetched(
    request: pytest.FixtureRequest, name: str, autocommit: bool, read: Callable[[dbapi.Cursor], object]
) -> None:
    with breakable(request, name) as (uri, kill):
        connection = dbapi.connect(uri, autocommit=autocommit, chunk_rows=1000)
        cursor = connection.cursor().execute(ENDLESS[name])
        assert len(cursor.fetchmany(5000)) == 5000
        kill()
        for _ in range(3):
            with pytest.raises(dbapi.OperationalError):
                read(cursor)
        with pytest.raises(dbapi.Error):
            connection.cursor().execute("select 1")
            connection.commit()
        connection.close()


@pytest.mark.lack("adbc-sqlite", "odbc", reason="the driver runs a statement to its end")
@pytest.mark.parametrize("autocommit", [True, False])
def test_a_fetch_is_cancelled(source: Source, autocommit: bool) -> None:
    connection = dbapi.connect(source.uri, autocommit=autocommit)
    cursor = connection.cursor().execute(source.dialect.endless)
    assert cursor.fetchone() is not None
    is_over = threading.Event()

    def cancel() -> None:
        while not is_over.wait(0.05):
            connection.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    kind, sqlstate = source.error("cancelled")
    try:
        for _ in range(2):
            with pytest.raises(kind) as caught:
                cursor.fetch_arrow_table() if autocommit else list(cursor.fetch_record_batch())
            assert caught.value.sqlstate == sqlstate
    finally:
        is_over.set()
        thread.join()
    connection.rollback()
    assert connection.cursor().execute("select 7 as n").fetchall() == [(7,)]
    connection.close()


INTERRUPTED = """
import os, signal, sys, threading
from colonnade import dbapi
connection = dbapi.connect(sys.argv[1])
cursor = connection.cursor()
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    cursor.execute(sys.argv[2])
    print("a short result", len(cursor.fetchall()))
except KeyboardInterrupt:
    try:
        print("more", cursor.fetchone())
    except dbapi.InterfaceError as error:
        print(error)
    connection.rollback()
    print("interrupted", connection.cursor().execute("select 7 as n").fetchall())
"""


@pytest.mark.lack("adbc-sqlite", "odbc", reason="the driver runs a statement to its end")
@pytest.mark.parametrize(
    ("what", "message"),
    [("silent", "no rows to fetch|the read was interrupted"), ("endless", "the read was interrupted")],
)
def test_ctrl_c(source: Source, what: str, message: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, source.uri, getattr(source.dialect, what)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.search(message, done.stdout), done.stdout
    assert done.stdout.endswith("interrupted [(7,)]\n")


def test_a_value_without_a_form_in_python(source: Source) -> None:
    if source.dialect.types["bytes"] != "bytea" or source.uri.startswith("odbc"):
        pytest.skip("the database has no such value")
    query = "select i, case when i = 6000 then 'infinity' end::date as due from generate_series(1, 10000) i"
    with dbapi.connect(source.uri, autocommit=True) as connection:
        cursor = connection.cursor().execute(query)
        if "adbc_driver_postgresql" in source.uri:
            # Arrow's driver changes the value, so the result ends there.
            with pytest.raises(dbapi.DataError, match='column "due", row 6000'):
                cursor.fetchall()
            return
        found = []
        with pytest.raises(dbapi.DataError, match="column 'due'") as caught:
            while (row := cursor.fetchone()) is not None:
                found.append(row)
        assert caught.value.sqlstate == "22008"
        # Not one row behind the value: the next fetch is the same error.
        assert found == [(number, None) for number in range(1, len(found) + 1)]
        assert len(found) < 6000
        with pytest.raises(dbapi.DataError, match="column 'due'"):
            cursor.fetchall()
        assert cursor.fetch_arrow_table().num_rows == 10_000 - len(found)


def test_nanoseconds_that_python_lacks() -> None:
    with dbapi.connect("duckdb:") as connection:
        cursor = connection.cursor()
        whole = "select timestamp_ns '2024-02-29 12:00:00.123456' as t, time_ns '12:00:00.5' as s"
        [(moment, time)] = cursor.execute(whole).fetchall()
        assert (moment.isoformat(), time.isoformat()) == ("2024-02-29T12:00:00.123456", "12:00:00.500000")
        for literal in ("timestamp_ns '2024-02-29 12:00:00.123456789'", "time_ns '12:00:00.000000001'"):
            cursor.execute(f"select {literal} as t")
            with pytest.raises(dbapi.DataError, match="column 't' has a value with nanoseconds"):
                cursor.fetchone()


def test_a_numeric_without_a_precision_is_a_decimal(stock: pg.Cluster) -> None:
    query = "select 0.10::numeric as a, 'NaN'::numeric as b, null::numeric as c"
    with dbapi.connect(stock.uri()) as connection:
        cursor = connection.cursor().execute(query)
        assert [column[1] for column in cursor.description or []] == [Decimal] * 3
        assert repr(cursor.fetchall()) == "[(Decimal('0.10'), Decimal('NaN'), None)]"
    with dbapi.connect(stock.uri(), as_text=["a"]) as connection:
        assert connection.cursor().execute("select 0.10::numeric as a").fetchall() == [("0.10",)]
    with dbapi.connect(stock.uri(), numeric=(10, 3)) as connection:
        assert repr(connection.cursor().execute("select 0.10::numeric as a").fetchall()) == "[(Decimal('0.100'),)]"


def test_an_open_transaction_that_failed_in_a_result(stock: pg.Cluster) -> None:
    with dbapi.connect(stock.uri()) as connection:
        cursor = connection.cursor().execute("create temp table kept (n int)")
        connection.commit()
        cursor.execute("insert into kept values (1)")
        cursor.execute("select 1 / (5000 - i) as n from generate_series(1, 10000) i")
        with pytest.raises(colonnade.DataError, match="division by zero"):
            cursor.fetchall()
        with pytest.raises(dbapi.DatabaseError, match="was rolled back") as caught:
            connection.commit()
        assert caught.value.sqlstate == "25P02"
        assert cursor.execute("select * from kept").fetchall() == []


@pytest.mark.lack("adbc-sqlite", reason="the driver takes the placeholders of sqlite3")
def test_pandas_is_told_how_to_write(source: Source) -> None:
    """pandas takes a connection that it does not know for one of sqlite3."""
    frame = pd.DataFrame({"n": [1, 2]})
    with (
        pytest.raises(colonnade.Error, match=r"use colonnade\.write_sql"),
        dbapi.connect(source.uri) as connection,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        frame.to_sql("told", connection)
