"""Arrow columns as a pandas.DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from colonnade._errors import DataError, InterfaceError, NotSupportedError
from colonnade._options.dtype import NamedDtypes

from . import fixed, gaps, objects
from .dtype import is_category
from .layout import Layout, is_of_pandas
from .values import is_decimal, is_digits, of_column, out_of_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The units of numbers that pandas' parse_dates accepts.
_UNITS = ("D", "d", "h", "m", "s", "ms", "us", "ns")
#: Batches are joined up to this size, because each batch costs a call for each column.
_JOINED_ROWS = 8_192
_JOINED_BYTES = 16 << 20
_WAY_OUT = "use dtype_backend 'pyarrow', or cast the column to text in the query"
#: The most days of an interval that becomes a timedelta in microseconds: about 270,000 years.
_LONGEST = 100_000_000
_DAY = 86_400_000_000


def frame(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], layout: Layout, apart: frozenset[int] = frozenset()
) -> pd.DataFrame:
    """A frame of the batches. The memory of each batch is freed when its rows are copied. The columns `apart`, by
    number, have memory that is not a batch's."""
    columns: list[Any] = [
        _column(field, layout.of_column(field), is_apart=index in apart) for index, field in enumerate(schema)
    ]
    rows = 0
    for batch in _joined(batches):
        rows += batch.num_rows
        for index, column in enumerate(columns):
            column.add(batch.column(index))
        del batch
    series: dict[int, Any] = {}
    for index, column in enumerate(columns):
        # What only the conversion needs is freed before the next column's.
        columns[index] = None
        series[index] = column.finish()
        del column
    made = pd.DataFrame(series, index=pd.RangeIndex(rows), copy=False)
    del series
    # The names are set at the end, because they may repeat, as in SQL.
    made.columns = pd.Index(schema.names) if schema.names else pd.Index([], dtype=object)
    return made


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in larger batches: a wide table arrives in batches of few rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        del batch
        if rows >= _JOINED_ROWS or size >= _JOINED_BYTES:
            yield held.pop() if len(held) == 1 else pa.concat_batches(held)
            held.clear()
            rows = size = 0
    if held:
        yield pa.concat_batches(held)


def _column(
    field: pa.Field, layout: Layout, *, is_apart: bool = False
) -> fixed.Growing | objects.Objects | _Chunks | _Stored:
    backend = layout.backend
    if backend == "pyarrow":
        return _Chunks(field, layout)
    if isinstance(field.type, pa.BaseExtensionType) and not isinstance(field.type, pa.UuidType):
        return _Stored(field, layout)
    keeps = layout.keeps(field.name)
    found = fixed.column(field, backend, widens=backend != "exact" and not keeps)
    found = found or objects.column(field, texts=backend == "connectorx", digits=not keeps and is_digits(field))
    return found or _Chunks(field, layout, is_apart=is_apart)


class _Stored:
    """A column of an extension type that pandas lacks, such as ADBC's JSON: the values as they are stored."""

    def __init__(self, field: pa.Field, layout: Layout) -> None:
        # Booleans of 8 bits are stored as integers.
        self._kind = pa.bool_() if isinstance(field.type, pa.Bool8Type) else field.type.storage_type
        self._stored = _column(field.with_type(self._kind), layout)

    def add(self, array: pa.Array) -> None:
        self._stored.add(array.storage.cast(self._kind))

    def finish(self) -> Any:
        return self._stored.finish()


class _Chunks:
    """A column that is converted as a whole, or remains in Arrow's form."""

    def __init__(self, field: pa.Field, layout: Layout, *, is_apart: bool = False) -> None:
        self._field = field
        self._layout = layout
        self._copies = layout.backend != "pyarrow" and not is_apart
        self._arrays: list[pa.Array] = []

    def add(self, array: pa.Array) -> None:
        if self._copies:
            # A column would keep the memory of its whole batch. Concatenating with an empty array copies it.
            array = pa.concat_arrays([array, array.slice(0, 0)])
        self._arrays.append(array)

    def finish(self) -> pd.Series:
        held = [pa.chunked_array(self._arrays, type=self._field.type)]
        self._arrays.clear()
        return _series(self._field, held, self._layout)


def _series(field: pa.Field, held: list[Any], layout: Layout) -> Any:
    """One column. The list holds the only reference to it, so that its memory is freed during the conversion."""
    kind, backend = field.type, layout.backend
    if backend == "pyarrow":
        return pd.Series(pd.arrays.ArrowExtensionArray(held.pop()), copy=False)
    if backend == "numpy_nullable" and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pd.Series(pd.StringDtype().__from_arrow__(held.pop()), copy=False)
    if pa.types.is_nested(kind):
        return _nested(field, held, layout)
    if backend in ("numpy", "numpy_nullable") and pa.types.is_interval(kind):
        lengths = _lengths(held[0])
        if lengths is not None:
            return pd.Series(lengths, copy=False)
    if pa.types.is_time(kind):
        gaps.refuse_in_column(field.name, held[0], "Python", _WAY_OUT, midnight=True)
    return _converted(field.name, held)


def _converted(name: str, held: list[Any]) -> Any:
    """One column as pyarrow converts it."""
    table = pa.table([held.pop()], names=["v"])
    try:
        converted = table.to_pandas(split_blocks=True, self_destruct=True, date_as_object=False)
    except (ValueError, OverflowError) as error:
        raise out_of_range(name, error) from error
    del table
    return converted["v"]


def _nested(field: pa.Field, held: list[Any], layout: Layout) -> Any:
    """One column of lists, structs or maps."""
    is_exact = layout.backend == "exact"
    as_objects = not is_exact or any(map(_changes, held[0].chunks))
    # Otherwise lists have NumPy's dates and timestamps, which have more years than Python's.
    years = gaps.PYTHON_YEARS if as_objects or _has_fields(field.type) else None
    gaps.refuse_in_column(field.name, held[0], "Python", _WAY_OUT, midnight=True, years=years, only_nested=True)
    if as_objects:
        return pd.Series(_lists(field.name, held.pop(), floats=layout.coerces and not is_exact), dtype=object)
    return _converted(field.name, held)


def _lengths(column: pa.ChunkedArray) -> Any:
    """Intervals as timedeltas, with days of 24 hours as in PostgreSQL's comparisons. None if an interval is too long,
    or has months, whose length is unknown."""
    parts = []
    for chunk in column.chunks:
        fields = np.dtype([("months", "int32"), ("days", "int32"), ("nanoseconds", "int64")])
        values = np.frombuffer(chunk.buffers()[1] or b"", fields)[chunk.offset : chunk.offset + len(chunk)]
        null = chunk.is_null().to_numpy(zero_copy_only=False)
        days, part = values["days"].astype("int64"), values["nanoseconds"]
        odd = (values["months"] != 0) | (part % 1000 != 0) | (np.abs(days) > _LONGEST)
        if bool((odd & ~null).any()):
            return None
        made = (days * _DAY + part // 1000).view("timedelta64[us]")
        np.putmask(made, null, np.timedelta64("NaT", "us"))
        parts.append(made)
    return np.concatenate(parts) if parts else np.empty(0, "timedelta64[us]")


def _lists(name: str, column: pa.ChunkedArray, *, floats: bool) -> list[Any]:
    """Python lists. With `floats`, decimals in lists become floats."""
    kind = column.type
    if floats and pa.types.is_list(kind) and is_decimal(kind.value_field):
        return [
            None if row is None else [None if value is None else float(value) for value in row]
            for row in of_column(name, column)
        ]
    return of_column(name, column)


def _changes(array: pa.Array, *, in_field: bool = False) -> bool:
    """Whether pyarrow would change values within an array.

    It converts integers to floats if some are NULL, and NULL floats to NaN. In structs and maps, it converts timestamps
    in nanoseconds to integers, and dates to datetime.datetime.
    """
    kind = array.type
    if pa.types.is_struct(kind):
        return any(_changes(part, in_field=True) for part in array.flatten())
    if pa.types.is_map(kind):
        return any(_changes(part, in_field=True) for part in (array.keys, array.items))
    if pa.types.is_nested(kind):
        return _changes(array.flatten(), in_field=in_field)
    if pa.types.is_timestamp(kind):
        return in_field and kind.unit == "ns"
    if pa.types.is_date(kind):
        return in_field
    return (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and array.null_count > 0


def _has_fields(kind: pa.DataType) -> bool:
    """Whether the type contains a struct or a map."""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return True
    return pa.types.is_nested(kind) and _has_fields(kind.value_type)


def astype(made: pd.DataFrame, dtype: NamedDtypes) -> pd.DataFrame:
    """The frame with the requested types that only pandas has. The other types are there already."""
    wanted = dtype if isinstance(dtype, Mapping) else dict.fromkeys(made.columns, dtype)
    own = {name: kind for name, kind in wanted.items() if is_of_pandas(kind) and not is_category(kind)}
    made = made.astype(own) if own else made
    for index, name in enumerate(made.columns):
        if is_category(kind := wanted.get(name)):
            kind = kind if isinstance(kind, pd.CategoricalDtype) else pd.CategoricalDtype()
            made.isetitem(index, _categories(name, made.iloc[:, index], kind))
    return made


def _categories(name: str, values: pd.Series, kind: pd.CategoricalDtype) -> pd.Series:
    """The values as categories: those of `kind`, or else the values themselves, sorted as pandas sorts them."""
    if kind.categories is None and isinstance(values.dtype, pd.CategoricalDtype):
        # The categories are those of the batches, in the order in which they arrived.
        values = values.cat.remove_unused_categories()
        values = values.cat.reorder_categories(values.cat.categories.sort_values())
    try:
        if kind.categories is not None:
            _require_known(name, values, kind.categories)
        return values.astype(kind)
    except TypeError as error:
        raise NotSupportedError(
            f'column "{name}": its values cannot be categories', hint="cast the column to text in the query"
        ) from error


def _require_known(name: str, values: pd.Series, categories: pd.Index) -> None:
    """Refuses values of which pandas would make NULL."""
    distinct = pd.Index(values.dropna().unique())
    unknown = distinct[categories.get_indexer_for(distinct) < 0]
    if len(unknown) > 0:
        raise DataError(
            f'column "{name}": {unknown.astype(object)[0]!r} is not one of the categories of its dtype',
            hint="add it to the categories, or cast it to NULL in the query",
            sqlstate="22000",
        )


def moments(series: Any, how: str | Mapping[str, Any] | None) -> pd.Series:
    """A column parsed as dates by pandas' rules. `how` is the unit of numbers (seconds by default), a format, or the
    arguments of pandas.to_datetime. Values that cannot be parsed become NaT, unless these arguments say otherwise."""
    if isinstance(how, Mapping):
        return pd.to_datetime(series, **how)
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind == "decimal":
        # As in pandas, which reads decimals as floats here.
        series = series.astype("float64")
    if how is None and kind in ("integer", "floating", "decimal"):
        how = "s"
    if how in _UNITS:
        return pd.to_datetime(series, errors="coerce", unit=how)
    return pd.to_datetime(series, errors="coerce", format=how)


def require_one(made: pd.DataFrame, name: str, argument: str) -> None:
    """Refuses a name that several columns have."""
    number = list(made.columns).count(name)
    if number > 1:
        raise InterfaceError(
            f"{argument} names {name!r}, and {number} columns are called so: give them different names in the query"
        )


def set_index(made: pd.DataFrame, index_col: str | list[str]) -> pd.DataFrame:
    """The frame with some of its columns as its index."""
    wanted = [index_col] if isinstance(index_col, str) else list(index_col)
    unknown = [name for name in wanted if name not in made.columns]
    if unknown:
        raise InterfaceError(f"index_col names {', '.join(map(repr, unknown))}: the columns are {list(made.columns)}")
    if not wanted:
        raise InterfaceError("index_col is empty: name a column, or leave it out")
    for name in wanted:
        require_one(made, name, "index_col")
    return made.set_index(index_col if isinstance(index_col, str) else wanted)
