"""One order for the rows of a table, whatever order they arrived in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def in_order(table: pa.Table) -> pa.Table:
    """The rows sorted by all columns from left to right, so that two tables with the same rows become the same table.

    Args:
        table: Its columns have no dictionaries.
    """
    if table.num_rows < 2 or table.num_columns == 0:
        return table
    names = [str(number) for number in range(table.num_columns)]
    keys = pa.table([_key(column) for column in table.columns], names=names)
    order = pc.call_function("sort_indices", [keys], pc.SortOptions([(name, "ascending") for name in names]))
    return table.take(order)


def _key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """What to sort the column by: different values have different keys."""
    kind = column.type
    if pa.types.is_floating(kind):
        # As floats, 0.0 is equal to -0.0, and all NaN are equal.
        bits = pa.from_numpy_dtype(np.dtype(f"int{kind.bit_width}"))
        return pa.chunked_array([_bits(chunk, bits) for chunk in column.chunks], type=bits)
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column), pa.int8())])
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return pa.chunked_array([[repr(value) for value in column.to_pylist()]], type=pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        storage: Any = [chunk.storage for chunk in column.chunks]
        return _key(pa.chunked_array(storage, type=kind.storage_type))
    return column


def _bits(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    """The bits of floats as integers."""
    try:
        return chunk.view(kind)
    except (pa.ArrowInvalid, NotImplementedError):
        values = chunk.fill_null(0).to_numpy(zero_copy_only=False).view(str(kind))
        return pa.array(values, kind, mask=chunk.is_null().to_numpy(zero_copy_only=False))
