"""What can be copied, what core refuses, and options: `COPY … TO STDOUT (FORMAT colonnade)` is core's COPY."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import colonnade
import psycopg
import pyarrow as pa
import pytest
from reader.stream import read_stream

from tests.postgres.copying import COLONNADE, answer, columns, copied, extended, payloads
from tests.testbed import postgres as pg

SETUP = """
create schema statements;
set search_path to statements;
create table base (a int, b text);
insert into base select i, 'row ' || i from generate_series(1, 5) i;
create view seen as select a * 10 as a, b from base where a > 2;
create materialized view kept as select a from base;
create table parts (a int, b text) partition by range (a);
create table low partition of parts for values from (0) to (3);
create table high partition of parts for values from (3) to (100);
insert into parts select * from base;
create table child (c int) inherits (base);
insert into child values (6, 'child', 60);
create table dropped (a int, gone text, b int);
insert into dropped values (1, 'x', 2);
alter table dropped drop column gone, add column c int default 7;
create table generated (a int, twice int generated always as (a * 2) stored, b text);
insert into generated (a, b) values (1, 'x'), (2, null);
create table empty (a int, b text);
create table nothing ();
insert into nothing default values;
create table written (id serial, v text);
create sequence counter;
create table ruled (a int);
create rule also as on insert to ruled do also insert into base values (new.a, 'by rule');
create rule never as on delete to ruled do instead nothing;
"""
ROWS = {"a": [1, 2, 3, 4, 5], "b": [f"row {number}" for number in range(1, 6)]}


@pytest.fixture(scope="module")
def prepared(postgres: pg.Cluster) -> Iterator[pg.Cluster]:
    with postgres.prepared(SETUP, "drop schema statements cascade"):
        yield postgres


@pytest.fixture
def db(prepared: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session in which the extension is loaded."""
    with prepared.connect() as session:
        session.execute("set search_path to statements, public; select colonnade_version()")
        yield session


# --- queries ----------------------------------------------------------------------------------------------------------

QUERIES = {
    "with x as (select a from base) select a from x order by a desc": {"a": [6, 5, 4, 3, 2, 1]},
    "with x as (delete from written where false returning id) select count(*)::int from x": {"count": [0]},
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 4) select n from r": {"n": [1, 2, 3, 4]},
    "values (1, 'x'), (2, null)": {"column1": [1, 2], "column2": ["x", None]},
    "table kept order by a limit 1": {"a": [1]},
    "select * from seen": {"a": [30, 40, 50, 60], "b": ["row 3", "row 4", "row 5", "child"]},
    "select * from parts order by a": ROWS,
    "select * from only base": ROWS,
    "select a from base order by a": {"a": [1, 2, 3, 4, 5, 6]},
    "select sum(a)::int as s from base group by a > 3 order by 1": {"s": [6, 15]},
    "select a from base union all select -1 order by 1 limit 2": {"a": [-1, 1]},
    "select * from generated order by a": {"a": [1, 2], "twice": [2, 4], "b": ["x", None]},
    "select a, row_number() over (order by a desc)::int as r from parts where a < 3": {"a": [2, 1], "r": [1, 2]},
    "select i from generate_series(1, 3) i -- a comment at the end\n": {"i": [1, 2, 3]},
    "select a from base where false": {"a": []},
}


@pytest.mark.parametrize("query", QUERIES)
def test_queries(db: psycopg.Connection, query: str) -> None:
    assert copied(db, f"copy ({query}) {COLONNADE})") == QUERIES[query]


def test_what_is_written_is_written_once_and_returned(db: psycopg.Connection) -> None:
    db.execute("truncate written restart identity")
    insert = "insert into written (v) values ('a'), ('b') returning id, v"
    assert copied(db, f"copy ({insert}) {COLONNADE})") == {"id": [1, 2], "v": ["a", "b"]}
    update = "update written set v = v || '!' where id = 2 returning v"
    assert copied(db, f"copy ({update}) {COLONNADE})") == {"v": ["b!"]}
    assert copied(db, f"copy (delete from written where id = 1 returning id) {COLONNADE})") == {"id": [1]}
    assert db.execute("table written").fetchall() == [(2, "b!")]
    with_rows = "with w as (insert into written (v) values ('c') returning *) select v from w"
    assert copied(db, f"copy ({with_rows}) {COLONNADE})") == {"v": ["c"]}
    assert db.execute("select count(*) from written").fetchone() == (2,)


def test_a_query_runs_once(db: psycopg.Connection) -> None:
    assert copied(db, f"copy (select nextval('counter')::int as n) {COLONNADE})") == {"n": [1]}
    assert copied(db, f"copy (select nextval('counter')::int as n) {COLONNADE})") == {"n": [2]}


def test_foreign_tables(db: psycopg.Connection, prepared: pg.Cluster) -> None:
    rows = prepared.directory / "rows.csv"
    rows.write_text("1,x\n2,\n")
    db.execute(f"""
        create extension file_fdw;
        create server files foreign data wrapper file_fdw;
        create foreign table far (a int, b text) server files options (filename '{rows}', format 'csv');
    """)
    assert copied(db, f"copy (table far) {COLONNADE})") == {"a": [1, 2], "b": ["x", None]}
    db.execute("drop extension file_fdw cascade")
    Path(rows).unlink()


def test_temporary_tables(db: psycopg.Connection) -> None:
    db.execute("create temp table mine as table base")
    assert copied(db, f"copy mine {COLONNADE})")["a"] == [1, 2, 3, 4, 5, 6]
    assert copied(db, f"copy (table mine) {COLONNADE})")["a"] == [1, 2, 3, 4, 5, 6]


# --- tables -----------------------------------------------------------------------------------------------------------

TABLES = {
    "base": ROWS,
    "statements.base (b, a)": {"b": ROWS["b"], "a": ROWS["a"]},
    "base (b)": {"b": ROWS["b"]},
    "child": {"a": [6], "b": ["child"], "c": [60]},
    "low": {"a": [1, 2], "b": ["row 1", "row 2"]},
    "dropped": {"a": [1], "b": [2], "c": [7]},
    "generated": {"a": [1, 2], "b": ["x", None]},
    "empty": {"a": [], "b": []},
}


@pytest.mark.parametrize("table", TABLES)
def test_tables(db: psycopg.Connection, table: str) -> None:
    """As core: without the rows of heirs, without generated columns."""
    assert copied(db, f"copy {table} {COLONNADE})") == TABLES[table]


def test_the_older_spelling_of_options(db: psycopg.Connection) -> None:
    assert copied(db, "copy base to stdout with (FORMAT 'colonnade', COMPRESSION plain)") == ROWS


def test_no_columns(db: psycopg.Connection, database: colonnade.Connection) -> None:
    assert copied(db, f"copy nothing {COLONNADE})") == {}
    assert copied(db, f"copy (select from generate_series(1, 3)) {COLONNADE})") == {}
    result = database.query("select from generate_series(1, 100000)", chunk_rows=1000)
    assert sum(batch.num_rows for batch in result) == 100_000
    assert result.stats.chunks == 100


def test_1600_columns(db: psycopg.Connection, database: colonnade.Connection) -> None:
    names = ", ".join(f"c{number} int" for number in range(1600))
    db.execute(f"create table wide ({names})")
    db.execute("insert into wide (c0, c1599) values (1, 2)")
    table = database.query("select * from statements.wide").to_arrow()
    assert (table.num_columns, table.num_rows) == (1600, 1)
    assert table.column("c1599").to_pylist() == [2]
    assert table.column("c800").null_count == 1
    db.execute("drop table wide")


def test_many_rows(database: colonnade.Connection) -> None:
    text = "case when i % 3 > 0 then 'row ' || i end as t"
    query = f"select i, i % 7 = 0 as seventh, {text} from generate_series(1, 300000) i"
    table = database.query(query).to_arrow()
    numbers = range(1, 300_001)
    assert table.column("i").to_pylist() == list(numbers)
    assert table.column("seventh").to_pylist() == [number % 7 == 0 for number in numbers]
    assert table.column("t").to_pylist() == [f"row {number}" if number % 3 else None for number in numbers]


# --- how it is sent ---------------------------------------------------------------------------------------------------


def test_the_extended_protocol(db: psycopg.Connection) -> None:
    assert extended(db, f"copy base {COLONNADE})") == ROWS
    for name in (b"", b"again"):
        assert extended(db, f"copy (select a from base order by a) {COLONNADE})", name=name)["a"] == [1, 2, 3, 4, 5, 6]
    # The statement's tree is in the plan cache, and is used again.
    db.pgconn.send_query_prepared(b"again", [])
    assert columns(answer(db.pgconn))["a"] == [1, 2, 3, 4, 5, 6]


def test_several_statements_in_one_query(db: psycopg.Connection) -> None:
    db.pgconn.send_query(f"select 1; copy (select 5 as n) {COLONNADE}); select 2".encode())
    assert columns(answer(db.pgconn)) == {"n": [5]}


def test_within_a_transaction(db: psycopg.Connection) -> None:
    with db.transaction(force_rollback=True):
        db.execute("insert into base values (100, 'mine')")
        assert 100 in copied(db, f"copy base {COLONNADE})")["a"]
        with pytest.raises(psycopg.errors.DivisionByZero), db.transaction():
            payloads(db, f"copy (select 1 / 0) {COLONNADE})")
        assert 100 in copied(db, f"copy base {COLONNADE})")["a"]
    assert copied(db, f"copy base {COLONNADE})") == ROWS


def test_other_formats_are_left_alone(db: psycopg.Connection) -> None:
    with db.cursor() as cursor:
        for options, expected in [("", b"1\trow 1\n"), ("(format csv)", b"1,row 1\n")]:
            with cursor.copy(f"copy (select * from base where a = 1) to stdout {options}") as copy:
                assert b"".join(bytes(data) for data in copy) == expected
        with cursor.copy("copy empty from stdin") as copy:
            copy.write("9\tin\n")
        assert cursor.statusmessage == "COPY 1"
    db.execute("truncate empty")


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED_BY_CORE = [
    "seen",
    # PostgreSQL 18 copies materialized views, and 19 partitioned tables.
    *(["kept"] if pg.version() < 18 else []),
    *(["parts"] if pg.version() < 19 else []),
    "missing",
    "base (a, missing)",
    "base (a, a)",
    "generated (twice)",
    "counter",
    "base where a > 1",
    "(select 1 into other)",
    "(select 1; select 2)",
    "(insert into base values (1, 'x'))",
    "(create table x ())",
    "(begin)",
    "(select missing from base)",
    "(select a from base for)",
    "(insert into ruled values (1) returning a)",
    "(delete from ruled returning a)",
    "(merge into base using low on false when not matched then insert values (1, 'x'))",
    "(select a from base) (a)",
    "(explain select 1)",
    "(copy base to stdout)",
]


@pytest.mark.parametrize("what", REFUSED_BY_CORE)
def test_what_core_refuses_is_refused_in_its_words(db: psycopg.Connection, what: str) -> None:
    refusals = []
    for options in ("to stdout", "to stdout (format colonnade)"):
        with pytest.raises(psycopg.Error) as caught, db.cursor() as cursor, cursor.copy(f"copy {what} {options}") as c:
            list(c)
        diag = caught.value.diag
        refusals.append((diag.sqlstate, diag.message_primary, diag.message_detail, diag.message_hint))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize(("what", "version"), [("kept", 18), ("parts", 19)])
def test_what_later_versions_copy(db: psycopg.Connection, what: str, version: int) -> None:
    if pg.version() < version:
        pytest.skip(f"PostgreSQL copies this from version {version} on")
    with db.cursor() as cursor, cursor.copy(f"copy {what} to stdout (format colonnade)") as messages:
        stream = read_stream(b"".join(bytes(message) for message in messages))
    assert sorted(map(int, stream.columns[0])) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("statement", "sqlstate", "word"),
    [
        ("copy base to '/tmp/never' (format colonnade)", "0A000", "STDOUT"),
        ("copy base to program 'cat' (format colonnade)", "0A000", "STDOUT"),
        ("copy base to stdout (format colonnade, sideways 1)", "22023", "sideways"),
        ("copy base to stdout (format colonnade, chunk_rows 5, chunk_rows 6)", "42601", "chunk_rows"),
        ("copy base to stdout (format colonnade, format colonnade)", "42601", ""),
        ("copy base to stdout (format colonnade, compression gzip)", "22023", "gzip"),
        ("copy base to stdout (format colonnade, version 2)", "22023", "2"),
        ("copy base to stdout (format colonnade, version 0)", "22023", "0"),
        ("copy base to stdout (format colonnade, version one)", "22023", "version"),
        ("copy base to stdout (format colonnade, chunk_rows 0)", "22023", "chunk_rows"),
        ("copy base to stdout (format colonnade, chunk_rows 16777217)", "22023", "chunk_rows"),
        ("copy base to stdout (format colonnade, chunk_bytes 2147483585)", "22023", "chunk_bytes"),
        ("copy base to stdout (format colonnade, max_message_bytes 1023)", "22023", "max_message_bytes"),
        ("copy base to stdout (format colonnade, parallel sideways)", "22023", "sideways"),
        ("copy base to stdout (format colonnade, numeric '5')", "22023", "numeric"),
        ("copy base to stdout (format colonnade, numeric '77,0')", "22023", "numeric"),
        ("copy base to stdout (format colonnade, numeric '5,6')", "22023", "numeric"),
        ("copy base to stdout (format colonnade, as_text 'typo')", "", "typo"),
        ("copy base to stdout (format colonnade, delimiter ',')", "", "delimiter"),
        ("copy base to stdout (format colonnade, header)", "", "header"),
        ("copy base to stdout (format colonnade, null '')", "", "null"),
        ("copy base to stdout (format colonnade, force_quote *)", "", "force_quote"),
        ("copy base to stdout (format colonnade, encoding 'latin1')", "", "encoding"),
        ("copy base to stdout (format colonnade, freeze)", "", "freeze"),
    ],
)
def test_options_that_make_no_sense_are_named(db: psycopg.Connection, statement: str, sqlstate: str, word: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        payloads(db, statement)
    assert word.lower() in str(caught.value).lower()
    assert not sqlstate or caught.value.sqlstate == sqlstate
    assert not Path("/tmp/never").exists()
    assert db.execute("select 1").fetchone() == (1,)


def test_names_of_encodings_that_are_unknown_are_passed_over(db: psycopg.Connection) -> None:
    options = "encodings 'plain,from_the_future', codecs 'none,alien', compression 'light+zstd-3'"
    assert copied(db, f"copy base {COLONNADE}, {options})") == ROWS


def test_every_option_has_its_effect(database: colonnade.Connection) -> None:
    query = "select i, repeat('x', 100) as t from generate_series(1, 10000) i"
    sizes = {}
    for compression in ("plain", "light", "light+lz4", "light+zstd-19"):
        result = database.query(query, compression=compression)
        table = result.to_arrow()
        assert table.column("i").to_pylist() == list(range(1, 10_001))
        sizes[compression] = result.stats.wire_bytes
    assert sizes["plain"] > 10 * sizes["light"] > 0
    result = database.query(query, chunk_rows=10)
    assert [batch.num_rows for batch in result] == [10] * 1000
    result = database.query(query, chunk_bytes=11_000, compression="plain")
    assert max(batch.nbytes for batch in result) <= 11_000
    with pytest.raises(colonnade.OperationalError) as caught:
        database.query("select repeat('x', 5000)", max_message_bytes=2000, compression="plain").to_arrow()
    assert caught.value.sqlstate == "54000"


def test_a_row_larger_than_a_chunk_has_its_own(database: colonnade.Connection) -> None:
    query = "select i, repeat('x', case when i % 10 = 0 then 50000 else 10 end) as t from generate_series(1, 100) i"
    table = pa.Table.from_batches(list(database.query(query, chunk_bytes=20_000)))
    assert table.column("i").to_pylist() == list(range(1, 101))
    assert [len(text) for text in table.column("t").to_pylist()][8:11] == [10, 50_000, 10]
