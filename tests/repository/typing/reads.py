"""What a type checker is to know of `read_sql` and of a result: `test_typing.py` has pyright read this."""

from collections.abc import Iterator
from typing import Any, assert_type

import colonnade
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from colonnade import lossy, read_sql, read_sql_query, read_sql_table
from duckdb import DuckDBPyRelation

uri = "duckdb:///:memory:"

assert_type(read_sql(uri, "select 1"), pd.DataFrame)
assert_type(read_sql("select 1", con=uri), pd.DataFrame)
assert_type(read_sql(uri, "select 1", return_type="pandas", index_col="a"), pd.DataFrame)
assert_type(read_sql(uri, "select 1", chunksize=10), Iterator[pd.DataFrame])
assert_type(read_sql(uri, "select 1", return_type="arrow", dtype={"a": "int32"}), pa.Table)
assert_type(read_sql(uri, ["select 1", "select 2"], return_type="arrow"), pa.Table)
assert_type(read_sql(uri, "select 1", return_type="arrow_stream"), pa.RecordBatchReader)
assert_type(read_sql(uri, "select 1", return_type="polars"), pl.DataFrame)
assert_type(read_sql(uri, "select 1", return_type="numpy"), dict[str, np.ndarray[tuple[Any, ...], np.dtype[Any]]])
assert_type(read_sql(uri, "select 1", return_type="duckdb"), DuckDBPyRelation)

assert_type(read_sql_query("select 1", uri), pd.DataFrame)
assert_type(read_sql_query("select 1", uri, "a", chunksize=10), Iterator[pd.DataFrame])
assert_type(read_sql_query("select 1", uri, return_type="arrow"), pa.Table)
assert_type(read_sql_table("t", uri, columns=["a"]), pd.DataFrame)
assert_type(read_sql_table("t", uri, return_type="polars"), pl.DataFrame)

read_sql(uri, "select 1", dtype={"a": pa.int32(), "b": np.dtype("int8"), "c": pd.Int64Dtype(), "d": int})
read_sql(uri, "select 1", dtype={"a": pl.Int8, "b": pl.Decimal(3, 1), "c": pd.CategoricalDtype([1, 2])})
read_sql(uri, "select 1", dtype={"a": lossy("int32")})
read_sql(uri, "select 1", dtype=object)

connection = colonnade.connect(uri)
result = connection.query("select $1 as a", [1], as_text=["a"])
assert_type(result.schema, pa.Schema)
assert_type(result.column_names, list[str])
assert_type(result.column("a"), pa.ChunkedArray)
assert_type(result.to_arrow(), pa.Table)
assert_type(result.to_pandas(), pd.DataFrame)
assert_type(result.to_polars(), pl.DataFrame)
assert_type(result.stats.rows, int)
for batch in result:
    assert_type(batch, pa.RecordBatch)
assert_type(connection.execute("select 1"), int | None)

# What is wrong: each line must be an error.
read_sql(uri, "select 1", return_type="nothing")  # pyright: ignore[reportCallIssue, reportArgumentType]
read_sql(uri, "select 1", foo=1)  # pyright: ignore[reportCallIssue]
read_sql(uri, "select 1", return_type="arrow", chunksize=1)  # pyright: ignore[reportCallIssue, reportArgumentType]
connection.query("select 1", parallel=3)  # pyright: ignore[reportArgumentType]
read_sql(uri, "select 1", dtype={"a": 3})  # pyright: ignore[reportArgumentType]
read_sql_query("select 1", uri, foo=1)  # pyright: ignore[reportCallIssue]
