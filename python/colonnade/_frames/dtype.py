"""The argument `dtype` as conversions of a stream's columns."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast, get_args

from colonnade._errors import InterfaceError
from colonnade._options.dtype import ArrowSchema, Backend, Dtype, Dtypes, Lossy

if TYPE_CHECKING:
    from colonnade._core import Stream
    from colonnade._options.query import QueryOptions

#: A column's number, its new type in the extension module's form, and whether values may change.
Conversion: TypeAlias = "tuple[int, str | ArrowSchema, bool]"

#: Other names of types in Python, NumPy and pandas.
_ALIASES = {
    "int": "int64",
    "boolean": "bool",
    "str": "utf8",
    "bytes": "binary",
    "category": "dictionary",
    "string[pyarrow]": "utf8",
    "string[python]": "utf8",
}
_PYTHON = {
    int: "int64",
    float: "float64",
    str: "utf8",
    bytes: "binary",
    bool: "bool",
    datetime.date: "date32",
    datetime.datetime: "timestamp(us)",
    datetime.time: "time64(us)",
}
#: pandas' names of nullable types. In Arrow, every type is nullable.
_NULLABLE = {f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)}


def converted(stream: Stream, dtype: Dtypes | None) -> Stream:
    """The stream, with these columns in other types."""
    if dtype is None or dtype == {}:
        return stream
    try:
        return stream.converted(conversions(stream.names, dtype))
    except BaseException:
        stream.close()
        raise


def requested(options: QueryOptions) -> frozenset[str] | None:
    """The columns with requested types, which they keep; None means all columns."""
    dtype, as_text = options.get("dtype"), options.get("as_text") or ()
    if dtype is None:
        return frozenset(as_text)
    return frozenset([*dtype, *as_text]) if isinstance(dtype, Mapping) else None


def conversions(names: Sequence[str], dtype: Dtypes) -> list[Conversion]:
    """The conversions of the columns that `dtype` names."""
    if not isinstance(dtype, Mapping):
        dtype = dict.fromkeys(names, dtype)
    unknown = [name for name in dtype if name not in names]
    if unknown:
        raise InterfaceError(
            f"dtype names {', '.join(map(repr, unknown))}, which the result does not have:"
            f" its columns are {', '.join(map(repr, names))}"
        )
    return [(index, *_read(dtype[name])) for index, name in enumerate(names) if name in dtype]


def _read(dtype: Dtype) -> tuple[str | ArrowSchema, bool]:
    """The type in the extension module's form, and whether values may change."""
    if isinstance(dtype, Lossy):
        return _read(dtype.dtype)[0], True
    # pandas.ArrowDtype
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    if hasattr(dtype, "__arrow_c_schema__"):
        return cast("ArrowSchema", dtype), False
    if isinstance(dtype, type):
        return _PYTHON.get(dtype, dtype.__name__), False
    # The text of NumPy's and pandas' types is their name.
    name = dtype if isinstance(dtype, str) else str(dtype)
    may_change, name = name.startswith("lossy:"), name.removeprefix("lossy:")
    if name in _NULLABLE:
        name = name.lower()
    if name.startswith("datetime64["):
        name = "timestamp" + name.removeprefix("datetime64")
    return _ALIASES.get(name, name), may_change


def checked_backend(backend: str) -> Backend:
    """The back-end of this name, or a ValueError."""
    if backend not in get_args(Backend):
        raise ValueError(f"dtype_backend {backend!r} is none of {', '.join(get_args(Backend))}")
    return backend  # type: ignore[return-value]


def is_category(dtype: Dtype | None) -> bool:
    """Whether it is pandas' type of categories, by its name or as an object with categories of its own."""
    return str(dtype) == "category"


def is_applied_by_pandas(dtype: Dtype) -> bool:
    """Whether pandas gives a column this type. Categories in pandas keep the values' type; in Arrow they are text."""
    return is_object(dtype) or is_category(dtype)


def is_object(dtype: Dtype) -> bool:
    """Whether it is the type of Python objects, which Arrow lacks."""
    return dtype is object or (isinstance(dtype, str) and dtype in ("object", "O")) or str(dtype) == "object"
