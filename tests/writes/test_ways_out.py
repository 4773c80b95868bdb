"""What an error says to do is done here, and works."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.writes.places import Place

UTC = dt.UTC


def refused(data: Any, place: Place, **options: Any) -> colonnade.Error:
    with pytest.raises(colonnade.Error) as caught:
        colonnade.write_sql(data, place.uri, "t", **options)
    return caught.value


def table(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"c": pa.array(values, kind)})


def test_a_moment_before_1970_in_mysql(in_mariadb: Place) -> None:
    moment = dt.datetime(1969, 12, 31, 23, tzinfo=UTC)
    error = refused(table([moment], pa.timestamp("us", "UTC")), in_mariadb)
    assert error.sqlstate == "22008" and not in_mariadb.exists()
    for word in ("1969-12-31 23:00:00", "1970-01-01 00:00:01 to 2038-01-19 03:14:07", 'dtype={…: "timestamp(us)"}'):
        assert word in str(error)
    colonnade.write_sql(table([moment], pa.timestamp("us", "UTC")), in_mariadb.uri, "t", dtype={"c": "timestamp(us)"})
    assert in_mariadb.rows() == [{"c": moment.replace(tzinfo=None)}]
    frame = pd.DataFrame({"c": pd.Series([moment]).dt.tz_convert("Europe/Berlin")})
    assert "tz_convert(None)" in str(refused(frame, in_mariadb, if_exists="replace"))
    frame["c"] = frame["c"].dt.tz_convert(None)
    colonnade.write_sql(frame, in_mariadb.uri, "t", if_exists="replace")
    assert in_mariadb.rows() == [{"c": moment.replace(tzinfo=None)}]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (pa.timestamp("ns"), "lossy:timestamp(us)"),
        (pa.timestamp("ns", "UTC"), "lossy:timestamp(us, UTC)"),
        (pa.time64("ns"), "lossy:time64(us)"),
    ],
)
def test_digits_behind_the_microseconds(in_postgres: Place, kind: pa.DataType, dtype: str) -> None:
    data = table([1_500], kind)
    error = refused(data, in_postgres)
    name = dtype.removeprefix("lossy:")
    assert (
        error.sqlstate == "22008"
        and f'dtype={{…: lossy("{name}")}}' in str(error)
        and "00:00:00.000001500" in str(error)
    )
    colonnade.write_sql(data, in_postgres.uri, "t", dtype={"c": colonnade.lossy(name)})
    assert len(in_postgres.rows()) == 1


def test_durations_are_rounded_by_pandas(place: Place) -> None:
    frame = pd.DataFrame({"c": pd.to_timedelta([1_500], unit="ns")})
    error = refused(frame, place)
    if place.is_sqlite:
        assert "dt.total_seconds()" in str(error)
        colonnade.write_sql(frame.assign(c=frame["c"].dt.total_seconds()), place.uri, "t")
    else:
        assert 'dt.round("us")' in str(error) and "1500 ns" in str(error)
        colonnade.write_sql(frame.assign(c=frame["c"].dt.round("us")), place.uri, "t")
    assert len(place.rows()) == 1


def test_a_duration_beyond_mysql(in_mariadb: Place) -> None:
    frame = pd.DataFrame({"c": pd.to_timedelta([900], unit="h")})
    error = refused(frame, in_mariadb)
    assert "-838:59:59 to 838:59:59" in str(error) and "dt.total_seconds()" in str(error)
    colonnade.write_sql(frame.assign(c=frame["c"].dt.total_seconds()), in_mariadb.uri, "t")
    assert in_mariadb.rows() == [{"c": 3_240_000.0}]


def test_a_date_beyond_a_column(in_sqlite: Place) -> None:
    data = table([3_000_000], pa.date32())
    error = refused(data, in_sqlite)
    assert "the years 0 to 9999" in str(error) and 'dtype={…: "utf8"}' in str(error)


def test_more_digits_than_a_column_has(in_postgres: Place) -> None:
    in_postgres.execute("create table t (c timestamp(3))")
    data = table([1], pa.timestamp("us"))
    error = refused(data, in_postgres, if_exists="append")
    assert "1970-01-01 00:00:00.000001" in str(error) and "more digits of a second" in str(error)
    in_postgres.execute("alter table t alter c type timestamp(6)")
    colonnade.write_sql(data, in_postgres.uri, "t", if_exists="append")
    assert len(in_postgres.rows()) == 1


@pytest.mark.parametrize("value", [{"a": 1}, [[1], [2]]], ids=str)
def test_nested_values_become_json_texts(in_postgres: Place, value: Any) -> None:
    frame = pd.DataFrame({"c": [value]})
    error = refused(frame, in_postgres)
    assert error.sqlstate == "0A000" and "map(json.dumps)" in str(error)
    shown = "struct" if isinstance(value, dict) else "list(list(int64))"
    assert f'column "c": {shown} cannot be written' in str(error)
    colonnade.write_sql(frame.assign(c=frame["c"].map(json.dumps)), in_postgres.uri, "t")
    assert in_postgres.rows() == [{"c": json.dumps(value)}]


def test_a_map_becomes_json_texts(in_postgres: Place) -> None:
    data = table([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    error = refused(data, in_postgres)
    assert error.sqlstate == "0A000" and "map(json.dumps)" in str(error) and '"utf8"' not in str(error)
    frame = pd.DataFrame({"c": [json.dumps(dict(data["c"][0].as_py()))]})
    colonnade.write_sql(frame, in_postgres.uri, "t")
    assert in_postgres.rows() == [{"c": '{"a": 1}'}]


def test_an_interval_of_nanoseconds(in_postgres: Place) -> None:
    data = table([pa.MonthDayNano([1, 2, 1_500])], pa.month_day_nano_interval())
    error = refused(data, in_postgres)
    assert error.sqlstate == "22008" and "lossy(" not in str(error)
    colonnade.write_sql(table([pa.MonthDayNano([1, 2, 1_000])], data["c"].type), in_postgres.uri, "t")
    assert len(in_postgres.rows()) == 1


@pytest.mark.parametrize("target", ["in_sqlite", "in_mariadb"])
def test_types_that_a_database_lacks(request: pytest.FixtureRequest, target: str) -> None:
    place: Place = request.getfixturevalue(target)
    wide = table(["1.5"], pa.string()).cast(pa.schema([("c", pa.decimal256(76, 40))]))
    assert 'dtype={…: "utf8"}' in str(refused(wide, place))
    colonnade.write_sql(wide, place.uri, "t", dtype={"c": "utf8"})
    lists = pd.DataFrame({"c": [[1, 2]]})
    assert "map(json.dumps)" in str(refused(lists, place, if_exists="replace"))
    colonnade.write_sql(lists.assign(c=lists["c"].map(json.dumps)), place.uri, "t", if_exists="replace")
    assert place.rows() == [{"c": "[1, 2]"}]


def test_an_error_of_pyarrow_in_a_generator_is_one_of_this_package(in_sqlite: Place) -> None:
    def parts() -> Iterator[Any]:
        yield pa.table({"a": [1]})
        yield pa.table({"a": [1.5]}).cast(pa.schema([("a", pa.int64())]))

    error = refused(parts(), in_sqlite)
    assert isinstance(error, colonnade.DataError) and isinstance(error.__cause__, pa.ArrowInvalid)
    assert not in_sqlite.exists()


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_texts_go_into_jsonb(in_postgres: Place) -> None:
    in_postgres.execute("create table t (c jsonb, l jsonb[])")
    data = {"c": ['{"b": 1,  "a": [1.50, null]}', None], "l": [['"x"', None], None]}
    colonnade.write_sql(data, in_postgres.uri, "t", if_exists="append")
    read = in_postgres.table()
    assert read["c"].to_pylist() == ['{"a": [1.50, null], "b": 1}', None]
    assert read["l"].to_pylist() == [['"x"', None], None]
    # A table goes back into itself, and arrow.json too.
    colonnade.write_sql(read, in_postgres.uri, "t", if_exists="append")
    colonnade.write_sql(
        pa.table({"c": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1"]))}),
        in_postgres.uri,
        "t",
        if_exists="append",
    )
    assert in_postgres.table()["c"].to_pylist()[2:] == ['{"a": [1.50, null], "b": 1}', None, "1"]


def test_a_text_that_is_no_json_is_refused(in_postgres: Place) -> None:
    in_postgres.execute("create table t (c jsonb)")
    error = refused({"c": ["{}", "{"]}, in_postgres, if_exists="append")
    assert error.sqlstate == "22P02" and in_postgres.rows() == []


# --- values of Python and NumPy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "row", "shown"),
    [
        ([1, None, "x", 2], 3, "the str 'x'"),
        (["a", 1], 2, "the int 1"),
        ([{"a": 1}, "x"], 2, "the str 'x'"),
        ([1, 2**70], 2, "the int 1180591620717411303424"),
        ([1.5] * 3000 + ["x"] + [1.5] * 3000, 3001, "the str 'x'"),
    ],
    ids=["text", "number", "structs", "large", "far"],
)
@pytest.mark.parametrize("form", ["frame", "dict", "array"])
def test_a_mixed_column_names_its_row(in_sqlite: Place, form: str, values: list[Any], row: int, shown: str) -> None:
    series = pd.Series(values, dtype=object)
    data: Any = {"frame": pd.DataFrame({"a": 1, "c": series}), "dict": {"c": values}, "array": {"c": series.to_numpy()}}
    error = refused(data[form], in_sqlite)
    assert isinstance(error, colonnade.DataError) and f'column "c", row {row}: {shown}' in str(error)
    assert "one type" in str(error)
    colonnade.write_sql({"c": [str(value) for value in values]}, in_sqlite.uri, "t")
    assert in_sqlite.rows()[row - 1] == {"c": str(values[row - 1])}


def test_numpys_types_have_names(in_sqlite: Place) -> None:
    for data in ({"c": np.array([1j])}, pd.DataFrame({"c": np.array([1j])})):
        error = refused(data, in_sqlite)
        assert "complex128" in str(error) and "numpy type" not in str(error).lower()
    colonnade.write_sql({"c": np.array([1j]).astype(str)}, in_sqlite.uri, "t")
    assert in_sqlite.rows() == [{"c": "1j"}]
    error = refused({"c": np.array([(1, 2)], "i4,i4")}, in_sqlite, if_exists="replace")
    assert "i4" in str(error)


def test_numpys_strings_of_any_length(in_sqlite: Place) -> None:
    colonnade.write_sql({"c": np.array(["a\0b", "long" * 99], np.dtypes.StringDType())}, in_sqlite.uri, "t")
    assert [row["c"] for row in in_sqlite.rows()] == ["a\0b", "long" * 99]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [8, 60, 2000])
def test_a_damaged_file_is_an_error_that_names_it(in_sqlite: Place, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "damaged.parquet"
    pyarrow.parquet.write_table(pa.table({"a": range(10_000)}), path)
    whole = path.read_bytes()
    for damaged in (whole[:-cut], whole[:cut] + bytes(50) + whole[cut + 50 :]):
        path.write_bytes(damaged)
        error = refused(path, in_sqlite)
        assert isinstance(error, colonnade.DataError) and "damaged.parquet" in str(error)
        assert not in_sqlite.exists()
