"""Types that a function's macro converts, and arguments that are one value for a whole query."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, serving, value
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


@pytest.mark.parametrize(
    ("type_", "values", "kind"),
    [
        ("BIT", ["'101'", "'1'", "'0000000000000000000000000001'"], "str"),
        ("TIME WITH TIME ZONE", ["'01:02:03.000004+05:30'", "'23:59:59-08'"], "str"),
        ("MAP(VARCHAR, INTEGER)", ["MAP {'a': 1, 'b': NULL}", "MAP {}"], "dict"),
        ("MAP(INTEGER, VARCHAR[])", ["MAP {1: ['x', NULL], 2: NULL}"], "dict"),
        ("MAP(VARCHAR, MAP(INTEGER, BIT))", ["MAP {'a': MAP {1: '101'::BIT}, 'b': NULL}"], "dict"),
        ("BIT[]", ["['101'::BIT, NULL]", "[]"], "ndarray"),
        ("MAP(VARCHAR, INTEGER)[]", ["[MAP {'a': 1}, NULL, MAP {}]"], "ndarray"),
        ("MAP(VARCHAR, INTEGER)[2]", ["array_value(MAP {'a': 1}, MAP {'b': 2})"], "ndarray"),
        ('STRUCT(b BIT, "t z" TIME WITH TIME ZONE)', ["{'b': '1'::BIT, 't z': '12:00:00+02'::TIMETZ}"], "dict"),
        (
            "STRUCT(m MAP(VARCHAR, TIME WITH TIME ZONE))[]",
            ["[{'m': MAP {'a': '12:00:00+02'}}, {'m': NULL}]"],
            "ndarray",
        ),
        ("UNION(b BIT, i INTEGER)", ["union_value(b := '1'::BIT)", "union_value(i := 1)"], None),
        ("UNION(m MAP(VARCHAR, INTEGER), i INTEGER)", ["union_value(m := MAP {'a': 1})"], None),
    ],
)
def test_a_converted_value_comes_back(
    connection: psycopg.Connection, type_: str, values: list[str], kind: str | None
) -> None:
    source = f"assert all(type(v).__name__ in ('{kind}', 'NoneType') for v in x.tolist())\nreturn x"
    if kind is None:
        # A function gets the value of a union's member, and returns it with the member's name.
        source = "return [None if v is None else ('bimo'[isinstance(v, int)], v) for v in x.tolist()]"
        source = source.replace("'bimo'[isinstance(v, int)]", f"'i' if isinstance(v, int) else '{type_[6]}'")
    for language in ("", "STRICT"):
        text = f"CREATE OR REPLACE FUNCTION same(x {type_}) RETURNS {type_} LANGUAGE PYTHON_MAP {language}"
        connection.execute(f"{text} AS $$\n{source} $$".encode())
        listed = ", ".join(f"(CAST({value} AS {type_}))" for value in [*values, "NULL"])
        columns = "count_if(same(x) IS DISTINCT FROM x), any_value(typeof(same(x)))"
        query = f"SELECT {columns} FROM (VALUES {listed}) v(x), range(900)"
        assert connection.execute(query.encode()).fetchall() == [(0, type_)]
    connection.execute(f"DROP FUNCTION same({type_})".encode())
    text = f"CREATE FUNCTION rows_of(x {type_}) RETURNS TABLE (y {type_}) LANGUAGE PYTHON AS $$\n{source}\n$$"
    connection.execute(
        text.replace("return [None", "return {'y': [None").replace("x.tolist()]", "x.tolist()]}").encode()
    )
    of = f"SELECT x FROM (VALUES {listed}) v(x)"
    assert value(connection, f"SELECT count(*) FROM (({of}) EXCEPT ALL (FROM rows_of(({of}))))") == 0
    connection.execute("DROP FUNCTION rows_of")
    if kind is None:
        return
    body = "one = numpy.empty(1, object); one[0] = x.tolist()[0]; return one"
    text = f"CREATE AGGREGATE one_of(x {type_}) RETURNS {type_} LANGUAGE PYTHON_MAP AS $$ {body} $$"
    connection.execute(text.encode())
    groups = f"SELECT x, one_of(x) AS one FROM (VALUES {listed}) v(x), range(9) GROUP BY x"
    assert value(connection, f"SELECT count_if(one IS DISTINCT FROM x) FROM ({groups})") == 0
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="DISTINCT"):
        connection.execute(f"SELECT one_of(DISTINCT x) FROM (VALUES {listed}) v(x)".encode())
    shown = value(connection, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'one_of'")
    assert "CREATE OR REPLACE AGGREGATE" in str(shown)
    connection.execute(f"DROP AGGREGATE one_of({type_})".encode())


def test_a_wrong_text_is_refused(connection: psycopg.Connection) -> None:
    connection.execute("CREATE FUNCTION bad(x INT) RETURNS BIT LANGUAGE PYTHON_MAP AS $$ return ['12'] * len(x) $$")
    with pytest.raises(psycopg.errors.DataError):
        connection.execute("SELECT bad(1)")
    connection.execute("DROP FUNCTION bad")


def test_a_scalar_argument_is_one_value_in_all_parts(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION times(x INTEGER, factor INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP SCALAR (factor) AS "
        "$$ return x * factor $$"
    )
    connection.execute(
        "CREATE AGGREGATE total_times(x INTEGER, factor INTEGER[]) RETURNS BIGINT LANGUAGE PYTHON SCALAR (factor) AS "
        "$$ return (numpy.bincount(aggr_group, x) * factor[0]).astype('i8') $$"
    )
    connection.execute(
        "CREATE TABLE numbers AS SELECT i::INTEGER AS i, (i // 10000)::INTEGER AS part FROM range(40000) t(i)"
    )
    assert value(connection, "SELECT sum(times(i, 2))::BIGINT FROM numbers") == 1_599_960_000
    # Each part of the rows has one value, and the parts have several.
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r'"factor" of main\.times has more than one value'):
        connection.execute("SELECT sum(times(i, part)) FROM numbers")
    # A prepared statement has one in each execution.
    for factor in (2, 3, 4):
        found = connection.execute("SELECT sum(times(i, %s))::BIGINT FROM numbers", [factor], prepare=True).fetchone()
        assert found == (factor * 799_980_000,)
    groups = "SELECT total_times(i, [%s]) AS total FROM numbers GROUP BY i %% 9000"
    query = f"SELECT count(*), sum(total)::BIGINT FROM ({groups})"
    assert connection.execute(query.encode(), [2]).fetchone() == (9000, 1_599_960_000)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='"factor"'):
        connection.execute("SELECT total_times(i, [i % 9000 // 4000]) FROM numbers GROUP BY i % 9000")
