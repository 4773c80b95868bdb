"""An independent statement of which values each database can hold exactly, from spec/TYPES.md alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

DAY = 86_400_000_000
MILLISECONDS = DAY // 1000
#: Units in a second.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: 4713-11-24 BC and 294277-01-01 in microseconds since 1970; the end is out of 64 bits.
FIRST_MOMENT = -210_866_803_200_000_000
#: The first timestamp of DuckDB in microseconds since 1970, and the end of the time parts of intervals in nanoseconds.
DUCKDB_MOMENT = -9_223_372_022_400_000_000
LONGEST_INTERVAL = 2_562_047 * 3600 * 10**9
#: 0000-01-01 and 9999-12-31 in days since 1970.
ISO_DAYS = range(-719_528, 2_932_897)


@dataclass(frozen=True)
class Case:
    """A type of Arrow, its values as what pyarrow makes an array of, and who holds which of them."""

    type: pa.DataType
    values: st.SearchStrategy[Any]
    postgres: Callable[[Any], bool]
    sqlite: Callable[[Any], bool]

    def extended(self, value: Any) -> bool:
        """Whether PostgreSQL with the extension holds it, which gets rows in another form."""
        return self.postgres(value)

    def mariadb(self, value: Any) -> bool:
        """Whether MariaDB holds it. Its times have 838 hours, its TIMESTAMP the seconds from 1 to 2^31 - 1."""
        kind = self.type
        if pa.types.is_floating(kind):
            return double_fits(value) and abs(value) != math.inf
        if pa.types.is_date(kind):
            return self.sqlite(value)
        if pa.types.is_time(kind):
            return time_fits(kind.unit)(value)
        if pa.types.is_timestamp(kind):
            found = micros(value, kind.unit)
            return self.sqlite(value) if kind.tz is None else found is not None and 10**6 <= found < 2**31 * 10**6
        if pa.types.is_duration(kind):
            found = micros(value, kind.unit)
            return found is not None and abs(found) <= 3_020_399 * 10**6
        return True

    mariadb_insert = mariadb

    def has_form(self, which: str) -> bool:
        """Whether the database has a type for it."""
        if which in ("postgres", "extended"):
            return True
        if which in ("serve", "duckdb"):
            return self.type != pa.decimal256(76, 40)
        is_mariadb = which.startswith("mariadb")
        return not (
            pa.types.is_nested(self.type)
            or (pa.types.is_duration(self.type) and not is_mariadb)
            or self.type == pa.decimal256(76, 40)
        )

    def array(self, values: list[Any]) -> pa.Array:
        return pa.array(values, self.type)

    def duckdb(self, value: Any) -> bool:
        """Whether DuckDB holds a value, in the type that a new column gets."""
        kind = self.type
        if pa.types.is_date32(kind):
            return value > -(2**31)
        if pa.types.is_date64(kind):
            return value % MILLISECONDS == 0 and abs(value // MILLISECONDS) < 2**31 - 1
        if pa.types.is_timestamp(kind):
            return served_moment_fits(value, kind)
        if pa.types.is_duration(kind):
            nanos = value * 10**9 // PER_SECOND[kind.unit]
            return nanos % 1000 == 0 and abs(nanos) < LONGEST_INTERVAL
        return True

    serve = duckdb


def always(_: Any) -> bool:
    return True


def never(_: Any) -> bool:
    return False


def whole(bits: int, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.one_of(st.integers(low, high), st.sampled_from([low, high, 0]))


def micros(value: int, unit: str) -> int | None:
    scaled = value * 10**6
    return scaled // PER_SECOND[unit] if scaled % PER_SECOND[unit] == 0 else None


def time_fits(unit: str) -> Callable[[int], bool]:
    def fits(value: int) -> bool:
        found = micros(value, unit)
        return found is not None and 0 <= found <= DAY

    return fits


def clock_fits(unit: str) -> Callable[[int], bool]:
    """SQLite's text of a time ends before 24:00."""

    def fits(value: int) -> bool:
        found = micros(value, unit)
        return found is not None and 0 <= found < DAY

    return fits


def moment_fits(unit: str) -> Callable[[int], bool]:
    def fits(value: int) -> bool:
        if abs(value) == 2**63 - 1:
            # Infinity.
            return True
        found = micros(value, unit)
        return found is not None and FIRST_MOMENT <= found < 2**63

    return fits


def duration_fits(unit: str) -> Callable[[int], bool]:
    def fits(value: int) -> bool:
        found = micros(value, unit)
        return found is not None and -(2**63) <= found < 2**63

    return fits


def iso_moment_fits(unit: str) -> Callable[[int], bool]:
    def fits(value: int) -> bool:
        found = micros(value, unit)
        return found is not None and found // DAY in ISO_DAYS

    return fits


def served_moment_fits(value: int, kind: pa.TimestampType) -> bool:
    if abs(value) == 2**63 - 1:
        return True
    if kind.unit == "ns":
        return abs(value) < 2**63 - 1
    found = micros(value, kind.unit)
    return found is not None and DUCKDB_MOMENT <= found < 2**63 - 1


def double_fits(value: float) -> bool:
    """SQLite makes NULL of NaN, and 0.0 of -0.0."""
    return value == value and not (value == 0 and str(value).startswith("-"))


def decimal_fits(scale: int) -> Callable[[Decimal], bool]:
    """SQLite holds integers of 64 bits and, as doubles, decimals of 15 digits."""

    def fits(value: Decimal) -> bool:
        digits = abs(int(value.scaleb(scale, Context(prec=80))))
        return (digits % 10**scale == 0 and -(2**63) <= int(value) < 2**63) or (digits < 10**15 and scale <= 22)

    return fits


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    wide = Context(prec=80)
    numbers = st.one_of(st.integers(-bound, bound), st.integers(-1000, 1000), st.sampled_from([bound, -bound]))
    return numbers.map(lambda number: Decimal(number).scaleb(-scale, wide))


def no_nul(value: str) -> bool:
    return "\0" not in value


SPECIAL = st.sampled_from([-0.0, float("nan"), float("inf")])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BYTES = st.binary(max_size=20)
LONG = st.one_of(whole(64, True), st.integers(-(10**16), 10**16), st.integers(-(10**6), 10**6))

CASES = [
    Case(pa.bool_(), st.booleans(), always, always),
    *(
        Case(getattr(pa, f"{'' if signed else 'u'}int{bits}")(), whole(bits, signed), always, lambda v: v < 2**63)
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    ),
    Case(pa.float32(), st.floats(width=32) | SPECIAL, always, double_fits),
    Case(pa.float64(), st.floats() | SPECIAL, always, double_fits),
    *(
        Case(pa.decimal128(precision, scale), decimals(precision, scale), always, decimal_fits(scale))
        for precision, scale in [(15, 2), (5, 5), (20, 0), (38, 10), (38, 37)]
    ),
    Case(pa.decimal32(9, 3), decimals(9, 3), always, decimal_fits(3)),
    Case(pa.decimal64(18, 2), decimals(18, 2), always, decimal_fits(2)),
    Case(pa.decimal256(76, 40), decimals(76, 40), always, never),
    Case(pa.decimal256(20, 2), decimals(20, 2), always, decimal_fits(2)),
    Case(pa.string(), TEXT, no_nul, always),
    Case(pa.large_string(), TEXT, no_nul, always),
    Case(pa.string_view(), TEXT, no_nul, always),
    Case(pa.dictionary(pa.int8(), pa.string()), TEXT, no_nul, always),
    Case(pa.binary(), BYTES, always, always),
    Case(pa.large_binary(), BYTES, always, always),
    Case(pa.binary_view(), BYTES, always, always),
    Case(pa.binary(4), st.binary(min_size=4, max_size=4), always, always),
    Case(
        pa.date32(),
        st.one_of(whole(32, True), st.integers(-3_000_000, 3_000_000)),
        lambda days: (days >= -2_440_588 and days < 2_145_042_906) or abs(days) == 2**31 - 1,
        lambda days: days in ISO_DAYS,
    ),
    Case(
        pa.date64(),
        st.one_of(LONG, st.integers(-3_000_000, 3_000_000).map(lambda days: days * MILLISECONDS)),
        lambda value: value % MILLISECONDS == 0 and -2_440_588 <= value // MILLISECONDS < 2_145_042_906,
        lambda value: value % MILLISECONDS == 0 and value // MILLISECONDS in ISO_DAYS,
    ),
    *(
        Case(
            pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit),
            st.integers(0, DAY * PER_SECOND[unit] // 10**6 - 1),
            time_fits(unit),
            clock_fits(unit),
        )
        for unit in PER_SECOND
    ),
    *(
        Case(pa.timestamp(unit, zone), LONG, moment_fits(unit), iso_moment_fits(unit))
        for unit in PER_SECOND
        for zone in (None, "UTC", "Asia/Kolkata")
    ),
    *(Case(pa.duration(unit), LONG, duration_fits(unit), never) for unit in PER_SECOND),
    Case(pa.list_(pa.int32()), st.lists(st.none() | whole(32, True), max_size=4), always, never),
    Case(
        pa.large_list(pa.string()),
        st.lists(st.none() | TEXT, max_size=4),
        lambda v: all(map(no_nul, filter(None, v))),
        never,
    ),
    Case(pa.list_(pa.decimal128(9, 4), 2), st.lists(decimals(9, 4), min_size=2, max_size=2), always, never),
    Case(pa.list_view(pa.bool_()), st.lists(st.none() | st.booleans(), max_size=4), always, never),
    Case(pa.null(), st.nothing(), always, always),
]
