"""Frames of this process as the columns that the functions' parts take: arrays of pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade._libraries import require


def columns_of(rows: Any) -> dict[str, Any]:
    """The columns of a frame or a table (anything with Arrow's stream interface), of arrays by names, or of a matrix,
    whose columns are `x0`, `x1` and so on. What NumPy has masked is NULL."""
    numpy = require("numpy", "colonnade.ml")
    pa = require("pyarrow", "colonnade.ml")
    if isinstance(rows, numpy.ndarray):
        if rows.ndim != 2:
            raise ValueError(f"the rows are an array with {rows.ndim} dimensions: give a matrix, or a frame")
        return {f"x{at}": pa.array(rows[:, at]) for at in range(rows.shape[1])}
    if isinstance(rows, Mapping):
        return {str(name): array_of(column) for name, column in rows.items()}
    if not hasattr(rows, "__arrow_c_stream__"):
        raise TypeError(
            f"the rows are a {type(rows).__name__}: give a frame, a table, a matrix, or arrays by their names"
        )
    table = pa.table(rows)
    return {name: array_of(table.column(name)) for name in table.column_names if name != "__index_level_0__"}


def array_of(column: Any) -> Any:
    """A column of NumPy or Arrow as one array of pyarrow. Categories become values."""
    numpy = require("numpy", "colonnade.ml")
    pa = require("pyarrow", "colonnade.ml")
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        column = numpy.asanyarray(column)
        mask = numpy.ma.getmaskarray(column) if isinstance(column, numpy.ma.MaskedArray) else None
        column = pa.array(numpy.ma.getdata(column), mask=mask)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column
