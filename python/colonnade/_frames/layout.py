"""How a pandas.DataFrame keeps the columns of a result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from colonnade._options.dtype import Backend

    from .dtype import Conversion

#: Types that a database has and the wire has not: the field's metadata names them (spec/TYPES.md).
_TYPE_KEY = b"colonnade.type"
#: Those whose text is the digits of a number.
_DIGITS = re.compile(r"(numeric|decimal)(\([^)]*\))?|uhugeint|bignum", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """How the columns of a frame are kept."""

    backend: Backend = "numpy"
    #: Whether decimals become the nearest float; None leaves it to the back-end.
    coerce_float: bool | None = None
    #: Columns whose types were asked for, by name; None means all of them.
    requested: frozenset[str] | None = frozenset()

    @property
    def coerces(self) -> bool:
        """Whether decimals become floats, which is pandas' default."""
        return self.backend != "exact" if self.coerce_float is None else self.coerce_float

    def keeps(self, column: str) -> bool:
        """Whether a column keeps the type that it has."""
        return self.requested is None or column in self.requested

    def conversions(self, schema: pa.Schema) -> list[Conversion]:
        """The types that columns get before they arrive here: their number, the type, whether values may change."""
        found: list[Conversion] = []
        for index, field in enumerate(schema):
            target = None if self.keeps(field.name) else self._target(field)
            if target is not None:
                found.append((index, target.removeprefix("lossy:"), target.startswith("lossy:")))
        return found

    def _target(self, field: pa.Field) -> str | None:
        if self.backend == "connectorx":
            return _connectorx(field)
        if is_decimal(field) and self.coerces:
            return "lossy:float64"
        # What the values of an enumeration are, and in which order, is text for pandas.
        if self.backend in ("numpy", "numpy_nullable") and pa.types.is_dictionary(field.type):
            return "utf8" if pa.types.is_string(field.type.value_type) else None
        return None


def is_decimal(field: pa.Field) -> bool:
    kind = (field.metadata or {}).get(_TYPE_KEY, b"").decode()
    return pa.types.is_decimal(field.type) or _DIGITS.fullmatch(kind) is not None


def is_digits(field: pa.Field) -> bool:
    """Whether it is a numeric without a precision, whose text arrives."""
    return pa.types.is_string(field.type) and is_decimal(field)


def _connectorx(field: pa.Field) -> str | None:
    """What ConnectorX would have made of it, where that is not what pandas gets anyway, or by a wider copy."""
    kind = field.type
    if is_decimal(field):
        return "lossy:float64"
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz in (None, "UTC")):
        return "timestamp(us)"
    if pa.types.is_dictionary(kind) or pa.types.is_time(kind):
        return "utf8"
    return None
