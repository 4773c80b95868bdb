"""Aggregates with DISTINCT, ORDER BY and FILTER: they take the arguments that they take without."""

from __future__ import annotations

import colonnade
import psycopg
import pytest

from tests.functions.sessions import rows, server_of, value
from tests.testbed.serving import Server

JOINED = (
    "CREATE AGGREGATE {name}(x {type}) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$\n"
    "return '{type} ' + ','.join('-' if one is numpy.ma.masked else str(one) for one in x)\n$$"
)
FUNCTIONS = (
    "CREATE TABLE few AS SELECT i::INTEGER AS i, i / 2 AS d, 't' || i AS s, nullif(i, 2)::SMALLINT AS n "
    "FROM range(1, 5) r(i)",
    JOINED.format(name="joined", type="INTEGER"),
    JOINED.format(name="any_of", type="INTEGER"),
    JOINED.format(name="any_of", type="VARCHAR"),
    "CREATE AGGREGATE pairs(x INTEGER, y INTEGER = 7) RETURNS BIGINT LANGUAGE PYTHON AS $$\n"
    "return numpy.bincount(aggr_group, x * y).astype('i8')\n$$",
    "CREATE FUNCTION squared(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x * x $$",
)

server = server_of(FUNCTIONS)

CLAUSES = ("DISTINCT {}", "{} ORDER BY i", "{}) FILTER (WHERE true")


@pytest.mark.parametrize("clause", ["{}", *CLAUSES])
def test_arguments_are_cast_as_without_a_clause(session: psycopg.Connection, clause: str) -> None:
    def call(argument: str) -> str:
        return f"SELECT joined({clause.format(argument)}) FROM few"

    assert sorted(str(value(session, call("n")))) == sorted("INTEGER 1,-,3,4")
    # DuckDB would round these numbers and read this text.
    for argument in ("d", "s", "i::BIGINT", "2.5", "'5'"):
        with pytest.raises(psycopg.errors.UndefinedFunction) as refused:
            session.execute(call(argument).encode())
        assert "joined" in f"{refused.value.diag.message_primary} {refused.value.diag.message_detail}"
        assert "colonnade" not in str(refused.value.diag.message_primary)
    for argument in ("d::INTEGER", "NULL"):
        assert str(value(session, call(argument))).startswith("INTEGER ")


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_types_of_arguments_choose_the_aggregate(session: psycopg.Connection, clause: str) -> None:
    for argument, expected in (("i", "INTEGER 1,2,3,4"), ("s", "VARCHAR t1,t2,t3,t4")):
        found = str(value(session, f"SELECT any_of({clause.format(argument)}) FROM few"))
        assert sorted(found) == sorted(expected)
    both = f"SELECT any_of({clause.format('s')}) || any_of({clause.format('i')}) FROM few"
    assert sorted(str(value(session, both))) == sorted("VARCHAR t1,t2,t3,t4INTEGER 1,2,3,4")
    with pytest.raises(psycopg.errors.UndefinedFunction) as refused:
        session.execute(f"SELECT any_of({clause.format('d')}) FROM few".encode())
    assert "any_of(INTEGER), any_of(VARCHAR)" in str(refused.value.diag.message_primary)


def test_defaults_and_numbers_of_arguments(session: psycopg.Connection) -> None:
    assert rows(session, "SELECT pairs(DISTINCT i), pairs(i, 1 ORDER BY i), pairs(i) FILTER (i > 3) FROM few") == [
        (70, 10, 28)
    ]
    for call in ("pairs(DISTINCT i, i, i)", "pairs() FILTER (WHERE true)"):
        with pytest.raises(psycopg.errors.UndefinedFunction, match="arguments does not exist"):
            session.execute(f"SELECT {call} FROM few".encode())
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="by its name"):
        session.execute("SELECT pairs(i, y => 2) FILTER (WHERE true) FROM few")
    assert value(session, "SELECT pairs(i, y => 2) FROM few") == 20


def test_a_function_of_another_kind_has_no_clauses(session: psycopg.Connection) -> None:
    for call in ("squared(DISTINCT i)", "squared(i ORDER BY i)", "squared(i) FILTER (WHERE i > 1)"):
        with pytest.raises(psycopg.errors.WrongObjectType):
            session.execute(f"SELECT {call} FROM few".encode())


def test_calls_within_arguments(session: psycopg.Connection) -> None:
    assert value(session, "SELECT joined(DISTINCT squared(i // 2) ORDER BY squared(i // 2)) FROM few") == (
        "INTEGER 0,1,4"
    )
    inner = "(SELECT pairs(DISTINCT g.i, 1)::INTEGER FROM few g WHERE g.i <= few.i)"
    assert value(session, f"SELECT joined({inner} ORDER BY i DESC) FROM few") == "INTEGER 10,6,3,1"


def test_windows_and_values(session: psycopg.Connection) -> None:
    query = (
        "SELECT pairs(DISTINCT i // 2, 1) OVER (ORDER BY i), pairs(i, 1) FILTER (i <> 2) OVER () FROM few ORDER BY i"
    )
    cursor = session.execute(query.encode())
    assert [column.name for column in cursor.description or []] == ["pairs", "pairs"]
    assert cursor.fetchall() == [(0, 8), (1, 8), (1, 8), (3, 8)]
    for binary in (False, True):
        found = session.execute("SELECT pairs(%s, 1) FILTER (WHERE i < %s) FROM few", [5, 3], binary=binary)
        assert found.fetchall() == [(10,)]
    with pytest.raises(psycopg.errors.UndefinedFunction):
        session.execute("SELECT joined(DISTINCT %s) FROM few", [1.5])
    session.execute("PREPARE p AS SELECT joined(DISTINCT i ORDER BY i) FROM few WHERE i < $1")
    assert value(session, "EXECUTE p(3)") == "INTEGER 1,2"
    session.execute("DEALLOCATE p")
    # Its types are those of the values.
    session.execute("PREPARE p AS SELECT joined(DISTINCT $1 + d) FROM few")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        session.execute("EXECUTE p(1)")
    session.execute("DEALLOCATE p")


def test_the_search_path_finds_the_aggregate(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute("CREATE SCHEMA other")
        session.execute("SET LOCAL search_path = other, public")
        assert value(session, "SELECT joined(i ORDER BY i DESC) FROM few") == "INTEGER 4,3,2,1"
        session.execute(JOINED.format(name="joined", type="VARCHAR").encode())
        assert value(session, "SELECT joined(s ORDER BY i DESC) FROM few") == "VARCHAR t4,t3,t2,t1"
        assert value(session, "SELECT public.joined(i ORDER BY i DESC) FROM few") == "INTEGER 4,3,2,1"


def test_each_way_to_run_a_query(session: psycopg.Connection, server: Server) -> None:
    query = "SELECT pairs(DISTINCT i // 2, 1) AS p, joined(i ORDER BY i DESC) FILTER (i > 2) AS j FROM few"
    expected = (3, "INTEGER 4,3")
    assert psycopg.ClientCursor(session).execute(query.encode()).fetchone() == expected
    with session.transaction():
        session.execute(f"DECLARE c CURSOR FOR {query}".encode())
        assert rows(session, "FETCH 1 FROM c") == [expected]
    with session.cursor().copy(f"COPY ({query}) TO STDOUT".encode()) as copy:
        assert list(copy.rows()) == [("3", "INTEGER 4,3")]
    uri = f"postgresql://tester@{server.host}:{server.port}/memory"
    assert colonnade.read_sql(query, uri).to_numpy().tolist() == [list(expected)]
    with session.transaction(force_rollback=True):
        session.execute(f"CREATE TABLE made AS {query}".encode())
        session.execute(f"INSERT INTO made {query}".encode())
        assert rows(session, "FROM made") == [expected] * 2
        session.execute(
            "CREATE FUNCTION looked_up() RETURNS TABLE(p BIGINT, j VARCHAR) LANGUAGE PYTHON "
            f"AS $$ return _conn.execute('{query}') $$".encode()
        )
        assert rows(session, "FROM looked_up()") == [expected]
    (spooled,) = rows(session, f"SELECT * FROM colonnade_spool('{query}')")
    assert spooled[2] == 1


def test_columns_of_tables_and_subqueries_have_the_function_s_name(session: psycopg.Connection) -> None:
    items = "pairs(DISTINCT i), joined(i ORDER BY i) FILTER (WHERE i > 3), max(i)"
    with session.transaction(force_rollback=True):
        session.execute(f"CREATE TABLE made AS SELECT {items}, 1 + pairs(DISTINCT i) AS more FROM few".encode())
        cursor = session.execute("SELECT * FROM made")
        assert [column.name for column in cursor.description or []] == ["pairs", "joined", "max(i)", "more"]
    query = f"WITH c AS (SELECT {items} FROM few) SELECT joined, pairs FROM c WHERE pairs > 1"
    assert rows(session, query) == [("INTEGER 4", 70)]
    cursor = session.execute(b"SELECT * FROM (SELECT i, Pairs(DISTINCT i, 1) OVER () FROM few) WHERE pairs > 1 LIMIT 1")
    assert [column.name for column in cursor.description or []] == ["i", "pairs"]
    # What a SELECT calls its columns stays, also of several with one name.
    for query, names in (
        ("SELECT pairs(DISTINCT i), pairs(DISTINCT i, 1) FROM few", ["pairs", "pairs"]),
        ("SELECT pairs(DISTINCT i) x, pairs(DISTINCT i) AS pairs FROM few", ["x", "pairs"]),
        ("SELECT pairs(DISTINCT i) + 1, [pairs(DISTINCT i)] FROM few", ["?column?", "array"]),
    ):
        cursor = session.execute(query.encode())
        assert [column.name for column in cursor.description or []] == names
