"""UNNEST of several arrays in FROM, by which drivers insert many rows, and CREATE INDEX as ORMs write it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from tests.testbed.serving import connected

connection = pytest.fixture(connected)


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) AS u(x, y)", [(1, "a"), (2, "b")]),
        # The shorter one is filled with NULL; NULL is like an empty one.
        ("SELECT x, y FROM unnest('{1}'::int[], '{a,b}'::text[]) u(x, y)", [(1, "a"), (None, "b")]),
        ("SELECT x, y FROM unnest(NULL::int[], ARRAY[NULL, 'b']) u(x, y)", [(None, None), (None, "b")]),
        ("SELECT x FROM unnest('{}'::int[], NULL::int[]) u(x, y)", []),
        (
            "SELECT * FROM unnest(ARRAY[3, 4], ARRAY['a'], ARRAY[true]) WITH ORDINALITY AS u(x, y, z, n)",
            [(3, "a", True, 1), (4, None, None, 2)],
        ),
        (
            "SELECT t.k, u.x, u.y FROM (VALUES ('p', ARRAY[1], ARRAY[2, 3]), ('q', ARRAY[4], NULL)) t(k, a, b), "
            "LATERAL unnest(t.a, t.b) AS u(x, y) ORDER BY k, y",
            [("p", 1, 2), ("p", None, 3), ("q", 4, None)],
        ),
        (
            "SELECT k, x, y FROM (VALUES (1, '{}'::int[])) t(k, a) LEFT JOIN unnest(a, a) u(x, y) ON true",
            [(1, None, None)],
        ),
        ("SELECT sum(x + y) FROM unnest(ARRAY(SELECT 1), ARRAY[(SELECT 2)]) AS u(x, y) WHERE x > 0", [(3,)]),
    ],
)
def test_arrays_become_columns(
    connection: psycopg.Connection, query: str, expected: list[tuple[object, ...]], prepare: bool
) -> None:
    assert connection.execute(query.encode(), prepare=prepare).fetchall() == expected


def test_an_insert_of_many_rows(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE many (i INTEGER, t VARCHAR, n DECIMAL(10, 2), moment TIMESTAMPTZ)")
    numbers, texts = list(range(1000)), [None if i % 3 else f"a,{{'\"\\{i}" for i in range(1000)]
    connection.execute(
        "INSERT INTO many SELECT * FROM unnest(%s::int[], %s::text[], %s::numeric(10, 2)[], %s::timestamptz[])",
        [numbers, texts, [f"{i}.25" for i in numbers], ["2020-01-01 00:00:00+02"] * 1000],
    )
    assert connection.execute("SELECT i, t FROM many ORDER BY i").fetchall() == list(zip(numbers, texts, strict=True))
    query = "SELECT sum(n)::VARCHAR, min(moment)::VARCHAR FROM many"
    assert connection.execute(query).fetchone() == ("499750.00", "2019-12-31 22:00:00+00")


def test_deletes_and_merges_of_many_rows(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE kept AS SELECT range AS i, 'a' AS t FROM range(4)")
    changes = [[1, 2, 9], ["a", "b", "a"]]
    query = "DELETE FROM kept USING unnest(%s::int[], %s::text[]) u(i, t) WHERE kept.i = u.i AND kept.t = u.t"
    assert connection.execute(query, changes).rowcount == 1
    source = "unnest(%s::int[], %s::text[]) u(i, t)"
    query = f"MERGE INTO kept USING {source} ON kept.i = u.i WHEN MATCHED THEN UPDATE SET t = u.t".encode()
    assert connection.execute(query, changes).rowcount == 1
    assert connection.execute("SELECT * FROM kept ORDER BY i").fetchall() == [(0, "a"), (2, "b"), (3, "a")]


def test_what_is_no_array_is_an_error(connection: psycopg.Connection) -> None:
    for query in ("SELECT * FROM unnest(ARRAY[1], 2)", "SELECT * FROM unnest(ARRAY[1, 2], true)"):
        with pytest.raises(psycopg.Error):
            connection.execute(query.encode())


def test_methods_and_operator_classes_of_an_index(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE indexed (i INTEGER, t VARCHAR)")
    connection.execute("CREATE INDEX indexed_i ON indexed USING btree (i)")
    connection.execute("CREATE UNIQUE INDEX indexed_t ON indexed USING btree (t varchar_pattern_ops, i int4_ops DESC)")
    connection.execute("INSERT INTO indexed VALUES (1, 'a')")
    with pytest.raises(errors.UniqueViolation):
        connection.execute("INSERT INTO indexed VALUES (1, 'a')")
    with pytest.raises(psycopg.Error, match="gin"):
        connection.execute("CREATE INDEX other ON indexed USING gin (t gin_trgm_ops)")


def test_a_failed_named_cursor_reports_its_own_error(connection: psycopg.Connection) -> None:
    """psycopg looks into pg_cursors, whether there is a cursor to close."""
    with pytest.raises(errors.UndefinedTable, match="nowhere"), connection.cursor("named", withhold=True) as cursor:
        cursor.execute("SELECT * FROM nowhere")
