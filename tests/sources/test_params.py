"""Values that go into a query come back as they were."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from collections.abc import Callable
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

UTC = dt.UTC
RELAXED = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def back(connection: colonnade.Connection, value: Any) -> Any:
    """What the database says the value is."""
    return connection.query("select $1 as v", [value]).to_arrow()["v"][0].as_py()


def same(found: Any, value: Any) -> bool:
    if isinstance(value, float):
        return isinstance(found, float) and (
            (math.isnan(found) and math.isnan(value))
            or (found == value and math.copysign(1, found) == math.copysign(1, value))
        )
    return found == value and isinstance(found, type(value))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "none": st.none(),
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "str": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "sql": st.text("$1'\"-/*\\e ;\n"),
    "bytes": st.binary(),
    "date": st.dates(),
    "time": st.times(),
    "datetime": st.datetimes(),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=7),
    "timedelta": st.timedeltas(dt.timedelta(days=-10000), dt.timedelta(days=10000)),
}


@pytest.mark.parametrize("kind", sorted(set(VALUES) - {"timedelta"}))
@given(data=st.data())
@RELAXED
def test_values_come_back(remote: colonnade.Connection, kind: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    assert same(back(remote, value), value)


@given(value=VALUES["timedelta"])
@RELAXED
def test_durations_come_back(remote: colonnade.Connection, value: dt.timedelta) -> None:
    start = dt.datetime(2000, 1, 1)
    assert remote.query("select $1::timestamp + $2 as v", [start, value]).to_arrow()["v"][0].as_py() == start + value


@given(value=st.datetimes(timezones=st.timezones()))
@RELAXED
def test_points_in_time_come_back(remote: colonnade.Connection, value: dt.datetime) -> None:
    try:
        expected = value.astimezone(UTC)
    except OverflowError:
        return
    sql = "select epoch_us($1) as v, typeof($1) as t"
    row = remote.query(sql, [value]).to_arrow().to_pylist()[0]
    assert row == {
        "v": (expected - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1),
        "t": TIMESTAMPTZ,
    }


TIMESTAMPTZ = "TIMESTAMP WITH TIME ZONE"


@given(values=st.lists(st.none() | VALUES["str"], min_size=1), numbers=st.lists(st.lists(VALUES["int"]), min_size=1))
@RELAXED
def test_lists_come_back(remote: colonnade.Connection, values: list[str | None], numbers: list[list[int]]) -> None:
    assert back(remote, values) == values
    assert back(remote, tuple(numbers)) == numbers


@given(text=st.text("$12ab'\"-/*\\eE \n;", max_size=30), value=VALUES["sql"])
@RELAXED
def test_no_text_breaks_out(connection: colonnade.Connection, text: str, value: str) -> None:
    """Whatever surrounds a parameter, its value is never taken for SQL: it arrives whole or the query fails."""
    try:
        result = connection.query(f"select $v as v, {text}", {"v": value})
    except colonnade.Error:
        return
    table = result.to_arrow()
    assert table.num_rows == 0 or table.column(0)[0].as_py() == value


TYPES: list[tuple[Any, str, Any]] = [
    (True, "BOOLEAN", True),
    (5, "INTEGER", 5),
    (-5, "INTEGER", -5),
    (2**31, "BIGINT", 2**31),
    (-(2**63), "BIGINT", -(2**63)),
    (2**63, "HUGEINT", decimal.Decimal(2**63)),
    (2**127, "UHUGEINT", str(2**127)),
    (1.0, "DOUBLE", 1.0),
    (math.inf, "DOUBLE", math.inf),
    (decimal.Decimal("1.50"), "DECIMAL(3,2)", decimal.Decimal("1.50")),
    (decimal.Decimal("1.5e3"), "DECIMAL(4,0)", decimal.Decimal(1500)),
    (decimal.Decimal("-0.001"), "DECIMAL(3,3)", decimal.Decimal("-0.001")),
    ("it's", "VARCHAR", "it's"),
    (b"\0'\xff", "BLOB", b"\0'\xff"),
    (bytearray(b"ab"), "BLOB", b"ab"),
    (dt.date(1, 1, 1), "DATE", dt.date(1, 1, 1)),
    (dt.time(1, 2, 3, 4), "TIME", dt.time(1, 2, 3, 4)),
    (dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-5))), "TIME WITH TIME ZONE", "01:02:03-05"),
    (dt.timedelta(days=1, seconds=2), "INTERVAL", None),
    (uuid.UUID(int=7), "UUID", str(uuid.UUID(int=7))),
    ([1, None], "INTEGER[]", [1, None]),
    (np.int16(7), "INTEGER", 7),
    (np.float32(0.5), "DOUBLE", 0.5),
    (np.bool_(True), "BOOLEAN", True),
    (np.array([1, 2]), "INTEGER[]", [1, 2]),
    (pd.Timestamp("2024-02-29 12:00:00.000001"), "TIMESTAMP", dt.datetime(2024, 2, 29, 12, 0, 0, 1)),
    (pd.Timedelta(days=-1, microseconds=1), "INTERVAL", pa.MonthDayNano([0, -1, 1000])),
    (pa.MonthDayNano([0, -1, 1000]), "INTERVAL", pa.MonthDayNano([0, -1, 1000])),
]


@pytest.mark.parametrize(("value", "name", "expected"), TYPES, ids=[f"{type(v).__name__}-{n}" for v, n, _ in TYPES])
def test_each_value_has_its_type(connection: colonnade.Connection, value: Any, name: str, expected: Any) -> None:
    row = connection.query("select $1 as v, typeof($1) as t", [value]).to_arrow().to_pylist()[0]
    assert row["t"] == name
    assert expected is None or row["v"] == expected


class Odd:
    """Something that no database knows."""


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("a\0b", colonnade.InterfaceError, r"\$1.*NUL"),
        (Odd(), TypeError, r"\$1.*Odd is not supported"),
        ({1}, TypeError, "set is not supported"),
        ([[Odd()]], TypeError, "Odd"),
        (2**200, ValueError, "128 bits"),
        (decimal.Decimal("nan"), ValueError, "finite"),
        (decimal.Decimal("1e60"), ValueError, "38 digits"),
        (decimal.Decimal("1e-60"), ValueError, "38 digits"),
        (pd.Timestamp("2024-01-01 00:00:00.000000001"), ValueError, "nanoseconds"),
        (pd.NaT, ValueError, "NaT"),
        # As a datetime it has the year 1972, because Python's years end with 9999.
        (pd.Timestamp(np.datetime64("20000-03-01", "s")), ValueError, "years 1 to 9999"),
        (pd.Timestamp(np.datetime64("20000-03-01", "s"), tz="UTC"), ValueError, "years 1 to 9999"),
        (pd.Timedelta(1), ValueError, "nanoseconds"),
        (pd.Timedelta(-1), ValueError, "nanoseconds"),
        (pa.MonthDayNano([1, 0, 0]), ValueError, "months"),
        (pa.MonthDayNano([0, 1, 1]), ValueError, "nanoseconds"),
        ("\ud800", ValueError, r"\$1: the text has a surrogate"),
        (np.datetime64("2024-01-01"), TypeError, "datetime64"),
    ],
)
def test_values_that_are_refused(
    connection: colonnade.Connection, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        connection.query("select $1", [value])


def test_a_list_within_itself_is_refused(connection: colonnade.Connection) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="levels"):
        connection.query("select $1", [endless])


@pytest.mark.parametrize(
    ("sql", "params", "message"),
    [
        ("select $1", [], r"\$1, but no value"),
        ("select $2", [1], r"\$2, but no value"),
        ("select 1", [1], r"no \$1"),
        ("select $a", {"b": 1}, r"\$a, but no value"),
        ("select $a", {"a": 1, "b": 1}, r"no \$b"),
        ("select $a", [1], "by name"),
        ("select $1", {"a": 1}, "in order"),
    ],
)
def test_parameters_that_do_not_fit(connection: colonnade.Connection, sql: str, params: Any, message: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match=message):
        connection.query(sql, params)
    with pytest.raises(colonnade.InterfaceError, match=message):
        connection.execute(sql, params)


@pytest.mark.parametrize("params", ["text", 5, {1, 2}, iter([1])])
def test_params_is_a_list_or_a_mapping(connection: colonnade.Connection, params: Any) -> None:
    with pytest.raises(TypeError, match="list or tuple"):
        connection.query("select $1", params)


def test_without_params_nothing_is_replaced(connection: colonnade.Connection) -> None:
    table = connection.query("select '$1' as a, $$ $x $$ as b").to_arrow()
    assert table.to_pylist() == [{"a": "$1", "b": " $x "}]


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: (v,), lambda v: {"x": v}])
def test_each_container(connection: colonnade.Connection, make: Callable[[Any], Any]) -> None:
    params = make(3)
    sql = "select $x as v" if isinstance(params, dict) else "select $1 as v"
    assert connection.query(sql, params).to_arrow()["v"].to_pylist() == [3]
