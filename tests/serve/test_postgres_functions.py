"""PostgreSQL's functions that DuckDB lacks or calls otherwise give what PostgreSQL gives."""

from __future__ import annotations

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
