"""Statements that use some of a table function's columns: only these become vectors of DuckDB."""

from __future__ import annotations

import psycopg
import pytest

from tests.functions.sessions import rows, server_of

pytest.importorskip("pyarrow")

ROWS = 300_000

FUNCTIONS = (
    f"CREATE TABLE given AS SELECT i, 'text ' || i AS s, CASE WHEN i % 3 > 0 THEN i / 4::DOUBLE END AS f, [i, NULL] "
    f"AS l, {{'a': i, 'b': 'x' || i}} AS r FROM range({ROWS}) t(i)",
    "CREATE FUNCTION same(*) RETURNS TABLE(*) LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS $$ return dict(_columns) $$",
    "CREATE FUNCTION declared(i BIGINT, s VARCHAR) RETURNS TABLE(a BIGINT, b VARCHAR, c DOUBLE) LANGUAGE PYTHON_MAP "
    "AS $$ return {'a': i, 'b': s, 'c': i / 2} $$",
    "CREATE TYPE mood AS ENUM ('sad', 'fine')",
    "CREATE FUNCTION moods(i BIGINT) RETURNS TABLE(i BIGINT, m mood) LANGUAGE PYTHON "
    "AS $$ return {'i': i, 'm': ['angry'] * len(i)} $$",
)


server = server_of(FUNCTIONS)


@pytest.mark.parametrize(
    "chosen",
    [
        *("count(*)", "count(*), 1", "sum(i)", "count(f), sum(f)", "max(s), min(i)", "min(l), max(r)", "max(r.b)"),
        *("sum(i) FILTER (s LIKE '%7')", "sum(x.i + y.i)", "sum(len(s) + i), max(s)", "min(l), max(r), max(s), sum(f)"),
    ],
)
@pytest.mark.parametrize("condition", ["true", "i % 7 = 3", "f IS NULL", "s > 'text 3' AND l[1] > 4", "false"])
def test_columns_that_are_used(session: psycopg.Connection, chosen: str, condition: str) -> None:
    """In any order, and none of them: the rows count as well."""
    if "x." in chosen:
        query = f"SELECT {chosen} FROM {{0}} x JOIN {{0}} y ON x.i = y.i + 1 WHERE x.f IS NOT NULL"
    else:
        query = f"SELECT {chosen} FROM {{0}} WHERE {condition}"
    assert rows(session, query.format("same((FROM given))")) == rows(session, query.format("given"))


def test_columns_that_are_declared(session: psycopg.Connection) -> None:
    call = "declared((SELECT i, s FROM given))"
    assert rows(session, f"SELECT count(*) FROM {call}") == [(ROWS,)]
    assert rows(session, f"SELECT sum(c) FROM {call}") == [(ROWS * (ROWS - 1) / 4,)]
    wanted = [(i / 2, f"text {i}") for i in range(ROWS - 1, ROWS - 4, -1)]
    assert rows(session, f"SELECT c, b FROM {call} ORDER BY a DESC LIMIT 3") == wanted
    assert rows(session, f"SELECT b FROM {call} EXCEPT SELECT s FROM given") == []
    assert rows(session, f"SELECT count(*) FROM {call}, {call} OFFSET 1") == []


def test_there_is_no_row_number(session: psycopg.Connection) -> None:
    """DuckDB's scans may be asked for one. A result has no such column, and none is made up."""
    with pytest.raises(psycopg.Error):
        session.execute("SELECT rowid FROM same((FROM given))")


def test_a_value_that_does_not_fit_counts_where_it_is_used(session: psycopg.Connection) -> None:
    call = "moods((SELECT i FROM given LIMIT 10))"
    assert rows(session, f"SELECT sum(i) FROM {call}") == [(45,)]
    with pytest.raises(psycopg.Error, match='"angry" is no value'):
        session.execute(f"SELECT count(m) FROM {call}".encode())
