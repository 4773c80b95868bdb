"""Arrow columns as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from . import gaps
from .values import of_column, require_names


def arrays(held: list[pa.Table]) -> dict[str, np.ndarray]:
    """An array for each column of the only table in the list. The table is removed from the list to free its memory."""
    table = held.pop()
    # Nested values become Python objects.
    way_out = "cast the column to text in the query, or use return_type 'arrow'"
    gaps.refuse(table, "Python", way_out, midnight=True, years=gaps.PYTHON_YEARS, only_nested=True)
    names, columns = table.column_names, list(table.columns)
    del table
    require_names("a dict of arrays", names)
    made: dict[str, Any] = {}
    for index, name in enumerate(names):
        column, columns[index] = columns[index], None
        made[name] = _array(name, column)
        del column
    return made


def _array(name: str, column: pa.ChunkedArray) -> Any:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _maybe_masked(column)
    if pa.types.is_date32(kind):
        return _moments(column, "datetime64[D]")
    if pa.types.is_date64(kind):
        return _moments(column, "datetime64[ms]")
    if pa.types.is_timestamp(kind):
        return _moments(column, f"datetime64[{kind.unit}]")
    if pa.types.is_time(kind):
        # Not Python's times, which lack 24:00:00, and are slow as objects.
        return _moments(column, f"timedelta64[{kind.unit}]")
    made = np.empty(len(column), dtype=object)
    row = 0
    for chunk in column.chunks:
        # One by one, because NumPy reads lists as further dimensions.
        for value in of_column(name, chunk):
            made[row] = value
            row += 1
    return made


def _maybe_masked(column: pa.ChunkedArray) -> Any:
    """A masked array if there are NULLs. No number represents NULL, not even NaN."""
    if column.null_count == 0:
        values = column.to_numpy()
        return values if values.flags.writeable else values.copy()
    values = column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy()
    return np.ma.MaskedArray(values, mask=column.is_null().to_numpy())


def _moments(column: pa.ChunkedArray, dtype: str) -> Any:
    """Dates, timestamps or times. NULL is NaT: the smallest number of 64 bits, which no value has."""
    integer = pa.int32() if column.type.bit_width == 32 else pa.int64()
    whole = column.cast(integer).cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
    values = whole.to_numpy()
    return (values if values.flags.writeable else values.copy()).view(dtype)
