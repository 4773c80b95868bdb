"""COPY FROM STDIN (FORMAT colonnade) that is watched, or that ends before the stream does."""

from __future__ import annotations

import os
import signal
import threading

import psycopg
import pytest
from psycopg import pq

from tests.postgres.copying import cut, send, stream_of
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg


@pytest.fixture
def session(in_own_schema: psycopg.Connection) -> psycopg.Connection:
    """The session that the tests of COPY use."""
    return in_own_schema


def begin(session: psycopg.Connection, statement: str) -> pq.abc.PGconn:
    """The statement, as far as the server waits for data."""
    result = session.pgconn.exec_(statement.encode())
    assert result.status == pq.ExecStatus.COPY_IN, result.error_message
    session.pgconn.nonblocking = 0
    return session.pgconn


def end(connection: pq.abc.PGconn) -> pq.abc.PGresult:
    connection.put_copy_end()
    result = connection.get_result()
    assert result is not None
    while connection.get_result() is not None:
        pass
    return result


@pytest.fixture
def half(session: psycopg.Connection) -> bytes:
    """The first half of a stream of 20 chunks for the table t."""
    session.execute("create table t (id int, note text)")
    query = "select i as id, md5(i::text) as note from generate_series(1, 20000) i"
    stream = stream_of(session, f"copy ({query}) to stdout (format colonnade, chunk_rows 1000)")
    return stream[: len(stream) // 2]


def test_progress(session: psycopg.Connection, preloaded: pg.Cluster, half: bytes) -> None:
    connection = begin(session, "copy t from stdin (format colonnade)")
    connection.put_copy_data(half)
    connection.flush()
    query = """select command, type, relid::regclass::text, bytes_processed, tuples_processed
        from pg_stat_progress_copy where pid = %s"""
    with preloaded.connect() as other:

        def seen() -> tuple | None:
            return other.execute(query, (session.info.backend_pid,)).fetchone()

        wait_until(lambda: (row := seen()) is not None and row[4] >= 9000)
        assert seen() == ("COPY FROM", "PIPE", "own.t", len(half), 9000)
        assert other.execute("select count(*) from own.t").fetchone() == (0,)
    assert b"truncated" in end(connection).error_message
    assert session.execute("select count(*) from t").fetchone() == (0,)


@pytest.mark.parametrize("how", ["cancel", "timeout", "terminate"])
def test_stopped_in_the_middle(session: psycopg.Connection, preloaded: pg.Cluster, half: bytes, how: str) -> None:
    """As for core's COPY, a cancel takes effect with the client's next message."""
    with preloaded.connect() as victim, preloaded.connect() as other:
        victim.execute("set search_path to own")
        if how == "timeout":
            victim.execute("set statement_timeout to '50ms'")
        connection = begin(victim, "copy t from stdin (format colonnade)")
        connection.put_copy_data(half[:-1])
        connection.flush()
        pid = victim.info.backend_pid
        if how == "cancel":
            assert other.execute("select pg_cancel_backend(%s)", (pid,)).fetchone() == (True,)
        elif how == "terminate":
            assert other.execute("select pg_terminate_backend(%s)", (pid,)).fetchone() == (True,)
        else:
            waiting = "select count(*) from pg_stat_activity where pid = %s and now() - query_start > '100ms'"
            wait_until(lambda: other.execute(waiting, (pid,)).fetchone() == (1,))
        if how == "terminate":
            wait_until(lambda: other.execute("select from pg_stat_activity where pid = %s", (pid,)).fetchone() is None)
            connection.finish()
        else:
            connection.put_copy_data(half[-1:])
            error = psycopg.errors.error_from_result(end(connection))
            assert error.sqlstate == "57014"
            assert victim.execute("select count(*) from t").fetchone() == (0,)
        assert other.execute("select count(*) from own.t").fetchone() == (0,)


def test_a_client_that_disappears(session: psycopg.Connection, preloaded: pg.Cluster, half: bytes) -> None:
    child = os.fork()
    if child == 0:
        victim = preloaded.connect()
        begin(victim, "copy own.t from stdin (format colonnade)").put_copy_data(half)
        victim.pgconn.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    others = "select count(*) from pg_stat_activity where query like 'copy own.t%'"
    wait_until(lambda: session.execute(others).fetchone() == (0,))
    assert session.execute("select count(*) from t").fetchone() == (0,)


def test_a_client_that_gives_up(session: psycopg.Connection, half: bytes) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled, match="COPY from stdin failed: changed my mind"):
        send(session, "copy t from stdin (format colonnade)", [half], fail=b"changed my mind")
    assert session.execute("select count(*) from t").fetchone() == (0,)


def test_a_reader_sees_all_or_nothing(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    session.execute("create table t (id int)")
    query = "select i as id from generate_series(1, 3000) i"
    stream = stream_of(session, f"copy ({query}) to stdout (format colonnade, chunk_rows 100)")
    counts: set[int] = set()
    done = threading.Event()

    def read() -> None:
        with preloaded.connect() as other:
            while not done.is_set():
                counts.add(other.execute("select count(*) from own.t").fetchone()[0])

    reader = threading.Thread(target=read)
    reader.start()
    send(session, "copy t from stdin (format colonnade)", cut(stream, 100))
    done.set()
    reader.join()
    assert counts <= {0, 3000}
