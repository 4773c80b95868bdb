"""Statements that run again and again: what the server remembers of them must not outlive what has made it true."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from colonnade_serve._duckdb import session as _session
from colonnade_serve._duckdb.answers import Answer, Capsule
from colonnade_serve._duckdb.engine import Engine
from colonnade_serve._duckdb.remembered import MAX_CHARACTERS, MAX_COLUMNS, MAX_STATEMENTS

from tests.support.every_type import EVERY_TYPE
from tests.testbed.serving import Server

LIMITS = (1000, 1 << 20)


@pytest.fixture(params=["simple", "parameters"])
def ask(request: pytest.FixtureRequest, server: Server) -> Iterator[Callable[[str], list[tuple[object, ...]]]]:
    """Runs a statement twice, so that the second time is one of what was seen before."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:

        def twice(statement: str) -> list[tuple[object, ...]]:
            def once() -> list[tuple[object, ...]]:
                if request.param == "simple":
                    return psycopg.ClientCursor(connection).execute(statement).fetchall()
                return connection.execute(f"{statement} where 'x' = %s", ["x"], prepare=False).fetchall()

            first, second = once(), once()
            assert first == second
            return second

        connection.execute("create schema if not exists again")
        connection.execute("create or replace table again.a as select 1::integer as v")
        connection.execute("create schema if not exists again2")
        connection.execute("create or replace table again2.a as select 'two' as v")
        connection.execute("set search_path = again")
        twice.connection = connection  # type: ignore[attr-defined]
        yield twice


Ask = Callable[[str], list[tuple[object, ...]]]


def session_of(ask: Ask) -> psycopg.Connection:
    return ask.connection  # type: ignore[attr-defined]


def test_another_session_changes_the_table(ask: Ask, server: Server) -> None:
    assert ask("select * from a") == [(1,)]
    with psycopg.connect(server.dsn, autocommit=True) as other:
        other.execute("alter table again.a alter v type varchar using 'now ' || v")
        assert ask("select * from a") == [("now 1",)]
        other.execute("alter table again.a add column w date default '2024-02-29'::date")
        assert [len(row) for row in ask("select * from a")] == [2]
        other.execute("drop table again.a")
        with pytest.raises(psycopg.errors.UndefinedTable):
            ask("select * from a")
        other.execute("create table again.a as select '1 day'::interval as v")
    assert [str(v) for (v,) in ask("select * from a")] == ["1 day, 0:00:00"]


def test_the_session_looks_elsewhere(ask: Ask) -> None:
    connection = session_of(ask)
    assert ask("select v from a") == [(1,)]
    connection.execute("set search_path = again2")
    assert ask("select v from a") == [("two",)]
    connection.execute("set search_path = again")
    connection.execute("create temporary table a as select true as v")
    assert ask("select v from temp.a") == [(True,)]
    connection.execute("drop table temp.a")
    assert ask("select v from a") == [(1,)]


def test_a_transaction_is_undone(ask: Ask) -> None:
    connection = session_of(ask)
    assert ask("select v from a") == [(1,)]
    connection.execute("begin")
    connection.execute("alter table a alter v type varchar")
    assert ask("select v from a") == [("1",)]
    connection.execute("rollback")
    assert ask("select v from a") == [(1,)]


def test_what_a_function_gives_depends_on_a_setting(ask: Ask) -> None:
    connection = session_of(ask)
    assert ask("select 7 / 2 as v from a") == [(3.5,)]
    connection.execute("set integer_division = true")
    assert ask("select 7 / 2 as v from a") == [(3,)]


def test_what_writes_runs_once(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create or replace sequence counted")
        connection.execute("create or replace table counted_rows (i integer)")
        found = [connection.execute("select nextval('counted')").fetchone() for _ in range(3)]
        assert found == [(1,), (2,), (3,)]
        for _ in range(3):
            assert connection.execute("insert into counted_rows values (7) returning i").fetchall() == [(7,)]
        assert connection.execute("select count(*) from counted_rows").fetchone() == (3,)


@pytest.fixture(scope="module")
def session() -> Iterator[_session.Session]:
    engine = Engine(":memory:")
    session = engine.session()
    yield session
    session.close()
    engine.close()


def drained(answer: Answer) -> list[object]:
    import pyarrow as pa

    assert answer.stream is not None
    return pa.RecordBatchReader.from_stream(answer.stream).read_all().to_pylist()


@pytest.mark.parametrize(("type_name", "query"), [*EVERY_TYPE, ("twice", "select 1 as a, 2 as a, 3 as A")])
def test_every_type_is_the_same_again(session: _session.Session, type_name: str, query: str) -> None:
    first = session.execute(session.statement_check.allowed(query), *LIMITS, None)
    rows = drained(first)
    seen = session._runner.remembered.find(query)
    # What is cast on its way is looked at each time; long statements are not worth it.
    assert (seen is None) == bool(first.cast or type_name == "INTERVAL")
    again = session.execute(session.statement_check.allowed(query), *LIMITS, None)
    assert isinstance(again.stream, Capsule) == (seen is not None)
    assert (again.types, again.cast) == (first.types, first.cast)
    assert repr(drained(again)) == repr(rows)


def test_only_so_much_is_remembered(session: _session.Session) -> None:
    for number in range(2 * MAX_STATEMENTS):
        drained(session.execute(session.statement_check.allowed(f"select {number} as v"), *LIMITS, None))
    assert len(session._runner.remembered._known) == MAX_STATEMENTS
    assert f"select {2 * MAX_STATEMENTS - 1} as v" in session._runner.remembered
    for large in (
        f"select '{'x' * MAX_CHARACTERS}'",
        f"select {'1, ' * MAX_COLUMNS} 1",
    ):
        drained(session.execute(session.statement_check.allowed(large), *LIMITS, None))
        assert large not in session._runner.remembered
