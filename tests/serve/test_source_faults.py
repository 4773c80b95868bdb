"""`colonnade serve --source` when something goes wrong: cancelling, databases that are gone, passwords."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import adbc_driver_postgresql
import psycopg
import pytest

from tests.support.fronts import Front, connect
from tests.support.users import add_user
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

ENDLESS = "with recursive s(i) as (select 1 union all select i + 1 from s) select count(*) from s"
#: MariaDB ends recursion after 1000 rounds (max_recursive_iterations).
ENDLESS_IN_MARIADB = "select count(*) from seq_1_to_1000000 a straight_join seq_1_to_1000000 b on a.seq <> b.seq"


def running(stock: pg.Cluster) -> list[int]:
    """The backends that run the endless query."""
    with stock.connect() as direct:
        found = direct.execute(
            "select pid from pg_stat_activity where state = 'active' and query like '%%with recursive s(i)%%'"
            " and pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in found.fetchall()]


def until(condition: Callable[[], object]) -> None:
    limit = dt.datetime.now() + dt.timedelta(seconds=60)
    while not condition():
        assert dt.datetime.now() < limit


@pytest.mark.parametrize("kind", ["postgres", "maria", "sqlite", "adbc postgres", "odbc"])
def test_cancel_reaches_the_source(request: pytest.FixtureRequest, stock: pg.Cluster, kind: str) -> None:
    if kind == "adbc postgres":
        # SQLite's driver has no way to stop a query.
        adbc = f"adbc:{adbc_driver_postgresql._driver_path()}?uri={quote(stock.uri(), safe='')}"
        with serve("--source", adbc) as server:
            cancelled(server, stock, ends=True)
        return
    front = request.getfixturevalue(f"in_{kind}")
    # ODBC's package leaves the query to the driver, and the session waits for it.
    endless = ENDLESS_IN_MARIADB if kind == "maria" else ENDLESS
    cancelled(front.server, stock if kind in ("postgres", "odbc") else None, ends=kind != "odbc", endless=endless)


def cancelled(server: Server, stock: pg.Cluster | None, *, ends: bool, endless: str = ENDLESS) -> None:
    """Cancels an endless query, in a PostgreSQL where it can be looked for."""
    caught: list[BaseException] = []

    def work() -> None:
        try:
            client.execute(endless)  # type: ignore[arg-type]
        except psycopg.Error as error:
            caught.append(error)

    with contextlib.closing(connect(server)) as client:
        thread = threading.Thread(target=work)
        thread.start()
        if stock is not None:
            until(lambda: running(stock))
        while thread.is_alive():
            client.cancel_safe(timeout=10)
            thread.join(0.2)
        assert [type(error) for error in caught] == [psycopg.errors.QueryCanceled]
        if ends:
            assert client.execute("select 1").fetchall() == [(1,)]
        if stock is not None:
            for pid in [] if ends else running(stock):
                with stock.connect() as direct:
                    direct.execute("select pg_cancel_backend(%s)", [pid])
            until(lambda: not running(stock))


def test_a_client_that_is_gone_stops_the_source(in_postgres: Front, stock: pg.Cluster) -> None:
    client = connect(in_postgres.server)
    client.pgconn.send_query(ENDLESS.encode())
    until(lambda: running(stock))
    client.close()
    until(lambda: not running(stock))


def test_a_source_that_is_gone_ends_the_session(in_postgres: Front, stock: pg.Cluster) -> None:
    with connect(in_postgres.server) as client, connect(in_postgres.server) as other:
        ((pid,),) = client.execute("select pg_backend_pid()").fetchall()
        with stock.connect() as direct:
            direct.execute("select pg_terminate_backend(%s)", [pid])
        with pytest.raises(psycopg.OperationalError) as caught:
            client.execute("select 1")
        assert caught.value.sqlstate in ("57P01", "08006")
        assert client.closed
        assert other.execute("select 1").fetchall() == [(1,)]


@pytest.mark.parametrize(("kind", "own"), [("postgres", "pg_backend_pid()"), ("maria", "connection_id()")])
def test_several_clients_have_a_connection_each(request: pytest.FixtureRequest, kind: str, own: str) -> None:
    front, found, gate = request.getfixturevalue(f"in_{kind}"), {}, threading.Barrier(8)

    def work(number: int) -> None:
        with connect(front.server) as client:
            ((found[number],),) = client.execute(f"select {own}").fetchall()
            for _ in range(20):
                assert client.execute("select %s", [number]).fetchall() == [(number,)]
            gate.wait(60)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found.values())) == 8


def start(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})}, check=False
    )


def test_a_wrong_password_is_told_without_it(maria: mariadb.Server) -> None:
    uri = maria.uri().replace(mariadb.ESCAPED, "wr0ng-secret")
    done = start("--source", "env:SOURCE", env={"SOURCE": uri})
    assert done.returncode == 1
    assert "Access denied" in done.stderr and "wr0ng" not in done.stderr + done.stdout


def test_the_password_stays_where_it_is(tmp_path: Path, maria: mariadb.Server) -> None:
    file = tmp_path / "source"
    file.write_text(maria.uri() + "\n")
    with serve("--source", f"@{file}") as server, connect(server) as client:
        shown = [
            Path(f"/proc/{server.process.pid}/cmdline").read_text(),
            str(client.execute("show all").fetchall()),
            str(client.info.get_parameters()),
            str(client.info.parameter_status("server_version")),
        ]
        with pytest.raises(psycopg.Error) as caught:
            client.execute("nonsense")
        shown.append(str(caught.value))
        assert not any(word in text for word in (mariadb.PASSWORD, mariadb.ESCAPED) for text in shown)
        # The login does not work any more: clients learn neither why nor as whom.
        maria.run(f"set password for {mariadb.USER}@'%' = password('another')")
        try:
            with pytest.raises(psycopg.OperationalError, match="refuses this server's login") as refused:
                connect(server)
            assert mariadb.USER not in str(refused.value).replace(f'user "{mariadb.USER}"', "")
        finally:
            maria.run(f"set password for {mariadb.USER}@'%' = password('{mariadb.PASSWORD}')")


def test_what_makes_no_sense_is_said_at_the_start(tmp_path: Path) -> None:
    for arguments, words in (
        (["--source", "duckdb:x.db"], "served without --source"),
        (["--source", "sqlite:////nowhere/x.sqlite"], "nowhere"),
        (["--source", "env:NOT_THERE"], "no variable NOT_THERE"),
        (["--source", f"@{tmp_path}/none"], "No such file"),
        (["--source", "sqlite:x", "file.duckdb"], "FILE.duckdb is for a DuckDB"),
        (["--source", "sqlite:x", "--memory", "1GB"], "--memory is for a DuckDB"),
    ):
        done = start(*arguments)
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_a_password_in_the_command_line_is_pointed_out() -> None:
    done = start("--source", "postgresql://x:hunter2@127.0.0.1:1/x")
    assert "shows the source's password" in done.stderr and "hunter2" not in done.stderr


def test_read_only_users_come_in_where_the_source_holds_them(in_sqlite: Front, in_maria: Front, tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "reader", "secret", "--read-only")
    for front, is_let_in in ((in_sqlite, True), (in_maria, False)):
        with serve("--source", front.uri, "--users", users) as server:
            dsn = f"host={server.host} port={server.port} user=reader password=secret dbname=x"
            if is_let_in:
                with psycopg.connect(dsn) as client:
                    assert client.execute("select count(*) from t").fetchall() == [(3,)]
            else:
                with pytest.raises(psycopg.OperationalError, match="cannot be restricted to reading"):
                    psycopg.connect(dsn)
