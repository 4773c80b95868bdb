"""Parallel plans: whatever the shape, the same rows as without workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import colonnade
import psycopg
import pytest

from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

ROWS = 60_000
SETTINGS = {
    "max_worker_processes": "8",
    "max_parallel_workers": "8",
    "max_parallel_workers_per_gather": "2",
    "min_parallel_table_scan_size": "0",
    "min_parallel_index_scan_size": "0",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "shared_preload_libraries": "auto_explain",
    "auto_explain.log_analyze": "on",
}
SETUP = f"""
create extension colonnade;
create type mood as enum ('sad', 'ok', 'happy');
create type pair as (a int, b text);
create table facts (id int primary key, k int, mood mood, amount numeric(12, 2), free numeric, note text,
    seen timestamptz, p pair, tags text[]);
insert into facts select i, i % 100, (array['sad', 'ok', 'happy'])[i % 3 + 1]::mood, i / 100.0, i / 7.0,
    case when i % 5 > 0 then 'note ' || i end, to_timestamp(i), row(i, 'p' || i)::pair, array['t' || i, null]
    from generate_series(1, {ROWS}) i;
create table names (k int primary key, name text);
insert into names select i, 'name ' || i from generate_series(0, 99) i;
create table parts (id int, v text) partition by hash (id);
create table parts0 partition of parts for values with (modulus 2, remainder 0);
create table parts1 partition of parts for values with (modulus 2, remainder 1);
insert into parts select i, 'v' || i from generate_series(1, {ROWS}) i;
create table target (id int);
create function unsafe(i int) returns int parallel unsafe language sql as 'select i';
create function restricted(i int) returns int parallel restricted language plpgsql as 'begin return i; end';
create function safe(i int) returns int parallel safe language plpgsql as 'begin return i + 1; end';
vacuum analyze;
"""
#: A name, a query, and whether its order is part of the answer.
SHAPES: list[tuple[str, str, bool]] = [
    ("a scan", "select * from facts", False),
    ("a filter", "select id, note from facts where k = 5", False),
    ("expressions", "select id * 2 as d, upper(note) as u, amount + 1 as a from facts", False),
    ("no columns", "select from facts where k < 50", False),
    ("nothing found", "select * from facts where k = -1", False),
    ("one column twice", "select id, id as again from facts", False),
    ("an index", "select id, note from facts where id between 1000 and 30000", False),
    ("a hash join", "select f.id, n.name from facts f join names n using (k)", False),
    ("a merge join", "select a.id from facts a join facts b on a.id = b.id", False),
    ("a left join", "select f.id, n.name from facts f left join names n on n.k = f.k and n.k < 50", False),
    ("an aggregate", "select k, count(*) as c, sum(amount) as s from facts group by k", False),
    ("one total", "select count(*) as c, min(note) as m from facts", False),
    ("distinct", "select distinct k, mood from facts", False),
    ("an order", "select id, note from facts order by amount desc", True),
    ("an order and a limit", "select id from facts order by id limit 10", True),
    ("a limit", "select k >= 0 as yes from facts limit 100", False),
    ("a union", "select id, note from facts union all select k, name from names", False),
    ("a union without duplicates", "select k from facts union select k from names", False),
    ("partitions", "select * from parts", False),
    ("a join of partitions", "select a.id, b.v from parts a join parts b using (id)", False),
    ("an init plan", "select id from facts where k = (select max(k) from names)", False),
    ("an init plan in the result", "select id, (select max(name) from names) as m from facts where k = 3", False),
    ("a sub-plan", "select id, (select name from names n where n.k = f.k) as n from facts f where id < 3000", False),
    ("exists", "select id from facts f where exists (select from names n where n.k = f.k and n.k > 90)", False),
    ("a common table expression", "with c as materialized (select * from facts) select id, note from c", False),
    ("a window", "select id, row_number() over (partition by k order by id)::int as r from facts", False),
    ("a set-returning function", "select id, unnest(tags) as t from facts where k = 1", False),
    ("a lateral join", "select f.id, g from facts f, generate_series(1, f.k % 3) g", False),
    ("a record", "select row(id, note) as r from facts where k = 2", False),
    ("a whole row", "select f from facts f where k = 2", False),
    ("composites and arrays", "select p, tags, mood from facts", False),
    ("unconstrained numerics", "select free from facts", False),
    ("a safe function", "select safe(id) as s from facts", False),
    ("a restricted function", "select restricted(id) as r from facts", False),
    ("an unsafe function", "select unsafe(id) as u from facts where k = 1", False),
    ("a sample", "select id from facts tablesample system (50) repeatable (7)", False),
    ("a lock", "select id from facts where k = 1 for update", False),
    ("what is written", "insert into target select id from facts where k = 1 returning id", False),
    ("values", "values (1), (2)", True),
    ("no table", "select 1 as one", True),
]


@pytest.fixture(scope="module")
def parallel(installation: pg.Installation) -> Iterator[pg.Cluster]:
    with pg.cluster(installation, SETTINGS) as running:
        with running.connect() as session:
            for statement in SETUP.split(";\n"):
                session.execute(statement)
        yield running


def rows(connection: colonnade.Connection, query: str, **options: Any) -> list[Any]:
    """The columns' types, and then the rows, in a form that can be counted."""
    table = connection.query(query, **options).to_arrow()
    columns = [map(repr, column.to_pylist()) for column in table.columns]
    return [table.schema.types, *zip(*columns, strict=True)]


@pytest.mark.parametrize(("query", "ordered"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_the_same_rows_with_and_without_workers(parallel: pg.Cluster, query: str, ordered: bool) -> None:
    with colonnade.connect(parallel.uri()) as connection:
        connection.execute("begin")
        types, *expected = rows(connection, query, parallel="off")
        connection.execute("rollback")
        for how in ("on", "auto"):
            for options in ({}, {"chunk_rows": 777, "compression": "light+zstd-1"}, {"compression": "plain"}):
                connection.execute("begin")
                found_types, *found = rows(connection, query, parallel=how, **options)
                connection.execute("rollback")
                assert found_types == types
                assert found == expected if ordered else Counter(found) == Counter(expected)


def test_rows_without_columns_are_counted(parallel: pg.Cluster) -> None:
    with colonnade.connect(parallel.uri()) as connection:
        for how in ("on", "off"):
            batches = connection.query("select from facts", parallel=how)
            assert sum(batch.num_rows for batch in batches) == ROWS


def test_rows_that_come_in_parts(parallel: pg.Cluster) -> None:
    """Each larger than what shared memory is used for."""
    text = "repeat(chr(65 + id % 26), 34000000 + id)"
    query = f"select id, {text} as t from facts where id in (1, 2, 15000, 30000, 59999)"
    with colonnade.connect(parallel.uri()) as connection:
        table = connection.query(query, parallel="on").to_arrow()
        found = {row["id"]: row["t"] for row in table.to_pylist()}
    assert set(found) == {1, 2, 15000, 30000, 59999}
    assert all(text == chr(65 + number % 26) * (34000000 + number) for number, text in found.items())


def explained(cluster: pg.Cluster, query: str, how: str, *, settings: str = "") -> str:
    """The plan with which the query was answered, as auto_explain logs it."""
    before = cluster.log.stat().st_size
    with colonnade.connect(cluster.uri(options=f"-c auto_explain.log_min_duration=0 {settings}")) as connection:
        connection.query(query, parallel=how).to_arrow()
    text = cluster.log.read_text()[before:]
    return text[text.index(query) :]


def test_workers_do_the_work_where_the_plan_allows_it(parallel: pg.Cluster) -> None:
    for how in ("on", "auto"):
        plan = explained(parallel, "select id, note, amount from facts", how)
        assert "Workers Launched: 2" in plan
        assert "Custom Scan" in plan
    plan = explained(parallel, "select id, note, amount from facts", "off")
    assert "Custom Scan" not in plan


USUAL_COSTS = "-c parallel_setup_cost=1000 -c parallel_tuple_cost=0.1"


def test_workers_are_cheap_at_the_top_alone(parallel: pg.Cluster) -> None:
    """Elsewhere they hand over rows, and start anew for each row of an outer loop."""
    views = ["information_schema.usage_privileges", "information_schema.table_privileges", "pg_stat_activity"]
    for view in views:
        query = f"select * from {view}"
        with parallel.connect() as session:
            session.execute("set parallel_setup_cost = 0; set parallel_tuple_cost = 0")
            lines = [line for (line,) in session.execute(f"explain {query}")]
        plan = explained(parallel, query, "on", settings=USUAL_COSTS)
        assert any("->  Gather" in line for line in lines), "it would have none anyway"
        assert "->  Gather" not in plan, view
    plan = explained(parallel, "select id, note from facts", "on", settings=USUAL_COSTS)
    assert "Custom Scan" in plan


def test_no_workers_are_left(parallel: pg.Cluster) -> None:
    """With all of them taken, the leader does it alone."""
    with colonnade.connect(parallel.uri(options="-c max_parallel_workers=0")) as connection:
        assert connection.query("select * from facts", parallel="on").to_arrow().num_rows == ROWS


def test_an_order_is_kept(parallel: pg.Cluster) -> None:
    with colonnade.connect(parallel.uri()) as connection:
        table = connection.query("select id from facts order by id desc", parallel="on", chunk_rows=100).to_arrow()
        assert table.column("id").to_pylist() == list(range(ROWS, 0, -1))


@pytest.mark.parametrize(
    ("query", "sqlstate"),
    [
        ("select 1 / (id - 30000) as q from facts", "22012"),
        ("select case when id = 30000 then 'NaN'::numeric else 1 end::numeric(3, 1) as n from facts", "22003"),
        ("select repeat(note, 1000) as n from facts", "54000"),
    ],
)
def test_an_error_in_a_worker(parallel: pg.Cluster, query: str, sqlstate: str) -> None:
    with colonnade.connect(parallel.uri()) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.Error) as caught:
                connection.query(query, parallel="on", max_message_bytes=4096, chunk_rows=10).to_arrow()
            assert caught.value.sqlstate == sqlstate
            assert connection.query("select count(*) as c from facts").to_arrow().to_pylist() == [{"c": ROWS}]


def workers(session: psycopg.Connection) -> int:
    [(count,)] = session.execute("select count(*) from pg_stat_activity where backend_type = 'parallel worker'")
    return count


#: For hours, if nobody stops it.
LONG = "select a.id, b.note from facts a cross join facts b"


def test_no_worker_outlives_a_limit(parallel: pg.Cluster) -> None:
    with colonnade.connect(parallel.uri()) as connection, parallel.connect() as session:
        assert connection.query(f"{LONG} limit 100000", parallel="on").to_arrow().num_rows == 100_000
        wait_until(lambda: workers(session) == 0)


def test_no_worker_outlives_a_result_that_is_given_up(parallel: pg.Cluster) -> None:
    with colonnade.connect(parallel.uri()) as connection, parallel.connect() as session:
        result = connection.query(LONG, parallel="on")
        next(iter(result))
        wait_until(lambda: workers(session) == 2)
        result.close()
        assert connection.query("select 1 as one").to_arrow().num_rows == 1
        wait_until(lambda: workers(session) == 0)


@pytest.mark.parametrize("victim", ["client backend", "parallel worker"])
def test_a_process_that_is_terminated_is_an_error(parallel: pg.Cluster, victim: str) -> None:
    with parallel.connect() as session, colonnade.connect(parallel.uri(application_name="leader")) as connection:
        batches = iter(connection.query(LONG, parallel="on"))
        next(batches)
        wait_until(lambda: workers(session) == 2)
        session.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'leader'"
            " and backend_type = %s",
            [victim],
        )
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in batches:
                pass
        assert caught.value.sqlstate in pg.TERMINATED
        assert connection.is_open == (victim == "parallel worker")
        wait_until(lambda: workers(session) == 0)
