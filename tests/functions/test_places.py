"""Where calls may stand: the same rows as an expression of DuckDB gives there, or an error."""

from __future__ import annotations

import subprocess
import sys

import colonnade
import psycopg
import pytest

from tests.functions.sessions import connected, rows, server_of, value
from tests.testbed.serving import Server

FUNCTIONS = (
    "CREATE TABLE tbl AS SELECT i::INTEGER AS i, 'x' || i AS s, (i % 3)::INTEGER AS g, nullif(i, 4)::INTEGER AS n "
    "FROM range(1, 9) t(i)",
    "CREATE FUNCTION whole(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x * 10 $$",
    "CREATE FUNCTION part(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x * 10 $$",
    "CREATE FUNCTION tens(x INTEGER) RETURNS TABLE(x INTEGER) LANGUAGE PYTHON AS $$ return [x * 10] $$",
    "CREATE FUNCTION given(*) RETURNS TABLE(*) LANGUAGE PYTHON AS $$ return dict(_columns) $$",
)

server = server_of(FUNCTIONS)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT F(i) AS x FROM tbl WHERE F(i) > 30 ORDER BY F(i) DESC",
        "SELECT F(g) AS x, count(*) FROM tbl GROUP BY x HAVING F(count(*)::INTEGER) > 20 ORDER BY x",
        "SELECT i FROM tbl QUALIFY row_number() OVER (PARTITION BY F(g) ORDER BY F(i)) = 1 ORDER BY i",
        "SELECT sum(F(i)) OVER (ORDER BY i ROWS 2 PRECEDING) FROM tbl ORDER BY i",
        "SELECT F(row_number() OVER (ORDER BY i)::INTEGER) FROM tbl ORDER BY 1",
        "SELECT a.i FROM tbl a JOIN tbl b ON F(a.g) = 10 * b.i ORDER BY 1",
        "SELECT CASE WHEN F(i) > 30 THEN F(n) END, coalesce(F(n), -1), F(n) IS NULL, F(n) ISNULL FROM tbl ORDER BY i",
        "SELECT list_transform([1, 2, NULL], lambda x: F(x))",
        "SELECT F(unnest([1, 2])), F((SELECT max(i) FROM tbl))",
        "SELECT (SELECT F(u.i)) FROM tbl u ORDER BY 1",
        "SELECT * FROM (VALUES (F(1)), (F(NULL))) v(a), LATERAL (SELECT F(v.a) AS b) ORDER BY ALL",
        "SELECT DISTINCT F(g) FROM tbl UNION ALL SELECT F(F(i)) FROM tbl ORDER BY 1",
        "PIVOT tbl ON g USING sum(F(i)) GROUP BY n ORDER BY n",
        "SELECT F(i) FROM tbl WHERE false",
        "SELECT count(F(i)), sum(F(i)), max(F(n)) FROM tbl WHERE i > 100",
    ],
)
def test_functions_in_parallel_parts_are_expressions(session: psycopg.Connection, query: str) -> None:
    expected = rows(session, query.replace("F(", "10 * ("))
    assert rows(session, query.replace("F(", "part(")) == expected


def test_statements_that_change_rows(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute("CREATE TABLE kept(x INTEGER DEFAULT part(7), y INTEGER CHECK (part(y) < 100))")
        session.execute("INSERT INTO kept(y) VALUES (1), (2)")
        assert rows(session, "UPDATE kept SET x = part(y) WHERE part(y) = 20 RETURNING x, part(x)") == [(20, 200)]
        assert session.execute("DELETE FROM kept WHERE part(x) = 700").rowcount == 1
        session.execute(
            "MERGE INTO kept USING tens((SELECT 2)) t ON kept.x = t.x WHEN MATCHED THEN UPDATE SET x = part(3)"
        )
        assert rows(session, "FROM kept") == [(30, 2)]
        session.execute("UPDATE kept SET x = w.k FROM (SELECT i, whole(i) AS k FROM tbl) w WHERE w.i = kept.y")
        assert rows(session, "FROM kept") == [(20, 2)]


@pytest.mark.parametrize(
    "query",
    [
        "WITH tbl AS (SELECT 5 AS i) SELECT F(i) AS x FROM tbl",
        "WITH a AS (SELECT 7 AS i) SELECT x FROM (WITH a AS (SELECT 8 AS i) SELECT F(i) AS x FROM a) "
        "UNION ALL SELECT F(i) FROM a",
        "WITH a AS (SELECT i FROM tbl), b AS (SELECT F(i) AS x FROM a), c AS (SELECT F(x) AS y FROM b) "
        "FROM c ORDER BY y",
        "WITH a(k) AS MATERIALIZED (SELECT i FROM tbl), b AS NOT MATERIALIZED (FROM a) "
        "SELECT F(k) AS x FROM b ORDER BY x",
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) "
        "SELECT F(i) AS x FROM r ORDER BY x",
        "(SELECT F(i) AS x FROM tbl ORDER BY x LIMIT 1) UNION ALL (SELECT F(i) FROM tbl ORDER BY 1 DESC LIMIT 1)",
        "SELECT F(i) AS x FROM tbl EXCEPT SELECT F(i) FROM tbl WHERE i > 2 ORDER BY x",
        "SELECT F(i) AS x, (SELECT count(*) FROM tbl u WHERE u.i < tbl.i) AS k FROM tbl ORDER BY k",
        "SELECT g, F(sum(i)::INTEGER) AS x FROM tbl GROUP BY ROLLUP (g) HAVING sum(i) > 5 ORDER BY g NULLS FIRST",
        "SELECT row_number() OVER w AS k, F(i) AS x FROM tbl WINDOW w AS (ORDER BY i DESC) ORDER BY k",
        "SELECT F(i) AS x, F(g) AS y, i AS z FROM tbl QUALIFY row_number() OVER (ORDER BY i) < 5 ORDER BY y DESC, x",
        "SELECT F(CASE WHEN i > 3 THEN i END) AS x, s FROM tbl ORDER BY s OFFSET 2",
        "SELECT a.x, b.x FROM (SELECT F(i) AS x FROM tbl) a JOIN (SELECT F(g) AS x FROM tbl) b USING (x) ORDER BY 1",
        "SELECT ARRAY(SELECT F(i) FROM tbl), EXISTS (SELECT F(i) FROM tbl), 10 IN (SELECT F(i) FROM tbl)",
        'SELECT F(i) AS "order", \'from\' AS "limit" FROM tbl WHERE s <> \')\' ORDER BY "order" DESC -- the end',
    ],
)
def test_functions_of_whole_columns_are_items_of_any_select(session: psycopg.Connection, query: str) -> None:
    assert rows(session, query.replace("F(", "whole(")) == rows(session, query.replace("F(", "10 * ("))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("WITH tbl AS (SELECT 100 AS i) FROM tens((FROM tbl))", [(1000,)]),
        ("WITH a AS (SELECT 1 AS i) SELECT * FROM tens((WITH a AS (SELECT 3 AS i) SELECT i FROM a))", [(30,)]),
        (
            "WITH a AS (SELECT 1 AS i) "
            "SELECT * FROM (WITH a AS (SELECT 2 AS i) FROM tens((FROM a))) p, tens((FROM a)) q",
            [(20, 10)],
        ),
        # A WITH query does not see itself, nor those behind it.
        ("WITH tbl AS (SELECT x + 1 AS i FROM tens((SELECT min(i) FROM tbl))) FROM tbl", [(11,)]),
        ("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) FROM tens((FROM r))", None),
        ("SELECT * FROM tens((SELECT x FROM tens((SELECT x FROM tens((SELECT 1))))))", [(1000,)]),
        ("SELECT whole(x) AS y FROM tens((SELECT whole(i) AS q FROM tbl WHERE i < 3)) ORDER BY y", [(1000,), (2000,)]),
        ("FROM tens(((SELECT 1) UNION ALL (SELECT 2)))", [(10,), (20,)]),
        ("SELECT i FROM tbl WHERE i NOT IN (FROM tens((SELECT 0))) AND i < 3 ORDER BY i", [(1,), (2,)]),
    ],
)
def test_arguments_see_the_queries_before_them(
    session: psycopg.Connection, query: str, expected: list[tuple[object, ...]] | None
) -> None:
    assert rows(session, query) == (expected or [(10,), (20,), (30,)])


def test_columns_that_the_data_decide_are_described_late(session: psycopg.Connection, server: Server) -> None:
    query = "SELECT * FROM given((SELECT i, s FROM tbl WHERE i < 3), k => {})"
    for _ in range(6):
        cursor = session.execute(query.format("%s").encode(), [2.5], prepare=True)
        assert [column.name for column in cursor.description or []] == ["i", "s", "k"]
        assert cursor.fetchall() == [(1, "x1", 2.5), (2, "x2", 2.5)]
    uri = f"postgresql://tester@{server.host}:{server.port}/memory"
    assert colonnade.read_sql(query.format("$1"), uri, params=["z"])["k"].tolist() == ["z", "z"]
    assert rows(session, "SELECT * FROM given((SELECT NULL AS a, 1 AS b WHERE false))") == []


def test_a_name_has_one_kind(session: psycopg.Connection) -> None:
    body = "LANGUAGE PYTHON_MAP AS $$ return x $$"
    for statement in (
        f"CREATE AGGREGATE part(x VARCHAR) RETURNS VARCHAR {body}",
        f"CREATE FUNCTION part(x VARCHAR) RETURNS TABLE(x VARCHAR) {body}",
        f"CREATE FUNCTION tens(x VARCHAR) RETURNS VARCHAR {body}",
        f"CREATE AGGREGATE tens(x VARCHAR) RETURNS VARCHAR {body}",
        f"CREATE FUNCTION whole(x VARCHAR) RETURNS VARCHAR {body}",
    ):
        with pytest.raises(psycopg.errors.WrongObjectType):
            session.execute(statement.encode())
    assert value(session, "SELECT part(1) + (SELECT max(x) FROM tens((SELECT 1)))") == 20


def test_reading_and_what_a_function_changes_are_one_transaction(server: Server) -> None:
    with connected(server) as one, connected(server) as other:
        one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = rows(one, "SELECT count(*) FROM tens((SELECT i FROM tbl))")
        other.execute("INSERT INTO tbl(i) VALUES (1000)")
        assert rows(one, "SELECT count(*), (SELECT count(*) FROM tbl) FROM tens((SELECT i FROM tbl))") == [
            (before[0][0], before[0][0])
        ]
        one.execute("COMMIT")
        assert rows(one, "SELECT max(x) FROM tens((SELECT i FROM tbl))") == [(10_000,)]
        other.execute("DELETE FROM tbl WHERE i = 1000")


def test_only_the_server_has_dispatchers() -> None:
    program = (
        "import duckdb, colonnade\n"
        "print(colonnade.read_sql('SELECT 1 AS a', 'duckdb://')['a'].tolist())\n"
        "query = \"SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'colonnade%'\"\n"
        "print(duckdb.connect().execute(query).fetchall())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[1]", "[(0,)]"]
