"""Streams that are damaged, and values that no column stores: an error, no row, and a session that goes on.

COLONNADE_HOSTILE_STEP is the distance between the bytes that are changed (default 13; 1 changes each byte).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import psycopg
import pytest
from reader.annotate import parse_hex
from reader.errors import FormatError
from reader.stream import read_stream
from reader.xxh3 import xxh3_64
from writer.cases import field
from writer.nodes import As
from writer.stream import CHUNK, SCHEMA, encode_chunk, end_message, message, schema_body

from tests.postgres.copying import cut, send, stream_of
from tests.testbed import postgres as pg

STEP = int(os.environ.get("COLONNADE_HOSTILE_STEP", "13"))
VECTORS = Path(__file__).parents[2] / "spec" / "vectors"
FROM = "copy t from stdin (format colonnade)"
DAMAGED = "22P04"

#: A column of each kind that is decoded in a way of its own, in few rows.
TABLE = """
create type color as enum ('red', 'green'); create type pair as (x int, y text);
create table source as select
    i, i * 1000000007::bigint as big, (i % 2 = 0) as even, i / 7.0::float8 as f, (i / 4)::numeric(9, 2) as n,
    (i * 1.5)::numeric(50, 3) as wide, 'text ' || i as s, repeat('ab', i % 3)::bytea as b, date '2024-01-01' + i as d,
    timestamp '2024-01-01' + i * interval '1 s' as ts, make_interval(0, i) as iv, array[i, null, 7] as a,
    (case i % 2 when 0 then 'red' else 'green' end)::color as c, row(i, 'y')::pair as p, '10.0.0.1'::inet + i as net
    from generate_series(1, 12) i;
update source set big = null, n = null, s = null, a = null, p = null, c = null where i % 5 = 0;
create table t (like source)
"""


@pytest.fixture
def session(in_own_schema: psycopg.Connection) -> psycopg.Connection:
    """The session that the tests of COPY use."""
    return in_own_schema


@pytest.fixture(params=["light+fsst, chunk_rows 5", "plain", "light+zstd-1", "light+lz4"])
def recorded(session: psycopg.Connection, request: pytest.FixtureRequest) -> bytes:
    """A whole stream for the table t."""
    session.execute(TABLE)
    configuration, *more = request.param.split(",")
    options = ",".join([f"format colonnade, compression '{configuration}'", *more])
    return stream_of(session, f"copy source to stdout ({options})")


def attempt(session: psycopg.Connection, stream: bytes) -> str | None:
    """The SQLSTATE of the error, after which the session is usable and the table is empty. None if rows were stored,
    which are removed again."""
    try:
        send(session, FROM, [stream])
    except psycopg.Error as error:
        assert session.execute("select count(*) from t").fetchone() == (0,)
        return error.sqlstate
    session.execute("truncate t")
    return None


def test_each_truncation(session: psycopg.Connection, recorded: bytes) -> None:
    told = {attempt(session, recorded[:length]) for length in range(0, len(recorded), STEP)}
    assert told == {DAMAGED}
    assert attempt(session, recorded) is None


def test_each_changed_byte(session: psycopg.Connection, recorded: bytes) -> None:
    for at in range(0, len(recorded), STEP):
        changed = bytearray(recorded)
        changed[at] ^= 1 << at % 8
        assert attempt(session, bytes(changed)) == DAMAGED, at
    assert attempt(session, recorded) is None


def sealed(stream: bytes) -> bytes:
    """The stream with checksums that are right for its bytes."""
    out, checksums, at = bytearray(stream), b"", 0
    while at < len(out):
        (length,) = struct.unpack_from("<Q", out, at + 8)
        if out[at + 4] == 3:
            struct.pack_into("<Q", out, at + 64 + 16, xxh3_64(checksums))
        seed = xxh3_64(bytes(out[at : at + 16]))
        struct.pack_into("<Q", out, at + 16, xxh3_64(bytes(out[at + 24 : at + length]), seed))
        checksums += out[at + 16 : at + 24]
        at += length
    return bytes(out)


def is_readable(stream: bytes) -> bool:
    try:
        read_stream(stream)
    except FormatError:
        return False
    return True


def test_changed_bytes_that_no_checksum_reveals(session: psycopg.Connection, recorded: bytes) -> None:
    """What the independent reader refuses is damaged here, too. All else is rows, or an error of a value or a name."""
    lengths = [at for at in range(len(recorded)) if recorded[at : at + 4] == b"CLN1"]
    headers = {at + i for at in lengths for i in range(24)}
    stored = refused = 0
    for at in set(range(24, len(recorded), STEP)) - headers:
        changed = bytearray(recorded)
        changed[at] ^= 1 << at % 8
        stream = sealed(bytes(changed))
        told = attempt(session, stream)
        if not is_readable(stream):
            # An unknown name or type is found before a later message arrives, which may be the damaged one.
            assert told == DAMAGED or told in ("42703", "42701", "42804"), at
        stored += told is None
        refused += told is not None
    assert stored > 0 and refused > 0


# --- the specification's vectors --------------------------------------------------------------------------------------

PLAIN_TYPES = {
    "bool": "bool",
    "int16": "int2",
    "int32": "int4",
    "int64": "int8",
    "uint32": "oid",
    "float32": "float4",
    "float64": "float8",
    "date32": "date",
    "interval_month_day_nano": "interval",
    "utf8": "text",
    "binary": "bytea",
    "null": "int4",
}


def column_type(described: dict) -> str:
    """PostgreSQL's type of a field of a vector; text, which refuses it, if there is none."""
    name = described["type"]
    if name in ("decimal128", "decimal256") and described["scale"] >= 0:
        return f"numeric({described['precision']}, {described['scale']})"
    if name == "timestamp" and described["unit"] == "us":
        return "timestamptz" if described.get("zone") is not None else "timestamp"
    if name == "time64" and described["unit"] == "us":
        return "time"
    if name == "list":
        return column_type(described["children"][0]).removesuffix("[]") + "[]"
    return PLAIN_TYPES.get(name, "text")


def prepare(session: psycopg.Connection, fields: list[dict]) -> None:
    """A table for the fields, as far as there can be one: names are distinct, not empty and short."""
    session.execute("set client_min_messages to warning; drop table if exists t")
    columns: dict[str, str] = {}
    for described in fields:
        name = described["name"].encode()[:60].decode(errors="ignore")
        if name and "\0" not in name:
            columns.setdefault(name, column_type(described))
    quoted = ", ".join(f'"{name.replace(chr(34), 2 * chr(34))}" {kind}' for name, kind in list(columns.items())[:1000])
    session.execute(f"create table t ({quoted or 'n int'})".encode())


def test_bad_vectors(session: psycopg.Connection) -> None:
    paths = sorted((VECTORS / "bad").glob("*.hex"))
    assert len(paths) > 100
    for path in paths:
        stream = parse_hex(path.read_text("utf-8"))
        prepare(session, schema_of(stream))
        for size in (len(stream) or 1, 100):
            with pytest.raises(psycopg.Error) as caught:
                send(session, FROM, cut(stream, size))
            assert caught.value.sqlstate in (DAMAGED, "42703", "42701", "42804"), path.stem
        assert session.execute("select count(*) from t").fetchone() == (0,)


def schema_of(stream: bytes) -> list[dict]:
    """The fields, if the first message can be read."""
    try:
        (length,) = struct.unpack_from("<Q", stream, 8)
        schema = stream[:length]
        return read_stream(schema + end_message([schema], 0, 0)).to_json()["schema"]
    except (FormatError, struct.error):
        return []


def test_good_vectors(session: psycopg.Connection) -> None:
    """Each is stored as it is, or refused because of its names, types or values."""
    stored = 0
    for path in sorted((VECTORS / "good").glob("*.hex")):
        stream = parse_hex(path.read_text("utf-8"))
        read = read_stream(stream).to_json()
        prepare(session, read["schema"])
        try:
            assert send(session, FROM, cut(stream, 1000)) == read["rows"], path.stem
            stored += 1
        except psycopg.Error as error:
            assert error.sqlstate in ("42703", "42701", "42804", "22P04", "22003", "22008", "22021"), path.stem
    assert stored > 50


# --- values that no column stores -------------------------------------------------------------------------------------


def one_column(described: dict, values: list) -> bytes:
    messages = [message(SCHEMA, schema_body([described]))]
    messages.append(message(CHUNK, encode_chunk([described], [values], [As()]), len(values), 0))
    return b"".join(messages) + end_message(messages, len(values), 1)


DECIMAL = {"precision": 5, "scale": 2}
COLOR = {"index": "uint8", "ordered": True, "children": [field("values", "utf8")]}


@pytest.mark.parametrize(
    "column, described, bad, sqlstate",
    [
        ("date", field("v", "date32"), 2_145_031_949 + 10_957, "22008"),
        ("date", field("v", "date32"), -(2**31), "22008"),
        ("time", field("v", "time64", unit="us"), -1, "22008"),
        ("time", field("v", "time64", unit="us"), 86_400_000_001, "22008"),
        ("time(2)", field("v", "time64", unit="us"), 1, "22008"),
        ("timestamp", field("v", "timestamp", unit="us", zone=None), -(2**63), "22008"),
        ("timestamptz(0)", field("v", "timestamp", unit="us", zone="Mars/Base"), 1, "22008"),
        ("interval", field("v", "interval_month_day_nano"), [0, 0, 1], "22008"),
        ("interval(3)", field("v", "interval_month_day_nano"), [0, 0, 1000], "22008"),
        ("interval year", field("v", "interval_month_day_nano"), [0, 1, 0], "22008"),
        ("numeric(5,2)", field("v", "decimal128", **DECIMAL), "1000", "22003"),
        ("numeric(5,2)", field("v", "decimal128", **DECIMAL), str(-(2**127) // 100), "22003"),
        ("numeric(50,2)", field("v", "decimal256", precision=50, scale=2), "1" + "0" * 48, "22003"),
        ("money", field("v", "decimal128", precision=19, scale=2), str(2**63 // 100 + 1), "22003"),
        ("text", field("v", "utf8"), "a\0b", "22021"),
        ("json", field("v", "utf8"), "{", "22P02"),
        ("json", field("v", "utf8"), "1\0", "22021"),
        ("uuid", field("v", "utf8"), "no", "22P02"),
        ("varchar(3)", field("v", "utf8"), "ab  ", "22001"),
        ("char(3)", field("v", "utf8"), "ab", "22026"),
        ("char(3)", field("v", "utf8"), "äbcd", "22001"),
        ('"char"', field("v", "utf8"), "ab", "22001"),
        ("name", field("v", "utf8"), "x" * 64, "42622"),
        ("numeric(90,2)", field("v", "utf8"), "1.234", "22003"),
        ("bit(3)", field("v", "utf8"), "10", "22026"),
        ("color", field("v", "dictionary", **COLOR), "purple", "22P02"),
        ("color", field("v", "dictionary", **COLOR), "red\0", "22021"),
        ("positive", field("v", "int32"), -1, "23514"),
        ("positive[]", field("v", "list", children=[field("item", "int32")]), [1, -1], "23514"),
    ],
)
def test_values_that_no_column_stores(
    session: psycopg.Connection, column: str, described: dict, bad: object, sqlstate: str
) -> None:
    """The error names row and column, and nothing is stored."""
    session.execute("create type color as enum ('red'); create domain positive as int check (value > 0)")
    session.execute(f"create table t (v {column} not null)")
    with pytest.raises(psycopg.Error) as caught:
        send(session, FROM, [one_column(described, [bad])])
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.context.splitlines()[-1] == "COPY t, line 1, column v"
    assert session.execute("select count(*) from t").fetchone() == (0,)


def test_small_streams_that_declare_much(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    """A constant of many rows takes few bytes and is refused before it takes memory."""
    session.execute("create table t (v int8)")
    described = field("v", "int64", False)
    schema = message(SCHEMA, schema_body([described]))
    body = encode_chunk([described], [[7]], [As("constant")])
    for rows in (17_000_000, 16_777_217, 2**32 - 1):
        chunk = message(CHUNK, body, rows, 0)
        with pytest.raises(
            psycopg.Error, match=r"a chunk has .* but the limit is .*; send fewer rows in a chunk"
        ) as caught:
            send(session, FROM, [schema + chunk + end_message([schema, chunk], rows, 1)])
        assert caught.value.sqlstate == DAMAGED
    status = Path(f"/proc/{session.info.backend_pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 100 * 1024
    rows = 3_000_000
    chunk = message(CHUNK, body, rows, 0)
    assert send(session, FROM, [schema + chunk + end_message([schema, chunk], rows, 1)]) == rows


def test_a_length_alone_takes_no_memory(session: psycopg.Connection) -> None:
    session.execute("create table t (v int8)")
    schema = message(SCHEMA, schema_body([field("v", "int64", False)]))
    header = bytearray(message(CHUNK, b"", 1, 0))
    struct.pack_into("<Q", header, 8, 1 << 30)
    with pytest.raises(psycopg.Error, match="truncated"):
        send(session, FROM, [schema + header, b"x" * 1000])
    status = Path(f"/proc/{session.info.backend_pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 100 * 1024


def test_memory_does_not_grow_with_the_rows(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    """10 million rows in 153 chunks. They are all read, and WHERE drops them, because writing them is core's."""
    session.execute("create table t (i int, s text, n numeric(12, 2), a int[])")
    query = "select i, 'text' as s, i::numeric(12, 2) as n, '{1}'::int[] as a from generate_series(1, ROWS) i"
    peak = []
    with preloaded.connect() as other:
        for rows in (200_000, 10_000_000):
            stream = stream_of_rows(other, query.replace("ROWS", str(rows)))
            assert send(session, f"{FROM} where i < 0", cut(stream, 100_000)) == 0
            status = Path(f"/proc/{session.info.backend_pid}/status").read_text()
            # Of its address space, so that pages of shared memory do not count.
            peak.append(int(status.partition("VmPeak:")[2].split()[0]))
    assert peak[1] - peak[0] < 4 * 1024


def stream_of_rows(session: psycopg.Connection, query: str) -> bytes:
    """As `stream_of`, for streams that the specification's reader would read for minutes."""
    with (
        session.cursor() as cursor,
        cursor.copy(f"copy ({query}) to stdout (format colonnade, compression light)") as copy,
    ):
        return b"".join(bytes(piece) for piece in copy)
