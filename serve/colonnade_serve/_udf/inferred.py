"""The SQL types of a table whose columns the function decides: `RETURNS TABLE(*)`."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import numpy as np

from . import arrow_results, inbound
from .failures import wrong_result
from .results import nulls_of
from .times import is_arrow_interval

#: A type's SQL name, and its description as in `serve/udf/src/description.rs`.
Inferred = tuple[str, list[Any]]

SQL_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
TIMESTAMPS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
TEXT: Inferred = ("VARCHAR", ["text"])
#: The types of Python's values, in the order in which they are tried: a bool is an int, and a datetime a date.
OBJECTS: tuple[tuple[tuple[type, ...], Inferred], ...] = (
    ((bool, np.bool_), ("BOOLEAN", ["bool"])),
    ((str,), TEXT),
    ((bytes, bytearray, memoryview), ("BLOB", ["blob"])),
    ((uuid.UUID,), ("UUID", ["uuid"])),
    ((datetime.datetime, np.datetime64), ("TIMESTAMP", ["timestamp", "us"])),
    ((datetime.date,), ("DATE", ["date"])),
    ((datetime.time,), ("TIME", ["time"])),
    ((datetime.timedelta, np.timedelta64), ("INTERVAL", ["interval"])),
)
INTEGERS = (int, np.integer)
FLOATS = (float, np.floating)
#: The types of columns of pyarrow that have their layout, by Arrow's names. BOOLEAN has another layout.
ARROW_TYPES: dict[str, Inferred] = {
    **{
        kind: (SQL_NAMES[np.dtype(dtype).name], [np.dtype(dtype).name])
        for kind, dtype in arrow_results.ARROW_NUMBERS.items()
        if kind != "bool"
    },
    **dict.fromkeys(arrow_results.TEXTS, TEXT),
    **dict.fromkeys(arrow_results.BLOBS, ("BLOB", ["blob"])),
    "date32[day]": ("DATE", ["date"]),
    "time64[us]": ("TIME", ["time"]),
    **{f"timestamp[{unit}]": (name, ["timestamp", unit]) for unit, name in TIMESTAMPS.items()},
}


def arrow_type(column: Any) -> Inferred | None:
    """The type of a column of pyarrow that can be copied as it is. None for any other column."""
    return ARROW_TYPES.get(str(column.type)) if arrow_results.is_column(column) else None


def sql_type(found: np.ndarray, name: str, depth: int = 0) -> Inferred:
    """The type of a column. NULLs have none; a column of NULLs is a text."""
    kind = found.dtype.kind
    if found.dtype.name in SQL_NAMES:
        return SQL_NAMES[found.dtype.name], [found.dtype.name]
    if kind == "M":
        unit = np.datetime_data(found.dtype)[0]
        if unit in TIMESTAMPS:
            return TIMESTAMPS[unit], ["timestamp", unit]
        return ("DATE", ["date"]) if unit in "YMWD" else ("TIMESTAMP_S", ["timestamp", "s"])
    if kind == "m" or found.dtype.names == inbound.INTERVAL.names:
        return "INTERVAL", ["interval"]
    if kind in "UST":
        return TEXT
    if kind == "O":
        return of_objects(found.tolist(), name, depth)
    raise wrong_result(f'column "{name}": no SQL type is that of {found.dtype}')


def of_objects(items: list[Any], name: str, depth: int) -> Inferred:
    nulls = nulls_of(items)
    values = items if nulls is None else [item for item, null in zip(items, nulls.tolist(), strict=True) if not null]
    if not values:
        return TEXT
    for types, inferred in OBJECTS:
        if all(isinstance(value, types) for value in values):
            zones = {getattr(value, "tzinfo", None) is not None for value in values}
            if types[0] is datetime.datetime and True in zones:
                if False in zones:
                    raise wrong_result(f'column "{name}": some times have a time zone, and others have none')
                return "TIMESTAMP WITH TIME ZONE", ["timestamp", "us", "UTC"]
            return inferred
    if not any(isinstance(value, (bool, np.bool_)) for value in values):
        if all(isinstance(value, INTEGERS) for value in values):
            is_small = all(-(2**63) <= value < 2**63 for value in values)
            return ("BIGINT", ["int64"]) if is_small else ("HUGEINT", ["int128"])
        if all(isinstance(value, (*INTEGERS, *FLOATS)) for value in values):
            return "DOUBLE", ["float64"]
        if all(isinstance(value, (*INTEGERS, decimal.Decimal)) for value in values):
            return of_decimals(values, name)
    if all(map(is_arrow_interval, values)):
        return "INTERVAL", ["interval"]
    if depth < 8 and all(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        item, description = of_items(values, name, depth)
        return f"{item}[]", ["list", description]
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise wrong_result(f'column "{name}": no SQL type is that of {kinds}; declare the columns in RETURNS TABLE')


def of_items(rows: list[Any], name: str, depth: int) -> Inferred:
    """The type of the items of lists."""
    dtypes = {row.dtype if isinstance(row, np.ndarray) and row.ndim == 1 else None for row in rows}
    if len(dtypes) == 1 and None not in dtypes:
        return sql_type(np.concatenate([np.asarray(row) for row in rows]), name, depth + 1)
    items = [item for row in rows for item in row]
    column = np.empty(len(items), object)
    for at, item in enumerate(items):
        column[at] = item
    return sql_type(column, name, depth + 1)


def of_decimals(values: list[Any], name: str) -> Inferred:
    """A decimal with as many digits behind the point as any value has."""
    scale = 0
    for value in values:
        if isinstance(value, decimal.Decimal) and value.is_finite():
            exponent = value.as_tuple().exponent
            assert isinstance(exponent, int)
            scale = max(scale, -exponent)
    if scale > 38:
        raise wrong_result(f'column "{name}": a decimal has {scale} digits behind the point, and 38 are possible')
    return f"DECIMAL(38,{scale})", ["decimal", 38, scale]
