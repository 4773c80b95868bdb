"""What types become with `dtype_backend="connectorx"`: the tables of docs/how-to/drop-in.md."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import colonnade
import pandas as pd
import pytest

from tests.support.shop import Place, read
from tests.support.sqlite_files import make
from tests.testbed import postgres as pg

# --- what the types become: the table of docs/how-to/drop-in.md -------------------------------------------------------

#: Of PostgreSQL: a type, a literal of it, the column's dtype, the value, all as ConnectorX 0.4.6 has them, measured.
TYPES = [
    ("bool", "true", "boolean", True),
    ("int2", "-32768", "Int64", -32768),
    ("int4", "2147483647", "Int64", 2147483647),
    ("int8", "9223372036854775807", "Int64", 9223372036854775807),
    ("oid", "4294967295", "Int64", 4294967295),
    ("float4", "0.1", "float64", 0.10000000149011612),
    ("float8", "0.1", "float64", 0.1),
    ("numeric", "521.34", "float64", 521.34),
    ("numeric(10,2)", "521.34", "float64", 521.34),
    ("text", "a", "object", "a"),
    ("varchar(5)", "a", "object", "a"),
    ("char(5)", "a", "object", "a    "),
    ('"char"', "a", "object", "a"),
    ("name", "a", "object", "a"),
    ("bytea", "\\x00ff", "object", b"\0\xff"),
    ("date", "2020-01-02", "datetime64[us]", pd.Timestamp("2020-01-02")),
    ("timestamp", "9999-12-31 03:04:05.678901", "datetime64[us]", pd.Timestamp("9999-12-31 03:04:05.678901")),
    ("timestamptz", "2020-01-02 03:04:05.678901+02", "datetime64[us]", pd.Timestamp("2020-01-02 01:04:05.678901")),
    ("time", "12:34:56.789", "object", "12:34:56.789"),
    ("time", "12:34:56", "object", "12:34:56"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "object", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("int2[]", "{1,2}", "object", [1, 2]),
    ("int8[]", "{9223372036854775807}", "object", [9223372036854775807]),
    ("float4[]", "{1.5}", "object", [1.5]),
    ("float8[]", "{1e308}", "object", [1e308]),
    ("numeric[]", "{521.34}", "object", [521.34]),
    ("numeric(10,2)[]", "{521.34}", "object", [521.34]),
    ("bool[]", "{t,f}", "object", [True, False]),
    ("mood", "very happy", "object", "very happy"),
    ("inet", "10.0.0.1", "object", "10.0.0.1"),
    ("int4range", "[1,2)", "object", "[1,2)"),
    ("positive", "7", "Int64", 7),
    # Not as ConnectorX has it, which is written in docs/how-to/drop-in.md.
    ("json", '{"a":  1}', "object", '{"a":  1}'),
    ("jsonb", '{"a":  1}', "object", '{"a": 1}'),
    ("bit(3)", "101", "object", "101"),
    ("text[]", "{a,b}", "object", ["a", "b"]),
    ("money", "12.34", "float64", 12.34),
    ("timetz", "12:34:56+02", "object", "12:34:56+02"),
    ("xml", "<a/>", "object", "<a/>"),
]


@pytest.fixture(scope="module")
def types_place(stock: pg.Cluster, stock_place: Place) -> str:
    with stock.connect("shop") as session:
        session.execute(
            "create type mood as enum ('happy', 'very happy'); create domain positive as int check (value > 0)"
        )
    return stock_place.uri


@pytest.mark.parametrize(("kind", "literal", "dtype", "value"), TYPES)
def test_a_type(types_place: str, kind: str, literal: str, dtype: str, value: object) -> None:
    query = f"select v from (values ('{literal}'::{kind}, 1), (null, 2)) t(v, k) order by k"
    column = read(types_place, query)["v"]
    assert (str(column.dtype), column[0], type(column[0]) is list) == (dtype, value, isinstance(value, list))
    assert column[1] is None if dtype == "object" else pd.isna(column[1])


#: Of MariaDB 10.11, likewise.
MYSQL_TYPES = [
    ("tinyint", "-128", "Int64", -128),
    ("boolean", "true", "Int64", 1),
    ("tinyint unsigned", "255", "Int64", 255),
    ("smallint", "-32768", "Int64", -32768),
    ("smallint unsigned", "65535", "Int64", 65535),
    ("mediumint", "-8388608", "Int64", -8388608),
    ("mediumint unsigned", "16777215", "Int64", 16777215),
    ("int", "-2147483648", "Int64", -2147483648),
    ("int unsigned", "4294967295", "Int64", 4294967295),
    ("bigint", "-9223372036854775808", "Int64", -9223372036854775808),
    ("float", "0.1", "float64", 0.10000000149011612),
    ("double", "0.1", "float64", 0.1),
    ("decimal(10,2)", "521.34", "float64", 521.34),
    ("decimal(38,10)", "-1.0000000001", "float64", -1.0000000001),
    ("year", "2024", "Int64", 2024),
    ("date", "'2020-01-02'", "datetime64[us]", pd.Timestamp("2020-01-02")),
    ("datetime", "'2020-01-02 03:04:05'", "datetime64[us]", pd.Timestamp("2020-01-02 03:04:05")),
    ("datetime(6)", "'9999-12-31 03:04:05.678901'", "datetime64[us]", pd.Timestamp("9999-12-31 03:04:05.678901")),
    ("timestamp(6)", "'2020-01-02 03:04:05.678901'", "datetime64[us]", pd.Timestamp("2020-01-02 03:04:05.678901")),
    ("char(5)", "'a'", "object", "a"),
    ("varchar(5)", "'a'", "object", "a"),
    ("tinytext", "'a'", "object", "a"),
    ("text", "'ä'", "object", "ä"),
    ("longtext", "'a'", "object", "a"),
    ("binary(2)", "x'00ff'", "object", b"\0\xff"),
    ("varbinary(5)", "x'00ff'", "object", b"\0\xff"),
    ("blob", "x'00ff'", "object", b"\0\xff"),
    ("enum('x', 'y')", "'y'", "object", "y"),
    ("set('x', 'y')", "'x,y'", "object", "x,y"),
    ("json", """'{"a":  1}'""", "object", '{"a":  1}'),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "object", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("inet6", "'::1'", "object", "::1"),
    # Not as ConnectorX has it, which is written in docs/how-to/drop-in.md.
    ("bigint unsigned", "18446744073709551615", "UInt64", 18446744073709551615),
    ("bit(1)", "b'1'", "boolean", True),
    ("bit(9)", "b'101'", "UInt64", 5),
    ("time", "'12:34:56'", "timedelta64[us]", pd.Timedelta("12:34:56")),
    ("time(6)", "'-100:00:00.5'", "timedelta64[us]", -pd.Timedelta("100:00:00.5")),
]


@pytest.mark.parametrize(("kind", "literal", "dtype", "value"), MYSQL_TYPES)
def test_a_type_of_mysql(mysql_place: Place, kind: str, literal: str, dtype: str, value: object) -> None:
    with colonnade.connect(mysql_place.uri) as connection:
        connection.execute(f"create or replace table drop_in_type (k int primary key, v {kind} null)")
        connection.execute(f"insert into drop_in_type values (1, {literal}), (2, null)")
        frame = colonnade.read_sql(connection, "select v from drop_in_type order by k", dtype_backend="connectorx")
        connection.execute("drop table drop_in_type")
    column = frame["v"]
    assert (str(column.dtype), column[0]) == (dtype, value)
    assert column[1] is None if dtype == "object" else pd.isna(column[1])


#: Of SQLite: a declaration, a value, and the same.
SQLITE_TYPES: list[tuple[str, object, str, object]] = [
    ("INTEGER", 5, "Int64", 5),
    ("BIGINT", 2**62, "Int64", 2**62),
    ("TINYINT", 1, "Int64", 1),
    ("BOOLEAN", 1, "boolean", True),
    ("BOOL", 0, "boolean", False),
    ("REAL", 1.5, "float64", 1.5),
    ("DOUBLE", 1.5, "float64", 1.5),
    ("FLOAT", 2, "float64", 2.0),
    ("TEXT", "a", "object", "a"),
    ("VARCHAR(5)", "a", "object", "a"),
    ("CHAR(3)", "a", "object", "a"),
    ("BLOB", b"\0\xff", "object", b"\0\xff"),
    ("DATE", "2020-01-02", "datetime64[us]", pd.Timestamp("2020-01-02")),
    ("TIME", "12:34:56", "object", "12:34:56"),
    ("DATETIME", "2020-01-02 03:04:05", "datetime64[us]", pd.Timestamp("2020-01-02 03:04:05")),
    ("TIMESTAMP", "2020-01-02 03:04:05", "datetime64[us]", pd.Timestamp("2020-01-02 03:04:05")),
    ("NUMERIC(10,2)", 521.34, "float64", 521.34),
    ("DECIMAL(10,2)", 521.34, "float64", 521.34),
    ("JSON", "{}", "object", "{}"),
    ("", 7, "Int64", 7),
    ("", 1.5, "float64", 1.5),
    ("", "x", "object", "x"),
    # Not as ConnectorX has it.
    ("NUMERIC", 5, "float64", 5.0),
]


@pytest.mark.parametrize(("declared", "stored", "dtype", "value"), SQLITE_TYPES)
def test_a_type_of_sqlite(tmp_path: Path, declared: str, stored: object, dtype: str, value: object) -> None:
    uri = make(tmp_path / "a.db", f"create table t (k INTEGER, v {declared})", "t", [(1, stored), (2, None)])
    column = read(uri, "select v from t order by k")["v"]
    assert (str(column.dtype), column[0]) == (dtype, value)
    assert column[1] is None if dtype == "object" else pd.isna(column[1])


def test_every_rounding_is_of_a_decimal(types_place: str) -> None:
    """`dtype_backend="connectorx"` takes the nearest float of a decimal; and refuses what ConnectorX garbles."""
    frame = read(types_place, "select 0.1000000000000000000001 as v, 1e400::numeric::text as big")
    assert frame["v"].tolist() == [0.1]
    with pytest.raises(colonnade.DataError, match=r"row 1: .* is no value of float64"):
        read(types_place, "select 1e400::numeric as v")
    with pytest.raises(colonnade.DataError, match="is no value of timestamp"):
        read(types_place, "select '5874897-12-31'::date as v")


def test_the_default_is_pandas_and_exact_is_a_choice(types_place: str) -> None:
    query = """
        select d, n, i, s, b, e from (values
            (521.34::numeric(10,2), 0.1000000000000000000001::numeric, 1, 2::int2, true, 'happy'::mood),
            (null, null, null, null, null, null)) t(d, n, i, s, b, e)
    """
    frame = colonnade.read_sql(types_place, query)
    assert [str(dtype) for dtype in frame.dtypes] == ["float64"] * 4 + ["object", "str"]
    assert frame.iloc[0].tolist() == [521.34, 0.1, 1, 2, True, "happy"]
    frame = colonnade.read_sql(types_place, query, dtype_backend="exact")
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "object", "Int32", "Int16", "boolean", "category"]
    assert [str(value) for value in frame.iloc[0]][:2] == ["521.34", "0.1000000000000000000001"]
    for backend in ("numpy", "numpy_nullable", "exact"):
        frame = colonnade.read_sql(types_place, query, dtype_backend=backend, coerce_float=False)
        assert frame["n"].tolist() == [Decimal("0.1000000000000000000001"), None]


def test_what_was_asked_for_as_text_stays_text(types_place: str) -> None:
    query = "select 521.34::numeric(10,2) as d, 0.10::numeric as n, 7::int2 as s"
    for backend in ("numpy", "numpy_nullable", "exact", "connectorx"):
        frame = colonnade.read_sql(types_place, query, as_text=["d", "n"], dtype_backend=backend)  # type: ignore[call-overload]
        assert frame.iloc[0].tolist() == ["521.34", "0.10", 7]
        with colonnade.connect(types_place) as connection:
            frame = connection.query(query, as_text=["d", "n"]).to_pandas(backend)  # type: ignore[arg-type]
            assert frame.iloc[0].tolist() == ["521.34", "0.10", 7]


def test_a_frame_after_a_column(types_place: str) -> None:
    with colonnade.connect(types_place) as connection:
        result = connection.query("select 521.34::numeric(10,2) as d, 7::int2 as s")
        assert str(result.column("d")[0].as_py()) == "521.34"
        frame = result.to_pandas()
        assert [str(dtype) for dtype in frame.dtypes] == ["float64", "int64"]
        assert frame.iloc[0].tolist() == [521.34, 7]
        assert str(result.to_pandas("exact")["d"][0]) == "521.34"
        result = connection.query("select 521.34::numeric(10,2) as d, 7::int2 as s", dtype={"s": "int8"})
        assert [str(dtype) for dtype in result.to_pandas(coerce_float=False).dtypes] == ["object", "int8"]


def test_an_integer_that_no_float_has_stays_an_integer(types_place: str) -> None:
    """pandas.read_sql changes 9007199254740993 to 9007199254740992."""
    query = "select i from (values ({}::int8, 1), (null, 2)) t(i, k) order by k"
    frame = colonnade.read_sql(types_place, query.format(9007199254740993))
    assert (str(frame["i"].dtype), frame["i"][0]) == ("Int64", 9007199254740993)
    for fits in (9007199254740992, -9007199254740992):
        frame = colonnade.read_sql(types_place, query.format(fits))
        assert (str(frame["i"].dtype), frame["i"][0]) == ("float64", fits)
    frame = colonnade.read_sql(types_place, "select null::int8 as i, null::bool as b")
    assert (str(frame["i"].dtype), str(frame["b"].dtype), frame["b"][0]) == ("float64", "object", None)


@pytest.mark.parametrize(
    ("value", "dtypes"),
    [
        ("18446744073709551615", {"numpy": "uint64", "numpy_nullable": "UInt64", "exact": "uint64"}),
        ("9223372036854775807", {"numpy": "int64", "numpy_nullable": "Int64", "exact": "uint64"}),
    ],
)
def test_unsigned_integers_of_mysql(mysql_place: Place, value: str, dtypes: dict[str, str]) -> None:
    for backend, dtype in dtypes.items():
        query = f"select cast({value} as unsigned) as v"
        frame = colonnade.read_sql(mysql_place.uri, query, dtype_backend=backend)  # type: ignore[call-overload]
        assert (str(frame["v"].dtype), str(frame["v"][0])) == (dtype, value)


def test_intervals_are_lengths_of_time_unless_they_have_months(types_place: str) -> None:
    query = "select i from (values (interval '{}', 1), (null, 2)) t(i, k) order by k"
    column = colonnade.read_sql(types_place, query.format("-1 day 02:00:00.5"))["i"]
    assert (str(column.dtype), column[0]) == ("timedelta64[us]", pd.Timedelta(days=-1, hours=2, milliseconds=500))
    assert pd.isna(column[1])
    column = colonnade.read_sql(types_place, query.format("1 month 2 days"))["i"]
    assert (column.dtype, column[0]) == (object, pd.DateOffset(months=1, days=2, nanoseconds=0))
    column = colonnade.read_sql(types_place, query.format("106751992 days"))["i"]
    assert column.dtype == object
    assert colonnade.read_sql(types_place, "select interval '1 day' where false")["interval"].dtype == "timedelta64[us]"


def test_arrays_are_lists(types_place: str) -> None:
    frame = colonnade.read_sql(types_place, "select array[1, null] as i, array[0.5] as n, null::text[] as t")
    assert frame.iloc[0].tolist() == [[1, None], [0.5], None]


def test_the_page_lists_every_argument() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "drop-in.md").read_text()
    for name in colonnade.read_sql.__annotations__:
        assert name in ("return", "options", "pandas") or f"`{name}`" in page, name
    for kind, _, dtype, _ in TYPES:
        name = kind.partition("(")[0].removesuffix("[]").strip('"')
        assert name in ("mood", "positive", "int4range") or name in page, kind
        assert f"`{dtype}`" in page
    for *_, dtype, _ in (*MYSQL_TYPES, *SQLITE_TYPES):
        assert f"`{dtype}`" in page


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "exact", "connectorx"])
def test_dates_in_composites_are_dates(backend: Any) -> None:
    day, moment = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)
    query = """select {'d': date '2024-01-02', 'n': null::date, 't': timestamp '2024-01-02 03:04:05'} as s,
                      {'s': {'l': [date '2024-01-02']}} as deep, [{'d': date '2024-01-02'}] as l,
                      map {1: date '2024-01-02'} as m, map {date '2024-01-02': 1} as k"""
    with colonnade.connect("duckdb:///:memory:") as connection:
        (row,) = connection.query(query).to_pandas(backend).to_dict("records")
    expected = {
        "s": {"d": day, "n": None, "t": moment},
        "deep": {"s": {"l": [day]}},
        "l": [{"d": day}],
        "m": [(1, day)],
        "k": [(day, 1)],
    }
    # Equality alone does not tell a date from a datetime in lists of them.
    assert repr(row) == repr(expected)
