"""Arrow columns as a pandas.DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from . import _convert
from ._errors import DataError, InterfaceError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: How a frame keeps its columns. docs/drop-in.md has the table.
Backend = Literal["numpy", "numpy_nullable", "pyarrow", "connectorx"]

#: Types that a database has and the wire has not: the field's metadata names them (spec/TYPES.md).
_TYPE_KEY = b"colonnade.type"
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def checked(backend: str) -> Backend:
    """The back-end, if there is one of this name."""
    if backend not in get_args(Backend):
        raise ValueError(f"dtype_backend {backend!r} is none of {', '.join(get_args(Backend))}")
    return backend  # type: ignore[return-value]


def conversions(schema: pa.Schema, backend: Backend, *, coerce_float: bool = False) -> list[tuple[int, object, bool]]:
    """The types that columns get before they arrive here: their number, the type, whether values may change."""
    found: list[tuple[int, object, bool]] = []
    for index, field in enumerate(schema):
        target = _connectorx(field) if backend == "connectorx" else None
        if coerce_float and _is_decimal(field):
            target = "lossy:float64"
        if target is not None:
            found.append((index, target.removeprefix("lossy:"), target.startswith("lossy:")))
    return found


def _is_decimal(field: pa.Field) -> bool:
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    metadata = field.metadata or {}
    return pa.types.is_decimal(field.type) or metadata.get(_TYPE_KEY, b"").startswith(b"numeric")


def _connectorx(field: pa.Field) -> str | None:
    """What ConnectorX would have made of it, where that is not what pandas gets anyway."""
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    kind = field.type
    if _is_decimal(field):
        return "lossy:float64"
    if pa.types.is_float32(kind):
        return "float64"
    if (pa.types.is_integer(kind) and kind.bit_width <= 32) or pa.types.is_int64(kind):
        return "int64"
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz in (None, "UTC")):
        return "timestamp(us)"
    if pa.types.is_dictionary(kind) or pa.types.is_time(kind):
        return "utf8"
    return None


def frame(held: list[pa.Table], backend: Backend) -> pd.DataFrame:
    """A frame of the only table in the list, which is taken out: a column's memory is free once it is converted."""
    pd = _convert.require("pandas", "to_pandas()")
    table = held.pop()
    names, rows, fields = table.column_names, table.num_rows, list(table.schema)
    columns = list(table.columns)
    del table
    series: dict[int, Any] = {}
    for index, field in enumerate(fields):
        column, columns[index] = columns[index], None
        series[index] = _series(field, [column], backend)
        del column
    made = pd.DataFrame(series, index=pd.RangeIndex(rows), copy=False)
    # Names may repeat, as they may in SQL.
    made.columns = pd.Index(names) if names else pd.Index([], dtype=object)
    return made


def _series(field: pa.Field, held: list[Any], backend: Backend) -> Any:
    """One column; the list holds it, so that it goes when it was converted."""
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    pd = _convert.require("pandas", "to_pandas()")
    kind = field.type
    if backend == "pyarrow":
        return pd.Series(pd.arrays.ArrowExtensionArray(held.pop()), copy=False)
    nullable = backend != "numpy" or held[0].null_count > 0
    if pa.types.is_integer(kind) and nullable:
        # A float has no room for every integer, and NumPy no integer for NULL.
        prefix = "UInt" if pa.types.is_unsigned_integer(kind) else "Int"
        return _extension(getattr(pd, f"{prefix}{kind.bit_width}Dtype")(), held)
    if pa.types.is_boolean(kind) and nullable:
        return _extension(pd.BooleanDtype(), held)
    if backend == "numpy_nullable" and (pa.types.is_float32(kind) or pa.types.is_float64(kind)):
        return _extension(getattr(pd, f"Float{kind.bit_width}Dtype")(), held)
    if backend == "numpy_nullable" and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return _extension(pd.StringDtype(), held)
    if backend == "connectorx":
        if pa.types.is_string(kind):
            return _objects(held.pop(), pd)
        if pa.types.is_nested(kind):
            return pd.Series(_lists(held.pop()), dtype=object)
    if pa.types.is_time(kind):
        _within_a_day(field, held[0])
    if pa.types.is_nested(kind) and any(map(_rounds, held[0].chunks)):
        return pd.Series(held.pop().to_pylist(), dtype=object)
    table = pa.table([held.pop()], names=["v"])
    converted = table.to_pandas(split_blocks=True, self_destruct=True, date_as_object=False)
    del table
    series = converted["v"]
    if isinstance(series.dtype, pd.core.dtypes.base.ExtensionDtype):
        return series
    values = series.to_numpy()
    # Arrow's memory is not to be written to, and the frame's owner may wish to.
    return series if values.flags.writeable or values.dtype == object else pd.Series(values.copy(), copy=False)


def _extension(dtype: Any, held: list[Any]) -> Any:
    pd = _convert.require("pandas", "to_pandas()")
    return pd.Series(dtype.__from_arrow__(held.pop()), copy=False)


def _objects(column: pa.ChunkedArray, pd: Any) -> Any:
    """Text as Python's strings; equal ones of a chunk are one object."""
    numpy = _convert.require("numpy", "to_pandas()", "pandas")
    parts: list[Any] = []
    for chunk in column.chunks:
        labels = chunk.dictionary_encode()
        texts = numpy.array([*labels.dictionary.to_pylist(), None], dtype=object)
        parts.append(texts[labels.indices.fill_null(len(texts) - 1).to_numpy()])
    return pd.Series(numpy.concatenate(parts) if parts else [], dtype=object, copy=False)


def _lists(column: pa.ChunkedArray) -> list[Any]:
    """Python's lists, with floats in place of decimals."""
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    kind = column.type
    if pa.types.is_list(kind) and _is_decimal(kind.value_field):
        return [
            None if row is None else [None if value is None else float(value) for value in row]
            for row in column.to_pylist()
        ]
    return column.to_pylist()


def _rounds(array: pa.Array) -> bool:
    """Whether pyarrow would make floats of integers within: it does where some of them are NULL."""
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    kind = array.type
    if pa.types.is_struct(kind):
        return any(map(_rounds, array.flatten()))
    if pa.types.is_map(kind):
        return _rounds(array.keys) or _rounds(array.items)
    if pa.types.is_nested(kind):
        return _rounds(array.flatten())
    return pa.types.is_integer(kind) and array.null_count > 0


def _within_a_day(field: pa.Field, column: pa.ChunkedArray) -> None:
    """Python's times end before 24:00:00, which SQL has."""
    compute = _convert.require("pyarrow.compute", "to_pandas()", "pandas")
    pa = _convert.require("pyarrow", "to_pandas()", "pandas")
    last = compute.max(column.cast(pa.int32() if field.type.bit_width == 32 else pa.int64())).as_py()
    if last is not None and last >= _DAY[field.type.unit]:
        raise DataError(
            f"column {field.name!r} has the time 24:00:00, which Python does not",
            hint="use dtype_backend 'pyarrow', or cast the column to text in the query",
            sqlstate="22008",
        )


def set_index(made: pd.DataFrame, index_col: str | list[str]) -> pd.DataFrame:
    """The frame with some of its columns as its index."""
    wanted = [index_col] if isinstance(index_col, str) else list(index_col)
    unknown = [name for name in wanted if name not in made.columns]
    if unknown:
        raise InterfaceError(f"index_col names {', '.join(map(repr, unknown))}: the columns are {list(made.columns)}")
    return made.set_index(index_col if isinstance(index_col, str) else wanted)
