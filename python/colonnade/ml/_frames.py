"""Frames of this process as the columns that the functions' parts take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade._libraries import require


def columns_of(rows: Any) -> dict[str, Any]:
    """The columns of a frame or a table (anything with Arrow's stream interface), of arrays by names, or of a matrix,
    whose columns are `x0`, `x1` and so on. NULLs are masked."""
    numpy = require("numpy", "colonnade.ml")
    if isinstance(rows, numpy.ndarray):
        if rows.ndim != 2:
            raise ValueError(f"the rows are an array with {rows.ndim} dimensions: give a matrix, or a frame")
        return {f"x{at}": rows[:, at] for at in range(rows.shape[1])}
    if isinstance(rows, Mapping):
        return {str(name): numpy.asanyarray(column) for name, column in rows.items()}
    if not hasattr(rows, "__arrow_c_stream__"):
        raise TypeError(
            f"the rows are a {type(rows).__name__}: give a frame, a table, a matrix, or arrays by their names"
        )
    table = require("pyarrow", "colonnade.ml").table(rows)
    return {name: column_of(table.column(name)) for name in table.column_names if name != "__index_level_0__"}


def column_of(column: Any) -> Any:
    """A column of Arrow as an array, masked where it is NULL."""
    numpy = require("numpy", "colonnade.ml")
    pa = require("pyarrow", "colonnade.ml")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if is_plain or pa.types.is_boolean(kind):
        nulls = column.is_null().to_numpy() if column.null_count else None
        if nulls is None:
            return column.to_numpy()
        if pa.types.is_temporal(kind):
            return numpy.ma.MaskedArray(column.to_numpy(), nulls)
        values = column.fill_null(pa.scalar(0).cast(kind)).to_numpy()
        return numpy.ma.MaskedArray(values, nulls)
    items = column.to_pylist()
    found = numpy.empty(len(items), object)
    found[:] = items
    if column.null_count:
        return numpy.ma.MaskedArray(found, [item is None for item in items])
    return found
