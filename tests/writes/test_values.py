"""Every type of Arrow, written and read back: the same value, or refused before anything is visible."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from decimal import Decimal
from typing import Any

import colonnade
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.writes.exact import CASES, MILLISECONDS, PER_SECOND, Case
from tests.writes.places import Place

#: Only PostgreSQL has so many digits.
COLUMNS = st.sampled_from(CASES).flatmap(
    lambda case: st.tuples(st.just(case), st.lists(st.none() | case.values, max_size=6))
)


def plain(array: Any) -> list[Any]:
    """The values, comparable: numbers of units for times, and texts for floats."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_floating(kind):
        return [None if value is None else str(float(value)) for value in array.to_pylist()]
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return array.cast(pa.int64()).to_pylist()
    return array.to_pylist()


def same(written: Any, read: Any) -> bool:
    """Whether a column that was read has the values that were written, in another type or not."""
    kind = written.type
    if pa.types.is_duration(read.type):
        # MariaDB's TIME, in microseconds.
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        found = [None if value is None else value * 1000 for value in plain(read)]
        return found == [None if value is None else value * factor for value in plain(written)]
    if pa.types.is_duration(kind):
        micros = written.cast(pa.int64()).to_pylist()
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        found = [None if value is None else (value.months, value.days, value.nanoseconds) for value in read.to_pylist()]
        return found == [None if value is None else (0, 0, value * factor) for value in micros]
    if pa.types.is_date64(kind):
        return plain(read) == [None if value is None else value // MILLISECONDS for value in plain(written)]
    if pa.types.is_timestamp(kind):
        infinite = 2**63 - 1

        def in_nanos(value: int | None, unit: str) -> int | None:
            if value is None or abs(value) == infinite:
                return value
            return value * (10**9 // PER_SECOND[unit])

        def of(column: Any) -> list[int | None]:
            return [in_nanos(value, column.type.unit) for value in plain(column)]

        return of(read) == of(written)
    if pa.types.is_time(kind):
        return plain(read.cast(pa.time64("ns"))) == plain(written.cast(pa.time64("ns")))
    return plain(read) == plain(written)


def is_readable(case: Case, values: list[Any]) -> bool:
    """Whether the reading side has a form for them: Arrow's intervals have 64 bits of nanoseconds."""
    if pa.types.is_duration(case.type):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[case.type.unit]
        return all(value is None or abs(value * factor) < 2_562_047 * 3600 * 10**9 for value in values)
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.type))
@pytest.mark.parametrize("which", ["postgres", "extended", "sqlite", "mariadb", "duckdb", "serve"])
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_values_of_each_type_are_exact_or_refused(
    which: str, case: Case, data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    values = data.draw(st.lists(st.none() | case.values, max_size=6))
    write_and_compare(request.getfixturevalue(f"{which}_place"), which, [(case, values)])


@pytest.mark.parametrize("which", ["postgres", "extended", "sqlite", "mariadb", "mariadb_insert", "duckdb", "serve"])
@settings(max_examples=15, deadline=None)
@given(columns=st.lists(COLUMNS, min_size=2, max_size=5))
def test_several_columns_are_exact_or_refused(
    which: str, columns: list[tuple[Case, list[Any]]], request: pytest.FixtureRequest
) -> None:
    write_and_compare(request.getfixturevalue(f"{which}_place"), which, columns)


def write_and_compare(place: Place, which: str, columns: list[tuple[Case, list[Any]]]) -> None:
    length = max(len(values) for _, values in columns)
    columns = [(case, values + [None] * (length - len(values))) for case, values in columns]
    table = pa.table({f"c{number}": case.array(values) for number, (case, values) in enumerate(columns)})
    fits = [[value is None or getattr(case, which)(value) for value in values] for case, values in columns]
    has_form = all(case.has_form(which) for case, _ in columns)
    colonnade.write_sql(pa.table({"before": [1]}), place.uri, "t", if_exists="replace")
    if not has_form:
        with pytest.raises(colonnade.NotSupportedError, match="column"):
            colonnade.write_sql(table, place.uri, "t", if_exists="replace")
    elif not all(map(all, fits)):
        row = min(values.index(False) + 1 for values in fits if False in values)
        with pytest.raises(colonnade.DataError, match=f"row {row}: "):
            colonnade.write_sql(table, place.uri, "t", if_exists="replace")
    else:
        assert colonnade.write_sql(table, place.uri, "t", if_exists="replace").rows == length
        if not all(is_readable(case, values) for case, values in columns):
            return
        back = place.table()
        assert back.column_names == table.column_names and back.num_rows == length
        for name in table.column_names:
            assert same(table[name], back[name]), (table[name], back[name])
        # What a new table got, it also accepts.
        colonnade.write_sql(table, place.uri, "t", if_exists="append")
        assert place.table().num_rows == 2 * length
        return
    assert place.rows() == [{"before": 1}]


def test_uuid_and_json_get_their_types(place: Place) -> None:
    ids = [uuid.uuid4(), None]
    documents = ['{"b": 1.0, "a": 1}', "1.0"]
    table = pa.table(
        {
            "u": pa.ExtensionArray.from_storage(
                pa.uuid(), pa.array([ids[0].bytes if ids[0] else None, None], pa.binary(16))
            ),
            "j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(documents)),
        }
    )
    colonnade.write_sql(table, place.uri, "t")
    assert place.rows() == [{"u": str(ids[0]), "j": documents[0]}, {"u": None, "j": documents[1]}]
    assert json.loads(documents[1]) == 1


@pytest.mark.parametrize("which", ["postgres", "extended", "duckdb", "serve"])
def test_intervals_are_exact(which: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"in_{which}")
    values = [pa.MonthDayNano([-1, 2, -3000]), None, pa.MonthDayNano([2**31 - 1, -(2**31), 10**18])]
    colonnade.write_sql(pa.table({"a": pa.array(values)}), place.uri, "t")
    assert place.table()["a"].to_pylist() == values
    with pytest.raises(colonnade.DataError, match="row 1: 1 ns"):
        colonnade.write_sql(pa.table({"a": pa.array([pa.MonthDayNano([0, 0, 1])])}), place.uri, "u")


@pytest.mark.parametrize(
    "column",
    [
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([7])),
    ],
    ids=lambda column: str(column.type),
)
def test_other_types_are_refused_by_name(place: Place, column: pa.Array) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "a"') as caught:
        colonnade.write_sql(pa.table({"a": column}), place.uri, "t")
    assert caught.value.sqlstate == "0A000" and caught.value.hint and not place.exists()


@pytest.mark.parametrize("which", ["in_postgres", "in_sqlite"])
@pytest.mark.parametrize(
    "column",
    [pa.array([{"x": 1}]), pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), pa.array([[[1]]])],
    ids=lambda column: str(column.type),
)
def test_nested_types_are_refused_by_name(which: str, column: pa.Array, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(which)
    with pytest.raises(colonnade.NotSupportedError, match='column "a"') as caught:
        colonnade.write_sql(pa.table({"a": column}), place.uri, "t")
    assert caught.value.sqlstate == "0A000" and caught.value.hint and not place.exists()


MICROSECOND = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)
#: A column of PostgreSQL, a value that it holds, and one that it would change.
EXISTING = [
    ("smallint", pa.int64(), 32767, 32768),
    ("integer", pa.uint64(), 2**31 - 1, 2**31),
    ("bigint", pa.uint64(), 2**63 - 1, 2**63),
    ("real", pa.float64(), 0.5, 0.1),
    ("real", pa.int32(), 2**24, 2**24 + 1),
    ("double precision", pa.int64(), 2**53, 2**53 + 1),
    ("numeric(5,2)", pa.decimal128(10, 3), Decimal("123.450"), Decimal("123.456")),
    ("numeric(5,2)", pa.decimal128(10, 2), Decimal("-999.99"), Decimal("1000.00")),
    ("numeric(5,2)", pa.int32(), 999, 1000),
    ("numeric(3,-2)", pa.int32(), 12300, 12301),
    ("numeric(2,4)", pa.decimal128(9, 5), Decimal("0.0099"), Decimal("0.0100")),
    ("varchar(3)", pa.string(), "äöü", "abc "),
    ("char(3)", pa.string(), "abc", "ab"),
    ("uuid", pa.string(), "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
    ("time(3)", pa.time64("us"), datetime.time(1, 2, 3, 4000), datetime.time(1, 2, 3, 4)),
    ("timestamp(0)", pa.timestamp("us"), datetime.datetime(2024, 1, 1), MICROSECOND),
    ("timestamptz(3)", pa.timestamp("us", "UTC"), datetime.datetime(2024, 1, 1), MICROSECOND),
    ("small", pa.int64(), 1, 2**40),
    ("numeric(5,2)[]", pa.list_(pa.decimal128(10, 3)), [Decimal("1.230")], [Decimal("1.234")]),
]


@pytest.mark.parametrize(("declared", "kind", "right", "wrong"), EXISTING)
def test_a_column_of_postgresql_accepts_what_it_keeps(
    in_postgres: Place, declared: str, kind: pa.DataType, right: Any, wrong: Any
) -> None:
    in_postgres.execute("create domain small as integer")
    in_postgres.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.DataError, match='column "a", row 2'):
        colonnade.write_sql(pa.table({"a": pa.array([right, wrong], kind)}), in_postgres.uri, "t", if_exists="append")
    assert in_postgres.rows() == []
    colonnade.write_sql(pa.table({"a": pa.array([right, None], kind)}), in_postgres.uri, "t", if_exists="append")
    [first, second] = [row["a"] for row in in_postgres.rows()]
    if declared == "timestamptz(3)":
        right = right.replace(tzinfo=datetime.UTC)
    # A numeric with such a scale is read as text.
    assert (Decimal(first) if isinstance(first, str) and isinstance(right, (int, Decimal)) else first) == right
    assert second is None


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("integer", pa.array([1.0])),
        ("numeric", pa.array([0.1])),
        ("text", pa.array([1])),
        ("timestamp", pa.array([MICROSECOND], pa.timestamp("us", "UTC"))),
        ("timestamptz", pa.array([MICROSECOND])),
        ("timestamp", pa.array([datetime.date(2024, 1, 1)])),
        ("jsonb", pa.array([1])),
        ("interval year", pa.array([pa.MonthDayNano([0, 0, 0])])),
        ("inet", pa.array(["::1"])),
        ("boolean", pa.array([1])),
        ("integer[]", pa.array([[1.5]])),
    ],
)
def test_a_column_of_postgresql_refuses_other_types(in_postgres: Place, declared: str, column: pa.Array) -> None:
    in_postgres.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.NotSupportedError, match='column "a": the table\'s column of type'):
        colonnade.write_sql(pa.table({"a": column}), in_postgres.uri, "t", if_exists="append")


def test_an_enum_takes_its_labels(in_postgres: Place) -> None:
    in_postgres.execute("create type mood as enum ('sad', 'ok')")
    in_postgres.execute("create table t (a mood, b mood)")
    table = pa.table({"a": pa.array(["ok", "sad"]).dictionary_encode(), "b": ["sad", None]})
    colonnade.write_sql(table, in_postgres.uri, "t", if_exists="append")
    assert in_postgres.rows() == [{"a": "ok", "b": "sad"}, {"a": "sad", "b": None}]
    with pytest.raises(colonnade.DataError) as caught:
        colonnade.write_sql(pa.table({"a": ["happy"]}), in_postgres.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "22P02"


@pytest.mark.parametrize(
    ("declared", "kind", "right", "wrong"),
    [
        ("INTEGER", pa.uint64(), 2**63 - 1, 2**63),
        ("REAL", pa.int64(), 2**53, 2**53 + 1),
        ("REAL", pa.float64(), 0.1, math.nan),
        ("REAL", pa.float64(), 0.0, -0.0),
        ("DECIMAL(5,2)", pa.decimal128(10, 3), Decimal("123.45"), Decimal("123.456")),
        ("DECIMAL(20,2)", pa.decimal128(20, 2), Decimal("1234567890123.45"), Decimal("123456789012345678.25")),
        ("VARCHAR(3)", pa.string(), "1.0", None),
        ("DATETIME", pa.timestamp("ns"), 1000, 1001),
    ],
)
def test_a_column_of_sqlite_accepts_what_it_keeps(
    in_sqlite: Place, declared: str, kind: pa.DataType, right: Any, wrong: Any
) -> None:
    in_sqlite.execute(f"create table t (a {declared})")
    if wrong is not None:
        with pytest.raises(colonnade.DataError, match='column "a", row 2'):
            colonnade.write_sql(pa.table({"a": pa.array([right, wrong], kind)}), in_sqlite.uri, "t", if_exists="append")
        assert in_sqlite.rows() == []
    written = pa.array([right, None], kind)
    colonnade.write_sql(pa.table({"a": written}), in_sqlite.uri, "t", if_exists="append")
    back = in_sqlite.table()["a"]
    assert same(written, back) if pa.types.is_timestamp(kind) else back.to_pylist() == [right, None]


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("JSON", pa.array(["1.0"])),
        ("STRING", pa.array(["1.0"])),
        ("", pa.array([1])),
        ("INTEGER", pa.array([1.0])),
        ("DATETIME", pa.array([MICROSECOND], pa.timestamp("us", "UTC"))),
        ("TEXT", pa.array([b"x"])),
    ],
)
def test_a_column_of_sqlite_refuses_other_types(in_sqlite: Place, declared: str, column: pa.Array) -> None:
    in_sqlite.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.NotSupportedError, match='column "a": the table\'s column, declared'):
        colonnade.write_sql(pa.table({"a": column}), in_sqlite.uri, "t", if_exists="append")


def test_infinity_is_what_types_md_says(in_postgres: Place, session: psycopg.Connection) -> None:
    table = pa.table(
        {
            "d": pa.array([2**31 - 1, -(2**31 - 1)], pa.date32()),
            "t": pa.array([2**63 - 1, -(2**63 - 1)], pa.timestamp("us")),
        }
    )
    colonnade.write_sql(table, in_postgres.uri, "t")
    assert session.execute("select d::text, t::text from t").fetchall() == [("infinity",) * 2, ("-infinity",) * 2]
    assert in_postgres.table().equals(table)
