"""Values of Python, NumPy and pandas as columns of Arrow: each value exactly, or an error that names the column.

pyarrow itself cuts some of them silently: the time of a datetime among dates, nanoseconds of pandas' Timestamp, the
offset of a time, a text of NumPy at a NUL.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

from colonnade._errors import DataError, InterfaceError, NotSupportedError
from colonnade._libraries import require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: The values that are compared at a time.
_SLICE = 1 << 14
#: Classes of values that pyarrow keeps exactly if all values of a column, other than NULL, are of one of them.
_EXACT = frozenset({bool, int, float, str, bytes, bytearray, dt.date, dt.timedelta, Decimal, UUID})
#: What arrays have, of pyarrow, NumPy, pandas and polars.
_ARRAYS = ("__arrow_array__", "__arrow_c_array__", "__arrow_c_stream__", "__array__")
#: Classes of the values for NULL, also of pandas and of NumPy's masked arrays.
_NULLS = frozenset({"NoneType", "NaTType", "NAType", "MaskedConstant"})


def of_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    """A table of arrays and sequences by the names of their columns."""
    pa = require("pyarrow", "writing arrays")
    for name, values in arrays.items():
        if not isinstance(name, str):
            raise InterfaceError(f"the data has a column {name!r}: its name must be a text")
        if isinstance(values, (str, bytes, bytearray, memoryview, Set)) or not isinstance(values, Iterable):
            raise InterfaceError(
                f'column "{name}" is of type {type(values).__name__}: give an array or a list',
                hint="of rows as dicts, pyarrow.Table.from_pylist(rows) makes a table",
            )
    columns: dict[str, Any] = {}
    fields: list[pa.Field] = []
    for name, values in arrays.items():
        table = _of_extension(pa, name, values)
        columns[name] = _column(name, values) if table is None else table.column(0)
        fields.append(pa.field(name, columns[name].type) if table is None else table.schema.field(0))
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InterfaceError(f"the columns have different lengths: {lengths}")
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def _of_extension(pa: Any, name: str, values: Any) -> pa.Table | None:
    """A series of polars that has an extension type, as a table. pyarrow would take the series for its storage."""
    if not type(values).__module__.startswith("polars.") or not hasattr(values, "to_frame"):
        return None
    frame = values.to_frame(name)
    schema = pa.RecordBatchReader.from_stream(frame.head(0)).schema
    return pa.RecordBatchReader.from_stream(frame).read_all() if _has_extension(pa, schema.field(0)) else None


def _has_extension(pa: Any, field: pa.Field) -> bool:
    if isinstance(field.type, pa.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}):
        return True
    return any(_has_extension(pa, field.type.field(number)) for number in range(field.type.num_fields))


def of_frame(frame: pd.DataFrame) -> pa.Table:
    """A table of a frame's columns, without its index. NaN means NULL, but not within lists."""
    pa = require("pyarrow", "writing a pandas.DataFrame")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InterfaceError(f'the data has two columns "{twice[0]}"')
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except _failures(pa):
        # The error does not always say in which column.
        for place, name in enumerate(frame.columns):
            with _refusing(str(name), frame.iloc[:, place].array):
                pa.Table.from_pandas(frame.iloc[:, [place]], preserve_index=False)
        raise
    for place, (name, values) in enumerate(frame.items()):
        column = table.column(place)
        if values.dtype == object:
            column = _exact(str(name), values.array, column)
            table = table.set_column(place, table.field(place).with_type(column.type), column)
    return table


def _column(name: str, values: Any) -> Any:
    np = require("numpy", "writing arrays")
    if not any(hasattr(values, attribute) for attribute in _ARRAYS):
        # Such as a generator, which can be read once.
        values = list(values)
    dtype: Any = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind in "UST":
            # pyarrow would cut a text at the first NUL.
            values = values.astype(object)
        elif dtype.kind in "mM" and np.datetime_data(dtype)[1] != 1:
            # pyarrow would take the number of steps for the number of units.
            unit = np.datetime_data(dtype)[0]
            raise NotSupportedError(
                f'column "{name}" counts steps of several units, {dtype}: astype("{dtype.kind}8[{unit}]") makes it'
                " one unit",
                sqlstate="0A000",
            )
        elif not dtype.isnative:
            values = values.astype(dtype.newbyteorder("="))
    with _refusing(name, values):
        column = require("pyarrow", "writing arrays").array(values)
    if isinstance(values, (list, tuple)) or getattr(getattr(values, "dtype", None), "kind", None) == "O":
        return _exact(name, values, column)
    return column


@contextmanager
def _refusing(name: str, values: Any) -> Iterator[None]:
    """Errors of pyarrow about these values within the block as errors of this package that name the column, and the
    first row that is to blame."""
    pa = require("pyarrow", "writing arrays")
    try:
        yield
    except pa.ArrowNotImplementedError as error:
        dtype = str(getattr(values, "dtype", "object"))
        # pyarrow tells the number of NumPy's type.
        what = error.args[0] if dtype == "object" else f"no column of a table has the type {dtype}"
        raise NotSupportedError(
            f'column "{name}" has no exact form: {what}',
            hint="divide it into columns of numbers, or make it text: astype(str)",
            sqlstate="0A000",
        ) from error
    except _failures(pa) as error:
        text = error if isinstance(error, UnicodeError) else error.args[0]
        row = _first_refused(pa, values)
        if row is None:
            raise DataError(f'column "{name}" has no exact form: {text}', sqlstate="22000") from error
        value = values[row]
        raise DataError(
            f'column "{name}", row {row + 1}: the {type(value).__name__} {_shown(value)} has no exact form beside the'
            f" values before it: {text}",
            hint="give all values of the column one type",
            sqlstate="22000",
        ) from error


def _first_refused(pa: Any, values: Any) -> int | None:
    """The row of the first value that pyarrow does not take together with those before it; None if it cannot be
    found."""

    def is_taken(rows: int) -> bool:
        try:
            pa.array(values[:rows], from_pandas=True)
        except Exception:  # of any class that `_failures` names
            return False
        return True

    if not isinstance(values, Sequence) and not hasattr(values, "dtype"):
        return None
    taken, refused = 0, len(values)
    if is_taken(refused):
        return None
    while refused - taken > 1:
        middle = (taken + refused) // 2
        if is_taken(middle):
            taken = middle
        else:
            refused = middle
    return taken


def _failures(pa: Any) -> tuple[type[Exception], ...]:
    """What pyarrow raises for values that it cannot convert; not MemoryError, for example."""
    return (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError)


def _exact(name: str, values: Any, column: Any) -> Any:
    """The column of these values, which are compared with it."""
    pa = require("pyarrow", "writing arrays")
    if pa.types.is_nested(column.type):
        column = _with_nan(values, column)
    if _is_exact(values, column):
        return column
    given = iter(values)
    for start in range(0, len(column), _SLICE):
        with _refusing(name, ()):
            kept = column.slice(start, _SLICE).to_pylist()
        for row, (one, other) in enumerate(zip(islice(given, _SLICE), kept, strict=True), start + 1):
            if not _same(one, other):
                _refuse(name, row, one, other)
    return column


def _is_exact(values: Any, column: Any, *, is_within: bool = False) -> bool:
    """Whether the classes of the values say that pyarrow has changed none. Otherwise they have to be compared.
    `is_within` says that these are the items of lists, in which NaN is not NULL."""
    pa = require("pyarrow", "writing arrays")
    classes = {kind for kind in set(map(type, values)) if kind.__name__ not in _NULLS}
    if is_within:
        if column.null_count != sum(type(value).__name__ in _NULLS for value in values):
            return False
    elif not pa.types.is_floating(column.type):
        # pyarrow accepts only NaN among other values.
        classes.discard(float)
    if len(classes) > 1:
        return False
    if classes in ({dt.datetime}, {dt.time}):
        return len({value.tzinfo is None for value in values if hasattr(value, "tzinfo")}) == 1 and (
            pa.types.is_timestamp(column.type) or all(getattr(value, "tzinfo", None) is None for value in values)
        )
    if pa.types.is_list(column.type) and classes <= {list, tuple}:
        flat = require("pyarrow.compute", "writing arrays").list_flatten(column)
        items = [item for value in values if isinstance(value, (list, tuple)) for item in value]
        return len(items) == len(flat) and _is_exact(items, flat, is_within=True)
    return classes <= _EXACT


def _with_nan(values: Any, column: Any) -> Any:
    """The column with NaN within lists, where pandas' rules do not make it NULL. The column itself if that fails: then
    the comparison decides."""
    pa = require("pyarrow", "writing arrays")
    nulls = column.is_null().to_pylist()
    try:
        return pa.array([None if null else value for value, null in zip(values, nulls, strict=True)])
    except _failures(pa):
        return column


def _refuse(name: str, row: int, one: Any, other: Any) -> NoReturn:
    raise DataError(
        f'column "{name}", row {row}: the {type(one).__name__} {_shown(one)} would become {_shown(other)}',
        hint="give all values of the column one type",
        sqlstate="22000",
    )


def _shown(value: Any) -> str:
    """At most 100 characters of it."""
    try:
        text = repr(value)
    except Exception:  # of the value's own class, such as a Timestamp in the year 20000
        return "value"
    return text if len(text) <= 100 else text[:97] + "..."


def _same(one: Any, other: Any) -> bool:
    """Whether a value and the one that is kept are the same; they may be of different classes."""
    if other is None:
        return one is None or _is_null(one)
    if isinstance(other, list):
        # A set has no order.
        ordered = isinstance(one, Collection) and not isinstance(one, (set, frozenset, str, bytes, Mapping))
        return ordered and len(one) == len(other) and all(map(_same_within, one, other))
    if isinstance(other, dict):
        return isinstance(one, Mapping) and all(
            _same_within(one.get(name), value) for name, value in {**dict.fromkeys(one), **other}.items()
        )
    if isinstance(other, bytes):
        return isinstance(one, (bytes, bytearray, memoryview)) and bytes(one) == other
    try:
        return bool(one == other) or (one != one and other != other)
    except Exception:  # of the value's own class
        return False


def _same_within(one: Any, other: Any) -> bool:
    """As `_same`; within lists, NaN is not NULL."""
    return _same(one, other) and not (other is None and isinstance(one, float))


def _is_null(value: Any) -> bool:
    if type(value).__name__ in _NULLS:
        return True
    try:
        return bool(value != value)
    except Exception:  # of the value's own class
        return False
