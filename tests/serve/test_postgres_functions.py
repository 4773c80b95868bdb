"""PostgreSQL's functions that DuckDB lacks or calls otherwise give what PostgreSQL gives."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture(scope="module")
def in_postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    "expression",
    [
        "make_interval()",
        "get_byte('abc', 1)",
        r"get_byte('\x00ff', 1)",
        "(SELECT get_byte(b, 2) FROM (VALUES ('abc'::bytea)) t(b))",
        "get_byte('abc'::bytea, NULL)",
        "set_byte('abc'::bytea, 0, 65)",
        "set_byte('abc'::bytea, 1, 255)",
        "set_byte('abc'::bytea, 2, 0)",
        "set_byte('abc'::bytea, 2, 300)",
        "set_byte('a', 0, -1)",
        "pg_sleep(0.001)",
        "(SELECT pg_sleep FROM pg_sleep(0.001) AS pg_sleep)",
        "(SELECT 1 FROM pg_sleep(0.001) AS pg_sleep)",
        "make_interval(days => 10)",
        "make_interval(1, 2, 3, 4, 5, 6, 7.000001)",
        "make_interval(hours => -30, secs => 0.5)",
        "date_bin('15 minutes', timestamp '2024-01-01 10:37', timestamp '2024-01-01')",
        "date_bin('15 minutes', timestamp '2023-01-01 10:37:11.5', timestamp '2024-01-01 00:05:03')",
        "date_bin('1 day', timestamptz '2023-07-01 10:37+00', timestamptz '2024-01-01 00:05+00')",
        "initcap('hello wORLD, 3abc o''neil a_b-c')",
        "initcap('élan VITAL')",
        "initcap('')",
        "initcap(NULL)",
        "btrim('  a ')",
        "btrim('xyaxy', 'yx')",
        "btrim(E'\\ta')",
        "(SELECT every(x > 0) FROM (VALUES (1), (2)) t(x))",
        "(SELECT every(x > 1) FROM (VALUES (1), (2)) t(x))",
        "(SELECT json_agg(x) FROM (VALUES (1), (NULL)) t(x))",
        "(SELECT jsonb_agg(t) FROM (VALUES (1, 'a'), (2, NULL)) t(x, y))",
        "(SELECT json_agg(x) FROM (VALUES (1)) t(x) WHERE false)",
        "(SELECT json_object_agg(x, y) FROM (VALUES ('a', 2), ('b', NULL)) t(x, y))",
        "(SELECT jsonb_object_agg(x, y) FROM (VALUES ('a', 2)) t(x, y) WHERE false)",
        "to_jsonb('a'::text)",
        "jsonb_build_object('a', 1, 'b', 'x')",
        "jsonb_array_length('[1, 2]')",
        "(SELECT array_agg(json_typeof(x::json)) FROM (VALUES ('1'), ('\"a\"'), ('[]'), ('{}')) t(x))",
        "(SELECT array_agg(json_typeof(x::json)) FROM (VALUES ('null'), ('true'), ('1.5'), (NULL)) t(x))",
        "jsonb_typeof('-1e3')",
    ],
)
def test_they_give_the_same(connection: psycopg.Connection, in_postgres: psycopg.Connection, expression: str) -> None:
    query = f"SELECT {expression} AS given".encode()
    assert connection.execute(query).fetchall() == in_postgres.execute(query).fetchall()


def test_the_clock_runs_within_a_transaction(connection: psycopg.Connection) -> None:
    query = "SELECT now(), statement_timestamp(), clock_timestamp()"
    with connection.transaction():
        readings = []
        for _ in range(2):
            readings.append(connection.execute(query, prepare=True).fetchone() or ())
            connection.execute("SELECT pg_sleep(0.01)")
    (begun, first, first_clock), (again, second, second_clock) = readings
    assert begun == again <= first <= first_clock < second <= second_clock
    # A statement that takes longer than the clock's step has one time.
    rows = "SELECT count(DISTINCT statement_timestamp()), count(DISTINCT clock_timestamp()) > 1 FROM range(3_000_000)"
    assert connection.execute(rows).fetchone() == (1, True)
    assert connection.execute("SELECT timeofday() LIKE '___ ___ __ __:__:__.______ ____ %'").fetchone() == (True,)


def test_a_table_function_sleeps_although_nobody_reads_its_column(connection: psycopg.Connection) -> None:
    begun = time.monotonic()
    assert connection.execute("SELECT 1 FROM pg_sleep(0.2)").fetchall() == [(1,)]
    assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize(
    "call", ["get_byte('abc'::bytea, 3)", "get_byte('abc'::bytea, -1)", "set_byte(''::bytea, 0, 1)"]
)
def test_bytes_that_are_not_there_are_errors(
    connection: psycopg.Connection, in_postgres: psycopg.Connection, call: str
) -> None:
    codes = []
    for one in (connection, in_postgres):
        with pytest.raises(psycopg.Error) as caught:
            one.execute(f"SELECT {call}".encode())
        codes.append(caught.value.sqlstate)
        one.rollback()
    assert codes[0] == codes[1] == "2202E"


def test_an_unlogged_table_is_a_table(connection: psycopg.Connection) -> None:
    connection.execute("CREATE UNLOGGED TABLE fast (i serial, t text)")
    assert connection.execute("INSERT INTO fast (t) VALUES ('a') RETURNING i").fetchall() == [(1,)]
    assert connection.execute("CREATE UNLOGGED TABLE faster AS SELECT 1 AS i").statusmessage == "SELECT 1"
    assert connection.execute("SELECT * FROM faster").fetchall() == [(1,)]
