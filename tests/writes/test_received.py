"""COPY … FROM STDIN (FORMAT colonnade) of `colonnade serve`: columns, types, values, and hostile streams. The streams
are those of the specification's own writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from reader.stream import read_stream
from writer.cases import field, one
from writer.nodes import As

from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
session = pytest.fixture(connected)
VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "good"


def stream_of(session: psycopg.Connection, query: str) -> bytes:
    with session.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT colonnade)") as copy:
        return b"".join(bytes(part) for part in copy)


def copy_in(session: psycopg.Connection, statement: str, data: bytes, piece: int = 1 << 20) -> int:
    with session.cursor() as cursor:
        with cursor.copy(f"COPY {statement} FROM STDIN (FORMAT colonnade)") as copy:
            for at in range(0, len(data), piece):
                copy.write(data[at : at + piece])
        return cursor.rowcount


def refused(session: psycopg.Connection, statement: str, data: bytes) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        copy_in(session, statement, data)
    return caught.value


def test_columns_are_found_by_name(session: psycopg.Connection) -> None:
    session.execute('create or replace table t (a bigint default 7, b varchar, "C" boolean)')
    data = stream_of(session, "select true as \"C\", 'x' as b")
    assert copy_in(session, "t", data) == 1
    assert copy_in(session, 't (b, "C")', data) == 1
    assert session.execute("select * from t").fetchall() == [(7, "x", True)] * 2
    for statement, query, code, words in [
        ("t", "select 'x' as b, true as c", "42703", 'field "c"'),
        ("t", "select 'x' as b, 'y' as b", "42701", 'two fields "b"'),
        ("t (a, b)", "select 'x' as b", "22P04", 'no field for column "a"'),
        ("t (b)", "select 'x' as b, 1::bigint as a", "42703", 'field "a"'),
        ("t", "select 1 as a", "42804", 'column "a" has type BIGINT, whose values are received as Int64'),
        ("t", "select 1::bigint as a, 2 as b", "42804", "Int32"),
    ]:
        error = refused(session, statement, stream_of(session, query))
        assert error.sqlstate == code and words in str(error), query
    assert session.execute("select count(*) from t").fetchone() == (2,)


def test_null_stands_for_any_type(session: psycopg.Connection) -> None:
    session.execute("create or replace table t (a uuid, b integer[], c enum('x'), d decimal(9, 2))")
    assert copy_in(session, "t", stream_of(session, "select null as a, null as b, null as c, null as d")) == 1
    assert session.execute("select * from t").fetchall() == [(None,) * 4]


TIMESTAMP = {"unit": "us", "zone": None}


@pytest.mark.parametrize(
    ("kind", "given", "values", "code", "words"),
    [
        ("decimal(4,2)", field("a", "decimal128", precision=4, scale=2), ["99.99", None, "-99.99"], None, ""),
        # DuckDB itself stores it as 0.00.
        ("decimal(4,2)", field("a", "decimal128", precision=4, scale=2), ["999999.99"], "22003", "row 1: "),
        ("hugeint", field("a", "decimal128", precision=38, scale=0), [str(2**127 - 1), str(-(2**127))], None, ""),
        ("time", field("a", "time64", unit="us"), [0, 86_400_000_000], None, ""),
        ("time", field("a", "time64", unit="us"), [0, -1], "22008", 'column "a", row 2: -1 us'),
        ("date", field("a", "date32"), [2**31 - 1, -(2**31)], "22008", "row 2: -2147483648"),
        ("timestamp", field("a", "timestamp", **TIMESTAMP), [2**63 - 1, -(2**63)], "22008", "row 2"),
        ("timestamp_s", field("a", "timestamp", unit="s", zone=None), [None, 10**13], "22008", "row 2"),
        ("interval", field("a", "interval_month_day_nano"), [[0, 0, 1000], [0, 0, 1]], "22008", "row 2: 1 ns"),
        ("uuid", field("a", "utf8"), ["123E4567-e89b-12d3-a456-426614174000"], "22P02", 'column "a", row 1: 123E4567'),
        ("uuid", field("a", "utf8"), [None, "zz"], "22P02", "row 2: zz is not the exact form of a value of type UUID"),
        ("uhugeint", field("a", "utf8"), ["1", "1.5"], "22P02", "row 2: 1.5"),
        ("bit", field("a", "utf8"), ["00101", ""], "22P02", "row 2"),
        ("timetz", field("a", "utf8"), ["12:00:00+00", "12:00:00.1234567+00"], "22P02", "row 2"),
        ("json", field("a", "utf8"), ['{"a":  1}', "{"], "22P02", "row 2"),
        ("json", field("a", "utf8"), ['{"a":  1}', None], None, ""),
        ("time[]", field("a", "list", children=[field("i", "time64", unit="us")]), [None, [-1]], "22008", "row 2"),
        ("uuid[]", field("a", "list", children=[field("i", "utf8")]), [None, ["x"]], "22P02", "row 2"),
        ("varchar[]", field("a", "list", children=[field("i", "utf8")]), [None, ["x", "a\0b"]], None, ""),
    ],
    ids=str,
)
def test_each_value_is_exact_or_refused(
    session: psycopg.Connection, kind: str, given: dict[str, Any], values: list[Any], code: str | None, words: str
) -> None:
    session.execute(f"create or replace table t (a {kind})")
    data = one("values", [given], [values], [As(nulls="bitmap")]).stream()
    if code is None:
        assert copy_in(session, "t", data) == len(values)
        back = read_stream(stream_of(session, "select a from t")).to_json()
        assert back["columns"] == [values]
        return
    error = refused(session, "t", data)
    assert error.sqlstate == code and words in str(error)
    assert session.execute("select count(*) from t").fetchone() == (0,)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("timestamptz", field("a", "timestamp", unit="us", zone="a\0b")),
        ("timestamptz[]", field("a", "list", children=[field("i", "timestamp", unit="us", zone="\0")])),
        ("varchar[]", field("a", "list", children=[field("i\0", "utf8")])),
    ],
    ids=["zone", "nested zone", "item"],
)
def test_a_nul_in_a_name_or_a_zone_is_refused(session: psycopg.Connection, kind: str, given: dict[str, Any]) -> None:
    session.execute(f"create or replace table t (a {kind})")
    error = refused(session, "t", one("values", [given], [[None]], [As(nulls="all")]).stream())
    assert error.sqlstate == "22P04" and "has a NUL character" in str(error)


def test_a_variant_is_refused(session: psycopg.Connection) -> None:
    """Its stored form would be taken for a struct."""
    session.execute("create or replace table t (a variant)")
    error = refused(session, "t", stream_of(session, "select 1::variant as a"))
    assert error.sqlstate == "0A000" and "VARIANT" in str(error)


def test_no_part_of_a_damaged_stream_is_stored(session: psycopg.Connection) -> None:
    data = bytes_of(VECTORS / "copy_in.hex")
    session.execute("create or replace table t (n bigint)")
    for length in range(len(data)):
        assert refused(session, "t (n)", data[:length]).sqlstate in ("22P04", "54000")
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        assert refused(session, "t (n)", changed).sqlstate in ("22P04", "54000"), at
    assert refused(session, "t (n)", data + b"x").sqlstate == "22P04"
    assert session.execute("select count(*) from t").fetchone() == (0,)
    assert copy_in(session, "t (n)", data, 1) == 1
    assert session.execute("select n from t").fetchall() == [(7,)]


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_vectors_of_other_columns_are_refused(session: psycopg.Connection, kind: str) -> None:
    """The session stays usable, and no row is there."""
    session.execute("create or replace table t (no_such_name bigint)")
    for path in (VECTORS.parent / kind).glob("*.hex"):
        error = refused(session, "t", bytes_of(path))
        assert error.sqlstate in ("22P04", "54000", "42703", "53200"), path
    assert session.execute("select count(*) from t").fetchone() == (0,)


def test_a_damaged_chunk_without_rows_is_refused(session: psycopg.Connection) -> None:
    session.execute("create or replace table t (v boolean)")
    error = refused(session, "t", bytes_of(VECTORS.parent / "bad" / "bool_constant_empty.hex"))
    assert error.sqlstate == "22P04", error


def bytes_of(path: Path) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in path.read_text().splitlines()))
