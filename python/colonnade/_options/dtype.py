"""The types of columns that a user can request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, time
    from decimal import Decimal
    from typing import Any

    import numpy as np
    import polars as pl
    from pandas.api.extensions import ExtensionDtype


class ArrowSchema(Protocol):
    """Anything with Arrow's PyCapsule interface for schemas and types."""

    def __arrow_c_schema__(self) -> object: ...


#: A type's name in spec/TYPES.md (`"int32"`, `"decimal128(12, 2)"`, `"timestamp(us, UTC)"`), in NumPy or in pandas, a
#: type object of NumPy, pandas, polars or pyarrow, or `lossy` of any of these.
Dtype: TypeAlias = "str | type | ArrowSchema | np.dtype[Any] | ExtensionDtype | pl.DataType | Lossy"

#: A kind of columns: all whose values are of this type.
Kind: TypeAlias = "type[str | bytes | bool | int | float | Decimal | date | time]"

#: One type for all columns, or types of columns by name or kind.
Dtypes: TypeAlias = "Mapping[str, Dtype] | Mapping[Kind, Dtype] | Mapping[str | Kind, Dtype] | Dtype"

#: The same once the columns are known, by name alone.
NamedDtypes: TypeAlias = "Mapping[str, Dtype] | Dtype"

#: How a frame keeps its columns: as pandas.read_sql does (the first three), in NumPy's and pandas' exact types, or as
#: ConnectorX does. docs/how-to/drop-in.md has the table.
Backend = Literal["numpy", "numpy_nullable", "pyarrow", "exact", "connectorx"]


@dataclass(frozen=True)
class Lossy:
    """A type to which values may be rounded; see `lossy`."""

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
