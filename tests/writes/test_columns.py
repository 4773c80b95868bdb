"""Values of Python, NumPy, pandas and polars as data: pyarrow and polars would change some of them silently."""

from __future__ import annotations

import datetime as dt
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.writes.places import Place

UTC = dt.UTC


def objects(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(values, dtype=object)})


CHANGED: dict[str, tuple[Any, str]] = {
    "a datetime among dates": (objects(dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5)), "row 2: the datetime"),
    "in a list": ({"c": [dt.date(2024, 1, 1), None, dt.datetime(2024, 1, 1, 5)]}, "row 3: the datetime"),
    "in an array": ({"c": np.array([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5)], object)}, "row 2: the datetime"),
    "in an iterable": (
        {"c": {1: dt.date(2024, 1, 1), 2: dt.datetime(2024, 1, 1, 5)}.values()},
        "row 2: the datetime",
    ),
    "within lists": (objects([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5)]), "row 1: the list"),
    "in the second list": ({"c": [[dt.time(1)], [dt.time(1, tzinfo=UTC)]]}, "row 2: the list"),
    "NaN and missing within lists": (objects([1.0], [np.nan], [pd.NA]), "row 2: the list"),
    "nanoseconds": (objects(pd.Timestamp("2024-01-01 00:00:00.000000001")), "row 1: the Timestamp"),
    "nanoseconds of a duration": (objects(pd.Timedelta(1)), "row 1: the Timedelta"),
    "a year of pandas": (objects(pd.Timestamp(np.datetime64("20000-03-01", "s"))), "row 1: the Timestamp"),
    "with and without a zone": (objects(dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1)), "row 2"),
    "without and with a zone": (objects(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC)), 'column "c"'),
    "a time with a zone": (objects(dt.time(1, tzinfo=UTC)), "row 1: the time"),
    "a text among bytes": (objects(b"a", "b"), "row 2: the str"),
    "a set": (objects({1}), "row 1: the set"),
    "a number among texts": (objects("a", 1), 'column "c"'),
    "more than 64 bits": (objects(1, 2**63), 'column "c"'),
    "a surrogate": (objects("\ud800"), 'column "c"'),
    "second of two": (pd.DataFrame({"a": [1], "c": pd.Series([1j], dtype=object)}), 'column "c"'),
}


@pytest.mark.parametrize("which", CHANGED)
def test_a_value_that_would_change_is_an_error(in_postgres: Place, which: str) -> None:
    data, message = CHANGED[which]
    with pytest.raises(colonnade.DataError, match=message):
        colonnade.write_sql(data, in_postgres.uri, "t")
    assert not in_postgres.exists()


def test_the_row_is_counted_in_all_rows(in_postgres: Place) -> None:
    values = [dt.date(2024, 1, 1)] * 50_000
    with pytest.raises(colonnade.DataError, match="row 50001"):
        colonnade.write_sql(objects(*values, dt.datetime(2024, 1, 1, 5)), in_postgres.uri, "t")


LACKED: dict[str, tuple[Any, str]] = {
    "period": (pd.DataFrame({"c": pd.period_range("2024", periods=2, freq="M")}), "pandas.period"),
    "interval": (pd.DataFrame({"c": pd.interval_range(0, 2)}), "pandas.interval"),
    "period of arrow": (pa.Table.from_pandas(pd.DataFrame({"c": pd.period_range("2024", periods=1)})), "pandas.period"),
    "complex": ({"c": np.array([1j])}, "complex|numpy"),
    "steps": ({"c": np.array(["2024-01-01T00:00:02"], "M8[2s]")}, r'astype\("M8\[s\]"\)'),
    "steps of durations": ({"c": np.array([4], "m8[2s]")}, r'astype\("m8\[s\]"\)'),
    "objects of polars": (pl.DataFrame({"c": pl.Series([object()], dtype=pl.Object)}), "objects"),
    "objects of a lazy frame": (pl.DataFrame({"c": pl.Series([object()], dtype=pl.Object)}).lazy(), "objects"),
    "128 bits": (pl.DataFrame({"c": pl.Series([1], dtype=pl.Int128)}), "128 bits"),
    "128 bits within": (pl.DataFrame({"c": pl.Series([[1]], dtype=pl.List(pl.Int128))}), "128 bits"),
}


@pytest.mark.parametrize("which", LACKED)
def test_a_type_that_arrow_lacks_is_refused_by_name(in_duckdb: Place, which: str) -> None:
    data, message = LACKED[which]
    with pytest.raises(colonnade.NotSupportedError, match=rf'column "c".*({message})') as caught:
        colonnade.write_sql(data, in_duckdb.uri, "t")
    assert caught.value.sqlstate == "0A000" and not in_duckdb.exists()


KEPT: dict[str, tuple[Any, list[Any]]] = {
    "a NUL in a text": ({"c": np.array(["a\0b", "c"])}, ["a\0b", "c"]),
    "a NUL in bytes": ({"c": np.array([b"a\0b", b"c"])}, [b"a\0b", b"c"]),
    "masked texts": ({"c": np.ma.masked_array(["a", "b"], [True, False])}, [None, "b"]),
    "the other byte order": ({"c": np.array([1, 256], ">i4")}, [1, 256]),
    "NaN within lists": (objects([1.0, None], None, [np.nan, 2.0]), [[1.0, None], None, [repr(np.nan), 2.0]]),
    "missing within a list": (objects([1, pd.NA]), [[1, None]]),
    "lists of datetimes": (objects([dt.datetime(2024, 1, 1), None]), [[dt.datetime(2024, 1, 1), None]]),
    "lists of lists": ({"c": [[["a"], None, []], None]}, [[["a"], None, []], None]),
    "lists of one length": (objects([1, 2], [3, 4]), [[1, 2], [3, 4]]),
    "a range": ({"c": range(3)}, [0, 1, 2]),
    "a series of polars": ({"c": pl.Series([1, None])}, [1, None]),
    "an index of pandas": ({"c": pd.Index([1, 2])}, [1, 2]),
    "arrays": (objects(np.array([1, 2]), np.array([3])), [[1, 2], [3]]),
    "missing of each kind": (objects("a", None, np.nan, pd.NA, pd.NaT), ["a", None, None, None, None]),
    "integers with NaN": (objects(2**60 + 1, np.nan), [2**60 + 1, None]),
    "zones": (
        objects(
            dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5)))
        ),
        [dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2023, 12, 31, 19, tzinfo=UTC)],
    ),
    "timestamps of pandas": (objects(pd.Timestamp("2024-01-01"), pd.NaT), [dt.datetime(2024, 1, 1), None]),
    "NULL of polars": (pl.DataFrame({"c": [None, None]}), [None, None]),
    "a column of structs": (pl.Series("s", [{"c": 1}]), [1]),
}


@pytest.mark.parametrize("which", KEPT)
def test_a_value_is_kept(in_duckdb: Place, which: str) -> None:
    data, expected = KEPT[which]
    colonnade.write_sql(data, in_duckdb.uri, "t")
    kept = in_duckdb.table()["c"].to_pylist()
    named = [[repr(item) if item != item else item for item in row] if isinstance(row, list) else row for row in kept]
    assert named == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pl.Series("c", [1]), "one column"),
        (pd.Series([1]), "one column"),
        (pa.chunked_array([[1]]), "one column"),
        (pd.DataFrame([[1, 2]], columns=["c", "c"]), 'two columns "c"'),
        ({"c": [1], "d": [1, 2]}, "different lengths"),
        ({"c": {1, 2}}, '"c" is of type set'),
        ({"c": "text"}, '"c" is of type str'),
        ({"c": b"bytes"}, '"c" is of type bytes'),
        ({"c": 1}, '"c" is of type int'),
        ([{"c": 1}], r"rows as dicts, pyarrow.Table.from_pylist\(rows\)"),
        ([(1, 2)], "a tuple.*\n.*pandas.DataFrame"),
        (np.zeros((2, 2)), "a ndarray.*\n.*pandas.DataFrame"),
        ({1: [1]}, "must be a text"),
        ({"a\0b": [1]}, "NUL"),
        (pd.DataFrame({"a\0b": [1]}), "NUL"),
        (pl.DataFrame({"a\0b": [1]}), "NUL"),
        (pa.table({"a\0b": [1]}), "NUL"),
    ],
)
def test_data_that_is_no_table_is_refused(in_duckdb: Place, data: Any, message: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match=message):
        colonnade.write_sql(data, in_duckdb.uri, "t")
    assert not in_duckdb.exists()
