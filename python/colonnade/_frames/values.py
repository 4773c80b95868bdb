"""Python objects for Arrow's values, and the types that some libraries lack."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from colonnade._errors import DataError, InterfaceError, NotSupportedError
from colonnade._libraries import require

from . import gaps

if TYPE_CHECKING:
    import pyarrow as pa

#: The key in a field's metadata that names a type of the database which Arrow lacks (spec/TYPES.md).
TYPE_KEY = b"colonnade.type"
#: The types of the database whose text is a number.
_DIGITS = re.compile(r"(numeric|decimal)(\([^)]*\))?|uhugeint|bignum", re.IGNORECASE)
_HINT = "use return_type 'arrow' or dtype_backend 'pyarrow', or cast the column to text in the query"
_INTERVAL = "cast {name} to text in the query, or ask for its seconds: extract(epoch from {name})"
_DECIMAL = "use dtype={{{name!r}: 'utf8'}}, or colonnade.lossy('float64') for the nearest float"
#: The kinds of types that a library lacks, and what to write instead.
_LACKS = {
    "polars": {"interval": _INTERVAL, "decimal256": _DECIMAL},
    "parquet": {"interval": _INTERVAL},
    "csv": {"interval": _INTERVAL},
    "ndjson": {"interval": _INTERVAL},
    "duckdb": {"decimal256": _DECIMAL},
}
#: The destinations that have every type.
_ARROW = "return_type 'arrow'"
_INSTEAD = {"parquet": "the format arrow", "csv": "the format arrow", "ndjson": "the format arrow"}


def require_types(library: str, names: Iterable[str], kinds: Iterable[Iterable[str]]) -> None:
    """Raises NotSupportedError for a column whose type the library lacks. `kinds` is `Stream.rare_types`."""
    for name, within in zip(names, kinds, strict=True):
        for kind in within:
            hint = _LACKS.get(library, {}).get(kind)
            if hint is not None:
                raise NotSupportedError(
                    f"column {name!r} has the type {kind}, which {library} lacks",
                    hint=f"{hint.format(name=name)}; or use {_INSTEAD.get(library, _ARROW)}",
                )


def require_names(library: str, names: list[str]) -> None:
    """Raises InterfaceError if columns have the same name, for a library that identifies columns by name."""
    for name in names:
        if names.count(name) > 1:
            raise InterfaceError(
                f"{names.count(name)} columns are called {name!r}, and {library} needs different names:"
                " give them different names in the query"
            )


def is_decimal(field: pa.Field) -> bool:
    """Whether it is a decimal, in Arrow or in the database."""
    kind = (field.metadata or {}).get(TYPE_KEY, b"").decode()
    return require("pyarrow", "decimals").types.is_decimal(field.type) or _DIGITS.fullmatch(kind) is not None


def is_digits(field: pa.Field) -> bool:
    """Whether it is a numeric without a precision, whose text arrives."""
    return require("pyarrow", "decimals").types.is_string(field.type) and is_decimal(field)


def of_digits(column: pa.ChunkedArray | pa.Array) -> list[Decimal | None]:
    """A decimal for each text of a column for which `is_digits` is true."""
    return [None if text is None else Decimal(text) for text in column.to_pylist()]


def of_column(name: str, column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A Python object for each value. A date or time that Python does not have is a DataError that names the column."""
    way_out = "use dtype_backend 'pyarrow', or cast the column to text in the query"
    gaps.refuse_in_column(name, column, "Python", way_out, midnight=True)
    try:
        return column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise out_of_range(name, error) from error


def out_of_range(name: str, error: Exception) -> DataError:
    """The error for a value that another library refused."""
    return DataError(f"column {name!r} has a value that Python lacks: {error}", hint=_HINT, sqlstate="22008")
