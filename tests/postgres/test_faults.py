"""Errors in the middle, clients that go away or stop reading, and the backend's memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import colonnade
import psycopg
import pytest

from tests.postgres.copying import COLONNADE, payloads
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

ENDLESS = "select generate_series(1, 1000000000) as i, 'some text for every row' as t"
MB = 1 << 20


def memory(pid: int, line: str = "RssAnon") -> int:
    """Bytes of a line of a process's status; RssAnon leaves out what is shared with other backends."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(text.split()[1]) * 1024 for text in status.splitlines() if text.startswith(line + ":"))


def backend(connection: colonnade.Connection) -> int:
    return connection.query("select pg_backend_pid() as pid").to_arrow().column(0)[0].as_py()


# --- errors -----------------------------------------------------------------------------------------------------------

FAULTS = [
    ("select 1 / (i - 100000) as q from generate_series(1, 200000) i", "22012"),
    ("select (case i when 100000 then 'NaN' else '1' end)::numeric(5, 2) from generate_series(1, 200000) i", "22003"),
    ("select case when i = 100000 then '{{1}}' else '{1}' end::int[] as a from generate_series(1, 200000) i", "0A000"),
    ("select case when i = 100000 then 'x' else '1' end::int as a from generate_series(1, 200000) i", "22P02"),
]


@pytest.mark.parametrize(("query", "sqlstate"), FAULTS, ids=[sqlstate for _, sqlstate in FAULTS])
def test_an_error_in_the_middle_leaves_the_connection_usable(
    database: colonnade.Connection, query: str, sqlstate: str
) -> None:
    for _ in range(3):
        result = database.query(query, chunk_rows=1000)
        batches = iter(result)
        assert next(batches).num_rows == 1000
        with pytest.raises(colonnade.Error) as caught:
            for _ in batches:
                pass
        assert caught.value.sqlstate == sqlstate
        assert database.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_a_transaction_is_aborted_by_an_error(database: colonnade.Connection) -> None:
    database.execute("begin")
    with pytest.raises(colonnade.DataError):
        database.query(FAULTS[0][0]).to_arrow()
    with pytest.raises(colonnade.Error) as caught:
        database.query("select 1")
    assert caught.value.sqlstate == "25P02"
    database.execute("rollback")
    assert database.query("select 1 as one").to_arrow().num_rows == 1


def test_a_failed_stream_has_no_end(session: psycopg.Connection) -> None:
    session.execute("select colonnade_version()")
    received: list[bytes] = []
    with (
        pytest.raises(psycopg.errors.DivisionByZero),
        session.cursor() as cursor,
        cursor.copy(f"copy ({FAULTS[0][0]}) {COLONNADE})") as copy,
    ):
        received.extend(bytes(data) for data in copy)
    # FORMAT §3: the fifth byte is the message's kind; 3 is the end.
    assert received
    assert 3 not in {message[4] for message in received}
    assert payloads(session, f"copy (select 1) {COLONNADE})")[-1][4] == 3


# --- clients ----------------------------------------------------------------------------------------------------------


def stuck(postgres: pg.Cluster, name: str) -> psycopg.Connection:
    """A client that has asked for much and reads nothing, once its backend waits for it."""
    client = psycopg.connect(f"{postgres.dsn()} application_name={name}", autocommit=True)
    client.execute("select colonnade_version()")
    client.pgconn.send_query(f"copy ({ENDLESS}) {COLONNADE}, compression plain)".encode())
    with postgres.connect() as watcher:
        waits = f"select wait_event from pg_stat_activity where application_name = '{name}'"
        wait_until(lambda: watcher.execute(waits).fetchone() == ("ClientWrite",))
    return client


def gone(postgres: pg.Cluster, name: str) -> None:
    with postgres.connect() as watcher:
        lives = f"select 1 from pg_stat_activity where application_name = '{name}'"
        wait_until(lambda: watcher.execute(lives).fetchone() is None)


def test_a_client_that_stops_reading_can_be_terminated(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    client = stuck(postgres, "stuck")
    session.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'stuck'")
    gone(postgres, "stuck")
    client.close()


def test_a_client_that_goes_away_ends_its_query(postgres: pg.Cluster) -> None:
    client = stuck(postgres, "leaving")
    client.pgconn.finish()
    gone(postgres, "leaving")


def test_a_client_that_is_killed_ends_its_query(postgres: pg.Cluster) -> None:
    code = f"""
import colonnade, sys
result = colonnade.connect(sys.argv[1]).query({ENDLESS!r})
for number, batch in enumerate(result):
    if number == 3:
        print("reading", flush=True)
"""
    command = [sys.executable, "-c", code, postgres.uri(application_name="killed", tcp=True)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "reading\n"
        client.kill()
    gone(postgres, "killed")
    assert postgres.process.poll() is None


def test_a_backend_that_is_killed_is_an_error(installation: pg.Installation) -> None:
    """Not one of its own making, but the client must not take what came for a result."""
    with pg.extended(installation) as own, colonnade.connect(own.uri()) as connection:
        victim = backend(connection)
        batches = iter(connection.query(ENDLESS))
        next(batches)
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(colonnade.OperationalError):
            for _ in batches:
                pass
        assert not connection.is_open


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["plain", "light", "light+zstd-1"])
def test_the_backends_memory_does_not_grow_with_the_result(postgres: pg.Cluster, compression: str) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        pid = backend(connection)
        peaks = []
        for rows in (500_000, 4_000_000):
            query = f"select generate_series(1, {rows}) as i, 'some text for every row' as t, 1.5::numeric(9, 2) as n"
            assert sum(batch.num_rows for batch in connection.query(query, compression=compression)) == rows
            peaks.append(memory(pid, "VmHWM"))
        assert peaks[1] - peaks[0] < 4 * MB


def test_large_values_leave_no_memory_behind(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        connection.execute("create temp table large (v text, b bytea, a int[])")
        value = "repeat(md5(i::text), 30000)"
        array = "array(select generate_series(1, 100000))"
        connection.execute(f"insert into large select {value}, {value}::bytea, {array} from generate_series(1, 40) i")
        pid = backend(connection)
        peaks = []
        for times in (1, 8):
            query = f"select large.* from large, generate_series(1, {times})"
            rows = sum(batch.num_rows for batch in connection.query(query, chunk_bytes=1 << 20))
            assert rows == 40 * times
            peaks.append(memory(pid, "VmHWM"))
        assert peaks[1] - peaks[0] < 8 * MB


def test_queries_and_errors_leave_no_memory_behind(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        pid = backend(connection)
        queries = [
            "select i, 'text ' || i as t, i::numeric as n, array[i] as a, row(i) as r from generate_series(1, 3000) i",
            "select 1 / (i - 2000) as q, 'text' as t from generate_series(1, 3000) i",
            "select 'NaN'::numeric(5, 2) as n",
            "select missing",
        ]

        def run(times: int) -> int:
            for number in range(times):
                try:
                    connection.query(queries[number % 4], compression="light+zstd-3").to_arrow()
                except colonnade.Error as error:
                    assert error.sqlstate in ("22012", "22003", "42703")
            return memory(pid)

        settled = run(200)
        assert run(600) - settled < 2 * MB
