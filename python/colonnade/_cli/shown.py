"""Values for the terminal, including those that Python's types cannot represent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import unrepresentable
from colonnade._libraries import require

if TYPE_CHECKING:
    import pyarrow as pa

#: The number of an infinite date or timestamp, by its bits (spec/TYPES.md).
_INFINITY = {32: 2**31 - 1, 64: 2**63 - 1}
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
#: Days of the Gregorian calendar's cycle of 400 years, and from 0000-03-01 to 1970-01-01.
_CYCLE, _EPOCH = 146_097, 719_468


def values(array: pa.Array) -> list[Any]:
    """An object for each value: Python's, or text if Python has no object for one of them."""
    pa = require("pyarrow", "colonnade read")
    if unrepresentable(pa.table([array], names=["v"]), midnight=True) is None:
        try:
            return array.to_pylist()
        except (ValueError, OverflowError):
            pass
    kind = array.type
    if pa.types.is_date32(kind):
        return _each(array, pa.int32(), lambda days: _moment(days, 0, 1, 32))
    if pa.types.is_timestamp(kind):
        per_second = _PER_SECOND[kind.unit]
        zone = "+00:00" if kind.tz else ""

        def text(moment: int) -> str:
            days, part = divmod(moment, 86_400 * per_second)
            return _moment(days, part, per_second, 64) + zone

        return _each(array, pa.int64(), text)
    if pa.types.is_time(kind):
        integer = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _each(array, integer, lambda time: _time(time, _PER_SECOND[kind.unit]))
    if pa.types.is_struct(kind):
        fields = {field.name: values(child) for field, child in zip(kind, array.flatten(), strict=True)}
        return [_row(fields, row) if array[row].is_valid else None for row in range(len(array))]
    # A list.
    return [f"[{', '.join(map(str, values(row.values)))}]" if row.is_valid else None for row in array]


def _each(array: pa.Array, integer: pa.DataType, text: Any) -> list[Any]:
    return [None if value is None else text(value) for value in array.cast(integer).to_pylist()]


def _row(fields: dict[str, list[Any]], row: int) -> str:
    return "{" + ", ".join(f"{name!r}: {column[row]}" for name, column in fields.items()) + "}"


def _moment(days: int, part: int, per_second: int, bits: int) -> str:
    whole = days if bits == 32 else days * 86_400 * per_second + part
    if abs(whole) == _INFINITY[bits]:
        return "infinity" if whole > 0 else "-infinity"
    return _day(days) if bits == 32 else _day(days, f" {_time(part, per_second)}")


def _day(days: int, time: str = "") -> str:
    """The date `days` days after 1970-01-01, by the cycles of the calendar. Here a year begins in March."""
    cycles, day = divmod(days + _EPOCH, _CYCLE)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    year += 400 * cycles + (month >= 10)
    month += 3 if month < 10 else -9
    # The year before 1 is 1 BC, as SQL writes it.
    era, year = ("", year) if year > 0 else (" BC", 1 - year)
    return f"{year:04}-{month:02}-{day:02}{time}{era}"


def _time(part: int, per_second: int) -> str:
    seconds, fraction = divmod(part, per_second)
    digits = f".{fraction:0{len(str(per_second)) - 1}}" if fraction else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{digits}"
