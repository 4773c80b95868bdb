"""Scans of a table whose pages are read as a whole: the stream is byte for byte the one of rows that pass through the
executor one by one. A condition that is always true makes them do so."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres.copying import columns, copied, payloads, stream_of
from tests.testbed import postgres as pg

#: True for each row, which the planner does not know.
ONE_BY_ONE = "tableoid > 0"
#: Values whose lengths, signs and places change from row to row; every column has NULLs.
MIXED = """
create table mixed (id int, flag bool, small int2, gone text, big int8, real4 float4, real8 float8, day date,
    at timestamp, zoned timestamptz, price numeric(15, 2), fine numeric(38, 9), letter char(1), note text, bytes bytea,
    last int2);
select setseed(0.5);
insert into mixed select i, nullif(i % 3, 0) = 1, nullif(i % 7, 0), repeat('g', i % 150),
    nullif(i % 11, 0) * 1000000007::int8, nullif(i % 5, 0) / 7.0, nullif(i % 13, 0) / 7.0,
    case i % 17 when 0 then null when 1 then 'infinity' when 2 then '-infinity' else date '1969-12-01' + i end,
    case i % 19 when 0 then null when 1 then 'infinity' when 2 then '-infinity'
        else timestamp '1969-12-31' + i * interval '1 hour' end,
    case when i % 23 > 0 then to_timestamp(i) end,
    nullif(i % 29, 0) * (random() * 100 - 50)::numeric * 10 ^ (i % 8),
    nullif(i % 31, 0) * random()::numeric * 10 ^ (i % 20), case when i % 2 > 0 then chr(65 + i % 26) end,
    case when i % 6 > 0 then repeat('t', (i * 37) % 300) || 'ü' end,
    case when i % 4 > 0 then decode(repeat('00ff', i % 40), 'hex') end, nullif(i % 9, 0)
    from generate_series(1, 1200) i;
alter table mixed drop gone;
alter table mixed add added int default 7, add late text;
update mixed set late = 'late', note = 'changed' where id % 10 = 0;
delete from mixed where id % 21 = 0;
"""
OPTIONS = [
    "",
    ", chunk_rows 1",
    ", chunk_rows 2",
    ", chunk_rows 7",
    ", chunk_bytes 1",
    ", chunk_bytes 3000",
    ", chunk_bytes 100000",
    ", compression light",
]
COLUMNS = [
    "*",
    "id",
    "last",
    "late",
    "note, id",
    "late, note, letter, price, big, flag, id",
    "day, at, zoned",
    "",
    "id, id as again",
    "id + 1 as next, note",
    "id, ctid::text as place",
    "m as whole",
]


def both(session: psycopg.Connection, query: str, options: str = "") -> bytes:
    """The stream of a scan, which is the same if its rows come one by one."""
    form = f"to stdout (format colonnade{options})"
    found = stream_of(session, f"copy ({query}) {form}")
    assert found == stream_of(session, f"copy ({query} where {ONE_BY_ONE}) {form}")
    return found


@pytest.fixture
def mixed(in_own_schema: psycopg.Connection) -> psycopg.Connection:
    in_own_schema.execute(MIXED)
    return in_own_schema


@pytest.mark.parametrize("options", OPTIONS)
def test_chunks_of_all_sizes_are_those_of_single_rows(mixed: psycopg.Connection, options: str) -> None:
    both(mixed, "select * from mixed", options)


@pytest.mark.parametrize("wanted", COLUMNS)
def test_some_columns_in_any_order(mixed: psycopg.Connection, wanted: str) -> None:
    both(mixed, f"select {wanted} from mixed m")


def test_values_are_those_of_the_table(mixed: psycopg.Connection) -> None:
    found = copied(mixed, "copy mixed (id, last, note) to stdout (format colonnade)")
    rows = mixed.execute("select id, last, note from mixed").fetchall()
    assert [found["id"], found["last"], found["note"]] == [list(column) for column in zip(*rows, strict=True)]


def test_a_page_without_nulls_and_one_of_nulls_only(in_own_schema: psycopg.Connection) -> None:
    in_own_schema.execute(
        "create table full_and_empty (a int2, b int8, c text, d date, e bool, f numeric(4, 1), g timestamp)"
    )
    in_own_schema.execute(
        "insert into full_and_empty select i, i, i, date '2000-01-01' + i, true, i / 10.0, '2000-01-01'"
        " from generate_series(1, 999) i"
    )
    in_own_schema.execute("insert into full_and_empty select from generate_series(1, 3000)")
    both(in_own_schema, "select * from full_and_empty")
    both(in_own_schema, "select b, f, g from full_and_empty")


def test_values_that_are_compressed_or_elsewhere(in_own_schema: psycopg.Connection) -> None:
    """The executor returns such rows. The rows before and after them on the same page come from the page."""
    in_own_schema.execute(
        "create table large (id int, flag bool, small text, body text, amount numeric(20, 2), other text)"
    )
    in_own_schema.execute("alter table large alter other set storage external")
    in_own_schema.execute(
        "insert into large select i, nullif(i % 3, 0) = 1, nullif(repeat('s', i % 5), ''),"
        " case i % 40 when 7 then repeat('compressed ', 300 + i) when 8 then null else 'short' end, i,"
        " case i % 50 when 9 then repeat('elsewhere ', 400 + i) when 10 then null else 'here' end"
        " from generate_series(1, 1500) i"
    )
    for options in ("", ", chunk_bytes 5000", ", chunk_rows 100"):
        both(in_own_schema, "select * from large", options)
        both(in_own_schema, "select id, small, other from large", options)
        both(in_own_schema, "select flag, amount from large", options)


def test_a_value_that_a_column_cannot_represent(in_own_schema: psycopg.Connection) -> None:
    in_own_schema.execute("create table odd (id int, n numeric(9, 2))")
    in_own_schema.execute(
        "insert into odd select i, case i when 777 then 'NaN' else i::numeric end from generate_series(1, 2000) i"
    )
    for condition in ("", f" where {ONE_BY_ONE}"):
        with pytest.raises(psycopg.errors.NumericValueOutOfRange, match='column "n": NaN'):
            stream_of(in_own_schema, f"copy (select * from odd{condition}) to stdout (format colonnade)")


def test_only_visible_rows_are_sent(in_own_schema: psycopg.Connection) -> None:
    in_own_schema.execute("create table seen (id int)")
    in_own_schema.execute("insert into seen select generate_series(1, 1000)")
    in_own_schema.execute("begin")
    in_own_schema.execute("delete from seen where id % 2 = 0")
    in_own_schema.execute("savepoint s")
    in_own_schema.execute("insert into seen select generate_series(2001, 2100)")
    in_own_schema.execute("rollback to s")
    found = columns(payloads(in_own_schema, "copy seen to stdout (format colonnade)"))
    in_own_schema.execute("rollback")
    assert found["id"] == list(range(1, 1000, 2))


def test_the_table_s_statistics_count_each_row_once(in_own_schema: psycopg.Connection) -> None:
    in_own_schema.execute("create table counted (id int)")
    in_own_schema.execute("insert into counted select generate_series(1, 5000)")
    in_own_schema.execute("begin")
    stream_of(in_own_schema, "copy counted to stdout (format colonnade)")
    count = in_own_schema.execute("select pg_stat_get_xact_tuples_returned('counted'::regclass)").fetchone()
    in_own_schema.execute("rollback")
    assert count == (5000,)


def test_extensions_see_the_number_of_rows(installation: pg.Installation) -> None:
    settings = {"shared_preload_libraries": "pg_stat_statements,colonnade", "pg_stat_statements.track": "all"}
    with pg.cluster(installation, settings) as watched, watched.connect() as session:
        session.execute("create extension pg_stat_statements")
        session.execute("create table counted as select generate_series(1, 5000) as id")
        session.execute("select pg_stat_statements_reset()")
        stream_of(session, "copy (select id from counted) to stdout (format colonnade)")
        found = session.execute("select toplevel, rows from pg_stat_statements where query ilike 'copy%' order by 1")
        assert found.fetchall() == [(False, 5000), (True, 5000)]


def test_parallel_workers_read_pages_too(mixed: psycopg.Connection) -> None:
    mixed.execute(
        "set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0; set parallel_setup_cost = 0"
    )
    mixed.execute("analyze mixed")
    form = "to stdout (format colonnade, parallel on)"
    found = columns(payloads(mixed, f"copy (select id, note, price, flag from mixed) {form}"))
    serial = copied(mixed, "copy (select id, note, price, flag from mixed) to stdout (format colonnade)")
    assert sorted(zip(*found.values(), strict=True), key=lambda row: row[0]) == sorted(
        zip(*serial.values(), strict=True), key=lambda row: row[0]
    )
