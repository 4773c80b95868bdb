"""Advisory locks, as PostgreSQL has them: between sessions, until the session or the transaction ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.raw_client import wait_until
from tests.testbed.serving import Server

Sessions = tuple[psycopg.Connection, psycopg.Connection]


@pytest.fixture
def sessions(server: Server) -> Iterator[Sessions]:
    with (
        psycopg.connect(server.dsn, autocommit=True) as first,
        psycopg.connect(server.dsn, autocommit=True) as second,
    ):
        yield first, second


def value(session: psycopg.Connection, query: str, *parameters: object) -> object:
    ((found,),) = session.execute(f"select {query}", parameters or None).fetchall()
    return found


def test_a_lock_is_one_sessions_until_it_is_given_back(sessions: Sessions) -> None:
    first, second = sessions
    assert value(first, "pg_advisory_lock(101)") == ""
    assert value(second, "pg_try_advisory_lock(101)") is False
    assert value(second, "pg_try_advisory_lock_shared(%s)", 101) is False
    # Two numbers are another lock than one.
    assert value(second, "pg_try_advisory_lock(0, 101)") is True
    assert value(second, "pg_advisory_unlock(101)") is False
    assert value(first, "pg_advisory_unlock(101)") is True
    assert value(second, "pg_try_advisory_lock(101)") is True
    assert value(second, "pg_advisory_unlock_all()") == ""
    assert value(first, "pg_try_advisory_lock_shared(101) and pg_try_advisory_lock_shared(0, 101)") is True
    assert value(second, "pg_try_advisory_lock_shared(101)") is True
    assert value(second, "pg_try_advisory_lock(101)") is False
    assert value(first, "pg_advisory_unlock_shared(101)") is True


def test_null_is_no_lock(sessions: Sessions) -> None:
    for query in ("pg_advisory_lock(null)", "pg_try_advisory_lock(null)", "pg_try_advisory_lock(1, null)"):
        assert value(sessions[0], query) is None


def test_each_row_is_a_lock(sessions: Sessions) -> None:
    first, second = sessions
    rows = first.execute("select i, pg_try_advisory_lock(i + 200) from range(3) r(i) order by i").fetchall()
    assert rows == [(0, True), (1, True), (2, True)]
    found = second.execute("select pg_try_advisory_lock(i) from range(199, 204) r(i) order by i").fetchall()
    assert [row for (row,) in found] == [True, False, False, False, True]


@pytest.mark.parametrize("end", ["commit", "rollback", "an error"])
def test_a_transactions_lock_ends_with_it(sessions: Sessions, end: str) -> None:
    first, second = sessions
    first.execute("begin")
    assert value(first, "pg_advisory_xact_lock(301)") == ""
    assert value(second, "pg_try_advisory_xact_lock(301)") is False
    if end == "an error":
        with pytest.raises(psycopg.Error):
            first.execute("select nothing")
    else:
        first.execute(end)
    assert value(second, "pg_try_advisory_lock(301)") is True
    assert value(second, "pg_advisory_unlock(301)") is True
    first.execute("rollback")
    # Without a transaction of the client's, each statement is one.
    assert value(first, "pg_try_advisory_xact_lock(301)") is True
    assert value(second, "pg_try_advisory_xact_lock(301)") is True


def test_a_session_waits_until_another_one_ends(server: Server, sessions: Sessions) -> None:
    first, second = sessions
    first.execute("select pg_advisory_lock(401)")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(value, second, "pg_advisory_lock(401)")
        with psycopg.connect(server.dsn, autocommit=True) as third:
            # Others go on.
            assert value(third, "sum(i)::int from range(1000) r(i)") == 499500
        assert not waiting.done()
        first.close()
        assert waiting.result(60) == ""


def test_the_end_of_a_statement_ends_its_waiting(sessions: Sessions) -> None:
    first, second = sessions
    first.execute("select pg_advisory_lock(501)")
    second.execute("set statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        second.execute("select pg_advisory_lock(501)")
    second.execute("set statement_timeout = 0")
    started = threading.Event()

    def cancel() -> None:
        started.wait()
        second.cancel()

    with ThreadPoolExecutor() as pool:
        pool.submit(cancel)
        started.set()
        with pytest.raises(psycopg.errors.QueryCanceled):
            # A cancellation that comes before the statement is none.
            wait_until(lambda: value(second, "pg_advisory_lock(501)") is None)
    assert value(first, "pg_advisory_unlock(501)") is True
    assert value(second, "pg_try_advisory_lock(501)") is True


def test_sessions_that_wait_for_each_other_are_found(sessions: Sessions) -> None:
    def other(session: psycopg.Connection, number: int) -> str:
        try:
            session.execute("select pg_advisory_lock(%s)", [number])
        except psycopg.errors.DeadlockDetected:
            session.execute("select pg_advisory_unlock_all()")
            return "refused"
        return "granted"

    for number, session in enumerate(sessions):
        session.execute("select pg_advisory_lock(%s)", [601 + number])
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(other, sessions, [602, 601]))
    assert sorted(answers) == ["granted", "refused"]


def test_a_session_cannot_fill_the_memory_with_locks(sessions: Sessions) -> None:
    with pytest.raises(psycopg.errors.OutOfMemory, match="at most 10,000 advisory locks"):
        sessions[0].execute("select count(pg_try_advisory_lock(i)) from range(1000, 1000000) r(i)")


def test_discard_all_gives_back_all_locks(sessions: Sessions) -> None:
    first, second = sessions
    first.execute("select pg_advisory_lock(701)")
    first.execute("discard all")
    assert value(second, "pg_try_advisory_lock(701)") is True


def test_a_prepared_statement_takes_the_lock_each_time(sessions: Sessions) -> None:
    first, second = sessions
    for _ in range(8):
        assert first.execute("select pg_try_advisory_lock(%s)", [801], prepare=True).fetchall() == [(True,)]
    for _ in range(7):
        assert value(first, "pg_advisory_unlock(801)") is True
    assert value(second, "pg_try_advisory_lock(801)") is False
    assert value(first, "pg_advisory_unlock(801)") is True
    assert value(second, "pg_try_advisory_lock(801)") is True
