"""LIKE without ESCAPE: the backslash is its escape character, as in PostgreSQL, also in stored conditions and for
several patterns (ANY, ALL)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg import errors, sql

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, serve

connection = pytest.fixture(connected)

WORDS = st.text("aAb_%\\", max_size=6)
OPERATORS = ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]


@pytest.fixture(scope="module")
def in_postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as connection:
        yield connection


def answer(connection: psycopg.Connection, query: sql.Composable | str, values: list[str] | None = None) -> object:
    try:
        ((found,),) = connection.execute(query, values).fetchall()
    except errors.InvalidEscapeSequence:
        connection.rollback()
        return "the pattern ends with the escape character"
    return found


@given(value=WORDS, pattern=WORDS, operator=st.sampled_from(OPERATORS))
@example("a%b", "a\\%b", "LIKE")
@example("A_b", "a\\_B", "ILIKE")
@example("a\\b", "a\\\\b", "LIKE")
@example("a", "a\\", "NOT LIKE")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_patterns_match_as_in_postgresql(
    connection: psycopg.Connection, in_postgres: psycopg.Connection, value: str, pattern: str, operator: str
) -> None:
    expected = answer(in_postgres, f"SELECT %s::text {operator} %s", [value, pattern])
    literal = sql.SQL("SELECT {}::text " + operator + " {}").format(sql.Literal(value), sql.Literal(pattern))
    found = [
        answer(connection, f"SELECT %s::text {operator} %s", [value, pattern]),
        answer(connection, literal),
        answer(connection, f"SELECT v {operator} p || '' FROM (VALUES (%s, %s)) t(v, p)", [value, pattern]),
    ]
    # Each database stops where the value and the pattern first differ, and they do not look in the same order.
    ends_with_escape = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
    if not ends_with_escape:
        assert isinstance(expected, bool)
        assert found == [expected] * 3
    else:
        for each in found:
            assert each == expected or "the pattern ends with the escape character" in (each, expected)


@pytest.mark.parametrize(
    "condition",
    [
        r"x LIKE 'a\_' || 'c' AND true",
        r"NOT x LIKE 'a\_' || 'c' OR x = 'axc'",
        r"x LIKE CASE WHEN y = 1 THEN 'a\_c' ELSE 'q' END",
        r"x LIKE concat('a', '\_c') = true",
        "x LIKE E'a\\\\_c' COLLATE \"C\"",
        r"x LIKE ('a\_c')::varchar(10)",
        r"x LIKE (SELECT 'a\_c' WHERE 'b' NOT LIKE '\b%_')",
        r"x LIKE (ARRAY['a\_c'])[1]",
        r"x LIKE max('a\_c') OVER (PARTITION BY y) || ''",
        r"x LIKE replace('a#_c', '#', '\') IS NOT FALSE",
        r"x LIKE text 'a\_c' AND y IN (1, 2)",
        r"x LIKE 'a!_c' ESCAPE '!'",
        r"x LIKE 'a\_c' ESCAPE '!'",
        r"(x LIKE 'a\_c' ESCAPE '')",
        r"x || '' ILIKE 'A\_' || 'c'",
        r"x LIKE ANY (ARRAY['q', 'a\_c'])",
        r"NOT x || 'd' ILIKE SOME ('{A\\_%,%q}') OR y = 3",
        r"x NOT LIKE ALL (ARRAY['%x%', '%\\\\%']::text[]) = true",
        r"x LIKE ALL (ARRAY['a%', '%c', NULL])",
        r"x LIKE ANY (ARRAY['a\_c', NULL]) IS NULL",
        r"x LIKE ANY ('{}')",
        r"x LIKE ALL (ARRAY[]::varchar(3)[])",
        r"x LIKE ANY (NULL) IS NULL",
        r"x !~~* ANY (ARRAY(SELECT 'A' || '\_c'))",
        r"NULLIF(x, 'axc') ~~ ANY (SELECT v FROM (VALUES ('a\_c'), ('q')) s(v))",
        r"x LIKE ANY (string_to_array('a\_c|a_x', '|') || ARRAY['q'])",
        r"(SELECT x) LIKE ANY (ARRAY['%' || y::text, x])",
        r"max(x) OVER (ORDER BY y) LIKE ANY (ARRAY['ax%'])",
        r"x LIKE ANY (ARRAY['q', 'a\_c']) = (x NOT ILIKE ALL (ARRAY['q']))",
    ],
)
def test_every_form_of_a_pattern(
    connection: psycopg.Connection, in_postgres: psycopg.Connection, condition: str
) -> None:
    rows = r"(VALUES ('a_c', 1), ('axc', 2), ('a\xc', 3)) t(x, y)"
    query = f"SELECT x, {condition} AS found FROM {rows} ORDER BY y"
    assert connection.execute(query).fetchall() == in_postgres.execute(query).fetchall()


def test_patterns_as_a_parameter(connection: psycopg.Connection, in_postgres: psycopg.Connection) -> None:
    query = "SELECT %s LIKE ANY (%s), %s ILIKE ALL (%s)"
    for patterns in ([r"a\_c", "b"], ["B%"], [], [None], None):
        values = ["a_c", patterns, "bc", patterns]
        assert connection.execute(query, values).fetchall() == in_postgres.execute(query, values).fetchall()


def test_stored_conditions_mean_the_same_in_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with serve(path, "--create") as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(r"CREATE TABLE t (x text CHECK (x LIKE 'a\_%'))")
        connection.execute("INSERT INTO t VALUES ('a_b')")
        connection.execute(r"CREATE VIEW v AS SELECT x LIKE '%\_b' AS found FROM t")
        connection.execute(r"CREATE VIEW several AS SELECT x LIKE ANY (ARRAY['q', '%\_b']) AS found FROM t")
        connection.execute(r"CREATE INDEX i ON t ((x LIKE '%\_b'))")
        with pytest.raises(errors.CheckViolation):
            connection.execute("INSERT INTO t VALUES ('axb')")
    with duckdb.connect(str(path)) as other:
        assert other.execute("SELECT * FROM v, several").fetchall() == [(True, True)]
        with pytest.raises(duckdb.ConstraintException):
            other.execute("INSERT INTO t VALUES ('axb')")
        assert other.execute("DELETE FROM t RETURNING x").fetchall() == [("a_b",)]


def test_conditions_of_other_programs_keep_their_meaning(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as other:
        other.execute("CREATE TABLE t (x text)")
        other.execute(r"INSERT INTO t VALUES ('a_b'), ('a\xb')")
        other.execute(r"CREATE INDEX i ON t ((x LIKE '%\_b'))")
        other.execute(r"CREATE VIEW v AS SELECT x FROM t WHERE x LIKE '%\_b'")
    with serve(path) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        assert connection.execute("SELECT * FROM v").fetchall() == [("a\\xb",)]
        assert connection.execute("DELETE FROM t").rowcount == 2
