"""Dates and times of SQLite files in forms that their columns do not announce: as text, and as pandas parses them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import colonnade
import pandas as pd
import pandas.testing
import polars as pl
import pyarrow as pa
import pytest

from tests.support.sqlite_files import make

#: Declared type, stored values.
STORED: dict[str, tuple[str, list[Any]]] = {
    "zulu": ("DATETIME", ["2024-01-01T10:00:00Z", None, "2024-06-01T10:00:00.5Z"]),
    "offset": ("TIMESTAMP", ["2024-01-01 10:00:00+02:00", "2024-01-01 11:00:00+02:00", None]),
    "plain": ("DATETIME", ["2024-01-01 10:00", "2024-01-01 10:00:00", None]),
    "epoch": ("DATETIME", [1700000000, None, 0]),
    "fraction": ("TIMESTAMP", [1700000000.5, 1.25, None]),
    "julian": ("DATE", [2460000.5, None, 2460001.5]),
    "european": ("DATE", ["31.01.2024", "01.02.2024", None]),
    "day": ("DATE", ["2024-01-31", None, "2024-02-01"]),
    "unzoned": ("TIMESTAMPTZ", ["2024-01-01 10:00:00", None, "2024-01-02 10:00:00"]),
    "absent": ("DATETIME", [None, None, None]),
    "amount": ("DECIMAL(5,2)", [1.5, 2, None]),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dates") / "a.db"
    columns = ", ".join(f"{name} {declared}" for name, (declared, _) in STORED.items())
    rows = list(zip(range(3), *(values for _, values in STORED.values()), strict=True))
    make(path, f"create table t (id INTEGER primary key, {columns})", "t", rows)
    return path


@pytest.mark.filterwarnings("ignore")  # pandas warns of formats that it guesses, and of formats for numbers
@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("how", [None, "%d.%m.%Y", "s", {"utc": True, "errors": "coerce"}], ids=str)
def test_pandas_parses_what_is_stored(place: Path, name: str, how: Any) -> None:
    query = f"select id, {name} from t order by id"
    dates = [name] if how is None else {name: how}
    with closing(sqlite3.connect(place)) as connection:
        # pandas 2 removes entries from the dictionary.
        expected = pd.read_sql(query, connection, parse_dates=deepcopy(dates))
    found = colonnade.read_sql(f"sqlite:///{place}", query, parse_dates=dates)
    pandas.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_parts_and_lists_of_queries(place: Path) -> None:
    conn, query = f"sqlite:///{place}", "select id, zulu, epoch from t"
    whole = colonnade.read_sql(conn, query, parse_dates=["zulu", "epoch", "no such column"])
    parts = colonnade.read_sql(conn, query, parse_dates=["zulu", "epoch"], partition_on="id", partition_num=2)
    pandas.testing.assert_frame_equal(parts.sort_values("id", ignore_index=True), whole)
    queries = [query, query]
    assert len(colonnade.read_sql(conn, queries, parse_dates=["zulu", "epoch"])) == 6
    assert whole["zulu"].tolist()[0] == pd.Timestamp("2024-01-01 10:00:00", tz="UTC")
    assert whole["epoch"].tolist()[0] == pd.Timestamp("2023-11-14 22:13:20")


@pytest.mark.parametrize("text", [str, "utf8", "string", pa.large_string(), pl.String, pd.StringDtype()], ids=repr)
@pytest.mark.parametrize("name", [name for name in STORED if name != "amount"])
def test_a_column_asked_for_as_text_is_the_text_that_is_stored(place: Path, name: str, text: Any) -> None:
    _, values = STORED[name]
    conn, query = f"sqlite:///{place}", f"select {name} from t order by id"
    expected = [None if value is None else str(value) for value in values]
    for dtype in ({name: text}, text):
        table = colonnade.read_sql(conn, query, dtype=dtype, return_type="arrow")
        assert table.column(0).to_pylist() == expected
    frame = colonnade.read_sql(conn, query, dtype={name: text})
    assert [None if pd.isna(value) else value for value in frame[name]] == expected
    if not pl.__version__.startswith("1."):
        assert colonnade.scan_sql(conn, query, dtype={name: text}).collect()[name].to_list() == expected


def test_text_of_several_kinds(tmp_path: Path) -> None:
    values = ["2024-01-01T10:00:00Z", 1700000000, 1.5, "soon"]
    conn = make(tmp_path / "a.db", "create table t (v DATETIME)", "t", [(value,) for value in values])
    table = colonnade.read_sql(conn, "select v from t", dtype={"v": "utf8"}, return_type="arrow")
    assert table.column(0).to_pylist() == list(map(str, values))


def test_other_types_are_converted(place: Path) -> None:
    """Only dates and times lack a type in SQLite."""
    query = "select amount from t order by id"
    table = colonnade.read_sql(f"sqlite:///{place}", query, dtype={"amount": "utf8"}, return_type="arrow")
    assert table.column(0).to_pylist() == ["1.50", "2.00", None]


def test_an_error_names_a_way_that_works(place: Path) -> None:
    conn, query = f"sqlite:///{place}", "select zulu from t where id = 0"
    with pytest.raises(colonnade.DataError, match='column "zulu", row 1') as caught:
        colonnade.read_sql(conn, query)
    assert caught.value.hint is not None
    assert 'as_text=["zulu"]' in caught.value.hint and 'parse_dates=["zulu"]' in caught.value.hint
    assert list(colonnade.read_sql(conn, query, as_text=["zulu"])["zulu"]) == ["2024-01-01T10:00:00Z"]
    parsed = colonnade.read_sql(conn, query, parse_dates=["zulu"])["zulu"].tolist()
    assert parsed == [pd.Timestamp("2024-01-01 10:00:00", tz="UTC")]
