"""pg_cancel_backend and pg_terminate_backend: a session stops another one of its user."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.support.raw_client import wait_until
from tests.support.users import add_user
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

#: A query that runs for minutes.
LONG = "select count(*) from range(100_000_000_000) a(i), range(1000) b(j) where i * 7 = j"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    users: Path = tmp_path_factory.mktemp("signals") / "users"
    add_user(users, "alice", "secret")
    add_user(users, "bob", "secret")
    add_user(users, "reader", "secret", "--read-only")
    with serve("--users", users) as server:
        yield server


def session(server: Server, user: str = "alice") -> psycopg.Connection:
    return psycopg.connect(f"postgresql://{user}:secret@{server.host}:{server.port}/", autocommit=True)


def outcome(connection: psycopg.Connection, query: str, *values: object) -> tuple[object, list[tuple[str, ...]]]:
    """The rows of a statement or the SQLSTATE of its error, and the warnings before it."""
    warnings: list[tuple[str, ...]] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        warnings.append(tuple(map(str, (diagnostic.severity, diagnostic.sqlstate, diagnostic.message_primary))))

    connection.add_notice_handler(note)
    try:
        return connection.execute(query.encode(), values).fetchall(), warnings
    except psycopg.Error as error:
        return error.sqlstate, warnings
    finally:
        connection.remove_notice_handler(note)


def test_answers_are_postgresqls(server: Server, stock: pg.Cluster) -> None:
    with session(server) as own, psycopg.connect(stock.dsn(), autocommit=True) as theirs:
        for query in (
            "select pg_terminate_backend(999999), pg_cancel_backend(-1)",
            "select pg_terminate_backend(999999, 10)",
            "select pg_terminate_backend(999999, -1)",
            "select pg_cancel_backend(null), pg_terminate_backend(null), pg_terminate_backend(1, null)",
            "select pg_cancel_backend(pg_backend_pid())",
            "select 1",
            "select pg_terminate_backend(pg_backend_pid())",
        ):
            found = outcome(own, query)
            assert found == outcome(theirs, query), query
        assert found == ("57P01", [])
        assert own.closed and theirs.closed


def test_an_idle_session_is_ended(server: Server) -> None:
    with session(server) as first, session(server) as second:
        assert outcome(first, "select pg_terminate_backend(%s, 10000)", second.info.backend_pid) == ([(True,)], [])
        with pytest.raises(errors.AdminShutdown, match="terminating connection due to administrator command"):
            second.execute("select 1")
        assert second.closed
        # The number is nobody's now.
        found, warnings = outcome(first, "select pg_terminate_backend(%s)", second.info.backend_pid)
        assert (found, len(warnings)) == ([(False,)], 1)


@pytest.mark.parametrize(("signal", "code"), [("pg_cancel_backend", "57014"), ("pg_terminate_backend", "57P01")])
def test_a_running_statement_is_stopped(server: Server, signal: str, code: str) -> None:
    with session(server) as first, session(server) as second, ThreadPoolExecutor() as threads:
        second.execute("begin")
        running = threads.submit(outcome, second, LONG)

        def is_stopped() -> bool:
            # It may come before the statement, and then stops nothing.
            outcome(first, f"select {signal}(%s)", second.info.backend_pid)
            return running.done()

        wait_until(is_stopped)
        assert running.result() == (code, [])
        assert second.closed is (code == "57P01")


def test_an_idle_session_runs_no_statement_after_its_end(server: Server) -> None:
    for _ in range(20):
        with session(server) as first, session(server) as second:
            assert outcome(first, "select pg_terminate_backend(%s)", second.info.backend_pid) == ([(True,)], [])
            assert outcome(second, "select 1")[0] == "57P01"


def test_a_session_in_a_transaction_is_ended_and_its_changes_undone(server: Server) -> None:
    with session(server) as first, session(server) as second:
        first.execute("create or replace table changed (i int)")
        second.execute("begin")
        second.execute("insert into changed values (1)")
        first.execute("select pg_terminate_backend(%s, 10000)", [second.info.backend_pid])
        with pytest.raises(errors.AdminShutdown):
            second.execute("commit")
        assert first.execute("select count(*) from changed").fetchall() == [(0,)]


def test_a_user_stops_own_sessions_only(server: Server) -> None:
    with session(server) as alice, session(server, "bob") as bob, session(server, "reader") as reader:
        for other in (bob, reader):
            for signal in ("pg_cancel_backend", "pg_terminate_backend"):
                with pytest.raises(errors.InsufficientPrivilege, match="of another user"):
                    other.execute(f"select {signal}({alice.info.backend_pid})".encode())
        assert alice.execute("select 1").fetchall() == [(1,)]
        # A reader's rights are those of others here.
        with session(server, "reader") as second:
            query = "select pg_terminate_backend(%s, 10000)"
            assert reader.execute(query, [second.info.backend_pid]).fetchall() == [(True,)]


def test_each_row_is_a_signal(server: Server) -> None:
    with session(server) as first, session(server) as second, session(server) as third:
        numbers = [second.info.backend_pid, third.info.backend_pid]
        query = "select pg_terminate_backend(n, 10000) from unnest(%s::int[]) t(n)"
        assert first.execute(query, [numbers]).fetchall() == [(True,), (True,)]
        for ended in (second, third):
            with pytest.raises(errors.AdminShutdown):
                ended.execute("select 1")


def test_sessions_whose_clients_do_not_read_are_ended_by_one_thread_each(server: Server) -> None:
    """One is in a query, and one sends notifications. Both have 10 s to read why they end, however often others ask."""
    with session(server) as first, closing(session(server)) as querying, closing(session(server)) as listening:
        numbers = [querying.info.backend_pid, listening.info.backend_pid]
        querying.pgconn.send_query(b"select repeat('x', 1000) from range(3_000_000)")
        listening.execute("listen unread")
        for _ in range(3):
            first.execute("select count(pg_notify('unread', i || repeat('x', 7900))) from range(2000) r(i)")

        def threads() -> int:
            return len(list(Path(f"/proc/{server.worker}/task").iterdir()))

        before = threads()
        for signal in ("pg_terminate_backend", "pg_cancel_backend"):
            sent = f"select count({signal}(n)) from unnest(%s::int[]) t(n), range(1000)"
            assert first.execute(sent.encode(), [numbers]).fetchall() == [(2000,)]
        assert threads() < before + 20
        for number in numbers:
            outcome(first, "select pg_terminate_backend(%s, 30000)", number)
            assert outcome(first, "select pg_cancel_backend(%s)", number)[0] == [(False,)]


def test_a_copy_of_an_ended_session_says_so(server: Server) -> None:
    with session(server) as first, session(server) as second:
        second.execute("create temp table copied (i int)")
        with pytest.raises(errors.AdminShutdown), second.cursor().copy("copy copied from stdin") as copy:
            copy.write("7\n")
            query = "select pg_terminate_backend(%s, 10000)"
            assert first.execute(query, [second.info.backend_pid]).fetchall() == [(True,)]
