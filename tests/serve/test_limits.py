"""Limits of `colonnade serve`: time, size, numbers, and an end in good order."""

from __future__ import annotations

import signal
import socket
import threading
import time
from contextlib import ExitStack

import colonnade
import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from tests.support.raw_client import hand_shake, send_query, wait_until
from tests.support.raw_login import RawClient
from tests.testbed.serving import TIMEOUT, Server, cpu_ticks, serve

ENDLESS = "select count(*) from range(100000000000000) t(i) where i % 7 = 3"


def connect(server: object, **options: object) -> psycopg.Connection:
    return psycopg.connect(server.dsn, autocommit=True, **options)  # type: ignore[attr-defined]


def test_a_statement_has_so_much_time_and_the_session_goes_on() -> None:
    with serve("--statement-timeout", "0.5") as server, connect(server) as client:
        with pytest.raises(errors.QueryCanceled, match="statement timeout"):
            client.execute(ENDLESS)
        assert client.execute("select 1").fetchone() == (1,)
        # Within a transaction, too, which has failed then.
        client.execute("begin")
        with pytest.raises(errors.QueryCanceled):
            client.execute(ENDLESS)
        assert client.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        client.execute("rollback")
        # And for results that a client reads slowly.
        with pytest.raises(colonnade.OperationalError, match="statement timeout"):
            uri = f"postgresql://x@{server.host}:{server.port}/x"
            colonnade.read_sql(uri, "select i from range(100000000000) t(i) where i % 1000000 = 1", return_type="arrow")


def test_who_does_not_read_is_cut_off() -> None:
    """Its session, its thread and the engine's work end, though nothing can be said."""
    with serve("--statement-timeout", "0.5") as server, hand_shake(server, small_buffer=True) as client:
        send_query(client, "select repeat('x', 1000) from range(10000000)")
        wait_until(lambda: server.connections() == 0)


def is_at_rest(server: Server) -> bool:
    """Whether the engine computes nothing for a moment."""
    before = cpu_ticks(server.worker)
    time.sleep(0.2)
    return cpu_ticks(server.worker) - before <= 1


def test_rows_without_bytes_are_not_computed_ahead() -> None:
    """DuckDB counts the bytes that wait for a reader, and NULLs without a type have none."""
    with serve() as server, connect(server) as client:
        client.execute("begin")
        client.execute("declare c cursor for select null, null from range(1000000000000)")
        assert client.execute("fetch 3 from c").fetchall() == [(None, None)] * 3
        wait_until(lambda: is_at_rest(server))
        assert server.memory() < 500 << 20
        client.execute("rollback")
        uri = f"postgresql://tester@{server.host}:{server.port}/test"
        for _ in range(2):
            found = colonnade.read_sql(uri, "select null as a, null as b from range(3)", return_type="arrow")
            assert found.equals(pa.table({"a": pa.nulls(3), "b": pa.nulls(3)}))


def test_an_idle_session_ends_with_its_reason() -> None:
    with serve("--idle-timeout", "0.5") as server, RawClient(server.host, server.port) as client:
        client.start("tester")
        client.expect(b"Z")
        [(kind, body)] = client.rest()
        assert kind == b"E" and b"C57P05\0" in body and b"SFATAL\0" in body


def test_an_idle_transaction_ends_with_its_reason_and_leaves_nothing() -> None:
    with serve("--idle-transaction-timeout", "0.5") as server, connect(server) as other:
        other.execute("create table t (i integer)")
        with RawClient(server.host, server.port) as client:
            client.start("tester")
            client.expect(b"Z")
            client.send(b"Q", b"begin; insert into t values (1)\0")
            client.expect(b"Z")
            [(kind, body)] = client.rest()
            assert kind == b"E" and b"C25P03\0" in body
        # The other one is idle as well, but in no transaction.
        assert other.execute("select count(*) from t").fetchone() == (0,)


def test_busy_sessions_are_not_idle() -> None:
    with serve("--idle-timeout", "1") as server, connect(server) as client:
        for _ in range(10):
            client.execute("select count(*) from range(100000000) t(i) where i % 7 = 3")


@pytest.mark.parametrize("format_", ["text", "binary", "csv", "arrow", "colonnade", None])
def test_a_result_has_a_size_and_the_session_goes_on(format_: str | None) -> None:
    query = "select i, i::varchar as t from range({}) r(i)"
    with serve("--max-result-bytes", "10MB") as server, connect(server) as client:

        def received(rows: int) -> int:
            if format_ is None:
                return len(client.execute(query.format(rows)).fetchall())
            with client.cursor().copy(f"copy ({query.format(rows)}) to stdout (format {format_})") as copy:
                return sum(len(part) for part in copy)

        assert received(1000) > 0
        with pytest.raises(errors.ProgramLimitExceeded, match="larger than 10000000 bytes"):
            received(10_000_000)
        assert received(1000) > 0


def test_there_are_so_many_connections() -> None:
    with serve("--max-connections", "3", "--max-user-connections", "2") as server:
        first, second = connect(server), connect(server)
        with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
            connect(server)
        third = psycopg.connect(server.dsn.replace("tester", "other"))
        with pytest.raises(psycopg.OperationalError, match="sorry, too many clients already"):
            psycopg.connect(server.dsn.replace("tester", "another"))
        for connection in (first, second, third):
            connection.close()


def test_newcomers_of_an_address_are_so_many() -> None:
    with serve("--max-connections", "1", "--max-address-logins", "4", "--login-timeout", "600") as server:
        silent = [socket.create_connection((server.host, server.port), timeout=TIMEOUT) for _ in range(4)]
        wait_until(lambda: server.connections() == 4)
        # The oldest one makes room, and is told so.
        connect(server).close()
        assert b"C53300\0" in silent[0].recv(1000)
        for one in silent:
            one.close()
        wait_until(lambda: server.connections() == 0)
        connect(server).close()


def test_sigterm_lets_what_runs_end() -> None:
    with serve("--grace", "60") as server:
        stack = ExitStack()
        busy, idle, within = (stack.enter_context(connect(server)) for _ in range(3))
        within.execute("begin")
        rows: list[object] = []
        query = "select count(*) from range(300000000) t(i) where i % 7 = 3"
        runs = threading.Thread(target=lambda: rows.extend(busy.execute(query).fetchall()))
        runs.start()
        time.sleep(0.5)  # for the statement to begin; without it there is nothing to wait for, and nothing to test
        server.process.send_signal(signal.SIGTERM)
        # The idle one learns it at once, new ones are told so, and the transaction can come to its end.
        with pytest.raises(psycopg.OperationalError):
            wait_until(lambda: idle.execute("select 1").fetchone() is None)
        with pytest.raises(psycopg.OperationalError, match="shutting down"):
            connect(server)
        assert within.execute("select 1").fetchone() == (1,)
        within.execute("commit")
        runs.join(TIMEOUT)
        assert len(rows) == 1
        stack.close()
        assert server.process.wait(TIMEOUT) == 0


def test_the_grace_ends() -> None:
    with serve("--grace", "0.5") as server:
        client = hand_shake(server)
        send_query(client, ENDLESS)
        time.sleep(0.3)  # as above
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(TIMEOUT) == 0
        client.close()


def test_what_is_set_aside_has_a_bound() -> None:
    with serve("--temp-size", "5MB") as server, psycopg.connect(server.dsn) as client:
        with client.cursor("large") as cursor:
            cursor.execute("select i, repeat('x', 100) from range(1_000_000) r(i)")
            assert len(cursor.fetchmany(10)) == 10
            with pytest.raises(errors.ConfigurationLimitExceeded, match="set aside"):
                client.execute("select 1")
        client.rollback()
        assert client.execute("select 1").fetchone() == (1,)
    with pytest.raises(RuntimeError, match="--temp-size much is not a size"), serve("--temp-size", "much"):
        pass
