"""PEP 249's type objects and constructors."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from colonnade._libraries import require

if TYPE_CHECKING:
    import pyarrow as pa


class Warning(Exception):
    """PEP 249's class for important warnings. This package raises none."""


class TypeObject:
    """Equals each type code that it stands for. A type code is the Python type of the column's values."""

    def __init__(self, name: str, *types: type) -> None:
        self._name = name
        self._types = frozenset(types)

    def __eq__(self, other: object) -> bool:
        return self is other or other in self._types

    def __hash__(self) -> int:
        return hash(self._types)

    def __repr__(self) -> str:
        return f"colonnade.dbapi.{self._name}"


STRING = TypeObject("STRING", str, UUID)
BINARY = TypeObject("BINARY", bytes)
NUMBER = TypeObject("NUMBER", bool, int, float, Decimal)
DATETIME = TypeObject("DATETIME", dt.date, dt.time, dt.datetime, dt.timedelta)
#: No column has row identifiers.
ROWID = TypeObject("ROWID")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:
    """The local date at `ticks` seconds since 1970."""
    return dt.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> dt.time:
    """The local time at `ticks` seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:
    """The local date and time at `ticks` seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks)


#: A column: name, type code, display size, internal size, precision, scale, whether NULL occurs.
Description = tuple[str, type, None, int | None, int | None, int | None, None]


def description(field: pa.Field, *, is_decimal: bool) -> Description:
    """The description of a column. `is_decimal` says that its text becomes decimals."""
    types, kind = require("pyarrow", "colonnade.dbapi").types, field.type
    size = kind.bit_width // 8 if types.is_integer(kind) or types.is_floating(kind) else None
    precision, scale = (kind.precision, kind.scale) if types.is_decimal(kind) else (None, None)
    return field.name, Decimal if is_decimal else type_code(types, kind), None, size, precision, scale, None


def type_code(types: Any, kind: pa.DataType) -> type:
    """The Python type of the values of an Arrow type."""
    if types.is_dictionary(kind):
        return type_code(types, kind.value_type)
    for is_kind, python in (
        (types.is_boolean, bool),
        (types.is_integer, int),
        (types.is_floating, float),
        (types.is_decimal, Decimal),
        (types.is_date, dt.date),
        (types.is_time, dt.time),
        (types.is_timestamp, dt.datetime),
        (types.is_duration, dt.timedelta),
        (types.is_interval, tuple),
        (types.is_map, list),
        (types.is_struct, dict),
        (types.is_nested, list),
        (types.is_null, type(None)),
    ):
        if is_kind(kind):
            return python
    if any(is_bytes(kind) for is_bytes in (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)):
        return bytes
    return UUID if getattr(kind, "extension_name", "") == "arrow.uuid" else str
