"""Passes Arrow data to other libraries, which are imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from colonnade._errors import NotSupportedError
from colonnade._libraries import require

from . import gaps

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from colonnade._core import Batch


def table(data: Any) -> pa.Table:
    """A pyarrow.Table over the same memory."""
    pa = require("pyarrow", "to_arrow()")
    # pa.table() would import pandas.
    return pa.RecordBatchReader.from_stream(data).read_all()


def polars(data: Any) -> pl.DataFrame:
    """A DataFrame over the same memory, where polars' types allow that."""
    pl = require("polars", "to_polars()")
    # polars changes 24:00:00 to NULL, and does not check the multiplication of seconds for overflow.
    gaps.refuse(data, "polars", "cast the column to text in the query", midnight=True, seconds=True)
    try:
        return pl.DataFrame(data)
    except (pl.exceptions.PanicException, ValueError) as error:
        # The first is no Exception of Python's. polars raises either for types of ADBC drivers that it lacks.
        raise NotSupportedError(
            f"polars lacks a type of the result: {error}",
            hint="cast the column to text in the query, or use return_type 'arrow'",
        ) from error


def duckdb(table: pa.Table, connection: DuckDBPyConnection | None) -> DuckDBPyRelation:
    """A relation over the same memory, on this connection or on DuckDB's default connection."""
    module = require("duckdb", "to_duckdb()")
    return module.from_arrow(table) if connection is None else connection.from_arrow(table)


def dask(frame: Any, rows: int) -> Any:
    """A dask.dataframe in the frame's order, with at most `rows` rows in a partition."""
    dataframe = require("dask.dataframe", "return_type 'dask'")
    # Otherwise Dask makes text of every column of objects.
    with require("dask.config", "return_type 'dask'", "dask").set({"dataframe.convert-string": False}):
        return dataframe.from_pandas(frame, npartitions=max(1, -(-len(frame) // rows)), sort=False)


def modin(frame: Any) -> Any:
    """A modin.pandas.DataFrame."""
    return require("modin.pandas", "return_type 'modin'").DataFrame(frame)


def as_pyarrow(kind: Literal["record_batch", "chunked_array", "schema"], data: Any) -> Any:
    """A pyarrow object over the same memory, or without pyarrow `data` itself, which any Arrow library reads."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return data
    return getattr(pa, kind)(data)


def record_batch(batch: Batch, apart: frozenset[int]) -> Any:
    """A pyarrow.RecordBatch over the same memory. Some of its columns, by number, can be kept without the others: what
    is imported together is freed together."""
    made = as_pyarrow("record_batch", batch)
    if not apart:
        return made
    pa = require("pyarrow", "to_pandas()")
    columns = [
        pa.chunked_array(batch.column(index)).chunk(0) if index in apart else column
        for index, column in enumerate(made.columns)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=made.schema)
