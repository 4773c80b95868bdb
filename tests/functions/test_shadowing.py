"""Macros with the names of the functions that calls of functions in Python are made of."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest
from colonnade._sources.duckdb_types.exact import quoted

from tests.functions.sessions import connected, serving, value

FUNCTIONS = (
    "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$",
    "CREATE FUNCTION m(x MAP(VARCHAR, INTEGER)) RETURNS MAP(VARCHAR, INTEGER) LANGUAGE PYTHON_MAP AS $$ return x $$",
    "CREATE AGGREGATE total(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON AS $$ return numpy.bincount(aggr_group, x) $$",
    "CREATE FUNCTION t(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [x + 1] $$",
    "CREATE FUNCTION c(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x + len(x) $$",
)
CALLS = {
    "SELECT f(1)": 2,
    "SELECT sum(f(i::INTEGER)) FROM range(3) r(i)": 6,
    "SELECT m(MAP {'a': 1})['a']": 1,
    "SELECT total(DISTINCT i::INTEGER) FROM range(3) r(i)": 3,
    "SELECT sum(j) FROM t((SELECT i::INTEGER FROM range(3) r(i)))": 6,
    "SELECT max(v) FROM (SELECT c(i::INTEGER) AS v FROM range(3) r(i))": 5,
}
MACROS = (
    "colonnade_map(i, s, x) AS 99",
    "colonnade_map_volatile(i, s, x) AS 99",
    "colonnade_aggregate(i, s, x) AS 99",
    "colonnade_collect(n, q, r, x) AS true",
    "colonnade_rows(n) AS TABLE SELECT 99 AS j",
    "colonnade_session() AS 'x'",
    "map_entries(x) AS []",
    "map_from_entries(x) AS MAP {}",
)


def test_macros_with_names_of_the_servers_functions_change_no_call() -> None:
    with serving() as server, connected(server) as creator, connected(server) as other:
        for function in FUNCTIONS:
            creator.execute(function.encode())
        assert {call: value(creator, call) for call in CALLS} == CALLS
        created = []
        for macro in MACROS:
            try:
                other.execute(f"CREATE MACRO {macro}".encode())
            except psycopg.errors.InsufficientPrivilege:
                continue
            created.append(macro.partition("(")[0])
        assert {"colonnade_session", "map_entries", "map_from_entries"} <= set(created)
        for connection in (creator, other):
            assert {call: value(connection, call) for call in CALLS} == CALLS
        with connected(server) as later:
            assert {call: value(later, call) for call in CALLS} == CALLS


@pytest.mark.parametrize("name", ["colonnade_map", "colonnade_collect"])
def test_some_names_are_refused(name: str) -> None:
    with (
        serving() as server,
        connected(server) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=name),
    ):
        connection.execute(f"CREATE MACRO {name}(i, s, x) AS 99".encode())


#: Calls that name no function of DuckDB's.
OWN_CALLS = {
    "SELECT f(i) FROM (VALUES (1)) r(i)": 2,
    "SELECT f(f(i)) FROM (VALUES (1)) r(i)": 3,
    "SELECT total(DISTINCT i) FROM (VALUES (1), (1), (2)) r(i)": 3,
    "SELECT j FROM t((SELECT i FROM (VALUES (7)) r(i)))": 8,
    "SELECT j FROM t((SELECT a.i FROM (VALUES (7)) a(i) JOIN (VALUES (7)) b(i) ON a.i = b.i))": 8,
    "SELECT c(i) FROM (VALUES (1)) r(i)": 2,
    "SELECT kept(i) FROM (VALUES (2)) r(i)": 42,
}


def shadowed(database: Path) -> None:
    """Make a database with macros that have the names of all functions of DuckDB's."""
    with duckdb.connect(database) as connection:
        query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'system'"
        for (name,) in connection.execute(query).fetchall():
            connection.execute(f"CREATE MACRO {quoted(name)}() AS 'another function'")
            connection.execute(f"CREATE MACRO {quoted(name)}() AS TABLE SELECT 'another function' AS {quoted(name)}")
        connection.execute("CREATE TABLE numbers AS SELECT 40 AS n")


def test_macros_with_the_names_of_all_functions_change_no_statement_of_the_servers(tmp_path: Path) -> None:
    database = tmp_path / "shadowed.duckdb"
    shadowed(database)
    kept = (
        "CREATE FUNCTION kept(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS "
        "$$ return x + _conn.execute('SELECT n FROM numbers')['n'] $$"
    )
    with serving(database) as server, connected(server) as connection:
        for function in (*FUNCTIONS, kept):
            connection.execute(function.encode())
        for _ in range(2):
            assert {call: value(connection, call) for call in OWN_CALLS} == OWN_CALLS
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        assert value(connection, "SHOW TimeZone") == "Europe/Berlin"
        connection.execute(
            "CREATE OR REPLACE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x $$"
        )
        assert value(connection, "SELECT f(1)") == 1
        # The fence knows the functions of DuckDB's.
        for query in ("SELECT * FROM system.main.read_text('/etc/hostname')", "SELECT system.main.query('SELECT 1')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(query.encode())
        connection.execute("DROP FUNCTION f(INTEGER)")
    # The functions are found again.
    with serving(database) as server, connected(server) as connection:
        calls = {call: found for call, found in OWN_CALLS.items() if "f(" not in call}
        assert {call: value(connection, call) for call in calls} == calls
