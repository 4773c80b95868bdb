"""Cursors by DECLARE and FETCH: psycopg's named cursors, SQLAlchemy's streams and PostgreSQL's postgres_fdw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import psycopg2
import pytest
import sqlalchemy

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create table numbers as select i::integer as i, 'n' || i as t from range(10_000) r(i)")
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.dsn) as connection:
        yield connection


def test_a_named_cursor_gives_its_rows_in_parts(connection: psycopg.Connection[Any]) -> None:
    for binary in (False, True):
        with connection.cursor("c", binary=binary) as cursor:
            cursor.execute("select * from numbers where i >= %s order by i", [10])
            assert [column.name for column in cursor.description or []] == ["i", "t"]
            assert cursor.fetchone() == (10, "n10")
            assert cursor.fetchmany(2) == [(11, "n11"), (12, "n12")]
            # Others run meanwhile, and a second cursor too.
            assert connection.execute("select count(*) from numbers").fetchall() == [(10_000,)]
            with connection.cursor("d") as other:
                other.execute("select i from numbers order by i desc")
                assert other.fetchmany(1) == [(9999,)]
            assert len(cursor.fetchall()) == 10_000 - 13
            assert cursor.fetchall() == []


def test_a_held_cursor_outlives_its_transaction(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor("c", withhold=True) as cursor:
        cursor.execute("select i from numbers order by i")
        assert cursor.fetchmany(2) == [(0,), (1,)]
        connection.commit()
        assert cursor.fetchmany(2) == [(2,), (3,)]
        connection.execute("select 1")
        connection.rollback()
        assert len(cursor.fetchall()) == 9996
    connection.autocommit = True
    connection.execute("declare h cursor with hold for select 1")
    assert connection.execute("fetch all from h").fetchall() == [(1,)]
    connection.execute("close h")
    connection.autocommit = False
    connection.execute("declare gone cursor with hold for select 1")
    connection.rollback()
    with pytest.raises(psycopg.errors.InvalidCursorName, match='cursor "gone" does not exist'):
        connection.execute("fetch gone")


def test_what_is_said_of_cursors(connection: psycopg.Connection[Any]) -> None:
    said = [
        ("declare c no scroll cursor for select i from numbers order by i", "DECLARE CURSOR", None),
        ("fetch 2 from c", "FETCH 2", [(0,), (1,)]),
        ("move 3 in c", "MOVE 3", None),
        ("fetch next in c", "FETCH 1", [(5,)]),
        ("fetch forward 1 c", "FETCH 1", [(6,)]),
        ("move forward all from c", "MOVE 9993", None),
        ("fetch c", "FETCH 0", []),
        ("close c", "CLOSE CURSOR", None),
        ("close all", "CLOSE CURSOR ALL", None),
    ]
    for statement, tag, rows in said:
        # By the simple protocol and by the extended one.
        cursor = connection.execute(statement, prepare="fetch" in statement)
        assert cursor.statusmessage == tag
        assert rows is None or cursor.fetchall() == rows


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("declare c binary cursor for select 1", psycopg.errors.FeatureNotSupported),
        ("declare c cursor for insert into numbers values (1, 'x')", psycopg.errors.SyntaxError),
        ("declare c cursor for select nonsense", psycopg.errors.UndefinedColumn),
        ("declare open cursor for select 1", psycopg.errors.DuplicateCursor),
        ("fetch prior from open", psycopg.errors.ObjectNotInPrerequisiteState),
        ("fetch -1 from open", psycopg.errors.ObjectNotInPrerequisiteState),
        ("move backward all in open", psycopg.errors.ObjectNotInPrerequisiteState),
        ("fetch 1 from nowhere", psycopg.errors.InvalidCursorName),
        ("close nowhere", psycopg.errors.InvalidCursorName),
    ],
)
def test_what_cursors_cannot_is_refused(
    connection: psycopg.Connection[Any], statement: str, error: type[Exception]
) -> None:
    connection.execute("declare open cursor for select 1")
    with pytest.raises(error):
        connection.execute(statement)
    connection.rollback()
    assert connection.execute("select 1").fetchall() == [(1,)]


def test_a_cursor_needs_a_transaction(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction, match="transaction blocks"):
            connection.execute("declare c cursor for select 1")
        cursor = connection.execute("declare c cursor for select 1; fetch c")
        assert cursor.nextset() and cursor.fetchall() == [(1,)]
        # It ended with the string that declared it.
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("fetch c")


def test_an_error_half_way_is_the_fetchs(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "declare c cursor for select (i::varchar || case when i > 5000 then 'x' else '' end)::integer from numbers"
    )
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute("fetch all from c")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("fetch 1 from c")


def test_psycopg2_and_sqlalchemy(server: Server) -> None:
    connection = psycopg2.connect(server.dsn)
    try:
        with connection.cursor("named") as cursor:
            cursor.itersize = 3000
            cursor.execute("select i from numbers where i < %s order by i", (7000,))
            assert [i for (i,) in cursor] == list(range(7000))
    finally:
        connection.close()
    engine = sqlalchemy.create_engine("postgresql+psycopg2://", creator=lambda: psycopg2.connect(server.dsn))
    with engine.connect() as session:
        rows = session.execution_options(stream_results=True, max_row_buffer=1000).exec_driver_sql(
            "select i from numbers"
        )
        assert sum(1 for _ in rows) == 10_000
    engine.dispose()


def test_postgres_fdw(server: Server, stock: pg.Cluster) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as ours:
        ours.execute("create table written (i integer, t varchar)")
    with stock.connect() as session:
        session.execute("create extension if not exists postgres_fdw")
        place = f"host '{server.host}', port '{server.port}', dbname 'test'"
        session.execute(f"create server colonnade foreign data wrapper postgres_fdw options ({place})")
        try:
            session.execute("create user mapping for public server colonnade options (user 'tester', password 'x')")
            for table in ("numbers", "written", "nowhere"):
                options = f"schema_name 'main', table_name '{table}', fetch_size '700'"
                session.execute(
                    f"create foreign table {table} (i integer, t text) server colonnade options ({options})"
                )
            assert session.execute("select count(*), sum(i) from numbers").fetchall() == [(10_000, 49_995_000)]
            assert session.execute("select t from numbers where i = 4711").fetchall() == [("n4711",)]
            assert len(session.execute("select i, t from numbers where length(t) > 0").fetchall()) == 10_000
            joined = "select count(*) from numbers a join generate_series(1, 50) s on a.i = s"
            assert session.execute(joined).fetchall() == [(50,)]
            with pytest.raises(psycopg.errors.UndefinedTable):
                session.execute("select * from nowhere")
            with session.transaction():
                session.execute("insert into written values (1, 'one'), (2, NULL)")
                with pytest.raises(psycopg.errors.UndefinedTable), session.transaction():
                    session.execute("select * from nowhere")
                assert session.execute("select count(*) from numbers").fetchall() == [(10_000,)]
            assert session.execute("select * from written order by i").fetchall() == [(1, "one"), (2, None)]
            with pytest.raises(RuntimeError), session.transaction():
                session.execute("insert into written values (3, 'three')")
                raise RuntimeError
            assert session.execute("select count(*) from written").fetchall() == [(2,)]
            session.execute("analyze numbers")
            rows = "select reltuples from pg_class where relname = 'numbers'"
            assert session.execute(rows).fetchall() == [(10_000,)]
            session.execute("create schema imported")
            session.execute("import foreign schema public limit to (written) from server colonnade into imported")
            assert session.execute("select count(*) from imported.written").fetchall() == [(2,)]
            session.execute("drop schema imported cascade")
        finally:
            session.execute("drop server colonnade cascade")


#: A query that fails after many of its rows.
LATE = "select case when i = 600_000 then error('late') end, i from range(610_000) t(i)"
#: One with more rows than a session may keep.
LARGE = "select i, repeat('x', 1000) from range(400_000) t(i)"


@pytest.mark.parametrize("query", [LATE, LARGE])
def test_a_commit_that_cannot_hold_a_cursor_rolls_back(connection: psycopg.Connection[Any], query: str) -> None:
    connection.autocommit = True
    connection.execute("declare earlier cursor with hold for select 1")
    connection.execute("begin")
    connection.execute("create table uncommitted (i int)")
    connection.execute(f"declare c cursor with hold for {query}".encode())
    with pytest.raises((psycopg.errors.DataException, psycopg.errors.OutOfMemory)):
        connection.execute("commit")
    for gone, error in (
        ("fetch c", psycopg.errors.InvalidCursorName),
        ("table uncommitted", psycopg.errors.UndefinedTable),
    ):
        with pytest.raises(error):
            connection.execute(gone.encode())
    assert connection.execute("fetch earlier").fetchall() == [(1,)]
    connection.execute("begin")
    connection.execute("commit")


@pytest.mark.parametrize("query", [LATE, LARGE])
@pytest.mark.parametrize("statement", ["select 2", "select 2; select 3", "begin"])
def test_a_cursor_whose_rows_are_lost_gives_no_others(
    connection: psycopg.Connection[Any], query: str, statement: str
) -> None:
    connection.autocommit = True
    connection.execute(f"declare c cursor with hold for {query}".encode())
    # Its rows are set aside for this statement, which fails. The next one has nothing to do with it.
    with pytest.raises((psycopg.errors.DataException, psycopg.errors.OutOfMemory)):
        connection.execute(statement.encode())
    assert connection.execute("select 1").fetchall() == [(1,)]
    for fetch in ("fetch 1 c", "fetch all c", "move 1 c"):
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot be run"):
            connection.execute(fetch.encode())
    connection.execute("close c")


def test_a_cursor_has_failed_after_an_error_of_fetch(connection: psycopg.Connection[Any], stock: pg.Cluster) -> None:
    with psycopg.connect(stock.dsn(), autocommit=True) as theirs:
        connection.autocommit = True
        for each in (connection, theirs):
            each.execute("declare c no scroll cursor with hold for select * from generate_series(1, 3) g")
            assert each.execute("fetch 2 c").fetchall() == [(1,), (2,)]
            for statement in ("fetch prior c", "fetch 1 c", "fetch 1 c"):
                with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
                    each.execute(statement)
            each.execute("close c")
