"""The types of a pandas frame's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from colonnade._options.dtype import Dtype, NamedDtypes

from .dtype import PANDAS_TEXT, is_category, is_object
from .values import is_decimal, is_digits

if TYPE_CHECKING:
    from colonnade._options.dtype import Backend

    from .dtype import Conversion


@dataclass(frozen=True)
class Layout:
    """The types of a frame's columns."""

    backend: Backend = "numpy"
    #: Whether decimals become the nearest float; None leaves it to the back-end.
    coerce_float: bool | None = None
    #: The columns with requested types, by name; None means all columns.
    requested: frozenset[str] | None = frozenset()
    #: The types that the columns get afterwards (`astype`).
    dtype: NamedDtypes | None = None

    def of_column(self, field: pa.Field) -> Layout:
        """The layout of one column. If its type tells NaN from NULL, the column is made in this form from the
        beginning, because pandas' conversion makes NULL of NaN."""
        kind = self._wanted(field.name)
        if kind is not None and self.backend in ("numpy_nullable", "pyarrow") and _is_number_of_numpy(kind):
            return replace(self, backend="numpy")
        if kind is None or not is_of_pandas(kind) or is_object(kind):
            return self
        kind = pd.api.types.pandas_dtype(kind)
        if isinstance(kind, pd.ArrowDtype):
            return replace(self, backend="pyarrow")
        if isinstance(kind, (pd.Float32Dtype, pd.Float64Dtype)):
            return replace(self, backend="numpy_nullable")
        # pandas cannot convert its own column of Arrow's categories with NULLs.
        is_dictionary = is_category(kind) and pa.types.is_dictionary(field.type)
        return replace(self, backend="numpy") if is_dictionary else self

    def _wanted(self, column: str) -> Dtype | None:
        return self.dtype.get(column) if isinstance(self.dtype, Mapping) else self.dtype

    @property
    def coerces(self) -> bool:
        """Whether decimals become floats, which is pandas' default."""
        return self.backend != "exact" if self.coerce_float is None else self.coerce_float

    def keeps(self, column: str) -> bool:
        """Whether a column keeps its type."""
        return self.requested is None or column in self.requested

    def conversions(self, schema: pa.Schema) -> list[Conversion]:
        """The conversions that the extension module makes before the rows arrive."""
        found: list[Conversion] = []
        for index, field in enumerate(schema):
            target = None if self.keeps(field.name) else self._target(field)
            if target is not None:
                found.append((index, target.removeprefix("lossy:"), target.startswith("lossy:")))
        return found

    def _target(self, field: pa.Field) -> str | None:
        if is_category(self._wanted(field.name)) and _is_text(field.type) and not is_decimal(field):
            return "dictionary"
        if self.backend == "connectorx":
            return _connectorx(field)
        if is_decimal(field) and self.coerces:
            return "lossy:float64"
        # pandas.read_sql gives enumerations as text.
        has_plain_texts = pa.types.is_string(field.type) and self.backend != "pyarrow" and not is_digits(field)
        if self.backend in ("numpy", "numpy_nullable") and pa.types.is_dictionary(field.type):
            has_plain_texts = pa.types.is_string(field.type.value_type)
        return PANDAS_TEXT if has_plain_texts else None


def _is_text(kind: pa.DataType) -> bool:
    """Whether the values are text, also if each one is stored once."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(plain) or pa.types.is_large_string(plain)


def _connectorx(field: pa.Field) -> str | None:
    """The type in which ConnectorX delivers a column, if it needs a conversion here."""
    kind = field.type
    if is_decimal(field):
        return "lossy:float64"
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz in (None, "UTC")):
        return "timestamp(us)"
    if pa.types.is_dictionary(kind) or pa.types.is_time(kind):
        return "utf8"
    return None


def _is_number_of_numpy(dtype: Dtype) -> bool:
    """Whether pandas reads it as one of NumPy's numbers or booleans, also by its name."""
    kind = _read_by_pandas(dtype)
    return isinstance(kind, np.dtype) and kind.kind in "biuf"


def is_of_pandas(dtype: Dtype) -> bool:
    """Whether it is `object`, or a type that only pandas has."""
    return is_object(dtype) or isinstance(_read_by_pandas(dtype), pd.api.extensions.ExtensionDtype)


def _read_by_pandas(dtype: Dtype) -> Any:
    """The type that pandas makes of it; None for a name of spec/TYPES.md, or an object of another library."""
    try:
        return pd.api.types.pandas_dtype(dtype)
    except TypeError:
        return None
