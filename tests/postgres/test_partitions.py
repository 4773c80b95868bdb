"""One result over several connections: every row once, from one state of the database, or a refusal with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import colonnade
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests.postgres.parted import prepared, read, rows
from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> Iterator[pg.Cluster]:
    """With the extension and without."""
    with prepared(either):
        yield either


KEYS = [
    "id",
    "repeated",
    "small",
    "large",
    "exact",
    "scaled",
    "double",
    "single",
    "day",
    "moment",
    "instant",
    "hash",
    "mixed",
    "padded",
    "short",
    "name",
    "uuid",
    "flag",
    "span",
    "clock",
    "same",
    "nothing",
    "skewed",
]


# --- every row once ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["keys", "never_analyzed"])
@pytest.mark.parametrize("key", KEYS)
def test_every_kind_of_key(postgres: pg.Cluster, key: str, table: str) -> None:
    query = f"select * from parts.{table}"
    whole = read(postgres, query)
    split = read(postgres, query, partition_on=key, partition_num=3)
    assert split.schema == whole.schema
    assert rows(split) == rows(whole)


@pytest.mark.parametrize("key", ["id", "hash", "moment", "uuid"])
def test_parts_are_about_equally_large(postgres: pg.Cluster, key: str) -> None:
    for table in ("keys", "never_analyzed"):
        assert all(800 <= size <= 1200 for size in sizes(postgres, f"select * from parts.{table}", key, 4))


def test_a_frequent_key_leaves_fewer_parts_but_no_empty_ones(postgres: pg.Cluster) -> None:
    assert all(sizes(postgres, "select * from parts.keys", "skewed", 8))
    assert sizes(postgres, "select * from parts.keys", "same", 8) == [4000]
    assert sizes(postgres, "select * from parts.keys", "nothing", 8) == [4000]


def sizes(cluster: pg.Cluster, query: str, key: str, number: int) -> list[int]:
    """The rows of each part, which the numbers of the backends that read them tell apart."""
    each = f"select q.*, pg_backend_pid() as backend from ({query}) q"
    table = read(cluster, each, partition_on=key, partition_num=number, consistent=False)
    return list(Counter(table.column("backend").to_pylist()).values())


def test_rows_come_in_the_order_of_the_parts(postgres: pg.Cluster) -> None:
    table = read(
        postgres,
        "select id, pg_backend_pid() as p from parts.keys",
        partition_on="id",
        partition_num=4,
        consistent=False,
    )
    backends = table.column("p").to_pylist()
    changes = [index for index in range(1, 4000) if backends[index] != backends[index - 1]]
    assert len(changes) == len(set(backends)) - 1 == 3
    ids = table.column("id").to_pylist()
    bounds = [0, *changes, 4000]
    ranges = [(min(ids[a:b]), max(ids[a:b])) for a, b in pairwise(bounds)]
    assert ranges == sorted(ranges)


RANGES = [
    ("id", (100, 200)),
    ("id", (-500, -100)),
    ("id", (10**8, 10**9)),
    ("id", (3, 3)),
    ("repeated", (0, 999)),
    ("exact", (Decimal("1.5"), 300.25)),
    ("double", (-1.5, 1000)),
    ("day", (date(2021, 1, 1), date(2025, 1, 1))),
    ("moment", ("2020-02-01 12:00", "2020-05-01")),
    ("instant", (datetime(1900, 1, 1), datetime(2000, 1, 1, 12))),
]


@pytest.mark.parametrize(("key", "between"), RANGES)
def test_a_range_says_where_to_cut_and_filters_nothing(
    postgres: pg.Cluster, key: str, between: tuple[Any, Any]
) -> None:
    query = "select * from parts.keys"
    split = read(postgres, query, partition_on=key, partition_num=4, partition_range=between)
    assert rows(split) == rows(read(postgres, query))


def test_more_parts_than_rows(postgres: pg.Cluster) -> None:
    for table, count in (("empty", 0), ("one", 1)):
        for key in ("a", "b", None):
            split = read(postgres, f"select * from parts.{table}", partition_on=key, partition_num=5)
            assert (split.num_rows, split.schema.names) == (count, ["a", "b"])


def test_odd_names_and_values(postgres: pg.Cluster) -> None:
    query = 'select * from parts."odd ""name" -- all'
    for key in ('Key "k', "b;--"):
        assert rows(read(postgres, query, partition_on=key, partition_num=3)) == rows(read(postgres, query))
    assert rows(read(postgres, query, partition_num=3)) == rows(read(postgres, query))


def test_queries_of_all_kinds(postgres: pg.Cluster) -> None:
    for query in (
        "with c as (select * from parts.keys order by id limit 500) select id, hash from c",
        "select id % 10 as id, count(*) as n from parts.keys group by 1;",
        "(select id from parts.keys limit 3) union all (select 1 order by 1)",
        "values (1), (2), (null) -- three",
        "table parts.seen",
        "select a, b from parts.parent where b like '%1%'",
        "select id as same, 1 as twice, 2 as twice from parts.keys",
    ):
        whole = read(postgres, query)
        split = read(postgres, query, partition_on=whole.column_names[0], partition_num=3)
        assert rows(split) == rows(whole), query
        assert split.schema == whole.schema


def test_parameters_options_and_settings_reach_the_parts(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c datestyle=german")) as connection:
        connection.execute("set search_path = parts, pg_catalog; set intervalstyle = sql_standard")
        arguments: dict[str, Any] = {
            "query": "select id, moment, span::text, current_setting('my.own') as own from keys where id > $1",
            "params": [3000],
            "return_type": "arrow",
            "as_text": ["id"],
            "pre_execution_query": "set my.own = 'it''s'",
        }
        split = colonnade.read_sql(connection, partition_on="moment", partition_num=3, **arguments)
        assert sorted(split.column("id").to_pylist()) == [str(number) for number in range(3001, 4001)]
        assert set(split.column("own").to_pylist()) == {"it's"}
        assert rows(split) == rows(colonnade.read_sql(connection, **arguments))


def test_a_role_reaches_the_parts(postgres: pg.Cluster) -> None:
    setup = "create role reader; grant usage on schema parts to reader; grant select on parts.one to reader"
    undo = "drop owned by reader; drop role reader"
    with postgres.prepared(setup, undo), colonnade.connect(postgres.uri()) as connection:
        connection.execute("set role reader")
        query = "select a, current_user::text as who from parts.one"
        table = colonnade.read_sql(connection, query, partition_on="a", partition_num=2, return_type="arrow")
        assert table.to_pylist() == [{"a": 5, "who": "reader"}]
        with pytest.raises(colonnade.ProgrammingError, match="permission denied"):
            colonnade.read_sql(connection, "select * from parts.keys", partition_on="id", partition_num=2)


@pytest.mark.parametrize("collation", ["C", "POSIX", "und-x-icu", "de-x-icu", "blind"])
def test_texts_of_any_collation(postgres: pg.Cluster, collation: str) -> None:
    blind = "create collation blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    with postgres.prepared(blind, "drop collation blind cascade"), postgres.connect() as session:
        make = "create table parts.collated as select mixed collate {} as t from parts.keys"
        session.execute(sql.SQL(make).format(sql.Identifier(collation)))
        try:
            for analyze in ("", "analyze parts.collated"):
                session.execute(analyze)
                split = read(postgres, "select t from parts.collated", partition_on="t", partition_num=5)
                assert rows(split) == rows(read(postgres, "select t from parts.collated"))
        finally:
            session.execute("drop table parts.collated")


VALUES = {
    "int8": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "numeric": st.decimals(places=3, min_value=-1000, max_value=1000) | st.just(Decimal("NaN")),
    "float8": st.floats() | st.sampled_from([0.0, -0.0, 1.0]),
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "uuid": st.uuids(),
}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_parts_are_the_whole(postgres: pg.Cluster, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(VALUES)))
    keys = data.draw(st.lists(st.none() | VALUES[kind], max_size=40))
    number = data.draw(st.integers(2, 5))
    with postgres.connect() as session:
        session.execute(f"drop table if exists parts.drawn; create table parts.drawn (k {kind}, n int)")
        with session.cursor() as cursor:
            cursor.executemany(
                f"insert into parts.drawn values (%s::{kind}, %s)", list(zip(keys, range(99), strict=False))
            )
        if data.draw(st.booleans()):
            session.execute("analyze parts.drawn")
    query = "select k::text, n from (select k, n from parts.drawn) d"
    whole = read(postgres, query)
    keyed = read(postgres, "select * from parts.drawn", partition_on="k", partition_num=number)
    assert sorted(keyed.column("n").to_pylist()) == sorted(whole.column("n").to_pylist())
    placed = read(postgres, "table parts.drawn", partition_num=number)
    assert sorted(placed.column("n").to_pylist()) == sorted(whole.column("n").to_pylist())


# --- without a key ----------------------------------------------------------------------------------------------------

PLAIN = [
    "select * from parts.keys",
    "table parts.keys",
    "table only parts.keys -- all",
    "select k.id, upper(hash) as h from parts.keys as k where id > 100 or id < 50 -- tail",
    "select id, (select count(*) from parts.one) as n from only parts.keys",
    "select id as limit, hash as where from parts.keys where id in (1, 2, 3000)",
]


@pytest.mark.parametrize("query", PLAIN)
def test_a_table_needs_no_key(postgres: pg.Cluster, query: str) -> None:
    split = read(postgres, query, partition_num=3)
    assert rows(split) == rows(read(postgres, query))


def test_places_are_found_by_the_server(postgres: pg.Cluster) -> None:
    """Each part reads its own blocks only: together they read the table once."""
    reads = "select seq_tup_read from pg_stat_user_tables where relid = 'parts.keys'::regclass"
    with postgres.connect() as session:
        plan = session.execute("explain select * from parts.keys where ctid >= '(3,0)' and ctid < '(9,0)'").fetchall()
        assert "Tid Range Scan" in plan[0][0]
        assert session.execute(reads).fetchone() is not None


NOT_PLAIN = [
    ("select count(*) from parts.keys", "Aggregate"),
    ("select distinct flag from parts.keys", "plan is a"),
    ("select flag from parts.keys group by 1", "more than"),
    ("select id from parts.keys union all select 1", "more than"),
    ("with c as (select 1) select id from parts.keys", "more than"),
    ("select generate_series(1, id) from parts.keys", "ProjectSet"),
    ("select id, row_number() over () from parts.keys", "WindowAgg"),
    ("select k.id from parts.keys k join parts.one o on k.id = o.a", "plan is a"),
    ("select * from parts.parent", "Append"),
    ("select * from parts.low", "no ordinary table"),
    ("select * from parts.seen", "ctid"),
    ("select * from (select * from parts.keys) k", "ctid"),
    ("select * from parts.keys where false", "Result"),
    ("select * from generate_series(1, 10) i", "Function Scan"),
    ("(select * from parts.keys)", "more than"),
    ("values (1), (2)", "more than"),
]


@pytest.mark.parametrize(("query", "why"), NOT_PLAIN)
def test_other_queries_need_one(postgres: pg.Cluster, query: str, why: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match=f"plain read of one table.*{why}") as caught:
        read(postgres, query, partition_num=2)
    assert "partition_on" in str(caught.value.hint)


def test_foreign_tables_need_one(postgres: pg.Cluster) -> None:
    setup = (
        "create extension file_fdw; create server files foreign data wrapper file_fdw; "
        "create foreign table parts.outside (a text) server files options (filename '/etc/passwd')"
    )
    with postgres.prepared(setup, "drop extension file_fdw cascade"):
        with pytest.raises(colonnade.NotSupportedError, match="Foreign Scan"):
            read(postgres, "select * from parts.outside", partition_num=2)
        query = "select * from parts.outside"
        found = read(postgres, query, partition_on="a", partition_num=2, consistent=False)
        assert rows(found) == rows(read(postgres, query))


#: Queries that read a foreign table, and their keys.
OUTSIDE = [
    ("select * from parts.outside", "a"),
    ("select * from parts.through", "a"),
    ("select * from parts.spread", "a"),
    ("select id from parts.keys where hash in (select a from parts.outside)", "id"),
    ("select id, (select count(*) from parts.outside) as n from parts.keys", None),
]


@pytest.mark.parametrize(("query", "key"), OUTSIDE)
def test_foreign_tables_are_no_part_of_one_state(postgres: pg.Cluster, query: str, key: str | None) -> None:
    setup = (
        "create extension file_fdw; create server files foreign data wrapper file_fdw; "
        "create foreign table parts.outside (a text) server files options (filename '/etc/passwd'); "
        "create view parts.through as select upper(a) as a from parts.outside; "
        "create table parts.spread (a text) partition by list (a); "
        "create foreign table parts.far partition of parts.spread default server files options (filename '/etc/passwd')"
    )
    undo = "drop extension file_fdw cascade; drop table parts.spread"
    with postgres.prepared(setup, undo):
        with pytest.raises(colonnade.NotSupportedError, match=r"foreign tables.*: parts\.(outside|far)") as caught:
            read(postgres, query, partition_on=key, partition_num=2)
        assert "consistent=False" in str(caught.value.hint)
        with pytest.raises(colonnade.NotSupportedError, match=r"foreign tables.*: parts\.(outside|far)"):
            colonnade.plan(postgres.uri(), query, partition_on=key, parts=2)
        # A partition that the query does not read changes nothing.
        with postgres.connect() as session:
            session.execute("create table parts.near partition of parts.spread for values in ('x')")
        near = "select * from parts.spread where a = 'x'"
        assert read(postgres, near, partition_on="a", partition_num=2).num_rows == 0


# --- refusals ---------------------------------------------------------------------------------------------------------

REFUSED = [
    ("select * from parts.keys order by id", "ORDER BY"),
    ("(select * from parts.keys order by id)", "ORDER BY"),
    ("with c as (select * from parts.keys) select * from c order by id", "ORDER BY"),
    ("select * from parts.keys limit 3", "LIMIT"),
    ("((select * from parts.keys) offset 3)", "OFFSET"),
    ("select * from parts.keys fetch first 3 rows only", "FETCH"),
    ("select * from parts.keys for update", "lock"),
    ("select * into parts.other from parts.keys", "INTO"),
    ("insert into parts.one values (1) returning a as id", "only SELECT"),
    ("show all", "only SELECT"),
    ("select 1 as id; select 2 as id", "several statements"),
    ("select random() as id", "random"),
    ("select * from parts.keys tablesample system (50)", "TABLESAMPLE"),
    ("select now() - moment as id from parts.keys", "now"),
    ("select array[id] as id from parts.keys", "type integer"),
    ("select id, hash as id from parts.keys", "2 columns"),
]


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_parts_would_change_is_refused(postgres: pg.Cluster, query: str, why: str) -> None:
    with pytest.raises((colonnade.NotSupportedError, colonnade.InterfaceError), match=why):
        read(postgres, query, partition_on="id", partition_num=2)


def test_an_unknown_key_is_told_which_exist(postgres: pg.Cluster) -> None:
    with pytest.raises(colonnade.InterfaceError, match=r'no column "nope".*"id", "hash"'):
        read(postgres, "select id, hash from parts.keys", partition_on="nope", partition_num=2)
    assert read(postgres, "select id from parts.keys", partition_on="ID", partition_num=2).num_rows == 4000


def test_a_range_needs_distances(postgres: pg.Cluster) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="numbers or times"):
        read(postgres, "select * from parts.keys", partition_on="hash", partition_num=2, partition_range=("a", "b"))
    with pytest.raises(colonnade.DataError):
        read(postgres, "select * from parts.keys", partition_on="day", partition_num=2, partition_range=(1, 2))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"partition_on": "a", "partition_num": 0}, "at least 1"),
        ({"partition_num": 2, "partition_range": (1, 2)}, "needs partition_on"),
        ({"partition_on": "a", "partition_range": (2, 1)}, "low, high"),
        ({"partition_on": "a", "partition_range": (1,)}, "low, high"),
    ],
)
def test_arguments_that_make_no_sense(postgres: pg.Cluster, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(postgres, "table parts.one", **arguments)
    with pytest.raises(TypeError, match="partition_range"):
        read(postgres, "table parts.one", partition_on="a", partition_range=(b"1", b"2"))


def test_one_stream_serves_where_the_source_uses_all_cores(uri: str) -> None:
    for source in (uri, "duckdb:///:memory:"):
        arguments: dict[str, Any] = {"partition_on": "i", "partition_num": 2, "partition_range": (0, 9)}
        table = colonnade.read_sql(source, "select i from range(10) t(i)", return_type="arrow", **arguments)
        assert sorted(table.column("i").to_pylist()) == list(range(10))
