"""Types that columns are to have."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from colonnade._errors import InterfaceError

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from pandas.api.extensions import ExtensionDtype

    from colonnade._core import ArrowSchema, Stream

#: A type's name as spec/TYPES.md writes it (`"int32"`, `"decimal128(12, 2)"`, `"timestamp(us, UTC)"`), NumPy's or
#: pandas' name for it, one of theirs or of pyarrow's objects, or `lossy` of any of these.
Dtype: TypeAlias = "str | type | ArrowSchema | np.dtype[Any] | ExtensionDtype | Lossy"

#: One type for all columns, or types of columns by name.
Dtypes: TypeAlias = "Mapping[str, Dtype] | Dtype"

#: A column's number, its new type as the extension module takes it, and whether values may change.
Conversion: TypeAlias = "tuple[int, str | ArrowSchema, bool]"

#: What else a type is called, by Python, NumPy and pandas.
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
#: pandas' names of types that know NULL; every type does here.
_NULLABLE = {f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Lossy:
    """A type that values may be changed for; see `lossy`."""

    dtype: Dtype


def lossy(dtype: Dtype) -> Lossy:
    """Allows a conversion to `dtype` to change values.

    The nearest value is taken; for an integer type, the nearest towards zero. A value that has no near value in the
    type, such as one that is out of range, is still an error.

    Args:
        dtype: A type as the argument `dtype` of `read_sql` takes it.

    Returns:
        The type, for use in the argument `dtype`.

    Example:
        >>> colonnade.read_sql(uri, "select price from orders", dtype={"price": lossy("float32")})  # doctest: +SKIP
    """
    return Lossy(dtype)


def converted(stream: Stream, dtype: Dtypes | None) -> Stream:
    """The stream, with these columns in other types."""
    if dtype is None or dtype == {}:
        return stream
    try:
        return stream.converted(conversions(stream.names, dtype))
    except BaseException:
        stream.close()
        raise


def named(dtype: Dtypes | None, as_text: Sequence[str] | None) -> frozenset[str] | None:
    """The columns whose types somebody asked for, and which keep them; None stands for all of them."""
    if dtype is None:
        return frozenset(as_text or ())
    return frozenset(dtype) | frozenset(as_text or ()) if isinstance(dtype, Mapping) else None


def conversions(names: Sequence[str], dtype: Dtypes) -> list[Conversion]:
    """For each column that gets another type: its number, the type, and whether values may change."""
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
    """The type as the extension module takes it, and whether values may change."""
    if isinstance(dtype, Lossy):
        return _read(dtype.dtype)[0], True
    # pandas.ArrowDtype
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    if hasattr(dtype, "__arrow_c_schema__"):
        return cast("ArrowSchema", dtype), False
    if isinstance(dtype, type):
        return _PYTHON.get(dtype, dtype.__name__), False
    # NumPy's and pandas' types say their names.
    name = dtype if isinstance(dtype, str) else str(dtype)
    may_change, name = name.startswith("lossy:"), name.removeprefix("lossy:")
    if name in _NULLABLE:
        name = name.lower()
    if name.startswith("datetime64["):
        name = "timestamp" + name.removeprefix("datetime64")
    return _ALIASES.get(name, name), may_change
