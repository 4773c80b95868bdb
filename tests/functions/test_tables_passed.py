"""Columns that a table function passes on: arrays of pyarrow that it returns as it got them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, rows, serving_with, value
from tests.testbed.serving import Server

pytest.importorskip("pyarrow")

LYING = """
import sys
ring = sys.modules['colonnade_udf.ring'].Ring
finish = ring.finish_any
def lie(self, rows, nodes, columns):
    ring.finish_any = finish
    finish(self, {rows}, [], [('x', {column!r})])
ring.finish_any = lie
return dict(_columns)
"""


def created(name: str, body: str, language: str = "PYTHON_MAP") -> str:
    return f"CREATE FUNCTION {name}(*) RETURNS TABLE(*) LANGUAGE {language} PARAMETER STYLE ARROW AS $py$\n{body}\n$py$"


FUNCTIONS = (
    "CREATE TYPE mood AS ENUM ('sad', 'it''s fine')",
    "CREATE TABLE given AS SELECT i, 'text ' || i AS s, CASE WHEN i % 3 > 0 THEN i / 4::DOUBLE END AS f, "
    "CASE WHEN i % 5 > 0 THEN (i / 100)::DECIMAL(9, 2) END AS d, i::HUGEINT << 70 AS h, i % 2 = 0 AS b, "
    "(['sad', 'it''s fine'])[i % 2 + 1]::mood AS e, [i, NULL] AS l, {'a': i, 'b': [s]} AS r, "
    "MAP {s: i} AS m, {'m': MAP {i: s}} AS rm, (i % 8)::BIT AS bits, '10:00:01+02'::TIMETZ AS tz, uuid() AS u, "
    "DATE '2025-01-01' + i::INTEGER AS day, TIMESTAMPTZ '2025-01-01 10:00:00+02' AS zoned, TIME '10:00' AS t, "
    "s::BLOB AS x, INTERVAL (i) DAY AS v, to_json(i) AS j, [1, 2, i]::BIGINT[3] AS a, "
    "CASE WHEN i % 2 = 0 THEN 'nothing' END AS n, 7 AS constant FROM range(300000) t(i)",
    created("same", "return dict(_columns)"),
    created("same_once", "return dict(_columns)", "PYTHON"),
    created("twice", "return {'one': _columns['s'], 'i': _columns['i'], 'other': _columns['s']}"),
    created("added", "import pyarrow.compute as pc\nreturn {'more': pc.add(_columns['i'], 1), **_columns}"),
    created("sliced", "return {'i': _columns['i'].slice(1), 's': _columns['s'].slice(1)}"),
    created("too_few", "return {'i': _columns['i'], 's': _columns['s'].slice(1)}"),
    created(
        "of_two",
        "return {'i': _columns['i'], 'j': _columns['j']} if len(_columns) == 2 else {'k': _columns['k']}",
        "PYTHON",
    ),
    created("longer", LYING.format(rows="rows + 1", column=0)),
    created("shorter", LYING.format(rows="rows - 1", column=0)),
    created("no_argument", LYING.format(rows="rows", column=7)),
    created("a_value", LYING.format(rows="rows", column=1)),
    created("too_large", LYING.format(rows="rows", column=10**30)),
    created("no_number", LYING.format(rows="rows", column="0x")),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_with(FUNCTIONS) as server:
        yield server


@pytest.fixture
def session(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


@pytest.mark.parametrize("name", ["same", "same_once"])
def test_every_type_stays_what_it_is(session: psycopg.Connection, name: str) -> None:
    """Also those that Arrow does not have: ENUM, UUID, MAP within others, BIT. The rows are several batches."""
    session.execute(f"CREATE OR REPLACE TEMP TABLE found AS SELECT * FROM {name}((FROM given))".encode())
    types = "SELECT column_name, column_type FROM (DESCRIBE {})"
    assert rows(session, types.format("found")) == rows(session, types.format("given"))
    assert value(session, "SELECT count(*) FROM found") == 300_000
    assert rows(session, "SELECT count(*) FROM (FROM given EXCEPT ALL FROM found)") == [(0,)]


@pytest.mark.parametrize("order", ["n", "n DESC"])
def test_texts_of_each_length(session: psycopg.Connection, order: str) -> None:
    """DuckDB stores up to 12 bytes in the value. The last text may be the shortest or the longest one."""
    texts = f"SELECT n, repeat('é', n // 2) || substr('abc', 1, n % 2) AS s FROM range(40) t(n) ORDER BY {order}"
    found = rows(session, f"SELECT s, strlen(s), hex(s) FROM same(({texts}))")
    wanted = ["é" * (n // 2) + "a" * (n % 2) for n in range(40)]
    wanted = wanted if order == "n" else wanted[::-1]
    assert found == [(text, len(text.encode()), text.encode().hex().upper()) for text in wanted]
    assert rows(session, f"SELECT count(*) FROM same(({texts})) JOIN ({texts}) AS t USING (s)") == [(40,)]


def test_a_column_is_passed_on_twice(session: psycopg.Connection) -> None:
    found = (
        "SELECT count(*), count(DISTINCT one), bool_and(one = other AND one = 'text ' || i) FROM twice((FROM given))"
    )
    assert rows(session, found) == [(300_000, 300_000, True)]


def test_columns_are_made_beside_those_that_are_passed_on(session: psycopg.Connection) -> None:
    found = "SELECT count(*), bool_and(more = i + 1 AND s = 'text ' || i) FROM added((SELECT i, s FROM given))"
    assert rows(session, found) == [(300_000, True)]


def test_a_part_of_a_column_is_another_column(session: psycopg.Connection) -> None:
    query = "SELECT * FROM sliced((SELECT i, s FROM given WHERE i < 3 ORDER BY i))"
    assert rows(session, query) == [(1, "text 1"), (2, "text 2")]
    with pytest.raises(psycopg.Error, match="returned 2 rows for 3"):
        session.execute(b"SELECT * FROM too_few((SELECT i, s FROM given WHERE i < 3))")


def test_no_rows_and_one_value_for_all(session: psycopg.Connection) -> None:
    assert rows(session, "SELECT * FROM same((SELECT i, m FROM given WHERE false))") == []
    assert rows(session, "SELECT * FROM same((SELECT 7 AS x, NULL AS y))") == [(7, None)]
    # A value that is not of a query is a value of Python, which all rows get.
    assert rows(session, "SELECT * FROM same((SELECT i FROM given WHERE i < 2 ORDER BY i), 5)") == [(0, 5), (1, 5)]


def test_queries_with_other_numbers_of_rows(session: psycopg.Connection) -> None:
    both = "SELECT * FROM of_two((SELECT 1 AS i UNION ALL SELECT 2), (SELECT j FROM range({}) t(j)))"
    assert rows(session, both.format(2)) == [(1, 0), (2, 1)]
    with pytest.raises(psycopg.Error, match="returned 3 rows for 2"):
        session.execute(both.format(3).encode())
    second = "SELECT * FROM of_two((SELECT 1 AS i), (SELECT j FROM range(3) t(j)), (SELECT k FROM range(2) t(k)))"
    assert rows(session, second) == [(0,), (1,)]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("longer", "an argument has not as many rows as the result"),
        ("shorter", "an argument has not as many rows as the result"),
        ("no_argument", "a column is an argument that there is not"),
        ("a_value", "a column is an argument that there is not"),
        ("too_large", "a column is an argument that there is not"),
        ("no_number", "a column is an argument that there is not"),
    ],
)
def test_a_process_that_lies_is_refused(session: psycopg.Connection, name: str, fault: str) -> None:
    for rows_of in ("range(3) t(i)", "given"):
        with pytest.raises(psycopg.Error, match=fault) as refused:
            session.execute(f"SELECT * FROM {name}((SELECT i FROM {rows_of}), 1)".encode())
        assert refused.value.sqlstate == "39000"
    assert value(session, "SELECT 1") == 1
