"""Closing a connection whose query still runs: the server must not go on with it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import colonnade
import duckdb
import pytest

from tests.support.raw_client import wait_until
from tests.testbed import mariadb
from tests.testbed import postgres as pg

SLEEP = "select /* to be closed */ {}(600) as v"


def in_postgres(cluster: pg.Cluster) -> int:
    """How many sessions run the query."""
    with cluster.connect() as session:
        found = session.execute(
            "select count(*) from pg_stat_activity where state = 'active' and query like '%%/* to be closed */%%'"
            " and pid <> pg_backend_pid()"
        )
        ((count,),) = found.fetchall()
        return count


def in_maria(server: mariadb.Server) -> int:
    asked = "select count(*) from information_schema.processlist where info like '%/* to be closed */%'"
    return int(server.run(f"{asked} and id <> connection_id()", "--comments"))


@pytest.fixture(params=["stock", "extended", "maria"])
def place(request: pytest.FixtureRequest) -> tuple[str, str, Callable[[], int]]:
    """A URI, a query that nothing comes of, and the number of sessions that run it."""
    server = request.getfixturevalue(request.param)
    if request.param == "maria":
        return server.uri(), SLEEP.format("sleep"), lambda: in_maria(server)
    return server.uri(), SLEEP.format("pg_sleep"), lambda: in_postgres(server)


def test_a_query_that_another_thread_reads(place: tuple[str, str, Callable[[], int]]) -> None:
    uri, sql, running = place
    caught: list[BaseException] = []
    connection = colonnade.connect(uri)

    def read() -> None:
        try:
            connection.query(sql).to_arrow()
        except colonnade.Error as error:
            caught.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: running() == 1)
    connection.close()
    reader.join()
    wait_until(lambda: running() == 0)
    (error,) = caught
    assert "the connection was closed before its result was read: read it first" in str(error)


def test_a_result_that_nobody_reads(stock: pg.Cluster) -> None:
    # Without the extension, the columns arrive before the query runs.
    connection = colonnade.connect(stock.uri())
    result = connection.query(SLEEP.format("pg_sleep"))
    wait_until(lambda: in_postgres(stock) == 1)
    connection.close()
    wait_until(lambda: in_postgres(stock) == 0)
    with pytest.raises(colonnade.Error, match="the connection was closed before its result was read: read it first"):
        result.to_arrow()


def test_a_result_whose_reader_is_behind(stock: pg.Cluster) -> None:
    """The connection waits for the reader, who gets an error, and what was discarded is never missing without one."""
    connection = colonnade.connect(stock.uri())
    result = connection.query("select /* to be closed */ generate_series(1, 1000000000) as g", chunk_rows=1000)
    batches = iter(result)
    next(batches)
    wait_until(lambda: in_postgres(stock) == 1)
    connection.close()
    wait_until(lambda: in_postgres(stock) == 0)
    with pytest.raises(colonnade.Error, match="the connection was closed before its result was read: read it first"):
        for _ in batches:
            pass


LEFT = """
import sys
import colonnade
import duckdb

try:
    colonnade.read_sql(sys.argv[1], "select 1")
except colonnade.Error as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("what", ["locked", "damaged"])
def test_a_file_that_duckdb_refuses_leaves_nothing_to_close(tmp_path: Path, what: str) -> None:
    file = tmp_path / "held.duckdb"
    held = duckdb.connect(str(file))
    held.execute("create table t (a int)")
    if what == "damaged":
        held.close()
        file.write_bytes(b"no database " * 1000)
    command = [sys.executable, "-c", LEFT, f"duckdb:///{file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    held.close()
    assert (done.stdout, done.stderr) == ("OperationalError\n", "")
