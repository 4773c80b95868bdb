"""Tables with keys of all kinds, for the tests of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import colonnade
import pyarrow as pa

from tests.testbed import postgres as pg

#: 4,000 rows with a column for each kind of key, NULLs in all but the first.
TABLES = """
create schema parts;
create table parts.keys as
  select i as id, nullif(i % 1000, 7) as repeated, nullif(i, 5)::int2 as small, nullif(i * 10000000000, 0) as large,
    nullif(i, 9)::numeric(12, 2) / 7 as exact, (i * 1.5)::numeric(9, 1) as scaled,
    case i % 500 when 1 then 'NaN' when 2 then '-inf' when 3 then 'inf' when 4 then null else i / 3.0 end::float8
      as double,
    (i / 3.0)::float4 as single,
    case i when 1 then null when 2 then 'infinity' when 3 then '-infinity' else date '2020-01-01' + i end::date as day,
    timestamp '2020-01-01' + i * interval '1 hour 1 microsecond' as moment,
    nullif(timestamptz '1850-01-01 00:00+00' + i * interval '25 days', null) as instant,
    nullif(md5(i::text), md5('4')) as hash,
    case when i % 11 > 0 then (array['a', 'B', 'b', 'A', 'ä', 'z''', 'ß', E'\\\\', '"', ' ', 'é'])[i % 11] || i end
      as mixed,
    (i || '')::char(12) as padded, (i || '')::varchar(9) as short, ('n' || i)::name as name,
    md5(i::text)::uuid as uuid, i % 3 = 0 as flag, i * interval '1 hour' - interval '2 months' as span,
    time '00:00' + i * interval '20 seconds' as clock,
    1 as same, null::int as nothing, case when i < 3900 then 0 else i end as skewed
  from generate_series(1, 4000) i;
create table parts.never_analyzed as table parts.keys;
create table parts.empty (a int, b text);
create table parts.one (a int, b text);
insert into parts.one values (5, 'x');
create view parts.seen as select id, hash from parts.keys;
create table parts.parent (a int, b text) partition by range (a);
create table parts.low partition of parts.parent for values from (0) to (100);
create table parts.high partition of parts.parent for values from (100) to (1000);
insert into parts.parent select i, 'v' || i from generate_series(0, 999) i;
create table parts."odd ""name" ("Key ""k" int, "b;--" text);
insert into parts."odd ""name" select i, i from generate_series(1, 1000) i;
analyze parts.keys, parts.parent, parts."odd ""name";
"""


@contextmanager
def prepared(cluster: pg.Cluster) -> Iterator[None]:
    """The tables are there for the time of the block."""
    with cluster.prepared(TABLES, "drop schema parts cascade"):
        yield


def read(cluster: pg.Cluster, query: str | list[str], **arguments: Any) -> pa.Table:
    return colonnade.read_sql(cluster.uri(), query, return_type="arrow", **arguments)


def rows(table: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows, however often each; as texts, since NaN does not equal itself and Python has no infinite dates."""
    columns = [column.cast(pa.int32()) if pa.types.is_date32(column.type) else column for column in table.columns]
    texts = [[str(value) for value in column.to_pylist()] for column in columns]
    return Counter(zip(*texts, strict=True))
