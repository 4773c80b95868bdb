"""MariaDB's results in parts: every row once, or a refusal with its reason."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import colonnade
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mysql.parted import prepared, read, rows
from tests.testbed import mariadb

KEYS = [
    *("id", "repeated", "tiny", "large", "huge", "exact", "wide", "real4", "real8", "day", "moment", "instant"),
    *("clock", "born", "mixed", "bytewise", "western", "padded", "long_text", "bits", "flag", "raw", "kind", "some"),
    *("uid", "address", "same", "nothing", "skewed"),
]


@pytest.fixture(scope="module")
def tables(maria: mariadb.Server) -> Iterator[mariadb.Server]:
    with prepared(maria):
        yield maria


# --- every row once ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_every_kind_of_key(tables: mariadb.Server, key: str) -> None:
    query = "select * from part_keys"
    whole = read(tables, query)
    split = read(tables, query, partition_on=key, partition_num=3)
    assert split.schema == whole.schema
    assert rows(split) == rows(whole)


@pytest.mark.parametrize("key", ["id", "large", "moment", "mixed", "bytewise", "western", "uid", "raw", "huge", "wide"])
def test_parts_are_about_equally_large(tables: mariadb.Server, key: str) -> None:
    assert all(700 <= size <= 1300 for size in sizes(tables, key, 4))


def test_a_frequent_key_leaves_fewer_parts_but_no_empty_ones(tables: mariadb.Server) -> None:
    assert all(sizes(tables, "skewed", 8))
    assert sizes(tables, "same", 8) == sizes(tables, "nothing", 8) == [4000]


def sizes(server: mariadb.Server, key: str | None, number: int) -> list[int]:
    """The rows of each part, which the numbers of the connections that read them tell apart."""
    query = "select k.*, connection_id() as connection from part_keys k"
    table = read(server, query, partition_on=key, partition_num=number, consistent=False)
    return list(Counter(table.column("connection").to_pylist()).values())


def test_an_index_tells_where_to_cut(tables: mariadb.Server) -> None:
    """Elsewhere the table is read once more, for a sample."""
    counted = f"show global status like '{'Innodb_rows_read' if mariadb.is_mysql() else 'Rows_read'}'"
    counts = {}
    for key in ("large", "wide"):
        before = int(tables.run(counted).split()[1])
        read(tables, f"select id, {key} from part_keys", partition_on=key, partition_num=2)
        counts[key] = int(tables.run(counted).split()[1]) - before
    assert counts["large"] + 3000 < counts["wide"]


def test_rows_come_in_the_order_of_the_parts(tables: mariadb.Server) -> None:
    query = "select id, connection_id() as p from part_keys"
    table = read(tables, query, partition_on="id", partition_num=4, consistent=False)
    connections = table.column("p").to_pylist()
    changes = [index for index in range(1, 4000) if connections[index] != connections[index - 1]]
    assert len(changes) == len(set(connections)) - 1 == 3
    ids = table.column("id").to_pylist()
    ranges = [(min(ids[a:b]), max(ids[a:b])) for a, b in pairwise([0, *changes, 4000])]
    assert ranges == sorted(ranges)


RANGES = [
    ("id", (100, 200)),
    ("id", (-500, -100)),
    ("tiny", (-9, 10)),
    ("huge", (0, 10**18)),
    ("repeated", (0, 999)),
    ("exact", (Decimal("1.5"), 300.25)),
    ("real8", (-1.5, 1000)),
    ("real4", (0.1, 0.2)),
    ("bits", (0, 2000)),
    ("day", (dt.date(2021, 1, 1), dt.date(2025, 1, 1))),
    ("moment", ("2020-02-01 12:00", "2020-05-01")),
    ("instant", (dt.datetime(1995, 1, 1), dt.datetime(2010, 1, 1, 12))),
]


@pytest.mark.parametrize(("key", "between"), RANGES)
def test_a_range_says_where_to_cut_and_filters_nothing(
    tables: mariadb.Server, key: str, between: tuple[Any, Any]
) -> None:
    query = "select * from part_keys"
    split = read(tables, query, partition_on=key, partition_num=4, partition_range=between)
    assert rows(split) == rows(read(tables, query))


def test_more_parts_than_rows(tables: mariadb.Server) -> None:
    for table, count in (("part_empty", 0), ("part_one", 1)):
        for key in ("a", "b"):
            split = read(tables, f"select * from {table}", partition_on=key, partition_num=5)
            assert (split.num_rows, split.schema.names) == (count, ["a", "b"])


def test_odd_names_and_values(tables: mariadb.Server) -> None:
    query = "select * from `part ``odd; --` -- all"
    for key in ("Key `k", "b;--"):
        assert rows(read(tables, query, partition_on=key, partition_num=3)) == rows(read(tables, query))


def test_queries_of_all_kinds(tables: mariadb.Server) -> None:
    for query in (
        "with c as (select * from part_keys order by id limit 500) select id, mixed from c",
        "select id % 10 as id, count(*) as n from part_keys group by 1;",
        "(select id from part_keys where id < 9) union all (select 1 order by 1)",
        "select id from part_seen # all",
        "select k.id, o.a from part_keys k left join part_one o on k.id = o.a where 'it\\'s; --' <> mixed",
        "select part_double(id) as d from part_keys where moment < now()",
        "select seq as id from seq_1_to_50",
        "select '' as id, concat('ä', id) as `x` from part_keys",
    ):
        whole = read(tables, query)
        split = read(tables, query, partition_on=whole.column_names[0], partition_num=3)
        assert rows(split) == rows(whole), query
        assert split.schema == whole.schema


def test_parameters_options_and_settings_reach_the_parts(tables: mariadb.Server) -> None:
    limit, value = ("max_execution_time", "100500") if mariadb.is_mysql() else ("max_statement_time", "100.5")
    with colonnade.connect(tables.uri()) as connection:
        connection.execute("use information_schema")
        connection.execute("set sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', group_concat_max_len = 4")
        arguments: dict[str, Any] = {
            "query": "select id, '\\' as \"b\", @@group_concat_max_len as g, @@sql_mode as m, database() as d, "
            f"@@{limit} as t from shop.part_keys where id > $1 and mixed <> '\\'",
            "params": [3000],
            "return_type": "arrow",
            "as_text": ["id"],
            "pre_execution_query": f"set {limit} = {value}",
        }
        split = colonnade.read_sql(connection, partition_on="id", partition_num=3, **arguments)
        assert rows(split) == rows(colonnade.read_sql(connection, **arguments))
        assert set(split.column("m").to_pylist()) == {"ANSI_QUOTES,NO_BACKSLASH_ESCAPES"}
        assert set(split.column("d").to_pylist()) == {"information_schema"}
        connection.execute("set sql_select_limit = 10")
        with pytest.raises(colonnade.NotSupportedError, match="sql_select_limit"):
            colonnade.read_sql(connection, "select id from shop.part_keys", partition_on="id", partition_num=2)


def test_a_role_reaches_the_parts(tables: mariadb.Server) -> None:
    tables.run(f"create role `odd ``role`; grant `odd ``role` to {mariadb.USER}@'%'")
    try:
        with colonnade.connect(tables.uri()) as connection:
            connection.execute("set role `odd ``role`")
            query = "select a, current_role() as r from part_one"
            table = colonnade.read_sql(connection, query, partition_on="a", partition_num=2, return_type="arrow")
            name = "`odd ``role`@`%`" if mariadb.is_mysql() else "odd `role"
            assert table.to_pylist() == [{"a": 5, "r": name}]
    finally:
        tables.run("drop role `odd ``role`")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "bigint unsigned": st.integers(0, 2**64 - 1) | st.integers(0, 3),
    "decimal(20,3)": st.decimals(places=3, min_value=-1000, max_value=1000),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0]),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "text": st.text("aAäÄß \0😀\\'\"éb%", max_size=4),
    "text collate utf8mb4_bin": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "varchar(9) collate utf8mb4_unicode_ci": st.text("aAäÄß \0😀eé", max_size=4),
    "blob": st.binary(max_size=4),
    "date": st.dates(),
    "datetime(6)": st.datetimes(),
    **({} if mariadb.is_mysql() else {"uuid": st.uuids(version=4)}),
}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_parts_are_the_whole(tables: mariadb.Server, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(VALUES)))
    keys = data.draw(st.lists(st.none() | VALUES[kind], max_size=30))
    indexed = data.draw(st.booleans()) and kind not in ("blob", "text", "text collate utf8mb4_bin")
    with colonnade.connect(tables.uri()) as connection:
        connection.execute("drop table if exists part_drawn")
        connection.execute(f"create table part_drawn (k {kind}, n int{', index (k)' if indexed else ''})")
        for number, key in enumerate(keys):
            connection.execute("insert into part_drawn values ($1, $2)", [key, number])
    split = read(tables, "select * from part_drawn", partition_on="k", partition_num=data.draw(st.integers(2, 5)))
    assert sorted(split.column("n").to_pylist()) == list(range(len(keys)))


@pytest.mark.skipif(mariadb.is_mysql(), reason="MySQL has no type for UUIDs")
def test_uuids_are_cut_as_they_are_sorted(tables: mariadb.Server) -> None:
    """MariaDB sorts by the last bytes first."""
    keys = [uuid.UUID(int=number << 96 | (7 * number) % 256 << 8 | number % 3) for number in range(300)]
    tables.run("create table part_uuids (u uuid primary key)", mariadb.DATABASE)
    tables.run(f"insert into part_uuids values {', '.join(f'({str(key)!r})' for key in keys)}", mariadb.DATABASE)
    split = read(tables, "select * from part_uuids", partition_on="u", partition_num=4)
    assert sorted(split.column("u").to_pylist()) == sorted(map(str, keys))
    tables.run("drop table part_uuids", mariadb.DATABASE)


def test_long_texts_that_begin_alike(tables: mariadb.Server) -> None:
    """The server sorts by the first max_sort_length bytes alone."""
    query = "select id, concat(repeat('x', 150), id) as k from part_keys"
    arguments: dict[str, Any] = {
        "partition_on": "k",
        "partition_num": 5,
        "pre_execution_query": "set max_sort_length = 64",
    }
    assert sorted(read(tables, query, **arguments).column("id").to_pylist()) == list(range(1, 4001))


# --- refusals ---------------------------------------------------------------------------------------------------------

REFUSED = [
    ("select * from part_keys order by id", "ORDER BY"),
    ("select * from part_keys limit 3", "LIMIT"),
    ("select * from part_keys for update", "lock"),
    ("select * from part_keys lock in share mode", "lock"),
    ("select id into outfile '/tmp/keys' from part_keys", "INTO"),
    ("insert into part_one values (1, 'x') returning a as id", "only SELECT"),
    ("show tables", "only SELECT"),
    ("select 1 as id; select 2 as id", "several statements"),
    ("select id from part_keys /*! limit 3 */", "code in a comment"),
    ("select rand() as id", "rand gives another value"),
    ("select id, uuid () as u from part_keys", "uuid gives another value"),
    ("select id from part_keys where moment < sysdate()", "sysdate"),
    ("select id, part_next() as n from part_keys", "part_next is not declared DETERMINISTIC"),
    ("select id, shop.part_next() as n from part_keys", "part_next is not declared DETERMINISTIC"),
    ("select id, @x := id as x from part_keys", "variables such as @x"),
    ("select id, last_insert_id() as x from part_keys", "last_insert_id"),
    ("select id, mixed as ID from part_keys", "Duplicate column name"),
    ("select a as id from part_old", "shop.part_old has no snapshots .*MyISAM"),
    ("select a as id from `shop`.`part_old` where a in (select id from part_keys)", "MyISAM"),
    ("select id from part_hidden", "MyISAM"),
    ("select table_name as id from information_schema.tables", "no snapshots"),
    ("select table_name as id from Information_Schema.Tables", "no snapshots"),
    ("select thread_id as id from performance_schema.threads", "no snapshots"),
    *([] if mariadb.is_mysql() else [("select host as id from mysql.global_priv", "Aria")]),
    ("select st_geomfromtext('point(1 1)') as id", "geometry cannot make parts"),
    ("select mixed from part_keys", 'no column "id".*"mixed"'),
]


ALWAYS = [
    "select id, @x as x from part_keys",
    "select id, found_rows() as n from part_keys",
    "select id from part_keys /*! limit 3 */",
    "select id from part_keys order by id",
]


@pytest.mark.parametrize("query", ALWAYS)
def test_what_other_connections_do_not_know_is_refused_always(tables: mariadb.Server, query: str) -> None:
    with pytest.raises(colonnade.NotSupportedError):
        read(tables, query, partition_on="id", partition_num=2, consistent=False)


def test_dates_that_are_none_are_keys_too(tables: mariadb.Server) -> None:
    tables.run(
        "set sql_mode = ''; create table part_zero (d date not null, n int, index (d)); "
        "insert into part_zero select "
        "if(seq % 3, date '2020-01-01' + interval seq day, if(seq % 2, 0, '2020-00-10')), seq from seq_1_to_300",
        mariadb.DATABASE,
    )
    try:
        for mode in ("", "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"):
            arguments: dict[str, Any] = {"as_text": ["d"], "pre_execution_query": f"set sql_mode = '{mode}'"}
            split = read(tables, "select * from part_zero", partition_on="d", partition_num=4, **arguments)
            assert sorted(split.column("n").to_pylist()) == list(range(1, 301))
    finally:
        tables.run("drop table part_zero", mariadb.DATABASE)


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_parts_would_change_is_refused(tables: mariadb.Server, query: str, why: str) -> None:
    with pytest.raises((colonnade.NotSupportedError, colonnade.InterfaceError), match=why):
        read(tables, query, partition_on="id", partition_num=2)


def test_without_one_state_more_can_be_read(tables: mariadb.Server) -> None:
    for query, count in (
        ("select a as id from part_old", 100),
        ("select id, rand() as r from part_keys", 4000),
        ("select id, part_next() as n from part_keys", 4000),
    ):
        assert read(tables, query, partition_on="id", partition_num=2, consistent=False).num_rows == count


def test_a_range_needs_distances_and_values(tables: mariadb.Server) -> None:
    query = "select * from part_keys"
    with pytest.raises(colonnade.NotSupportedError, match="numbers, dates or timestamps"):
        read(tables, query, partition_on="mixed", partition_num=2, partition_range=("a", "b"))
    for key, between in (("day", (1, 2)), ("id", ("a", "b")), ("moment", ("2020-13-01", "2020-14-01"))):
        with pytest.raises(colonnade.InterfaceError, match="no value of the key"):
            read(tables, query, partition_on=key, partition_num=2, partition_range=between)


@pytest.mark.parametrize(
    "query",
    [
        "select * from part_keys",
        "SELECT mixed AS id, k.id AS mixed FROM shop.part_keys AS k -- all\n;",
        "select uid from part_keys where tiny = 3 or /* where */ tiny > 100",
        "select a, b from part_one",
        "select * from part_empty",
        "select id, part_double(id) from part_keys where large > 0",
    ],
)
def test_a_table_with_a_primary_key_needs_no_other(tables: mariadb.Server, query: str) -> None:
    whole = read(tables, query)
    split = read(tables, query, partition_num=3)
    assert (split.schema, rows(split)) == (whole.schema, rows(whole))


def test_parts_by_the_primary_key_are_about_equally_large(tables: mariadb.Server) -> None:
    found = sizes(tables, None, 4)
    assert len(found) == 4 and all(700 <= size <= 1300 for size in found)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select count(*) as n from part_keys", "more than one read"),
        ("select max(id) as id, sum(tiny) from part_keys", "more than one read"),
        ("select distinct tiny from part_keys", "more than one read"),
        ("select id, row_number() over () from part_keys", "more than one read"),
        ("select id from part_keys where id in (select a from part_one)", "more than one read"),
        ("select tiny from part_keys group by tiny", "more than SELECT"),
        ("select id from part_keys union all select a from part_one", "more than SELECT"),
        ("select k.id from part_keys k, part_one", "name of one table"),
        ("select k.id from part_keys k left join part_one o on o.a = k.id", "name of one table"),
        ("select id from (select id from part_keys limit 9) t", "name of one table"),
        ("select 1 as id", "name of one table"),
        ("select `b;--` from `part ``odd; --`", "no primary key"),
        ("select mixed from part_seen", "no primary key"),
        ("select id, mixed as ID from part_keys", "Duplicate column name"),
        ("select id, rand() from part_keys", "rand gives another value"),
        ("select a from part_old", "MyISAM"),
    ],
)
def test_more_than_a_table_needs_a_key(tables: mariadb.Server, query: str, why: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match=why):
        read(tables, query, partition_num=2)


def test_a_column_may_be_called_like_a_table_without_snapshots(tables: mariadb.Server) -> None:
    query = "select a as id, t.b as part_old, (select 1) as x from part_one t where 'x' = b"
    assert rows(read(tables, query, partition_on="id", partition_num=2)) == rows(read(tables, query))


def test_what_others_cannot_see_is_refused(tables: mariadb.Server) -> None:
    query = "select * from part_keys"
    with colonnade.connect(tables.uri()) as connection:
        connection.execute("begin")
        connection.execute("select * from part_one")
        with pytest.raises(colonnade.NotSupportedError, match="within a transaction"):
            colonnade.read_sql(connection, query, partition_on="id", partition_num=2)
        connection.execute("rollback")
        assert len(colonnade.read_sql(connection, query, partition_on="id", partition_num=2)) == 4000
        connection.execute("create temporary table part_keys (id int)")
        with pytest.raises(colonnade.NotSupportedError, match="temporary tables"):
            colonnade.read_sql(connection, query, partition_on="id", partition_num=2)


def test_nothing_can_be_written(tables: mariadb.Server) -> None:
    tables.run(
        "create function shop.part_log() returns int deterministic modifies sql data "
        "begin insert into part_empty values (1, 'x'); return 1; end",
        mariadb.DATABASE,
        "--delimiter=//",
    )
    try:
        for consistent in (True, False):
            with pytest.raises(colonnade.Error) as caught:
                arguments: dict[str, Any] = {"partition_on": "a", "partition_num": 2, "consistent": consistent}
                read(tables, "select a, part_log() as b from part_one", **arguments)
            assert caught.value.sqlstate == "25006"
    finally:
        tables.run("drop function part_log", mariadb.DATABASE)
    assert read(tables, "select * from part_empty").num_rows == 0
