"""pg_prepared_statements and pg_cursors: what the session has, as PostgreSQL lists it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server

STATEMENTS = (
    "select name, statement, parameter_types::text[], from_sql, generic_plans from pg_prepared_statements order by name"
)
CURSORS = "select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors order by name"


@pytest.fixture
def both(server: Server, stock: pg.Cluster) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with (
        psycopg.connect(server.dsn, autocommit=True) as own,
        psycopg.connect(stock.dsn(), autocommit=True) as theirs,
    ):
        yield own, theirs


def test_prepared_statements_are_those_of_postgresql(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    found = []
    for connection in both:
        connection.execute("select %s::int, %s::text", [1, 'a\n"b\\'], prepare=True)
        connection.execute("select %s, %s::numeric[]", [datetime.date(2020, 1, 1), [1]], prepare=True)
        connection.execute("PREPARE quoted AS SELECT 'it''s \"x\"\t\\'")
        # One that fails is not there, and the unnamed one neither.
        with pytest.raises(psycopg.Error):
            connection.execute("select nothing_of_this_name + %s", [1], prepare=True)
        found.append(connection.execute(STATEMENTS).fetchall())
        recent = "select now() - interval '1 minute' < min(prepare_time) from pg_prepared_statements"
        assert connection.execute(recent).fetchall() == [(True,)]
        connection.execute("deallocate quoted")
        connection.execute("deallocate _pg3_0")
        found.append(connection.execute(STATEMENTS.encode(), prepare=False).fetchall())
        connection.execute("deallocate all")
        found.append(connection.execute("select count(*) from pg_catalog.pg_prepared_statements").fetchall())
    assert found[:3] == found[3:]
    assert [len(rows) for rows in found[:3]] == [3, 1, 1]


def test_a_statement_of_prepare_has_types_when_it_runs(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute('prepare "A" as select $1 + 1')
        query = "select statement, parameter_types, from_sql from pg_prepared_statements"
        assert connection.execute(query).fetchall() == [('prepare "A" as select $1 + 1', ["unknown"], True)]
        connection.execute("discard all")
        assert connection.execute(query).fetchall() == []


def test_other_sessions_have_other_statements(server: Server) -> None:
    with psycopg.connect(server.dsn) as first, psycopg.connect(server.dsn) as second:
        first.execute("select 1", prepare=True)
        assert len(first.execute(STATEMENTS).fetchall()) == 1
        assert second.execute(STATEMENTS).fetchall() == []


def test_cursors_are_those_of_postgresql(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    found = []
    for connection in both:
        connection.execute("begin")
        connection.execute('declare a no scroll cursor for select 1 as "x"')
        connection.execute("declare b no scroll cursor with hold for values (1), (2)")
        connection.execute("declare c no scroll cursor for select %s::int", [1])
        found.append(connection.execute(CURSORS).fetchall())
        # The protocol's own portal runs this statement.
        found.append(connection.execute(f"select * from ({CURSORS}) c where name <> %s".encode(), ["a"]).fetchall()[1:])
        connection.execute("close a")
        connection.execute("commit")
        found.append(connection.execute(CURSORS).fetchall())
        connection.execute("close all")
        found.append(connection.execute(CURSORS).fetchall())
    assert found[:4] == found[4:]
    assert [[row[0] for row in rows] for rows in found[:4]] == [["a", "b", "c"], ["b", "c"], ["b"], []]


def test_a_failed_statement_leaves_no_portal(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for query in ("select %s::int / 0 + 'x'::int", "select nothing(%s)"):
            with pytest.raises(psycopg.Error):
                connection.execute(query, ["1"])
        assert connection.execute(CURSORS).fetchall() == []
