"""What a function may return for a column, as an array and a mask of its NULLs."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import arrow_results
from .failures import wrong_result

TIMES = (datetime.date, datetime.time, datetime.timedelta)
#: Values that stand for the whole column.
SINGLE = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    np.generic,
    *TIMES,
    dict,
)

#: Values of which nobody knows which one is the first.
UNORDERED = (set, frozenset)

Column = tuple[np.ndarray, np.ndarray | None]


def column(result: Any, rows: int | None, *, items: bool = False) -> Column:
    """A returned column with this number of rows. A single value is repeated. `items`: each row is itself a sequence or
    a dict, so a list is never taken for a table."""
    found, mask = array(result, rows, items=items)
    if rows is not None and len(found) != rows:
        raise wrong_result(f"the function returned {len(found)} rows for {rows}")
    return found, mask


def array(result: Any, rows: int | None, *, items: bool) -> Column:
    if isinstance(result, np.ndarray) and result.ndim > 0:
        return from_array(result, items=items)
    if arrow_results.is_scalar(result):
        result = arrow_results.one(result)
    if is_single(result):
        if isinstance(result, np.ndarray):
            result = result[()]
        if result is np.ma.masked:
            result = None
        return from_items([result] * (1 if rows is None else rows))
    result = from_frame(result)
    if isinstance(result, np.ndarray):
        return from_array(result, items=items)
    if isinstance(result, UNORDERED):
        raise wrong_result(f"the function returned a {type(result).__name__}, which has no order; return an array")
    try:
        return from_items(list(result))
    except TypeError:
        raise wrong_result(f"the function returned a {type(result).__name__}; return an array") from None


def is_single(result: Any) -> bool:
    """Whether a value is one value and not a column."""
    if result is None or isinstance(result, SINGLE):
        return True
    if isinstance(result, np.ndarray):
        return result.ndim == 0
    return not (isinstance(result, Iterable) or hasattr(result, "to_numpy"))


def from_array(result: np.ndarray, *, items: bool) -> Column:
    mask = None
    if isinstance(result, np.ma.MaskedArray):
        mask = row_mask(np.ma.getmaskarray(result))
        result = np.asarray(result.data)
    if result.ndim > 1:
        if not items:
            raise wrong_result(f"the function returned an array with {result.ndim} dimensions; return one with one")
        rows = [result[at] if mask is None else np.ma.MaskedArray(result[at], mask[at]) for at in range(len(result))]
        return from_items(rows)
    if result.dtype == object:
        nulls = nulls_of(result.tolist())
        mask = nulls if mask is None else mask if nulls is None else mask | nulls
        if mask is not None and mask.any():
            # What pandas has for NULL in a column of texts is a float.
            result = result.copy()
            result[mask] = None
    return result, mask if mask is not None and mask.any() else None


def row_mask(mask: np.ndarray) -> np.ndarray:
    """The mask of rows. A structured array has one for each field."""
    if mask.dtype.names is None:
        return mask
    fields = np.stack([mask[name] for name in mask.dtype.names])
    wholly = np.asarray(fields.all(axis=0))
    partly = fields.any(axis=0) & ~wholly
    if partly.any():
        raise wrong_result(f"row {int(partly.argmax()) + 1}: some fields of the value are masked, and others are not")
    return wholly


def from_items(items: list[Any]) -> Column:
    """A list of Python's values as an array of objects."""
    found = np.empty(len(items), object)
    for at, item in enumerate(items):
        found[at] = item
    return found, nulls_of(items)


def filled(found: np.ndarray, mask: np.ndarray | None, null: Any) -> list[Any]:
    """The rows as a list, with a value for those that are NULL."""
    items = found.tolist()
    return items if mask is None else [null if no else item for item, no in zip(items, mask.tolist(), strict=True)]


def nulls_of(items: list[Any]) -> np.ndarray | None:
    """Which objects stand for NULL: None, numpy's masked, NaT, and pandas' NA."""
    nulls = np.fromiter((is_null(item) for item in items), bool, len(items))
    return nulls if nulls.any() else None


def is_null(item: Any) -> bool:
    if item is None or item is np.ma.masked:
        return True
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(item))
    return type(item).__name__ in ("NAType", "NaTType")


def from_frame(result: Any) -> Any:
    """A column of pandas, polars or pyarrow, whose NULLs their arrays do not show, as a list or an array."""
    library = type(result).__module__.partition(".")[0]
    if library == "pandas":
        # A frame has no dtype.
        dtype: Any = getattr(result, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if hasattr(dtype, "pyarrow_dtype") and kind != "f":
            return arrow_results.values(getattr(result, "array", result).__arrow_array__())
        nulls = np.asarray(result.isna())
        if nulls.any() and kind in ("i", "u"):
            # With pandas 3, `to_numpy` makes floats of integers with NULLs.
            return np.ma.MaskedArray(result.to_numpy(dtype=dtype.numpy_dtype, na_value=0), nulls)
        values = result.to_numpy()
        if nulls.any() and values.dtype.kind == "f" and kind != "f":
            # Categories that are integers.
            values = np.array(result.astype(object), object)
            values[nulls] = None
            return values
        # In a column of floats NaN is a value for numpy; for pandas it is its mark of NULL.
        return np.ma.MaskedArray(values, nulls) if nulls.any() else values
    if arrow_results.is_column(result):
        return arrow_results.values(result)
    if library == "polars":
        kind = str(result.dtype)
        # NumPy has no integers of 128 bits.
        if result.null_count() == 0 and result.dtype.is_numeric() and "128" not in kind:
            return result.to_numpy()
        # Python's times, of which the list would be, have no nanoseconds. Those of polars' Time are nanoseconds.
        if "'ns'" not in kind and "Time" not in kind:
            return result.to_list()
        try:
            return arrow_results.values(result.to_arrow())
        except ModuleNotFoundError:
            raise wrong_result(f"a column of {kind} needs pyarrow in the functions' interpreter") from None
    return result


def table(result: Any, names: list[str]) -> list[Any]:
    """The columns of a returned table, in the order of their declaration."""
    if isinstance(result, dict):
        return by_name(result, result, names)
    columns = getattr(result, "column_names", getattr(result, "columns", None))
    if columns is not None and not isinstance(result, np.ndarray):
        # pyarrow's tables have columns too, but their names apart.
        return by_name(result, columns, names)
    if isinstance(result, np.ndarray) and result.dtype.names:
        return by_name(result, result.dtype.names, names)
    if isinstance(result, np.ndarray) and result.ndim == 2:
        found: list[Any] = [result[:, at] for at in range(result.shape[1])]
    elif len(names) == 1 and not (isinstance(result, (list, tuple)) and len(result) == 1):
        found = [result]
    elif isinstance(result, (list, tuple)):
        found = list(result)
    else:
        raise wrong_result(f"the function returned a {type(result).__name__}; return a dict of the columns' arrays")
    if len(found) != len(names):
        raise wrong_result(f"the function returned {len(found)} columns for {len(names)}")
    return [kept(column) for column in found]


def any_table(result: Any) -> list[tuple[str, Any]]:
    """The columns of a returned table, with the names that it has."""
    names = list(result) if isinstance(result, dict) else getattr(result, "column_names", None)
    if names is None and isinstance(result, np.ndarray):
        names = result.dtype.names
    elif names is None:
        names = getattr(result, "columns", None)
    if names is None:
        raise wrong_result(f"the function returned a {type(result).__name__}; for TABLE(*) return a dict or a frame")
    if len(names) == 0:
        raise wrong_result("the returned table has no columns")
    for name in map(str, names):
        if not name or "\0" in name:
            raise wrong_result(f"the returned table has a column with the name {name!r}")
    return [(str(name), kept(result[name])) for name in names]


def kept(column: Any) -> Any:
    """A column that can be read more than once: its rows are counted before they are converted."""
    return list(column) if isinstance(column, Iterator) else column


def by_name(result: Any, keys: Iterable[Any], names: list[str]) -> list[Any]:
    """The columns with these names, of those that have `keys`. Those of pandas may be numbers."""
    found: dict[str, Any] = {}
    for key in keys:
        if str(key) in found:
            raise wrong_result(f'the returned table has the column "{key}" twice')
        found[str(key)] = key
    missing = [name for name in names if name not in found]
    if missing:
        raise wrong_result(f'the returned table has no column "{missing[0]}"; it has {", ".join(found) or "none"}')
    surplus = [name for name in found if name not in names]
    if surplus:
        raise wrong_result(f'the returned table has the column "{surplus[0]}", which is not declared')
    return [kept(result[found[name]]) for name in names]


def length(columns: list[Any]) -> int:
    """The number of rows of a table. Single values are repeated; a table of single values has one row."""
    for found in columns:
        if not is_single(found):
            return len(found) if hasattr(found, "__len__") else len(list(found))
    return 1
