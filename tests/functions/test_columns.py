"""Functions in LANGUAGE PYTHON that give a column: they get whole columns, as items of a SELECT list."""

from __future__ import annotations

import psycopg
import pytest

from tests.functions.sessions import rows, server_of, value

FUNCTIONS = (
    "CREATE TABLE tbl AS SELECT i::INTEGER AS i, 'x' || i AS s, i % 3 AS g FROM range(1, 300001) t(i)",
    "CREATE FUNCTION part(i INTEGER) RETURNS DOUBLE LANGUAGE PYTHON AS $$ print(len(i)); return i / i.max() $$",
    "CREATE FUNCTION total(x BIGINT, factor BIGINT = 1) RETURNS BIGINT LANGUAGE PYTHON "
    "AS $$ return numpy.cumsum(x * factor) $$",
    "CREATE FUNCTION doubled(i BIGINT) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON AS $$ return {'i': i * 2} $$",
    "CREATE FUNCTION anything(*) RETURNS TABLE(*) LANGUAGE PYTHON AS $$ return {'i': numpy.arange(3)} $$",
)


server = server_of(FUNCTIONS)


def test_a_call_gets_the_whole_column_once(session: psycopg.Connection) -> None:
    notices: list[str] = []
    session.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    assert rows(session, "SELECT i, part(i) FROM tbl ORDER BY i DESC LIMIT 2") == [
        (300_000, 1.0),
        (299_999, 299_999 / 3e5),
    ]
    assert notices == ["300000"]
    assert rows(session, "SELECT part(i) AS p FROM tbl WHERE i < %s ORDER BY p", 3) == [(0.5,), (1.0,)]
    assert notices[1:] == ["2"]
    assert rows(session, "SELECT part(i) FROM tbl WHERE false") == []
    assert notices[2:] == []


@pytest.mark.parametrize(
    ("query", "names", "expected"),
    [
        ("SELECT part(7)", ["part"], [(1.0,)]),
        ("SELECT part(i) AS p, upper(s), *, total(i) FROM tbl WHERE i < 3", "p upper i s g total", None),
        ("SELECT i, i, total(i) i FROM tbl WHERE i < 3", "i i i", [(1, 1, 1), (2, 2, 3)]),
        (
            "SELECT g, total(sum(i)::BIGINT, 2) AS t FROM tbl WHERE i < 10 GROUP BY g HAVING g > 0 ORDER BY g",
            "g t",
            None,
        ),
        ("SELECT DISTINCT total((i // i)::BIGINT) AS t FROM tbl ORDER BY t LIMIT 2", "t", [(1,), (2,)]),
        ("WITH a AS (SELECT i, part(i) AS p FROM tbl) SELECT count(*) FROM a WHERE p <= 0.5", "count", [(150_000,)]),
        ("WITH a AS (SELECT 5 AS i) SELECT i, total(i) FROM a", "i total", [(5, 5)]),
        (
            "SELECT i FROM tbl WHERE i = 2 UNION ALL SELECT total(i) FROM tbl WHERE i < 3 ORDER BY 1",
            "i",
            [(1,), (2,), (3,)],
        ),
        ("SELECT x.i, y.t FROM tbl x JOIN (SELECT i, total(i) t FROM tbl) y USING (i) WHERE i = 3", "i t", [(3, 6)]),
        ("SELECT (SELECT max(t) FROM (SELECT total(i) AS t FROM tbl WHERE i < 4))", ["max"], [(6,)]),
        ("SELECT s, total(i) FROM tbl WHERE i < 3", "s total", [("x1", 1), ("x2", 3)]),
        # Items that are in parentheses as a whole.
        ("SELECT (i), total(i) t, (SELECT 7) AS n, [i] FROM tbl WHERE i < 3", None, [(1, 1, 7, [1]), (2, 3, 7, [2])]),
        # The rows come from other calls before the statement.
        ("SELECT i, total(i) FROM doubled((SELECT i FROM tbl WHERE i < 3))", "i total", [(2, 2), (4, 6)]),
        ("SELECT total(i) FROM anything((SELECT i FROM tbl)) WHERE i > 0", "total", [(1,), (3,)]),
        ("SELECT total(i), (SELECT max(i) FROM doubled((FROM range(3)))) FROM tbl WHERE i < 3", None, [(1, 4), (3, 4)]),
        ("SELECT total(x::INTEGER) y FROM (SELECT total(i) AS x FROM tbl WHERE i < 4)", "y", [(1,), (4,), (10,)]),
        (
            "WITH w AS (SELECT i FROM tbl WHERE i < 3) SELECT i, total(i) FROM doubled((FROM w)) JOIN w USING (i)",
            "i total",
            [(2, 2)],
        ),
        ("SELECT MAP {'a': i} AS m, '101'::BIT AS b, total(i) AS t FROM tbl WHERE i = 1", "m b t", None),
    ],
)
def test_the_rest_of_the_select_stays(
    session: psycopg.Connection, query: str, names: str | list[str] | None, expected: list[tuple[object, ...]] | None
) -> None:
    cursor = session.execute(query.encode())
    if names is not None:
        expected_names = names.split() if isinstance(names, str) else names
        assert [column.name for column in cursor.description or []] == expected_names
    found = cursor.fetchall()
    assert found
    assert expected is None or found == expected


def test_statements_that_write(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute("CREATE TABLE made AS SELECT i, total(i) AS t FROM tbl WHERE i < 4")
        session.execute("INSERT INTO made SELECT i, total(i) FROM made")
        assert rows(session, "SELECT sum(t) FROM made") == [(20,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT part(i) + 1 FROM tbl",
        "SELECT sum(part(i)) FROM tbl",
        "SELECT part(total(i)::INTEGER) FROM tbl",
        "SELECT 1 FROM tbl WHERE part(i) > 0",
        "SELECT i FROM tbl ORDER BY part(i)",
        "FROM tbl SELECT part(i)",
        "CREATE VIEW v AS SELECT part(i) FROM tbl",
        "SELECT i FROM tbl t WHERE EXISTS (SELECT part(t.i))",
        # Operators that follow the call.
        "SELECT part(i) ISNULL FROM tbl",
        "SELECT part(i) NOTNULL FROM tbl",
        "SELECT part(i) OVER () FROM tbl",
        "SELECT part(i => i) FROM tbl",
        # The database in front of the name, and the argument in front of it.
        "SELECT memory.part(i) FROM tbl",
        "SELECT i.part() FROM tbl",
        # DuckDB sorts by columns of FROM here, and groups by the values of the call.
        "SELECT -i AS i, part(i) FROM tbl ORDER BY i + 0",
        "SELECT part(i) FROM tbl ORDER BY tbl.i",
        "(SELECT -i AS i, part(i) FROM tbl) ORDER BY i + 0",
        "SELECT part(g::INTEGER), count(*) FROM tbl GROUP BY ALL",
        # DuckDB sorts by the number here: only clients see the name `i`, as PostgreSQL's.
        "SELECT i::VARCHAR, part(i) FROM tbl ORDER BY i",
        "SELECT part(i) FROM (SELECT i, -i AS part FROM tbl) ORDER BY part",
    ],
)
def test_elsewhere_it_is_refused(session: psycopg.Connection, query: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        session.execute(query.encode())
    assert value(session, "SELECT 1") == 1


def test_rows_are_sorted_by_columns_of_the_list(session: psycopg.Connection) -> None:
    """A name is that of an item of the list, also if a column of FROM has it: as without the call."""
    for keys in ("i", "i DESC", "2, 1", "ALL", "p NULLS FIRST", '"i" DESC, p'):
        query = f"SELECT -i AS i, {{}} AS p FROM tbl WHERE i < 5 ORDER BY {keys}"
        assert rows(session, query.format("part(i)")) == rows(session, query.format("i / 4"))
    for query in ("SELECT part(i) AS i, * FROM tbl ORDER BY i", "SELECT i AS s, s, part(i) FROM tbl ORDER BY s"):
        with pytest.raises(psycopg.errors.AmbiguousColumn):
            session.execute(query.encode())
    found = rows(session, "SELECT i::VARCHAR AS i, part(i) FROM tbl WHERE i IN (2, 10) ORDER BY i")
    assert [text for text, _ in found] == ["10", "2"]


def test_a_table_may_have_the_name_of_a_function(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        for name in ("part", "doubled"):
            session.execute(f"CREATE TABLE {name}(i INTEGER, j INTEGER)".encode())
            session.execute(f"INSERT INTO {name}(j, i) VALUES (1, 2), (3, 4)".encode())
            session.execute(f"CREATE INDEX {name}_index ON {name}(i)".encode())
            assert rows(session, f"SELECT {name}.a, {name}.b FROM {name} AS {name}(a, b)") == [(2, 1), (4, 3)]
            assert rows(session, f"SELECT k FROM (VALUES (1)) {name}(k)") == [(1,)]
            session.execute(f"CREATE VIEW {name}_view(k) AS SELECT j FROM {name}".encode())
        assert rows(session, "SELECT part(i) FROM part") == [(0.5,), (1.0,)]
        assert rows(session, "SELECT * FROM doubled((SELECT i FROM doubled))") == [(4,), (8,)]


def test_errors_and_nulls(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute("CREATE FUNCTION short(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return i[:2] $$")
        with pytest.raises(psycopg.Error) as caught:
            session.execute("SELECT short(i) FROM tbl")
        assert caught.value.sqlstate == "39000"
    for query in ("SELECT part(nope) FROM tbl", "SELECT i, part(tbl.nope + 1) FROM tbl"):
        with pytest.raises(psycopg.errors.UndefinedColumn, match="nope"):
            session.execute(query.encode())
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION place(i INTEGER) RETURNS BIGINT LANGUAGE PYTHON STRICT "
            "AS $$ return i.argsort().argsort() $$"
        )
        found = rows(session, "SELECT i, place(nullif(i, 2)) AS p FROM tbl WHERE i < 4 ORDER BY i")
        assert found == [(1, 0), (2, None), (3, 1)]


def test_a_name_has_one_language(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True), pytest.raises(psycopg.errors.WrongObjectType):
        session.execute("CREATE FUNCTION part(s VARCHAR) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return 1 $$")
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE OR REPLACE FUNCTION part(i INTEGER) RETURNS DOUBLE LANGUAGE PYTHON_MAP AS $$ return i $$"
        )
        assert rows(session, "SELECT part(i) + 1 FROM tbl WHERE i = 1") == [(2.0,)]
    assert rows(session, "SELECT part(i) FROM tbl WHERE i = 1") == [(1.0,)]
