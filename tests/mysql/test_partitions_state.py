"""MariaDB's results in parts: one state of the database for all parts, and one error for all."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.mysql.parted import prepared, read
from tests.support.proxy import Proxy
from tests.support.raw_client import wait_until
from tests.testbed import mariadb


@pytest.fixture(scope="module")
def tables(maria: mariadb.Server) -> Iterator[mariadb.Server]:
    with prepared(maria):
        yield maria


# --- one state --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def moving(server: mariadb.Server) -> Iterator[None]:
    """Somebody moves an amount between two rows, over and over: the sum is always the same."""
    begun, ended = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def move() -> None:
        try:
            with colonnade.connect(server.uri()) as connection:
                while not ended.is_set():
                    connection.execute("begin")
                    connection.execute("update part_sums set a = a - 1 where k = 1")
                    connection.execute("update part_sums set a = a + 1 where k = 20000")
                    connection.execute("commit")
                    begun.set()
        except BaseException as error:
            failed.append(error)
            begun.set()

    thread = threading.Thread(target=move)
    thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        ended.set()
        thread.join()
    assert not failed


def test_all_parts_see_one_state(tables: mariadb.Server) -> None:
    with moving(tables):
        for _ in range(15):
            table = read(tables, "select k, a from part_sums", partition_on="k", partition_num=4)
            assert (table.num_rows, sum(table.column("a").to_pylist())) == (20_000, 2_000_000)
        arguments: dict[str, Any] = {"partition_on": "k", "partition_num": 4, "consistent": False}
        assert read(tables, "select k, a from part_sums", **arguments).num_rows == 20_000


@pytest.mark.parametrize("level", ["read uncommitted", "read committed", "serializable"])
def test_whatever_the_level_of_isolation(tables: mariadb.Server, level: str) -> None:
    before = f"set session transaction isolation level {level}"
    with moving(tables):
        for _ in range(3):
            arguments: dict[str, Any] = {"partition_on": "k", "partition_num": 3, "pre_execution_query": before}
            table = read(tables, "select k, a from part_sums", **arguments)
            assert sum(table.column("a").to_pylist()) == 2_000_000


def test_now_is_one_moment(tables: mariadb.Server) -> None:
    query = "select id, now(6) as n from part_keys"
    assert len(set(read(tables, query, partition_on="id", partition_num=4).column("n").to_pylist())) == 1


def test_nobody_waits_while_the_parts_are_read(tables: mariadb.Server) -> None:
    query = "select a.k, b.seq from part_sums a straight_join seq_1_to_100 b"
    arguments: dict[str, Any] = {"partition_on": "k", "partition_num": 3}
    reader = colonnade.read_sql(tables.uri(), query, return_type="arrow_stream", **arguments)
    count = reader.read_next_batch().num_rows
    with colonnade.connect(tables.uri()) as writer:
        writer.execute("set lock_wait_timeout = 1, innodb_lock_wait_timeout = 1")
        assert writer.execute("delete from part_sums where k % 2 = 0 and k < 20000") == 9_999
        writer.execute("insert into part_old values (0, 0)")
        writer.execute("create table part_made (a int)")
        writer.execute("drop table part_made")
    assert count + sum(batch.num_rows for batch in reader) == 2_000_000
    tables.run("insert into part_sums select seq, 100 from seq_1_to_19999 where seq % 2 = 0", mariadb.DATABASE)
    tables.run("delete from part_old where a = 0", mariadb.DATABASE)


@pytest.mark.skipif(mariadb.is_mysql(), reason="BACKUP STAGE is MariaDB's")
def test_a_lock_that_does_not_come_is_not_waited_for(tables: mariadb.Server) -> None:
    query = "select * from part_keys"
    with colonnade.connect(tables.uri()) as backup:
        backup.execute("backup stage start")
        with pytest.raises(colonnade.NotSupportedError, match="one state to several connections") as caught:
            read(tables, query, partition_on="id", partition_num=2)
        assert "consistent=False" in str(caught.value.hint)
        assert read(tables, query, partition_on="id", partition_num=2, consistent=False).num_rows == 4000
    assert read(tables, query, partition_on="id", partition_num=2).num_rows == 4000


def test_the_lock_needs_a_right(tables: mariadb.Server) -> None:
    query, arguments = "select * from part_keys", {"partition_on": "id", "partition_num": 2}
    with pytest.raises(colonnade.NotSupportedError, match="RELOAD") as caught:
        read(tables, query, "part_reader:r", **arguments)
    assert "grant RELOAD" in str(caught.value.hint)
    assert "consistent=False" in str(caught.value.hint)
    assert read(tables, query, "part_reader:r", consistent=False, **arguments).num_rows == 4000
    assert read(tables, [query, query], "part_reader:r").num_rows == 8000
    tables.run("grant reload on *.* to part_reader@'%'")
    assert read(tables, query, "part_reader:r", **arguments).num_rows == 4000
    tables.run("revoke reload on *.* from part_reader@'%'")


def test_what_a_view_reads_must_be_known(tables: mariadb.Server) -> None:
    query, arguments = "select id from part_hidden", {"partition_on": "id", "partition_num": 2}
    tables.run("create user part_blind@'%' identified by 'b'; grant reload on *.* to part_blind@'%'")
    if mariadb.is_mysql():
        tables.run("select 1", "--user=part_blind", "--password=b")
    try:
        # To read it, to see its definition, and to see one of its tables is not enough: the other one is MyISAM's.
        for grant in ("select on shop.part_hidden", "show view on shop.part_hidden", "select on shop.part_keys"):
            tables.run(f"grant {grant} to part_blind@'%'")
            with pytest.raises(colonnade.NotSupportedError, match=r"may not see what the view shop\.part_hidden reads"):
                read(tables, query, "part_blind:b", **arguments)
        assert read(tables, query, "part_blind:b", consistent=False, **arguments).num_rows == 100
        tables.run("grant select on shop.part_old to part_blind@'%'")
        with pytest.raises(colonnade.NotSupportedError, match="MyISAM"):
            read(tables, query, "part_blind:b", **arguments)
    finally:
        tables.run("drop user part_blind@'%'")


def test_whoever_keeps_the_lock_away_does_not_stall_others(tables: mariadb.Server) -> None:
    """A statement that writes to a table without transactions has to end before the lock comes."""
    slow = "update part_old set b = b + sleep(20) where a = 1"
    with colonnade.connect(tables.uri()) as writer, colonnade.connect(tables.uri()) as other:

        def write() -> None:
            with contextlib.suppress(colonnade.Error):
                writer.execute(slow)

        thread = threading.Thread(target=write)
        thread.start()
        wait_until(lambda: "sleep(20)" in tables.run("select info from information_schema.processlist"))
        with pytest.raises(colonnade.NotSupportedError, match="one state to several connections") as caught:
            read(tables, "select * from part_keys", partition_on="id", partition_num=2)
        assert "try again later" in str(caught.value.hint)
        assert other.execute("update part_sums set a = a where k = 1") is not None
        writer.cancel()
        thread.join()
    assert read(tables, "select * from part_keys", partition_on="id", partition_num=2).num_rows == 4000


@pytest.mark.skipif(mariadb.is_mysql(), reason="MySQL cannot call itself older, and has only this lock")
def test_servers_that_have_the_older_lock_alone() -> None:
    """What calls itself older is asked for FLUSH TABLES WITH READ LOCK, which MySQL has too."""
    with mariadb.server(["--version=10.3.39-MariaDB", "--general-log=1", "--general-log-file=all.log"]) as old:
        old.run("create table part_sums (k int primary key, a int)", mariadb.DATABASE)
        old.run("insert into part_sums select seq, 100 from seq_1_to_20000", mariadb.DATABASE)
        with moving(old):
            for _ in range(10):
                table = read(old, "select k, a from part_sums", partition_on="k", partition_num=4)
                assert sum(table.column("a").to_pylist()) == 2_000_000
        statements = (old.directory / "data" / "all.log").read_text(errors="replace")
        assert "FLUSH TABLES WITH READ LOCK" in statements
        assert "BACKUP STAGE" not in statements


def test_servers_that_take_turns_have_no_common_state(tables: mariadb.Server) -> None:
    """As behind a balancer: one address, several servers."""
    query, arguments = "select a from part_one", {"partition_on": "a", "partition_num": 2}
    with mariadb.server() as other:
        other.run("create table part_one (a int primary key, b text)", mariadb.DATABASE)
        balancer = Proxy(("127.0.0.1", tables.port), ("127.0.0.1", other.port))
        uri = f"mysql://{mariadb.USER}:{mariadb.ESCAPED}@127.0.0.1:{balancer.port}/{mariadb.DATABASE}"
        with pytest.raises(colonnade.NotSupportedError, match="they lead to different servers") as caught:
            colonnade.read_sql(uri, query, **arguments)
        assert "consistent=False" in str(caught.value.hint)
        balancer.close()


# --- lists of queries -------------------------------------------------------------------------------------------------


def test_a_lists_queries_run_beside_one_another(tables: mariadb.Server) -> None:
    """On connections of their own, with their rows in the order of the list."""
    each = "select k as a, {0} as n, connection_id() as c from part_sums where k % 7 = {0} order by a desc limit 50"
    queries = [each.format(rest) for rest in range(6)]
    together = read(tables, queries, partition_num=3)
    one_by_one = read(tables, queries, partition_num=1)
    assert together.select(["a", "n"]).equals(one_by_one.select(["a", "n"]))
    assert len(set(one_by_one.column("c").to_pylist())) == 1
    assert set(one_by_one.column("c").to_pylist()).isdisjoint(together.column("c").to_pylist())


def test_a_list_sees_one_state(tables: mariadb.Server) -> None:
    sums = ["select a from part_sums where k = 1", "select a from part_sums where k = 20000"]
    with moving(tables):
        for _ in range(10):
            assert sum(read(tables, sums, partition_num=2).column("a").to_pylist()) == 200


def test_a_list_runs_in_order_where_one_state_is_not_to_be_had(tables: mariadb.Server) -> None:
    for query in ("select count(*) as n, connection_id() as c from part_old", "select @x as n, connection_id() as c"):
        table = read(tables, [query] * 2, partition_num=2, pre_execution_query="set @x = 100")
        assert table.column("n").to_pylist() == [100, 100]
        assert len(set(table.column("c").to_pylist())) == 1


# --- failures ---------------------------------------------------------------------------------------------------------

#: Parts of it never end.
ENDLESS = "select a.k, b.seq, 'endless parts' as t from part_sums a straight_join seq_1_to_1000000 b"
RUNNING = "select id from information_schema.processlist where info like '%endless parts%' and info not like '%info%'"
SPLIT: dict[str, Any] = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 20000)}


def running(server: mariadb.Server) -> list[int]:
    return [int(line) for line in server.run(RUNNING).split()]


def endless(server: mariadb.Server) -> pa.RecordBatchReader:
    reader = colonnade.read_sql(server.uri(), ENDLESS, return_type="arrow_stream", **SPLIT)
    reader.read_next_batch()
    wait_until(lambda: len(running(server)) == 2)
    return reader


@pytest.mark.parametrize("kill", ["kill", "kill query"])
def test_a_part_that_is_killed_is_the_results_error(tables: mariadb.Server, kill: str) -> None:
    reader = endless(tables)
    tables.run(f"{kill} {running(tables)[0]}")
    with pytest.raises(colonnade.OperationalError if kill == "kill" else colonnade.Error):
        for _ in reader:
            pass
    wait_until(lambda: not tables.threads())


def test_an_error_in_one_part_ends_all(tables: mariadb.Server) -> None:
    fails = ENDLESS.replace("'endless", "if(a.k = 19000, (select 1 union select 2), 1) as e, 'endless")
    with pytest.raises(colonnade.Error) as caught:
        read(tables, fails, **SPLIT | {"partition_range": (0, 37_999)})
    assert caught.value.sqlstate == "21000"
    wait_until(lambda: not tables.threads())


def test_a_result_that_is_dropped_ends_all(tables: mariadb.Server) -> None:
    reader = endless(tables)
    reader.close()
    del reader
    wait_until(lambda: not tables.threads())


PROGRAM = """
import sys
import colonnade
split = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 20000)}
try:
    colonnade.read_sql(sys.argv[1], sys.argv[2], return_type="arrow", **split)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_all(tables: mariadb.Server) -> None:
    command = [sys.executable, "-c", PROGRAM, tables.uri(), ENDLESS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: len(running(tables)) == 2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output == "interrupted\n"
    wait_until(lambda: not tables.threads())


def test_more_parts_than_connections(tables: mariadb.Server) -> None:
    query = "select * from part_keys"
    for limit, undo in (
        ("set global max_connections = 10", "set global max_connections = 151"),
        ("alter user part_reader@'%' with max_user_connections 3", "select 1"),
    ):
        tables.run(limit)
        try:
            with pytest.raises(colonnade.OperationalError) as caught:
                read(tables, query, "part_reader:r", partition_on="id", partition_num=40)
        finally:
            tables.run(undo)
        assert caught.value.sqlstate == "53300"
        assert "fewer parts" in str(caught.value.hint)
        wait_until(lambda: not tables.run("select id from information_schema.processlist where user = 'part_reader'"))
