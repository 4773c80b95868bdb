"""A client that has asked for much and reads nothing: what ends its statement, and what it then reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import pq
from reader.stream import read_stream

from tests.postgres.copying import COLONNADE
from tests.support.certificates import Authority
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

#: Small rows and small chunks; rows of which each is a chunk larger than what sockets hold.
QUERIES = {
    "small": ("select generate_series(1, 1000000000) as i, 'some text for every row' as t", "chunk_rows 1000"),
    "large": ("select generate_series(1, 1000) as i, repeat('x', 20000000) as t", "compression plain"),
}
IDLE = ("idle", "idle in transaction (aborted)")


@contextmanager
def unread(
    cluster: pg.Cluster, which: str = "large", *, dsn: str = "", begin: str = "", prepared: bool = False
) -> Iterator[psycopg.Connection]:
    """A session whose backend waits for it in the middle of a COPY."""
    query, options = QUERIES[which]
    with closing(psycopg.connect(f"{cluster.dsn()} {dsn}", autocommit=True)) as client:
        client.execute("select colonnade_version()")
        for statement in begin.split(";"):
            if statement:
                client.execute(statement)
        statement = f"copy ({query}) {COLONNADE}, {options})".encode()
        if prepared:
            client.pgconn.send_query_params(statement, None)
        else:
            client.pgconn.send_query(statement)
        with cluster.connect() as watcher:
            wait_until(lambda: activity(watcher, client) == ("active", "ClientWrite"))
            yield client


def activity(watcher: psycopg.Connection, client: psycopg.Connection) -> tuple[str, str] | None:
    row = watcher.execute(
        "select state, wait_event from pg_stat_activity where pid = %s", [client.info.backend_pid]
    ).fetchone()
    return row and (row[0], row[1])


def ended(watcher: psycopg.Connection, client: psycopg.Connection) -> bool:
    """Whether the statement's transaction is over, although nothing was read."""
    now = activity(watcher, client)
    return now is not None and now[0] in IDLE


def what_comes(client: psycopg.Connection) -> tuple[list[bytes], str | None]:
    """The chunks that were under way, each of them whole, and the SQLSTATE that follows."""
    connection = client.pgconn
    messages = []
    result = connection.get_result()
    assert result is not None
    if result.status == pq.ExecStatus.COPY_OUT:
        while (data := connection.get_copy_data(0))[0] > 0:
            messages.append(bytes(data[1]))
        result = connection.get_result()
        assert result is not None
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    assert connection.get_result() is None
    return messages, state.decode() if state else None


def check(client: psycopg.Connection, state: str) -> None:
    """It reads whole messages, then the error, and can go on."""
    messages, error = what_comes(client)
    assert error == state
    # The independent reader checks each message's length and checksum; the end message alone is missing.
    with pytest.raises(Exception, match=r"truncated|end"):
        read_stream(b"".join(messages))
    client.execute("rollback")
    assert client.execute("select 1").fetchone() == (1,)


CANCEL = "select pg_cancel_backend(%s)"


@pytest.mark.parametrize("which", QUERIES)
@pytest.mark.parametrize("by", ["simple", "prepared"])
@pytest.mark.parametrize("begin", ["", "begin", "begin;savepoint s"])
def test_a_cancel_does_not_wait_for_the_client(
    postgres: pg.Cluster, session: psycopg.Connection, which: str, begin: str, by: str
) -> None:
    with unread(postgres, which, begin=begin, prepared=by == "prepared") as client:
        session.execute(CANCEL, [client.info.backend_pid])
        wait_until(lambda: ended(session, client))
        check(client, "57014")


def test_the_same_over_tcp(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    with unread(postgres, dsn="hostaddr=127.0.0.1") as client:
        session.execute(CANCEL, [client.info.backend_pid])
        wait_until(lambda: ended(session, client))
        check(client, "57014")


def test_the_same_over_tls(installation: pg.Installation, tmp_path: Path) -> None:
    """What an encrypted connection has begun to send must be sent again as it was."""
    with pg.cluster(installation) as cluster, cluster.connect() as watcher:
        pair = Authority(tmp_path / "ca", "Ours").sign("server", "IP:127.0.0.1")
        for source, name in ((pair.certificate, "server.crt"), (pair.key, "server.key")):
            target = cluster.directory / "data" / name
            shutil.copyfile(source, target)
            target.chmod(0o600)
            pg.give(target)
        for statement in ("create extension colonnade", "alter system set ssl = on", "select pg_reload_conf()"):
            watcher.execute(statement)

        def encrypted() -> bool:
            try:
                psycopg.connect(f"{cluster.dsn()} hostaddr=127.0.0.1 sslmode=require").close()
            except psycopg.OperationalError:
                return False
            return True

        wait_until(encrypted)
        with unread(cluster, dsn="hostaddr=127.0.0.1 sslmode=require") as client:
            watcher.execute(CANCEL, [client.info.backend_pid])
            wait_until(lambda: ended(watcher, client))
            check(client, "57014")


def test_a_time_limit_does_not_wait_for_the_client(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    with unread(postgres, begin="set statement_timeout = '2s'") as client:
        wait_until(lambda: ended(session, client))
        check(client, "57014")


def terminated(watcher: psycopg.Connection, client: psycopg.Connection) -> None:
    watcher.execute("select pg_terminate_backend(%s)", [client.info.backend_pid])


def left(_: psycopg.Connection, client: psycopg.Connection) -> None:
    client.pgconn.finish()


@pytest.mark.parametrize("end", [terminated, left])
@pytest.mark.parametrize("cancelled", [False, True])
def test_the_session_can_be_ended(
    postgres: pg.Cluster,
    session: psycopg.Connection,
    end: Callable[[psycopg.Connection, psycopg.Connection], None],
    cancelled: bool,
) -> None:
    """Also while the rest of a message is still to be read after a cancel."""
    with unread(postgres) as client:
        pid = client.info.backend_pid
        if cancelled:
            session.execute(CANCEL, [pid])
            wait_until(lambda: activity(session, client) == ("idle", "ClientWrite"))
        end(session, client)
        gone = "select 1 from pg_stat_activity where pid = %s"
        wait_until(lambda: session.execute(gone, [pid]).fetchone() is None)


def test_a_standby_replays_on(installation: pg.Installation) -> None:
    """A conflict with recovery ends the query, and replay does not wait for whoever asked."""
    with pg.cluster(installation) as primary, primary.connect() as writer:
        writer.execute("create extension colonnade")
        writer.execute("create table rows as select generate_series(1, 10000) as i")
        settings = {"max_standby_streaming_delay": "2s", "hot_standby_feedback": "off"}
        with pg.standby(installation, primary, settings) as standby, standby.connect() as watcher:

            def replayed() -> bool:
                position = writer.execute("select pg_current_wal_lsn()").fetchone()
                assert position is not None
                [done] = watcher.execute("select pg_last_wal_replay_lsn() >= %s", position).fetchone() or [False]
                return bool(done)

            wait_until(replayed)
            with unread(standby, begin="begin isolation level repeatable read;select count(*) from rows") as client:
                writer.execute("delete from rows")
                writer.execute("vacuum rows")
                wait_until(replayed)
                assert ended(watcher, client)
                assert what_comes(client)[1] == "40001"
