"""The argument `dtype` as conversions of a stream's columns."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from colonnade._errors import InterfaceError
from colonnade._options.dtype import ArrowSchema, Backend, Dtype, Dtypes, Lossy, NamedDtypes

if TYPE_CHECKING:
    from colonnade._core import Stream
    from colonnade._options.query import QueryOptions

#: A column's number, its new type in the extension module's form, and whether values may change.
Conversion: TypeAlias = "tuple[int, str | ArrowSchema, bool]"

#: Arrow's type of the texts that pandas has, which converts others into it. The extension module copies the texts of
#: others, so that they do not keep the memory of their batch.
PANDAS_TEXT = "large_utf8"
#: The kinds of columns, by the extension module's names.
_KINDS = {
    **{kind: kind.__name__ for kind in (str, bytes, bool, int, float, Decimal)},
    **{kind: kind.__name__ for kind in (datetime.date, datetime.datetime, datetime.time)},
}
#: Other names of types in Python, NumPy and pandas.
_ALIASES = {
    "int": "int64",
    "boolean": "bool",
    "str": "utf8",
    "bytes": "binary",
    "category": "dictionary",
    "string[python]": "utf8",
    "str_": "utf8",
    "bytes_": "binary",
}
#: Arrow's names without arguments. `float` is float32 in Arrow and float64 in NumPy, so it is refused.
_ARROW = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float", "float16", "float32", "float64", "double", "date32", "date64", "dictionary"),
    *("utf8", "string", "large_utf8", "large_string", "utf8_view", "string_view"),
    *("binary", "large_binary", "binary_view"),
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
#: Types of polars whose name is not the same in lower case.
_POLARS = {
    "Boolean": "bool",
    "Categorical": "dictionary",
    "Date": "date32",
    "String": "utf8",
    "Time": "time64(ns)",
}
#: pandas' names of nullable types. In Arrow, every type is nullable.
_NULLABLE = {f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)}


def by_name(names: Sequence[str], kinds: Sequence[str | None], dtype: Dtypes | None) -> NamedDtypes | None:
    """The same types, those of kinds of columns by the names of these columns. A name counts more than a kind."""
    if not isinstance(dtype, Mapping) or all(isinstance(name, str) for name in dtype):
        return cast("NamedDtypes | None", dtype)
    given: dict[Any, Dtype] = dict(dtype)
    of_kinds = {_KINDS[key]: given.pop(key) for key in list(given) if key in _KINDS}
    unknown = [key for key in given if not isinstance(key, str)]
    if unknown:
        known = ", ".join(key.__name__ for key in _KINDS)
        raise InterfaceError(
            f"dtype names {', '.join(map(repr, unknown))}: write names of columns, or kinds of columns ({known})"
        )
    found: dict[str, Dtype | None] = {}
    for name, kind in zip(names, kinds, strict=True):
        own = of_kinds.get(kind) if kind is not None else None
        if name not in given and found.setdefault(name, own) is not own:
            raise InterfaceError(
                f"several columns are named {name!r} and are of different kinds: rename one in the query, or name the"
                " columns in dtype"
            )
    return {**{name: own for name, own in found.items() if own is not None}, **given}


def converted(stream: Stream, dtype: Dtypes | None) -> Stream:
    """The stream, with these columns in other types."""
    if dtype is None or dtype == {}:
        return stream
    try:
        return stream.converted(conversions(stream.names, by_name(stream.names, stream.kinds, dtype) or {}))
    except BaseException:
        stream.close()
        raise


def requested(options: QueryOptions) -> frozenset[str] | None:
    """The columns with requested types, which they keep; None means all columns, or that they are not known yet."""
    dtype, as_text = options.get("dtype"), options.get("as_text") or ()
    if dtype is None:
        return frozenset(as_text)
    names = [name for name in dtype if isinstance(name, str)] if isinstance(dtype, Mapping) else []
    return frozenset([*names, *as_text]) if isinstance(dtype, Mapping) and len(names) == len(dtype) else None


def texts(dtype: Dtypes) -> tuple[bool, list[str]]:
    """Whether all columns become text, and else the columns that do."""
    if isinstance(dtype, Mapping):
        return False, [name for name, kind in dtype.items() if isinstance(name, str) and _is_text(kind)]
    return _is_text(dtype), []


def conversions(names: Sequence[str], dtype: NamedDtypes) -> list[Conversion]:
    """The conversions of the columns that `dtype` names."""
    if not isinstance(dtype, Mapping):
        dtype = dict.fromkeys(names, dtype)
    check_names(names, dtype)
    return [(index, *_read(dtype[name])) for index, name in enumerate(names) if name in dtype]


def check_names(names: Sequence[str], dtype: NamedDtypes | None) -> None:
    """Refuses names that the result does not have."""
    unknown = [name for name in dtype if name not in names] if isinstance(dtype, Mapping) else []
    if unknown:
        raise InterfaceError(
            f"dtype names {', '.join(map(repr, unknown))}, which the result does not have:"
            f" its columns are {', '.join(map(repr, names))}"
        )


def _read(dtype: Dtype) -> tuple[str | ArrowSchema, bool]:
    """The type in the extension module's form, and whether values may change."""
    if isinstance(dtype, Lossy):
        return _read(dtype.dtype)[0], True
    if type(dtype).__module__.startswith("polars."):
        return _of_polars(dtype), False
    # pandas.ArrowDtype
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    if hasattr(dtype, "__arrow_c_schema__"):
        return cast("ArrowSchema", dtype), False
    if isinstance(dtype, type):
        return _PYTHON.get(dtype) or _named(dtype.__name__), False
    # The text of NumPy's and pandas' types is their name.
    name = dtype if isinstance(dtype, str) else str(dtype)
    return _named(name.removeprefix("lossy:").removesuffix("[pyarrow]")), name.startswith("lossy:")


def _is_text(dtype: Dtype) -> bool:
    """Whether it is a type of text. A type that the extension module does not know is refused later."""
    return str(_read(dtype)[0]).removeprefix("large_").removesuffix("_view") in ("utf8", "string")


def _named(name: str) -> str:
    """The extension module's name of a type, by its name in Python, NumPy or pandas."""
    if name in _NULLABLE:
        name = name.lower()
    name = _ALIASES.get(name, name)
    if name not in _ARROW and "(" not in name:
        name = _of_numpy(name)
    if name.startswith("datetime64["):
        name = "timestamp" + name.removeprefix("datetime64")
    return name


def _of_numpy(name: str) -> str:
    """The usual name of a number's or timestamp's type that NumPy knows by this name, such as `i4`, `<i4` or `intc`."""
    try:
        import numpy as np

        found = np.dtype(name)
    except (ImportError, TypeError, ValueError, SyntaxError):
        return name
    return found.name if found.kind in "biufM" else name


def _of_polars(dtype: Any) -> str:
    """The name of a type of polars, which is a class or an object."""
    kind = str(dtype.base_type())
    match kind:
        case "Datetime":
            unit, zone = getattr(dtype, "time_unit", None) or "us", getattr(dtype, "time_zone", None)
            return f"timestamp({unit}, {zone})" if zone else f"timestamp({unit})"
        case "Decimal":
            return f"decimal({getattr(dtype, 'precision', None) or 38}, {getattr(dtype, 'scale', 0)})"
        case _:
            return _POLARS.get(kind, kind.lower())


def checked_backend(backend: str) -> Backend:
    """The back-end of this name, or a ValueError."""
    if backend not in get_args(Backend):
        raise ValueError(f"dtype_backend must be one of {', '.join(get_args(Backend))}, not {backend!r}")
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
