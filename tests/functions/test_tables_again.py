"""Calls of table functions that are repeated: the session remembers names, arguments and queries while its catalog is
the same, and never longer."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.functions.sessions import connected, rows, server_of
from tests.testbed.serving import Server

FUNCTIONS = (
    "CREATE TABLE numbers AS SELECT i::INTEGER AS i FROM range(10) t(i)",
    "CREATE FUNCTION seen(*) RETURNS TABLE(*) LANGUAGE PYTHON_MAP "
    "AS $$ return {'kinds': [' '.join(f'{name} {_types[name]}' for name in _columns)],"
    " 'sum': [sum(int(one.sum()) for one in _columns.values() if getattr(one, 'dtype', None) == 'int32')]} $$",
    "CREATE FUNCTION named(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [i + 1] $$",
    "CREATE FUNCTION asking(i INTEGER) RETURNS TABLE(n BIGINT) LANGUAGE PYTHON "
    "AS $$ return _conn.execute('SELECT count(*) AS n FROM source')  $$",
)
#: More often than it takes to remember everything.
TIMES = 5


server = server_of(FUNCTIONS)


@pytest.fixture
def other(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


def test_values_differ_from_call_to_call(session: psycopg.Connection) -> None:
    query = "SELECT * FROM seen((SELECT i FROM numbers WHERE i = %s), 'a')"
    for number in range(2 * TIMES):
        assert rows(session, query, number) == [("i INTEGER arg1 VARCHAR", number)]
        assert rows(session, "SELECT * FROM seen((SELECT 7 AS x), 'it''s')") == [("x INTEGER arg1 VARCHAR", 7)]


def test_columns_that_depend_on_values(session: psycopg.Connection) -> None:
    query = "SELECT kinds FROM seen((SELECT struct_extract({'a': 1, 'b': 'x'}, %s::VARCHAR) AS v))"
    for _ in range(TIMES):
        assert rows(session, query, "a") == [("v INTEGER",)]
        assert rows(session, query, "b") == [("v VARCHAR",)]


def test_a_table_of_another_session_has_changed(session: psycopg.Connection, other: psycopg.Connection) -> None:
    query = "SELECT kinds FROM seen((SELECT * FROM moved))"
    for kind, other_kind in (("INTEGER", "BIGINT"), ("BIGINT", "DOUBLE"), ("DOUBLE", "INTEGER")):
        other.execute(f"CREATE OR REPLACE TABLE moved AS SELECT 1::{kind} AS a".encode())
        for _ in range(TIMES):
            assert rows(session, query) == [(f"a {kind}",)]
        with other.transaction():
            other.execute(f"CREATE OR REPLACE TABLE moved AS SELECT 1::{other_kind} AS b".encode())
            # It is not committed.
            assert rows(session, query) == [(f"a {kind}",)]
        for _ in range(TIMES):
            assert rows(session, query) == [(f"b {other_kind}",)]


def test_a_transaction_keeps_what_it_has_begun_with(session: psycopg.Connection, other: psycopg.Connection) -> None:
    query = "SELECT j FROM named((SELECT i FROM numbers WHERE i = 3))"
    for _ in range(TIMES):
        assert rows(session, query) == [(4,)]
    with session.transaction():
        rows(session, "SELECT count(*) FROM numbers")
        other.execute(
            "CREATE OR REPLACE FUNCTION named(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON "
            "AS $$ return [i + 2] $$"
        )
        for _ in range(TIMES):
            assert rows(session, query) == [(4,)]
    for _ in range(TIMES):
        assert rows(session, query) == [(5,)]
    other.execute(
        "CREATE OR REPLACE FUNCTION named(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [i + 1] $$"
    )
    assert rows(session, query) == [(4,)]


def test_a_dropped_function_is_gone(session: psycopg.Connection, other: psycopg.Connection) -> None:
    create = "CREATE FUNCTION gone(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [i] $$"
    other.execute(create.encode())
    for _ in range(TIMES):
        assert rows(session, "SELECT j FROM gone((SELECT 1))") == [(1,)]
    other.execute("DROP FUNCTION gone")
    with pytest.raises(psycopg.Error, match="gone"):
        session.execute("SELECT j FROM gone((SELECT 1))")


def test_the_search_path_decides(session: psycopg.Connection) -> None:
    session.execute("CREATE SCHEMA IF NOT EXISTS apart")
    session.execute("CREATE OR REPLACE TABLE source AS SELECT 1 AS x")
    session.execute("CREATE OR REPLACE TABLE apart.source AS SELECT x FROM range(3) t(x)")
    query = "SELECT n FROM asking((SELECT 1))"
    for path, count in (("main", 1), ("apart,main", 3), ("main", 1)):
        session.execute(f"SET search_path = '{path}'".encode())
        for _ in range(TIMES):
            assert rows(session, query) == [(count,)]


def test_a_query_that_comes_to_write_is_refused(session: psycopg.Connection, other: psycopg.Connection) -> None:
    """What the session remembers of a query ends with the macro that the query calls."""
    other.execute("CREATE OR REPLACE SEQUENCE drawn")
    other.execute("CREATE OR REPLACE MACRO next_one() AS 1")
    other.execute(
        "CREATE OR REPLACE FUNCTION drawing(i INTEGER) RETURNS TABLE(n BIGINT) LANGUAGE PYTHON "
        "AS $$ return _conn.execute('SELECT next_one()::BIGINT AS n') $$"
    )
    for _ in range(TIMES):
        assert rows(session, "SELECT n FROM drawing((SELECT 1))") == [(1,)]
    other.execute("CREATE OR REPLACE MACRO next_one() AS nextval('drawn')")
    for _ in range(TIMES):
        with pytest.raises(psycopg.Error) as refused:
            session.execute("SELECT n FROM drawing((SELECT 1))")
        assert refused.value.sqlstate == "25006"


def test_reading_by_copy(server: Server) -> None:
    with colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/") as connection:
        for _ in range(TIMES):
            found = connection.query("SELECT j FROM named((SELECT i FROM numbers))").to_arrow()
            assert found["j"].to_pylist() == list(range(1, 11))


def test_joins_whose_rows_several_threads_give(session: psycopg.Connection) -> None:
    """There are more rows than one thread numbers."""
    session.execute("CREATE TABLE many AS SELECT i, i % 1000 AS k FROM range(300000) t(i)")
    session.execute("CREATE TABLE few AS SELECT i AS k, 2 * i AS twice FROM range(1000) t(i)")
    joined = "SELECT (many.i + twice - twice)::INTEGER AS i FROM many JOIN few USING (k)"
    query = f"SELECT count(*), sum(j) FROM named(({joined}))"
    for _ in range(TIMES):
        assert rows(session, query) == [(300_000, 300_000 * 299_999 // 2 + 300_000)]
