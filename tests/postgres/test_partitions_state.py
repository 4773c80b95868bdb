"""One result over several connections: one state of the database for all parts, and one error for all."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.postgres.parted import prepared, read, rows
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> Iterator[pg.Cluster]:
    """With the extension and without."""
    with prepared(either):
        yield either


# --- one state --------------------------------------------------------------------------------------------------------

#: It runs once for the connection and once for each sibling, in turn: the first of these then takes the snapshot, and
#: the others' runs are commits between the starts of two parts.
COMMITS = [
    "insert into parts.changing select i, 'new' from generate_series(1, 1000) i",
    "update parts.changing set a = a + 1000, b = b || '!'",
    "delete from parts.changing where a in (select a from parts.changing order by a limit 500)",
    "with moved as (delete from parts.changing where a % 2 = 0 returning a, b) "
    "insert into parts.changing select a + 2, 'moved' from moved",
]


@pytest.fixture
def changing(postgres: pg.Cluster) -> Iterator[psycopg.Connection]:
    setup = "create table parts.changing as select i as a, 'v' || i as b from generate_series(1, 3000) i"
    with postgres.prepared(setup, "drop table parts.changing"), postgres.connect() as session:
        yield session


@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize("key", ["a", "b", None])
def test_what_commits_between_the_parts_is_seen_by_none(
    postgres: pg.Cluster, changing: psycopg.Connection, commit: str, key: str | None
) -> None:
    arguments = {"partition_on": key, "partition_num": 3, "pre_execution_query": [commit, "vacuum parts.changing"]}
    # The same statements, as often as the first sibling had seen them done.
    changing.execute("create table parts.expected as table parts.changing")
    try:
        split = read(postgres, "select * from parts.changing", **arguments)
        for _ in range(2):
            changing.execute(commit.replace("parts.changing", "parts.expected"))
        assert rows(split) == rows(read(postgres, "table parts.expected"))
        now = rows(read(postgres, "table parts.changing"))
        assert rows(split) != now
        if key is not None:
            without = read(postgres, "select * from parts.changing", consistent=False, **arguments)
            assert rows(without) == rows(read(postgres, "table parts.changing"))
    finally:
        changing.execute("drop table parts.expected")


def test_nothing_can_be_written(postgres: pg.Cluster) -> None:
    function = (
        "create function parts.log() returns int stable language plpgsql as "
        "$$ begin execute 'insert into parts.empty values (1)'; return 1; end $$"
    )
    with postgres.prepared(function, "drop function parts.log"):
        with pytest.raises(colonnade.Error) as caught:
            read(postgres, "select parts.log() as a", partition_on="a", partition_num=2)
        assert caught.value.sqlstate in ("25006", "0A000")
    assert read(postgres, "table parts.empty").num_rows == 0


def test_what_others_cannot_see_is_refused(postgres: pg.Cluster) -> None:
    query = "select * from parts.keys"
    with colonnade.connect(postgres.uri()) as connection:
        connection.execute("begin")
        with pytest.raises(colonnade.NotSupportedError, match="within a transaction"):
            colonnade.read_sql(connection, query, partition_on="id", partition_num=2)
        connection.execute("rollback")
        connection.execute("create temp table keys (a int)")
        with pytest.raises(colonnade.NotSupportedError, match="temporary tables"):
            colonnade.read_sql(connection, query, partition_on="id", partition_num=2)
        connection.execute("drop table keys")
        assert len(colonnade.read_sql(connection, query, partition_on="id", partition_num=2)) == 4000


def test_places_move_without_one_state(postgres: pg.Cluster) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="rows that move"):
        read(postgres, "select * from parts.keys", partition_num=2, consistent=False)


# --- lists of queries -------------------------------------------------------------------------------------------------


def test_a_lists_queries_run_beside_one_another(postgres: pg.Cluster) -> None:
    """Each waits for the other: one after the other they would wait for ever."""
    function = """create function parts.meet(mine int, other int) returns int language plpgsql as $$ begin
      perform pg_advisory_lock_shared(mine);
      while not exists (select from pg_locks where locktype = 'advisory' and objid = other) loop
        perform pg_sleep(0.01);
      end loop;
      return mine;
    end $$"""
    with postgres.prepared(function, "drop function parts.meet"):
        meet = "select parts.meet({}, {}) as a"
        table = read(postgres, [meet.format(3, 1), meet.format(1, 3)], partition_num=2)
        assert table.column("a").to_pylist() == [3, 1]


def test_a_list_whose_queries_call_a_function_that_writes(postgres: pg.Cluster) -> None:
    """They run one after another, and each runs once."""
    setup = """create table parts.written (n int);
    create function parts.note(n int) returns int language sql as 'insert into parts.written values (n) returning n'"""
    with postgres.prepared(setup, "drop function parts.note; drop table parts.written"):
        each = [f"select parts.note({n}) as n" for n in range(5)]
        assert read(postgres, each, partition_num=3)["n"].to_pylist() == [0, 1, 2, 3, 4]
        assert sorted(read(postgres, "select n from parts.written")["n"].to_pylist()) == [0, 1, 2, 3, 4]


def test_a_lists_rows_follow_one_another(postgres: pg.Cluster) -> None:
    each = [f"select id from parts.keys where id % 7 = {rest} order by id desc limit 50" for rest in range(7)]
    together = read(postgres, each, partition_num=3)
    one_by_one = read(postgres, each, partition_num=1)
    assert together.equals(one_by_one)


def test_a_list_sees_one_state(postgres: pg.Cluster, changing: psycopg.Connection) -> None:
    commit = "insert into parts.changing values (-1, 'new')"
    table = read(
        postgres, ["select count(*) as n from parts.changing"] * 4, partition_num=4, pre_execution_query=commit
    )
    assert table.column("n").to_pylist() == [3002] * 4


def test_a_list_that_writes_runs_in_order(postgres: pg.Cluster) -> None:
    with postgres.prepared("create table parts.log (a serial)", "drop table parts.log"):
        write = "insert into parts.log default values returning a"
        assert read(postgres, [write, "select max(a) as a from parts.log", write]).column(0).to_pylist() == [1, 1, 2]


def test_a_list_within_a_transaction_runs_on_its_connection(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        connection.execute("begin; create table parts.mine as select 1 as a")
        table = colonnade.read_sql(connection, ["table parts.mine"] * 2, return_type="arrow")
        assert table.column("a").to_pylist() == [1, 1]
        connection.execute("rollback")


def test_a_lists_columns_must_be_the_same(postgres: pg.Cluster) -> None:
    with pytest.raises(colonnade.InterfaceError, match="different columns"):
        read(postgres, ["select 1 as a", "select 'x' as b"])


# --- failures ---------------------------------------------------------------------------------------------------------

#: Parts of it never end. The text is how others find them.
ENDLESS = "select i, i % 1000 as k, 'endless parts' as t from (select generate_series(1, 1000000000) as i) s"
RUNNING = (
    "select pid from pg_stat_activity "
    "where query like '%endless parts%' and state = 'active' and pid <> pg_backend_pid()"
)
SPLIT: dict[str, Any] = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 999)}


def running(session: psycopg.Connection) -> list[int]:
    return [pid for (pid,) in session.execute(RUNNING).fetchall()]


def test_a_part_that_dies_is_the_results_error(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    reader = colonnade.read_sql(postgres.uri(), ENDLESS, return_type="arrow_stream", **SPLIT)
    reader.read_next_batch()
    wait_until(lambda: len(running(session)) == 2)
    session.execute("select pg_terminate_backend(%s)", [running(session)[0]])
    with pytest.raises(colonnade.OperationalError) as caught:
        for _ in reader:
            pass
    assert caught.value.sqlstate in pg.TERMINATED
    wait_until(lambda: not running(session))


def test_an_error_in_one_part_ends_all(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    fails = ENDLESS.replace("i % 1000 as k", "i % 1000 as k, 1 / (i - 50999) as q")
    with pytest.raises(colonnade.DataError) as caught:
        read(postgres, fails, **SPLIT)
    assert caught.value.sqlstate == "22012"
    wait_until(lambda: not running(session))


def test_a_result_that_is_dropped_ends_all(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    reader = colonnade.read_sql(postgres.uri(), ENDLESS, return_type="arrow_stream", **SPLIT)
    reader.read_next_batch()
    wait_until(lambda: len(running(session)) == 2)
    reader.close()
    del reader
    wait_until(lambda: not running(session))


CTRL_C = """
import os, signal, sys, threading
import colonnade, psycopg, pyarrow
session = psycopg.connect(sys.argv[2], autocommit=True)

def interrupt():
    # Once both parts are under way.
    while len(session.execute(sys.argv[4]).fetchall()) < 2:
        pass
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
split = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 999)}
try:
    colonnade.read_sql(sys.argv[1], sys.argv[3], return_type="arrow", **split)
except KeyboardInterrupt:
    # A server may take a moment to notice.
    while session.execute(sys.argv[4]).fetchall():
        pass
    print("interrupted")
"""


def test_ctrl_c_ends_all(postgres: pg.Cluster) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C, postgres.uri(), postgres.dsn(), ENDLESS, RUNNING],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_cancellation_reaches_the_parts(postgres: pg.Cluster, session: psycopg.Connection) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        reader = colonnade.read_sql(connection, ENDLESS, return_type="arrow_stream", **SPLIT)
        reader.read_next_batch()
        wait_until(lambda: len(running(session)) == 2)
        connection.cancel()
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in reader:
                pass
        assert caught.value.sqlstate == "57014"
        wait_until(lambda: not running(session))
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


#: Waits until all are there, unless it is the connection or the first of its siblings that asks.
MEET = """
create function parts.meet() returns int language plpgsql as $$
declare here int;
begin
  perform pg_advisory_lock_shared(77);
  loop
    select count(*) into here from pg_locks where locktype = 'advisory' and objid = 77;
    exit when here in (1, 2, 5);
    perform pg_sleep(0.01);
  end loop;
  return here;
end $$
"""


def test_siblings_connect_at_the_same_time(postgres: pg.Cluster) -> None:
    with postgres.prepared(MEET, "drop function parts.meet()"):
        first = ["set statement_timeout = '30s'", "select parts.meet()"]
        split: dict[str, Any] = {"partition_on": "id", "partition_num": 4, "pre_execution_query": first}
        assert read(postgres, "select id from parts.keys", **split).num_rows == 4000


def test_more_parts_than_connections(postgres: pg.Cluster) -> None:
    with pytest.raises(colonnade.OperationalError) as caught:
        read(postgres, "select * from parts.keys", partition_on="id", partition_num=1000)
    assert caught.value.sqlstate == "53300"
    assert "fewer parts" in str(caught.value.hint)


def test_the_command_reads_parts(postgres: pg.Cluster, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "colonnade", "read", postgres.uri(), "table parts.keys", "-v"]
    split = ["--partition-on", "id", "--partition-num", "3", "-o", str(tmp_path / "keys.arrow")]
    done = subprocess.run([*command, *split], capture_output=True, text=True, check=False)
    assert (done.returncode, "4,000 rows" in done.stderr) == (0, True), done.stderr
    assert rows(pa.ipc.open_file(tmp_path / "keys.arrow").read_all()) == rows(read(postgres, "table parts.keys"))
