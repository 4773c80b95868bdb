"""Queries of many forms over one DuckDB file, for results that are gathered from DuckDB's vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import duckdb
import pyarrow as pa

#: Columns of each type that can be gathered, some with NULLs, some with few distinct values, and some with one.
WIDE = """
    select i::int as k, (i * 7919 % 1009)::bigint as n, (i % 120)::tinyint as ti, (i % 30000)::smallint as si,
        (i % 200)::utinyint as ut, (i % 60000)::usmallint as us, i::uinteger as ui, (i * 1000000007)::ubigint as ub,
        i / 7.0::float as f, case when i % 13 > 0 then i / 3.0 end::double as d, i % 3 = 0 as b,
        case when i % 17 > 1 then i % 2 = 0 end as nb, (i % 900 / 10.0)::decimal(4, 1) as d4,
        (i / 100.0)::decimal(9, 2) as d9, case when i % 11 > 2 then i * 1.25 end::decimal(18, 4) as d18,
        (i * 12345678901.5)::decimal(38, 3) as d38, case when i % 5 > 0 then 'name ' || i % 37 end as few,
        'a longer text of number ' || i * 7919 % 100003 as many, case when i % 3 > 0 then repeat('y', i % 70) end as y,
        'one and the same text' as one, ('blob' || i % 50)::blob as bl, case when i % 7 = 0 then ''::blob end as nbl,
        date '2000-01-01' + (i % 5000)::int as dt, time '00:00:00' + interval (i % 86400) second as tm,
        make_timestamp(i * 1000003) as ts, make_timestamp(i * 1000000)::timestamp_s as tss,
        make_timestamp(i * 1000)::timestamp_ms as tsm, make_timestamp_ns(i) as tsn, to_timestamp(i) as tz,
        null::int as nothing, (i * 98765432109876)::hugeint as h, md5(i::varchar)::uuid as id,
        case when i % 9 > 0 then md5((i % 30)::varchar)::uuid end as nid, ('{{"a": ' || i || '}}')::json as j,
        case when i % 4 > 0 then ['red', 'green', 'blue'][i % 3 + 1] end::enum('red', 'green', 'blue') as e,
        time_ns '00:00:00.000000001' as tmn
    from range({rows}) as r(i)
"""


def write(path: Path, rows: int) -> None:
    """Make the file: `wide`, `short`, whose row groups have short ends, and `small`."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute(f"attach '{path}' as f (row_group_size 4096)")
        connection.execute(f"create table f.wide as {WIDE.format(rows=rows)}")
        connection.execute("create table f.short as select k, n, few, many, d18 from f.wide limit 0")
        for start in range(0, rows // 2, 2500):
            # Each transaction has a row group of its own.
            between = f"k >= {start} and k < {start + 2500}"
            connection.execute(f"insert into f.short select k, n, few, many, d18 from f.wide where {between}")
        connection.execute("create table f.small as select k, few, d9, ts from f.wide limit 100")


class Query(NamedTuple):
    sql: str
    #: Whether DuckDB fixes the order of its rows.
    is_ordered: bool


def numbered(rows: pa.Table | duckdb.DuckDBPyRelation) -> pa.Table:
    """The rows with numbers as the names of columns. Labels are texts: chunks may have other dictionaries."""
    table = rows if isinstance(rows, pa.Table) else rows.to_arrow_table()
    table = table.rename_columns(list(map(str, range(table.num_columns))))
    for name, field in zip(table.column_names, table.schema, strict=True):
        if pa.types.is_dictionary(field.type):
            assert field.type == pa.dictionary(pa.uint8(), pa.string())
            table = table.set_column(int(name), name, table[name].cast(pa.string()))
    return table


def check(query: Query, found: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    """Compare rows with those that DuckDB has for the query, and their order if there is one."""
    found, expected = numbered(found), numbered(connection.sql(query.sql))
    assert found.num_rows == expected.num_rows, query.sql
    assert found.schema.types == expected.schema.types, query.sql
    if query.is_ordered:
        assert found.equals(expected), query.sql
    else:
        assert _checksum(connection, found) == _checksum(connection, expected), query.sql


def _checksum(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> object:
    """A number that depends on each value but not on the order of rows."""
    return connection.from_arrow(table).query("t", "select sum(hash(t)::hugeint) from t").fetchall()


COLUMNS = {
    "wide": (
        *("k", "n", "ti", "si", "ut", "us", "ui", "ub", "f", "d", "b", "nb", "d4", "d9", "d18", "d38", "few", "many"),
        *(
            "y",
            "one",
            "bl",
            "nbl",
            "dt",
            "tm",
            "ts",
            "tss",
            "tsm",
            "tsn",
            "tz",
            "nothing",
            "h",
            "id",
            "nid",
            "j",
            "e",
            "tmn",
        ),
    ),
    "short": ("k", "n", "few", "many", "d18"),
    "small": ("k", "few", "d9", "ts"),
}
EXPRESSIONS = (
    *("k + 1", "upper(few)", "few || '!'", "case when k % 4 = 0 then few end", "'a constant'", "17::bigint"),
    *("null::varchar", "coalesce(few, 'none')", "k / 8.0", "k % 2 = 0", "cast(k as varchar)", "few is null"),
)
CONDITIONS = (
    *("true", "k % 7 = 1", "few = 'name 3'", "k < 100", "few is null", "k between 5000 and 9000", "k % 1000 = 0"),
    *("few in ('name 1', 'name 2', 'name 5')", "k % 2 = 0 and few is not null", "false", "length(few) = 7"),
)


def queries(seed: int) -> Iterator[Query]:
    """Queries without an end. One seed gives the same ones."""
    random = Random(seed)
    while True:
        table = random.choice(("wide", "wide", "short", "short", "small"))
        yield random.choice(FORMS)(random, table)


def items(random: Random, table: str, prefix: str = "") -> str:
    columns = [prefix + name for name in random.choices(COLUMNS[table], k=random.randint(1, 8))]
    expressions = [] if prefix else random.choices(EXPRESSIONS, k=random.randint(0, 2))
    return ", ".join(random.sample(columns + expressions, len(columns + expressions)))


def filtered(random: Random, table: str) -> Query:
    condition = random.choice(CONDITIONS)
    return Query(f"select {random.choice(('*', items(random, table)))} from {table} where {condition}", True)


def sorted_(random: Random, table: str) -> Query:
    limit = random.choice(("", "", f" limit {random.choice((1, 10, 2048, 2049, 30000))}"))
    order = random.choice(("k", "k desc", "few nulls first, k", "k % 10, k"))
    return Query(f"select {items(random, table)} from {table} order by {order}{limit}", True)


def joined(random: Random, table: str) -> Query:
    other = random.choice(("short", "small", "wide"))
    kind = random.choice(("join", "left join", "full join", "semi join", "anti join"))
    on = random.choice(("a.k = b.k", "a.k = b.k * 2", "a.k % 997 = b.k"))
    items_ = items(random, table, "a.") + (
        "" if kind in ("semi join", "anti join") else f", b.k, {items(random, other, 'b.')}"
    )
    return Query(f"select {items_} from {table} a {kind} {other} b on {on}", False)


def grouped(random: Random, table: str) -> Query:
    key = random.choice(("few", "k % 100", "k", "k % 5000, few"))
    sums = "count(*) as c, sum(k)::bigint as s, min(few) as least, max(k) as most"
    order = random.choice(("", f" order by {key}"))
    return Query(f"select {key}, {sums} from {table} group by {key}{order}", bool(order))


def windowed(random: Random, table: str) -> Query:
    over = random.choice(("order by k", "partition by few order by k", "partition by k % 50 order by k desc"))
    return Query(f"select k, few, row_number() over ({over}) as r, lag(few) over ({over}) as l from {table}", False)


def united(random: Random, table: str) -> Query:
    kind = random.choice(("union all", "union all", "union", "except", "intersect all"))
    parts = [f"select k, few from {random.choice(('wide', 'short', 'small'))} where {random.choice(CONDITIONS)}"]
    parts += [f"select k, few from {table} where {random.choice(CONDITIONS)}" for _ in range(random.randint(1, 4))]
    return Query(f" {kind} ".join(parts), kind == "union all")


def nested(random: Random, table: str) -> Query:
    inner = f"select {items(random, table)}, k as key from {table} where {random.choice(CONDITIONS)}"
    form = random.choice(
        (
            "select * from ({}) q",
            "with q as materialized ({}) select * from q",
            "with q as ({}) select * from q union all select * from q",
            "select q.* from ({}) q, range(3) r",
            "select distinct * from ({}) q",
            "select q.key, unnest([q.key, q.key + 1]) as u from ({}) q",
            "select q.key, (select few from small s where s.k = q.key) as s from ({}) q",
            "from ({}) q",
            "select q.* from ({}) q using sample 100 percent (bernoulli)",
        )
    )
    return Query(form.format(inner), False)


def ranged(random: Random, _: str) -> Query:
    rows = random.choice((0, 1, 2047, 2048, 2049, 20480, 20481, 100_000))
    return Query(
        f"select i, i % 7 as m, 'row ' || i % 9 as t, (i / 10.0)::decimal(12, 1) as d from range({rows}) r(i)", True
    )


def pivoted(random: Random, table: str) -> Query:
    return Query(
        f"pivot (select k % 5 as r, few, k from {table}) on few in ('name 1', 'name 2') using sum(k)::bigint", False
    )


FORMS = (filtered, filtered, sorted_, joined, joined, grouped, windowed, united, nested, nested, ranged, pivoted)
