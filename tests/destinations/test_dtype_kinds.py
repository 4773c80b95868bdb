"""`dtype` by kinds of columns."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import colonnade
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

QUERY = """
    select 'a' || i % 2 as s, 'b' as t, ('x' || i)::blob as y, i % 2 = 0 as b, i as n, i::tinyint as m,
        i / 2.0::float as f, (i / 10.0)::decimal(9, 2) as d, date '2020-01-01' as day,
        timestamp '2020-01-01 00:00:01' as at, time '01:02:03' as o, ['l'] as l, '101'::bit as bits,
        ['u', 'v'][i % 2 + 1]::enum('u', 'v', 'w') as e
    from range(5) as r(i)
"""


@pytest.fixture
def connection() -> Iterator[colonnade.Connection]:
    with colonnade.connect("duckdb:///:memory:") as connection:
        yield connection


def types(connection: colonnade.Connection, dtype: Any) -> dict[str, pa.DataType]:
    schema = connection.query(QUERY, dtype=dtype).to_arrow().schema
    return dict(zip(schema.names, schema.types, strict=True))


def test_each_kind_has_its_columns(connection: colonnade.Connection) -> None:
    plain = types(connection, None)
    kinds: dict[Any, tuple[str, pa.DataType, str]] = {
        str: ("utf8_view", pa.string_view(), "s t e"),
        bytes: ("binary_view", pa.binary_view(), "y"),
        bool: ("int8", pa.int8(), "b"),
        int: ("int32", pa.int32(), "n m"),
        float: ("float64", pa.float64(), "f"),
        Decimal: ("decimal(18, 2)", pa.decimal128(18, 2), "d"),
        datetime.date: ("timestamp(s)", pa.timestamp("s"), "day"),
        datetime.datetime: ("timestamp(ms)", pa.timestamp("ms"), "at"),
        datetime.time: ("time64(ns)", pa.time64("ns"), "o"),
    }
    for kind, (name, expected, columns) in kinds.items():
        changed = dict.fromkeys(columns.split(), expected)
        assert types(connection, {kind: name}) == plain | changed
    every = {kind: name for kind, (name, _, _) in kinds.items()}
    changed = {column: expected for _, expected, columns in kinds.values() for column in columns.split()}
    assert types(connection, every) == plain | changed


def test_a_name_counts_more_than_a_kind(connection: colonnade.Connection) -> None:
    found = types(connection, {"t": "large_utf8", str: "dictionary", "n": "int16"})
    assert (found["s"], found["t"], found["n"]) == (
        pa.dictionary(pa.int32(), pa.string()),
        pa.large_string(),
        pa.int16(),
    )


def test_texts_have_the_same_values_in_each_form(uri: str, connection: colonnade.Connection) -> None:
    """`uri` is a server's, which sends texts as numbers of entries."""
    query = """
        select case when i % 7 > 0 then 'name ' || i % 11 end as few, 'a longer text, number ' || i as many,
            case when i % 3 > 0 then repeat('ä', (i % 20)::int) end as some, '' as none, null::varchar as nothing
        from range(50000) as r(i)
    """
    with colonnade.connect(uri) as server:
        for place in (server, connection):
            plain = place.query(query).to_arrow()
            for form in ("utf8_view", "dictionary", "dictionary(int16, utf8)", "large_utf8"):
                if "int16" in form:
                    made = place.query(query, dtype={"few": form}).to_arrow()
                    assert made["few"].type == pa.dictionary(pa.int16(), pa.string())
                else:
                    made = place.query(query, dtype={str: form}).to_arrow()
                made.validate(full=True)
                assert made.cast(plain.schema).equals(plain)
            for chunk in place.query(query, dtype={str: "dictionary"}).to_arrow()["few"].chunks:
                assert len(chunk.dictionary) == 11 and chunk.dictionary.null_count == 0
            frame = place.query(query).to_polars()
            assert frame.equals(pl.DataFrame(plain)) and set(frame.dtypes) == {pl.String}
            assert colonnade.read_sql(place, query, return_type="polars").equals(frame)


def test_pandas_has_categories_by_kind(connection: colonnade.Connection) -> None:
    frame = colonnade.read_sql(connection, QUERY, dtype={str: "category", int: "int16"})
    assert [frame[name].dtype for name in ("s", "t", "e")] == [
        pd.CategoricalDtype(kind) for kind in (["a0", "a1"], ["b"], ["u", "v"])
    ]
    assert frame["n"].dtype == frame["m"].dtype == "int16" and frame["f"].dtype == "float64"
    assert frame["s"].tolist() == ["a0", "a1", "a0", "a1", "a0"]


def test_what_is_no_kind_is_refused(connection: colonnade.Connection) -> None:
    wrong: Any = {list: "utf8"}
    with pytest.raises(
        colonnade.InterfaceError, match=r"<class 'list'>.*names of columns, or kinds of columns \(str, "
    ):
        connection.query(QUERY, dtype=wrong)
    with pytest.raises(colonnade.InterfaceError, match="several columns are named 'a' and are of different kinds"):
        connection.query("select 1 as a, 'x' as a", dtype={int: "int8"})
    assert connection.query("select 1 as a, 2 as a", dtype={int: "int8"}).to_arrow().schema.types == [pa.int8()] * 2


def test_lazy_frames_and_plans_take_kinds(uri: str) -> None:
    frame = colonnade.scan_sql(uri, "select i as n, 'a' || i as s from range(10) as r(i)", dtype={int: "int16"})
    assert frame.filter(pl.col("n") > 7).collect()["n"].to_list() == [8, 9]
    assert frame.collect_schema()["n"] == pl.Int16
    with colonnade.plan(uri, "select i as n, 'a' || i as s from range(10) as r(i)", dtype={str: "dictionary"}) as plan:
        assert plan.schema.field("s").type == pa.dictionary(pa.int32(), pa.string())
        part = plan.parts[0].read("arrow", columns=["s"])
        assert part["s"].to_pylist()[:2] == ["a0", "a1"] and part.schema.field("s").type == plan.schema.field("s").type
