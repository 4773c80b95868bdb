"""Parts of PostgreSQL's snapshots in other processes: one state of the database, each row once."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import colonnade
import pyarrow as pa
import pytest

from tests.plans.elsewhere import ROOT, ROWS, Reader, reader
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

#: Makes a plan and prints its parts, and waits until it is killed.
PLANNER = """
import pickle, sys, colonnade
plan = colonnade.plan(sys.argv[1], sys.argv[2], 2)
pickle.dump(plan.parts, sys.stdout.buffer)
sys.stdout.buffer.flush()
sys.stdin.read()
"""


#: Rows leave the table and come back elsewhere.
MOVED = """
with moved as (delete from plans.changing where id %% 100 = %s returning id, state)
insert into plans.changing select id, state from moved
"""


@contextmanager
def writing(cluster: pg.Cluster) -> Iterator[None]:
    """Another session moves rows for the time of the block. Each of its states has all rows, with one value in the
    column `state`."""
    over = threading.Event()
    done = 0

    def work() -> None:
        nonlocal done
        with cluster.connect() as session:
            while not over.is_set():
                with session.transaction():
                    session.execute("update plans.changing set state = state + 1")
                    session.execute(MOVED, [done % 100])
                done += 1

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(work)
        wait_until(lambda: done > 0 or writer.done())
        try:
            yield
        finally:
            over.set()
            writer.result()


def counted(cluster: pg.Cluster, sql: str) -> int:
    with cluster.connect() as session:
        ((number,),) = session.execute(sql).fetchall()
    return number


def gone(part: colonnade.Part, elsewhere: Reader | None = None) -> None:
    with pytest.raises(colonnade.InterfaceError, match="no such part any more") as error:
        part.read("arrow") if elsewhere is None else elsewhere.ask([part])
    assert error.value.sqlstate == "42704"


@pytest.mark.parametrize("key", [None, "id", "sort"])
def test_every_row_is_in_one_part(
    cluster: pg.Cluster, elsewhere: Reader, elsewhere_too: Reader, key: str | None
) -> None:
    query = "select * from plans.readings where id > $1"
    whole = colonnade.read_sql(cluster.uri(), query, return_type="arrow", params=[10]).sort_by("id")
    with colonnade.plan(cluster.uri(), query, 4, key, params=[10]) as plan:
        assert 1 < len(plan) == len(plan.parts) <= 4 and plan.is_open
        assert plan.schema == whole.schema
        elsewhere.send(plan.parts[::2])
        found = [*elsewhere_too.ask(plan.parts[1::2]), *elsewhere.answer()]
        assert pa.concat_tables(found).sort_by("id") == whole
        assert pa.concat_tables([part.read("arrow") for part in plan.parts]).sort_by("id") == whole


def test_all_parts_see_one_state_while_others_write(
    cluster: pg.Cluster, elsewhere: Reader, elsewhere_too: Reader
) -> None:
    with writing(cluster), colonnade.plan(cluster.uri(), "select * from plans.changing", 6) as plan:
        rows = []
        for _ in range(2):
            elsewhere.send(plan.parts[:4])
            rows.append(pa.concat_tables([*elsewhere_too.ask(plan.parts[4:]), *elsewhere.answer()]).sort_by("id"))
        assert rows[0] == rows[1], "parts that are read again have the same rows"
        assert rows[0]["id"].to_pylist() == list(range(1, ROWS + 1))
        assert len(rows[0]["state"].unique()) == 1


def test_a_reader_that_has_begun_survives_the_plan(cluster: pg.Cluster, elsewhere: Reader) -> None:
    query = "select id, repeat(word, 200) as filler from plans.readings"
    with colonnade.plan(cluster.uri(), query, 2, chunk_rows=100) as plan:
        near = plan.parts[1].batches()
        rows = next(near).num_rows + elsewhere.ask("begin", [plan.parts[0]]).num_rows
    assert not plan.is_open
    rows += elsewhere.ask("go on").num_rows + sum(batch.num_rows for batch in near)
    assert rows == ROWS
    gone(plan.parts[0])
    gone(plan.parts[1], elsewhere)


def test_parts_are_gone_with_a_planner_that_was_killed(cluster: pg.Cluster, elsewhere: Reader) -> None:
    command = [sys.executable, "-c", PLANNER, cluster.uri(), "select id from plans.readings"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as planner:
        assert planner.stdout is not None
        parts = pickle.load(planner.stdout)
        assert sum(table.num_rows for table in elsewhere.ask(parts)) == ROWS
        planner.send_signal(signal.SIGKILL)
    # The server notices the end of the connection.
    holders = (
        "select count(*) from pg_stat_activity where state = 'idle in transaction' and query like '%plans.readings%'"
    )
    wait_until(lambda: counted(cluster, holders) == 0)
    gone(parts[0], elsewhere)


def test_a_plan_that_is_never_read_leaves_nothing(cluster: pg.Cluster) -> None:
    sessions = "select count(*) from pg_stat_activity where application_name = 'never read'"
    uri = cluster.uri(application_name="never read")
    plan = colonnade.plan(uri, "select id from plans.readings", 2)
    part = plan.parts[1]
    assert counted(cluster, sessions) == 1
    del plan
    assert part.read("arrow").num_rows > 0, "in the planner's process, a part keeps its plan"
    del part
    wait_until(lambda: counted(cluster, sessions) == 0)
    with pytest.raises(colonnade.ProgrammingError):
        colonnade.plan(uri, "select nothing from plans.readings")
    wait_until(lambda: counted(cluster, sessions) == 0)


def test_an_open_connection_plans_and_stays_free(cluster: pg.Cluster, elsewhere: Reader) -> None:
    """A reader elsewhere sees what the connection's settings say, and not what its own say."""
    with colonnade.connect(cluster.uri()) as connection:
        connection.execute("set search_path to plans; set timezone to 'Asia/Tokyo'")
        with colonnade.plan(connection, "select at::text as at from readings order_me where id = 1", 1) as plan:
            assert connection.query("select 1 as n").to_arrow().num_rows == 1
            (table,) = elsewhere.ask(plan.parts)
            assert table.to_pydict() == {"at": ["2024-01-01 09:01:00+09"]}
            assert plan.parts[0].read("arrow") == table
        assert connection.execute("create temporary table own (a int)") in (0, None)
        with pytest.raises(colonnade.NotSupportedError, match="temporary tables"):
            colonnade.plan(connection, "select id from plans.readings")


def test_settings_of_the_login_and_of_the_role_go_with_the_parts(cluster: pg.Cluster, elsewhere: Reader) -> None:
    uri = cluster.uri(options="-c search_path=plans -c datestyle=German")
    with colonnade.plan(uri, "select day::text as day from readings where id = 1", 1) as plan:
        (table,) = elsewhere.ask(plan.parts, {"uri": cluster.uri()})
    assert table.to_pydict() == {"day": ["02.01.2024"]}


def test_a_plan_outlives_the_limit_of_idle_transactions(cluster: pg.Cluster) -> None:
    with colonnade.connect(cluster.uri()) as connection, cluster.connect() as other:
        connection.execute("set idle_in_transaction_session_timeout to '100ms'")
        with colonnade.plan(connection, "select id from plans.readings", 2) as plan:
            # The limit of this session is longer, and ends it.
            other.execute("set idle_in_transaction_session_timeout to '200ms'")
            other.execute("begin")
            alive = f"select count(*) from pg_stat_activity where pid = {other.info.backend_pid}"
            wait_until(lambda: counted(cluster, alive) == 0)
            other.close()
            assert sum(part.read("arrow").num_rows for part in plan.parts) == ROWS


def test_a_hundred_plans_at_once(installation: pg.Installation) -> None:
    with pg.cluster(installation, {"max_connections": "150"}) as many:
        with many.connect() as session:
            session.execute("create table t as select generate_series(1, 5000) as id")
        with ExitStack() as open_plans, ThreadPoolExecutor(16) as pool, reader() as elsewhere:
            plans = list(pool.map(lambda _: colonnade.plan(many.uri(), "select id from t", 2), range(100)))
            for plan in plans:
                open_plans.enter_context(plan)
            with many.connect() as session:
                session.execute("delete from t")
            tables = elsewhere.ask([plan.parts[-1] for plan in plans])
            assert len({table.num_rows for table in tables}) == 1 and tables[0].num_rows > 0


def test_estimates_are_the_planners(cluster: pg.Cluster) -> None:
    with colonnade.plan(cluster.uri(), "select * from plans.readings", 4) as plan:
        assert not plan.exact and plan.parts[0].kind == "snapshot"
        assert plan.rows is not None and plan.bytes is not None
        assert 0.9 * ROWS < plan.rows < 1.1 * ROWS
        assert 50 * ROWS < plan.bytes < 200 * ROWS
        for part in plan.parts:
            assert part.rows is not None
            assert 0.5 < part.rows / part.read("arrow").num_rows < 2
    with colonnade.plan(cluster.uri(), "select id from plans.readings where id < 100", 1) as plan:
        assert plan.rows is not None and plan.rows < 200


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select id, random() from plans.readings", "random"),
        ("select * from plans.lottery", "random"),
        ("select id from plans.readings where at < now()", "now"),
        ("select id, current_date as today from plans.readings", "current_date"),
        ("select id from plans.readings limit 5", "LIMIT"),
        ("select count(*) from plans.readings", "plain read of one table"),
        ("insert into plans.readings (id) values (1) returning id", "only SELECT"),
        ("with w as (delete from plans.readings returning id) select id from w", "."),
        ("select 1; select 2", "several statements"),
    ],
)
def test_what_readers_would_see_differently_is_refused(cluster: pg.Cluster, query: str, why: str) -> None:
    with pytest.raises(colonnade.DatabaseError, match=why):
        colonnade.plan(cluster.uri(), query)
    assert counted(cluster, "select count(*) from plans.readings") == ROWS


def test_one_part_needs_no_key(cluster: pg.Cluster) -> None:
    query = "select sort, count(*) as n from plans.readings group by sort"
    with colonnade.plan(cluster.uri(), query, 1) as plan:
        assert plan.parts[0].read("arrow").num_rows == 7


def test_a_server_of_snapshots_keeps_no_rows(cluster: pg.Cluster) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="keep its rows") as error:
        colonnade.plan(cluster.uri(), "select 1", spool=True)
    assert "colonnade serve" in str(error.value)


def test_the_exception_of_the_block_is_not_hidden(cluster: pg.Cluster) -> None:
    uri = cluster.uri(application_name="to be ended")
    with pytest.raises(KeyError, match="mine"), colonnade.plan(uri, "select id from plans.readings", 2):
        ended = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'to be ended'"
        assert counted(cluster, ended) == 1
        raise KeyError("mine")
