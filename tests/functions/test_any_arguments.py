"""Functions with the parameters `(*)`: scalar functions, functions that get whole columns, and aggregates."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, functions, serving, value

FUNCTIONS = (
    "CREATE FUNCTION added(*) RETURNS DOUBLE LANGUAGE PYTHON_MAP AS $$\n"
    "return sum((column.astype('f8') for column in _columns.values()), numpy.float64(len(_columns)))\n$$",
    "CREATE FUNCTION described(*) RETURNS VARCHAR LANGUAGE PYTHON_MAP IMMUTABLE AS $$\n"
    "return ', '.join(f'{name} {_types[name]}' for name in _columns)\n$$",
    "CREATE FUNCTION ranked(*) RETURNS BIGINT LANGUAGE PYTHON AS $$\n"
    "return numpy.lexsort(list(_columns.values())[::-1]).argsort()\n$$",
    "CREATE AGGREGATE totals(*) RETURNS DOUBLE LANGUAGE PYTHON AS $$\n"
    "return sum(numpy.bincount(aggr_group, column) for column in _columns.values())\n$$",
    "CREATE AGGREGATE listed(*) RETURNS VARCHAR[] LANGUAGE PYTHON_MAP STRICT AS $$\n"
    "return [' '.join(map(str, row)) for row in zip(*_columns.values())]\n$$",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    with serving() as server, connected(server) as connection:
        for statement in FUNCTIONS:
            connection.execute(statement.encode())
        connection.execute("CREATE TABLE t AS SELECT i::INTEGER AS i, i / 2 AS x, i % 3 AS g FROM range(3000) r(i)")
        yield connection


def rows(connection: psycopg.Connection, query: str) -> list[tuple[object, ...]]:
    return connection.execute(query.encode()).fetchall()


@pytest.mark.parametrize("length", [200, 238, 239, 240, 256, 5000, 100_000])
def test_names_of_types_may_be_long(connection: psycopg.Connection, length: int) -> None:
    name = "a" * length
    described = f"arg1 STRUCT({name} INTEGER)[]"
    assert value(connection, f"SELECT described([{{'{name}': 1}}])") == described
    values = ", ".join(f"'value {number}'" for number in range(length // 10))
    assert value(connection, f"SELECT described('value 0'::ENUM({values}))") == f"arg1 ENUM({values})"


def test_a_type_whose_name_is_too_long_is_refused(connection: psycopg.Connection) -> None:
    name = "a" * (1 << 20)
    with pytest.raises(psycopg.Error, match="type is longer than 1 MiB; cast the argument to VARCHAR") as refused:
        connection.execute(f"SELECT described({{'{name}': 1}})".encode())
    assert refused.value.sqlstate == "42000"
    assert value(connection, f"SELECT length(described({{'{name}': 1}}::VARCHAR))") == len("arg1 VARCHAR")


def test_any_number_of_arguments(connection: psycopg.Connection) -> None:
    assert rows(connection, "SELECT added(), added(1), added(1, 2.5), added(1, 2::UTINYINT, 3::REAL)") == [
        (0.0, 2.0, 5.5, 9.0)
    ]
    hundred = ", ".join("1" * 100)
    assert value(connection, f"SELECT added({hundred})") == 200
    with pytest.raises(psycopg.Error):
        connection.execute(f"SELECT added({hundred}, 1)".encode())
    # Within plans, in views, and for several types in one statement.
    query = "SELECT sum(added(i, x)), count(*) FILTER (added(i) % 2 = 0), min(added(x)) FROM t"
    assert rows(connection, query) == [(3000 * 2999 / 2 * 1.5 + 6000, 1500, 1.0)]
    connection.execute("CREATE VIEW v AS SELECT added(i, g) AS a FROM t")
    assert value(connection, "SELECT sum(a) FROM v") == 3000 * 2999 / 2 + 3000 + 6000
    assert rows(connection, "SELECT added(i, g) FROM t LIMIT 2") == [(2.0,), (4.0,)]


def test_arguments_have_names_and_types(connection: psycopg.Connection) -> None:
    query = "SELECT described(i, 'a', DATE '2025-01-01', [1.5], {'k': x}), described() FROM t LIMIT 1"
    types = "arg1 INTEGER, arg2 VARCHAR, arg3 DATE, arg4 DECIMAL(2,1)[], arg5 STRUCT(k DOUBLE)"
    assert rows(connection, query) == [(types, "")]
    assert connection.execute("SELECT described(%s, %s)", [1, "x"], prepare=True).fetchone() is not None
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    assert value(connection, "SELECT described('sad'::mood)") == "arg1 ENUM('sad', 'glad')"
    with pytest.raises(psycopg.errors.IndeterminateDatatype, match="argument 2 of"):
        connection.execute("SELECT described(1, NULL)")
    assert value(connection, "SELECT described(NULL::BLOB)") == "arg1 BLOB"
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot have the type BIT"):
        connection.execute("SELECT described('1'::BIT)")


def test_whole_columns(connection: psycopg.Connection) -> None:
    query = "SELECT g, ranked(g, -i) AS r FROM t ORDER BY r LIMIT 2"
    assert rows(connection, query) == [(0, 0), (0, 1)]
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT 1 + ranked(g) FROM t")
    # Without arguments too, in the process that has compiled it for CREATE.
    connection.execute("CREATE FUNCTION whole(*) RETURNS INTEGER LANGUAGE PYTHON AS $$ return len(_columns) $$")
    assert rows(connection, "SELECT count(*), max(w) FROM (SELECT whole() AS w FROM t)") == [(3000, 0)]
    assert rows(connection, "SELECT DISTINCT whole(i, g) AS w FROM t") == [(2,)]


def test_aggregates(connection: psycopg.Connection) -> None:
    assert rows(
        connection, "SELECT g, totals(i, x) = sum(i) + sum(x), totals(i) = sum(i) FROM t GROUP BY g ORDER BY g"
    ) == [(group, True, True) for group in range(3)]
    calls = "totals(DISTINCT g), totals(i, x) FILTER (WHERE i < 2), listed(i, 'a' ORDER BY i DESC) FILTER (i < 2)"
    query = f"SELECT {calls} FROM t"
    assert rows(connection, query) == [(3.0, 1.5, ["1 a", "0 a"])]
    assert rows(connection, "SELECT listed(i, nullif(g, 0) ORDER BY i) FROM t WHERE i < 4") == [(["1 1", "2 2"],)]


def test_one_name_has_one_such_function(connection: psycopg.Connection) -> None:
    for statement in (
        "CREATE FUNCTION added(x INTEGER) RETURNS DOUBLE LANGUAGE PYTHON_MAP AS $$ return x $$",
        "CREATE AGGREGATE totals(x INTEGER) RETURNS DOUBLE LANGUAGE PYTHON AS $$ return x $$",
    ):
        with pytest.raises(psycopg.errors.DuplicateFunction, match=r"\(\*\) takes any arguments"):
            connection.execute(statement.encode())
    connection.execute("CREATE FUNCTION other(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x $$")
    with pytest.raises(psycopg.errors.DuplicateFunction):
        connection.execute("CREATE FUNCTION other(*) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return 1 $$")
    with pytest.raises(psycopg.errors.InvalidFunctionDefinition, match="return type"):
        connection.execute("CREATE OR REPLACE FUNCTION added(*) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return 1 $$")


def test_the_catalog_shows_a_star(connection: psycopg.Connection) -> None:
    assert "added(*)" in functions(connection)
    definition = value(connection, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'listed'")
    assert str(definition).startswith("CREATE OR REPLACE AGGREGATE public.listed(*)\n RETURNS varchar[]\n")
    connection.execute("DROP AGGREGATE listed(*)")
    connection.execute(str(definition).encode())
    assert value(connection, "SELECT len(listed(1, 2))") == 1
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"\(\*\)"):
        connection.execute("EXPLAIN (INPUTS added) SELECT added(1)")
    connection.execute("COMMENT ON FUNCTION added(*) IS 'sums'")
    assert value(connection, "SELECT comment FROM colonnade_functions WHERE name = 'added'") == "sums"
