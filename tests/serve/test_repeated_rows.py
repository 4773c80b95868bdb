"""Statements that would change a row twice, and keys that another session adds meanwhile, compared with PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
session = pytest.fixture(connected)

TABLES = (
    "drop table if exists t",
    "drop table if exists s",
    "create table t (id int primary key, v int)",
    "create table s (id int, v int)",
    "insert into t values (1, 0), (2, 0)",
    "insert into s values (2, 5), (2, 6), (3, 7)",
)


@pytest.fixture
def in_postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session of PostgreSQL in a schema of its own."""
    with stock.prepared("create schema repeated", "drop schema repeated cascade"), stock.connect() as postgres:
        postgres.execute("set search_path = repeated")
        yield postgres


def outcome(connection: psycopg.Connection, sql: str, values: list[Any] | None = None) -> tuple[Any, ...]:
    """The tag, or the error's code, of a statement on fresh tables, and what is in the table then."""
    for table in TABLES:
        connection.execute(table.encode())
    try:
        done = connection.execute(sql.encode(), values).statusmessage
    except psycopg.Error as error:
        done = error.sqlstate
    return done, connection.execute("select id, v from t order by id").fetchall()


UPDATE = "on conflict (id) do update set v = excluded.v"


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        (f"insert into t values (2, 5), (2, 6) {UPDATE}", None),
        (f"insert into t values (7, 5), (7, 6) {UPDATE} returning v", None),
        (f"insert into t as x (v, id) values (5, '7'), (6, 7) {UPDATE} where x.v > 100", None),
        (f"insert into t values (%s, %s), (%s, %s) {UPDATE}", [2, 5, 2, 6]),
        (f"insert into t values (%s, %s), (%s, %s) {UPDATE}", [2, 5, 3, 6]),
        ("insert into t (id) values (2), (2) on conflict (id) do update set v = t.v + 1", None),
        (f"insert into t select * from s {UPDATE}", None),
        (f"insert into t (v, id) select v, id from s where v > %s {UPDATE}", [5]),
        (f"insert into t (v, id) select v, id from s where v > %s {UPDATE}", [4]),
        (f"with x as (select * from s) insert into t select * from x union all values (9, 9) {UPDATE}", None),
        (f"insert into t values (2, 5), (3, 6), (4, default) {UPDATE}", None),
        (f"insert into t values (2, 5) {UPDATE}", None),
        ("insert into t values (7, 5), (7, 6) on conflict (id) do nothing", None),
        ("insert into t values (7, 5), (7, 6) on conflict do nothing", None),
        ("merge into t using s on t.id = s.id when matched then update set v = s.v", None),
        ("merge into t x using s y on x.id = y.id when matched then delete", None),
        ("merge into t using (select * from s) y on t.id = y.id when matched and y.v > %s then delete", [5]),
        (
            "merge into t using s on t.id = s.id and s.v > 5 when matched then update set v = s.v "
            "when not matched and s.id > 2 then insert values (s.id, s.v)",
            None,
        ),
        (
            "merge into t using s on t.id = s.id when matched and s.v = 5 then do nothing "
            "when matched then update set v = s.v",
            None,
        ),
        ("update t set v = 9 from s where t.id = s.id", None),
        ("update t as x set v = %s from s, s as u where x.id = s.id and s.v = u.v", [9]),
        ("update t set v = 9 from s where t.id = s.id and s.v = 5 returning t.v", None),
        ("update t set v = 9 where v is distinct from 1 and id in (select id from s)", None),
        ("delete from t using s where t.id = s.id", None),
    ],
)
def test_a_row_is_changed_once(
    session: psycopg.Connection, in_postgres: psycopg.Connection, sql: str, values: Any
) -> None:
    assert outcome(session, sql, values) == outcome(in_postgres, sql, values)


@pytest.mark.parametrize("key", ["unique (a, b)", "primary key (b, a)"])
def test_a_key_of_several_columns(session: psycopg.Connection, in_postgres: psycopg.Connection, key: str) -> None:
    """NULLs are different keys, and texts are compared as the column's type."""
    outcomes = []
    for connection in (session, in_postgres):
        connection.execute("drop table if exists k")
        connection.execute(f"create table k (a int, b date, v int, {key})".encode())
        found = []
        for rows in (
            "(1, null, 1), (1, null, 2)",
            "(1, '2024-01-02', 1), (1, '2024-01-02', 2)",
            "(1, '2024-01-02', 1)",
        ):
            if "null" in rows and "primary" in key:
                continue
            try:
                done = connection.execute(
                    f"insert into k values {rows} on conflict (a, b) do update set v = 9".encode()
                )
                found.append(done.statusmessage)
            except psycopg.Error as error:
                found.append(error.sqlstate)
        outcomes.append((found, connection.execute("select v from k order by v").fetchall()))
    assert outcomes[0] == outcomes[1]


def test_the_error_says_what_to_do_and_changes_nothing(session: psycopg.Connection) -> None:
    for table in TABLES:
        session.execute(table.encode())
    with session.transaction(force_rollback=True):
        session.execute("insert into t values (5, 5)")
        with pytest.raises(psycopg.errors.CardinalityViolation, match="second time") as caught:
            session.execute("insert or replace into t values (2, 5), (2, 6)")
        assert "duplicate" in (caught.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            session.execute("select 1")
    assert session.execute("select count(*) from t").fetchone() == (2,)
    # An error of the statement itself is its own, with its place.
    with pytest.raises(psycopg.errors.UndefinedColumn) as named:
        session.execute("insert into t select id, nope from s on conflict (id) do update set v = 1")
    assert named.value.diag.statement_position == "26"


def test_a_count_of_an_update_with_returning_is_refused_where_it_would_be_wrong(session: psycopg.Connection) -> None:
    for table in TABLES:
        session.execute(table.encode())
    with pytest.raises(psycopg.errors.CardinalityViolation) as caught:
        session.execute("update t set v = 1 from s where t.id = s.id returning t.id")
    assert "RETURNING" in (caught.value.diag.message_hint or "")


def test_upserts_that_repeat_on_40001_lose_nothing(server: Server, session: psycopg.Connection) -> None:
    session.execute("create or replace table counters (id int primary key, v int)")
    count, keys = 25, 3
    begun = threading.Barrier(4)

    def add(explicitly: bool) -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            begun.wait()
            for number in range(count * keys):
                while True:
                    try:
                        if explicitly:
                            with connection.transaction():
                                connection.execute(
                                    "insert into counters values (%s, 1) on conflict (id) do update "
                                    "set v = counters.v + 1",
                                    [number // count],
                                )
                        else:
                            connection.execute(
                                "insert into counters values (%s, 1) on conflict (id) do update set v = counters.v + 1",
                                [number // count],
                            )
                        break
                    except psycopg.errors.SerializationFailure:
                        continue

    in_threads([lambda explicitly=place % 2 == 0: add(explicitly) for place in range(4)])
    assert session.execute("select v from counters order by id").fetchall() == [(4 * count,)] * keys


def test_conflicts_of_two_sessions(server: Server, session: psycopg.Connection) -> None:
    """A key that another session adds is 40001 where the statement says what to do with it, and else a violation."""
    session.execute("create or replace table u (id int primary key, v int unique)")
    with psycopg.connect(server.dsn) as other:

        def sqlstate(sql: str, *, committed: bool) -> str | None:
            """The error of a statement that began before another session's row was there."""
            session.execute("delete from u")
            other.execute("select * from u")
            try:
                if committed:
                    session.execute("insert into u values (1, 1)")
                    other.execute(sql.encode())
                else:
                    other.execute(sql.encode())
                    session.execute("insert into u values (1, 1)")
                other.commit()
            except psycopg.Error as error:
                return error.sqlstate
            finally:
                other.rollback()
            return None

        for committed in (True, False):
            update = "on conflict (id) do update set v = 2"
            assert sqlstate(f"insert into u values (1, 2) {update}", committed=committed) == "40001"
            assert sqlstate("insert into u values (1, 2) on conflict do nothing", committed=committed) == "40001"
            assert sqlstate("insert into u values (1, 2)", committed=committed) == "23505"
        # Of another key, the statement says nothing.
        assert sqlstate(f"insert into u values (2, 1) {update}", committed=True) == "23505"


def in_threads(work: list[Callable[[], None]]) -> None:
    """Runs all at once. The first error is raised."""
    with ThreadPoolExecutor(len(work)) as threads:
        for done in [threads.submit(part) for part in work]:
            done.result()
