"""COPY FROM STDIN (FORMAT colonnade): what is accepted, and what becomes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest
from reader.stream import read_stream
from writer.cases import field
from writer.nodes import As
from writer.stream import CHUNK, SCHEMA, encode_chunk, end_message, message, schema_body

from tests.postgres.copying import cut, send, stream_of
from tests.testbed import postgres as pg

FROM = "from stdin (format colonnade)"
TO = "to stdout (format colonnade)"


@pytest.fixture
def session(in_own_schema: psycopg.Connection) -> psycopg.Connection:
    """The session that the tests of COPY use."""
    return in_own_schema


def rows(session: psycopg.Connection, query: str) -> list[tuple]:
    return session.execute(query).fetchall()


def value(session: psycopg.Connection, query: str) -> object:
    return rows(session, query)[0][0]


def refused(session: psycopg.Connection, statement: str, stream: bytes) -> psycopg.errors.Diagnostic:
    """The error. The session is usable after it."""
    with pytest.raises(psycopg.Error) as caught:
        send(session, statement, [stream])
    assert value(session, "select 1") == 1
    return caught.value.diag


# --- round trips ------------------------------------------------------------------------------------------------------


def test_clients_are_told(session: psycopg.Connection) -> None:
    assert session.info.parameter_status("colonnade.receive") == "1"
    assert value(session, "show colonnade.receive") == "1"
    with pytest.raises(psycopg.errors.CantChangeRuntimeParam):
        session.execute("set colonnade.receive to 2")


@pytest.mark.parametrize("settings", ["", "set datestyle to 'SQL, DMY'; set intervalstyle to 'sql_standard'"])
def test_every_type(session: psycopg.Connection, settings: str) -> None:
    """The torture table, column by column as text, so that NaN equals itself and -0.0 differs from 0.0."""
    script = (Path(__file__).parent / "torture.sql").read_text().replace("CREATE EXTENSION hstore SCHEMA public;", "")
    session.execute(f"create extension if not exists hstore schema public; {script}; create table back (like torture)")
    session.execute(settings or "select 1")
    # Values of these two have no Arrow form.
    columns = ", ".join(
        name
        for (name,) in rows(
            session,
            "select quote_ident(attname) from pg_attribute where attrelid = 'torture'::regclass and attnum > 0 "
            "and attname not in ('c_ts_far', 'c_int4_arr2d') order by attnum",
        )
    )
    stream = stream_of(session, f"copy torture ({columns}) {TO}")
    assert send(session, f"copy back ({columns}) {FROM}", [stream]) == 6
    texts = f"select row({columns})::text from {{}} order by id"
    assert rows(session, texts.format("back")) == rows(session, texts.format("torture"))
    assert stream_of(session, f"copy back ({columns}) {TO}") == stream


NESTED = """
create type color as enum ('red', 'green', 'blue');
create type point3 as (x int, "the y" numeric(10, 3), tags text[]);
create domain small as int check (value < 100);
create table t (
    k int, a int[], b numeric(8, 2)[], c point3, d point3[], e color[], f small[], g timestamptz[], h bytea[], i bool[],
    j numeric(60, 5)[], l char(3)[], m interval[], n uuid[], o jsonb[], p varchar(4)[], q date[], r time[], s name[]
);
insert into t values
    (1, '{1,NULL,3}', '{1.25,NULL,-3.10}', '(1,2.5,"{a,NULL,b}")', '{"(1,2,)",NULL}', '{red,NULL,blue}', '{1,NULL}',
     '{2024-01-01 00:00Z,NULL,infinity}', '{"\\\\x00","\\\\x",NULL}', '{t,f,NULL}',
     '{123456789012345678901234567890.5}',
     '{abc,NULL}', '{1 mon,NULL}',
     '{00000000-0000-0000-0000-000000000001}', '{"{\\"a\\": 1}",null}', '{abcd,""}',
     '{infinity,-infinity,4713-01-01 BC}', '{24:00}', '{name}'),
    (2, '{}', '{}', null, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
    (3, null, null, '(,,)', null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
insert into t select k + 10, a, b, c, d, e, f, g, h, i, j, l, m, n, o, p, q, r, s from t, generate_series(1, 200);
"""


def test_nested_types(session: psycopg.Connection) -> None:
    session.execute(NESTED)
    session.execute("create table back (like t)")
    stream = stream_of(session, f"copy t {TO}")
    assert send(session, f"copy back {FROM}", [stream]) == 603
    texts = "select {0}::text from {0}"
    assert rows(session, texts.format("back")) == rows(session, texts.format("t"))
    assert stream_of(session, f"copy back {TO}") == stream


@pytest.mark.parametrize(
    "precision, scale", [(1, 0), (4, 4), (15, 2), (18, 18), (19, 3), (38, 37), (39, 1), (76, 75), (76, 64)]
)
def test_numbers(session: psycopg.Connection, precision: int, scale: int) -> None:
    """Every number of digits, with zeros at both ends, and the largest and smallest."""
    digits = [0, 1, 10**precision - 1, *(10**i for i in range(precision)), *(10**i * 7 - 1 for i in range(precision))]
    values = {v for d in digits if d < 10**precision for v in (d, -d)}
    session.execute(f"create table t (v numeric({precision}, {scale})); create table back (like t)")
    session.execute(
        "insert into t select (v || 'e-' || %s)::numeric from unnest(%s::text[]) v", (scale, [*map(str, values)])
    )
    send(session, f"copy back {FROM}", [stream_of(session, f"copy t {TO}")])
    assert value(session, "select count(*) from back") == len(values)
    # The same bytes, so that equal numbers also have equal hashes and display scales.
    image = "select v::text, numeric_send(v), hash_numeric(v) from {} order by v"
    assert rows(session, image.format("back")) == rows(session, image.format("t"))


def test_numbers_without_a_precision(session: psycopg.Connection) -> None:
    session.execute("create table t (v numeric, w numeric[]); create table back (like t)")
    session.execute("insert into t values (1.50, '{2.25}'), ('-123456789012345678901234567890.1', null), (null, '{}')")
    for option in ("", ", numeric '60,10'"):
        stream = stream_of(session, f"copy t to stdout (format colonnade{option})")
        assert send(session, f"copy back {FROM}", [stream]) == 3
    query = "select v, w from {} order by v nulls last"
    assert rows(session, query.format("back")) == [row for row in rows(session, query.format("t")) for _ in range(2)]
    session.execute("insert into t values ('NaN', '{Infinity}')")
    assert send(session, f"copy back {FROM}", [stream_of(session, f"copy t {TO}")]) == 4
    assert rows(session, "select v::text, w::text from back where v = 'NaN'") == [("NaN", "{Infinity}")]


@pytest.mark.parametrize("size", [1, 7, 63, 64, 65, 1000, 1 << 20])
def test_any_division_into_messages(session: psycopg.Connection, size: int) -> None:
    session.execute("create table t as select i, md5(i::text) m, i % 3 = 0 o from generate_series(1, 2000) i")
    session.execute("create table back (like t)")
    stream = stream_of(session, "copy t to stdout (format colonnade, chunk_rows 300)")
    assert send(session, f"copy back {FROM}", [b"", *cut(stream, size), b""]) == 2000
    assert rows(session, "table back order by i") == rows(session, "table t order by i")


@pytest.mark.parametrize("compression", ["plain", "light", "light+fsst", "light+lz4", "light+zstd-3"])
def test_compressions(session: psycopg.Connection, compression: str) -> None:
    session.execute(
        "create table t as select i, 'a text about ' || i m, i::float8 / 7 f from generate_series(1, 5000) i"
    )
    session.execute("create table back (like t)")
    stream = stream_of(session, f"copy t to stdout (format colonnade, compression '{compression}')")
    assert send(session, f"copy back {FROM}", [stream]) == 5000
    assert rows(session, "table back order by i") == rows(session, "table t order by i")


def test_no_rows(session: psycopg.Connection) -> None:
    session.execute("create table t (a int); create table bare ()")
    assert send(session, f"copy t {FROM}", [stream_of(session, f"copy t {TO}")]) == 0
    session.execute("insert into bare select from generate_series(1, 5)")
    assert send(session, f"copy bare {FROM}", [stream_of(session, f"copy bare {TO}")]) == 5
    assert refused(session, f"copy t {FROM}", stream_of(session, f"copy bare {TO}")).sqlstate == "22P04"
    assert value(session, "select count(*) from bare") == 10


def test_psql(
    session: psycopg.Connection, preloaded: pg.Cluster, installation: pg.Installation, tmp_path: Path
) -> None:
    """As users will try it."""
    session.execute("create table t as select i from generate_series(1, 1000) i; create table back (like t)")
    (tmp_path / "n.cln").write_bytes(stream_of(session, f"copy own.t {TO}"))
    with (tmp_path / "n.cln").open("rb") as file:
        command = [installation.bin / "psql", "-X", preloaded.dsn(), "-c", f"copy own.back {FROM}"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "COPY 1000"


def test_extended_protocol(session: psycopg.Connection) -> None:
    session.execute("create table t as select i from generate_series(1, 1000) i; create table back (like t)")
    stream = stream_of(session, f"copy t {TO}")
    connection = session.pgconn
    for name in (b"", b"prepared"):
        if name:
            connection.prepare(name, f"copy back {FROM}".encode())
        for _ in range(2):
            if name:
                result = connection.exec_prepared(name, [])
            else:
                result = connection.exec_params(f"copy back {FROM}".encode(), [])
            assert result.status == psycopg.pq.ExecStatus.COPY_IN
            connection.put_copy_data(stream)
            connection.put_copy_end()
            result = connection.get_result()
            assert result is not None and result.command_status == b"COPY 1000", result and result.error_message
            assert connection.get_result() is None
    assert value(session, "select count(*) from back") == 4000


# --- fields and columns -----------------------------------------------------------------------------------------------


def test_fields_are_found_by_name(session: psycopg.Connection) -> None:
    session.execute("create table t (a int default 7, gone int, b text default 'd', c float8); alter table t drop gone")
    send(session, f"copy t {FROM}", [stream_of(session, f"copy (select 1.5::float8 c, 1 a) {TO}")])
    send(session, f"copy t (c, b) {FROM}", [stream_of(session, f"copy (select 'x' b, 2.5::float8 c) {TO}")])
    assert rows(session, "table t") == [(1, "d", 1.5), (7, "x", 2.5)]


@pytest.mark.parametrize(
    "columns, query, sqlstate, message",
    [
        ("", "select 1 a, 2 b", "42703", 'field "b" of the stream is not among the columns of COPY'),
        ("(a)", "select 1 a, 'x' t", "42703", 'field "t" of the stream is not among the columns of COPY'),
        ("", "select 1 g", "42703", 'field "g" of the stream is not among the columns of COPY'),
        ("", "select 1 ctid", "42703", 'field "ctid" of the stream is not among the columns of COPY'),
        ("", "select 1 a, 2 a", "42701", 'field "a" occurs twice in the stream'),
        ("(a, t)", "select 1 a", "22P04", 'column "t" has no field in the stream'),
        ("(a, a)", "select 1 a", "42701", 'column "a" specified more than once'),
        ("(g)", "select 1 g", "42P10", 'column "g" is a generated column'),
        ("(nothing)", "select 1 a", "42703", 'column "nothing" of relation "t" does not exist'),
    ],
)
def test_wrong_fields(session: psycopg.Connection, columns: str, query: str, sqlstate: str, message: str) -> None:
    session.execute("create table t (a int, t text, g int generated always as (a * 2) stored)")
    error = refused(session, f"copy t {columns} {FROM}", stream_of(session, f"copy ({query}) {TO}"))
    assert (error.sqlstate, error.message_primary) == (sqlstate, message)
    assert value(session, "select count(*) from t") == 0


@pytest.mark.parametrize(
    "column, sent, found, expected",
    [
        ("int", "1::bigint", "int64", "int32"),
        ("date", "'x'::text", "utf8", "date32"),
        ("numeric(12,2)", "1::numeric(10,2)", "decimal128(10, 2)", "decimal128(12, 2)"),
        ("numeric(12,2)", "1", "int32", "decimal128(12, 2)"),
        ("text", "1", "int32", "utf8"),
        ("timestamp", "now()", "timestamp(us, UTC)", "timestamp(us)"),
        ("int[]", "array['a']", "list(utf8)", "list(int32)"),
        ("bytea", "'x'::text", "utf8", "binary"),
        ("jsonb", "1", "int32", "utf8"),
        ("pg_lsn", "'\\x'::bytea", "binary", "utf8"),
        ("pair", "row(1, 'x')::other", "struct(a int32, c utf8)", "struct(a int32, b utf8)"),
        ("bool", "1", "int32", "bool"),
    ],
)
def test_other_types_are_refused(
    session: psycopg.Connection, column: str, sent: str, found: str, expected: str
) -> None:
    session.execute("create type pair as (a int, b text); create type other as (a int, c text)")
    session.execute(f"create table t (v {column})")
    error = refused(session, f"copy t {FROM}", stream_of(session, f"copy (select {sent} as v) {TO}"))
    assert error.sqlstate == "42804"
    name = value(
        session,
        "select format_type(atttypid, atttypmod) from pg_attribute where attname = 'v' and attrelid = 't'::regclass",
    )
    assert error.message_primary == f'column "v" is of type {name} but its field in the stream is of type {found}'
    assert error.message_hint == f"Send {expected}, as COPY TO does."


def null_stream(name: str, count: int) -> bytes:
    fields = [field(name, "null")]
    body = encode_chunk(fields, [[None] * count], [As(nulls="all")])
    messages = [message(SCHEMA, schema_body(fields)), message(CHUNK, body, count, 0)]
    stream = b"".join([*messages, end_message(messages, count, chunks=1)])
    assert read_stream(stream).to_json()["rows"] == count
    return stream


@pytest.mark.parametrize("column", ["int", "text", "int[]", "numeric(5,2)", "color", "positive"])
def test_a_column_of_nulls_is_taken_by_any(session: psycopg.Connection, column: str) -> None:
    session.execute("create type color as enum ('red'); create domain positive as int check (value > 0)")
    session.execute(f"create table t (v {column})")
    assert send(session, f"copy t {FROM}", [null_stream("v", 9)]) == 9
    assert value(session, "select count(*) from t where v is null") == 9
