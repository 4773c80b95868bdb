"""Values of PostgreSQL's that a destination has no form for: they are refused by name, and never become others."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from pathlib import Path

import colonnade
import pandas as pd
import pytest

from tests.testbed import postgres as pg

MIDNIGHT = ["time '24:00'", "array[time '24:00']", "row(1, time '24:00')::clock", "array[row(1, '24:00')::clock]"]
FAR = ["'20000-01-01'", "'0044-03-15 BC'", "'infinity'", "'-infinity'"]


@pytest.fixture(scope="module")
def uri(stock: pg.Cluster) -> str:
    with stock.connect() as session:
        session.execute("create database forms")
    with stock.connect("forms") as session:
        session.execute("create type clock as (a int, t time)")
        session.execute("create type day as (a int, d date); create type moment as (a int, d timestamptz)")
    return stock.uri("forms")


def is_refused(uri: str, value: str, what: str, **arguments: str) -> bool:
    with pytest.raises(colonnade.DataError, match=f"column 'odd' has {what}") as caught:
        colonnade.read_sql(uri, f"select {value} as odd", **arguments)  # type: ignore[call-overload]
    return caught.value.sqlstate == "22008" and "cast the column to text" in str(caught.value)


@pytest.mark.parametrize("value", MIDNIGHT)
def test_24_hours(uri: str, value: str) -> None:
    assert is_refused(uri, value, "the time 24:00:00", return_type="polars")
    for backend in ("numpy", "numpy_nullable", "exact", "connectorx"):
        if backend != "connectorx" or value != MIDNIGHT[0]:
            assert is_refused(uri, value, "the time 24:00:00", dtype_backend=backend)
    if value != MIDNIGHT[0]:
        assert is_refused(uri, value, "the time 24:00:00", return_type="numpy")
    with colonnade.connect(uri) as connection, pytest.raises(colonnade.DataError, match="'odd'"):
        connection.query(f"select {value} as odd").to_polars()


def test_24_hours_where_they_have_a_form(uri: str) -> None:
    query = "select time '24:00' as t"
    with pytest.raises(colonnade.Error, match='column "t" cannot be utf8'):
        colonnade.read_sql(uri, query, dtype_backend="connectorx")
    assert colonnade.read_sql(uri, query, return_type="numpy")["t"].tolist() == [dt.timedelta(days=1)]
    assert colonnade.read_sql(uri, query, return_type="duckdb").project("t::text").fetchall() == [("24:00:00",)]


@pytest.mark.parametrize("value", FAR)
@pytest.mark.parametrize("kind", ["day", "moment"])
def test_dates_in_composites_are_pythons(uri: str, kind: str, value: str) -> None:
    what = "(a|an infinite) (date|timestamp)"
    for backend in ("numpy", "numpy_nullable", "exact", "connectorx"):
        assert is_refused(uri, f"row(1, {value})::{kind}", what, dtype_backend=backend)
    assert is_refused(uri, f"row(1, {value})::{kind}", what, return_type="numpy")


def test_dates_that_python_has_arrive_in_composites(uri: str) -> None:
    for backend in ("numpy", "numpy_nullable", "exact", "connectorx"):
        query = "select row(1, '9999-12-31')::day as d"
        value = colonnade.read_sql(uri, query, dtype_backend=backend)["d"][0]["d"]  # type: ignore[call-overload]
        assert (value.year, value.month, value.day) == (9999, 12, 31)


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "exact", "connectorx"])
def test_null_is_not_nan_in_arrays(uri: str, backend: str) -> None:
    query = "select array['NaN'::float8, null, 1] as v"
    first, second, third = colonnade.read_sql(uri, query, dtype_backend=backend)["v"][0]  # type: ignore[call-overload]
    assert (math.isnan(first), second, third) == (True, None, 1.0)


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "pyarrow", "exact", "connectorx"])
@pytest.mark.parametrize("kind", ["int4", "int8", "float8", "numeric", "numeric(12,0)"])
def test_numbers_that_are_read_as_dates_are_seconds(uri: str, kind: str, backend: str) -> None:
    query = f"select v from (values (1356998400::{kind}, 1), (null, 2)) t(v, k) order by k"
    column = colonnade.read_sql(uri, query, parse_dates=["v"], dtype_backend=backend)["v"]  # type: ignore[call-overload]
    assert column.tolist() == [pd.Timestamp("2013-01-01"), pd.NaT]
    column = colonnade.read_sql(uri, query, parse_dates={"v": "D"}, dtype_backend=backend)["v"]  # type: ignore[call-overload]
    assert pd.isna(column[0])


# --- files of the command line ----------------------------------------------------------------------------------------


def written(uri: str, value: str, path: Path) -> tuple[int, str]:
    """The command's exit status and what it says."""
    command = [sys.executable, "-m", "colonnade", "read", uri, f"select {value} as odd", "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("time '24:00'", "has the time 24:00:00, which CSV lacks"),
        ("date 'infinity'", "has an infinite date"),
        ("timestamp '-infinity'", "has an infinite timestamp"),
        # Written with a year of 16 bits by pyarrow.
        ("timestamptz '294246-12-31'", "has a timestamp of the year 294246"),
        ("interval '1 day'", "has the type interval"),
    ],
)
def test_a_csv_file_has_no_other_values(uri: str, tmp_path: Path, value: str, what: str) -> None:
    status, said = written(uri, value, tmp_path / "out.csv")
    assert status == 1
    assert f"column 'odd' {what}" in said
    assert list(tmp_path.iterdir()) == []


def test_a_parquet_file_has_no_intervals(uri: str, tmp_path: Path) -> None:
    status, said = written(uri, "interval '1 day'", tmp_path / "out.parquet")
    assert (status, "column 'odd' has the type interval" in said) == (1, True)
    assert list(tmp_path.iterdir()) == []
