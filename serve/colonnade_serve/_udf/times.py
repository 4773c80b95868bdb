"""Results that are dates, times and intervals: exact, or refused with the row."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from .failures import Fault, wrong_result, wrong_type
from .inbound import COUNTS, INTERVAL
from .results import filled, from_items


def moments(
    found: np.ndarray, mask: np.ndarray | None, dtype: str, type_name: str, *, has_zone: bool = False
) -> np.ndarray:
    """Dates and times as counts of the type's unit; 0 for NULL. Each is exact, or refused."""
    if found.dtype != object:
        return _counts(found, mask, dtype, type_name)
    given = enumerate(filled(found, mask, None))
    items = [_numpy_time(item, row, dtype[0], type_name, has_zone) for row, item in given]
    counts = np.zeros(len(items), np.int64)
    # Each unit by itself: numpy would convert all values to the smallest one, where they may wrap around.
    for unit in dict.fromkeys(item.dtype for item in items):
        rows = np.array([row for row, item in enumerate(items) if item.dtype == unit])
        values = np.array([items[row] for row in rows], unit)
        counts[rows] = _counts(values, None if mask is None else mask[rows], dtype, type_name, rows)
    return counts


def _counts(
    found: np.ndarray, mask: np.ndarray | None, dtype: str, type_name: str, rows: np.ndarray | None = None
) -> np.ndarray:
    """The counts of dates and times of numpy, which are those of `rows`, or all."""
    if found.dtype.kind != dtype[0]:
        raise wrong_result(f"the function returned {found.dtype} for {type_name}")
    return _exact(found, mask, dtype, type_name, rows, COUNTS[dtype])


def _exact(
    found: np.ndarray,
    mask: np.ndarray | None,
    dtype: str,
    type_name: str,
    rows: np.ndarray | None = None,
    bounds: tuple[int, int] | None = None,
) -> np.ndarray:
    """The counts of another unit of numpy's, 0 for NULL, from the first of `bounds` to before the second. `found` has
    the values of `rows`, or of all."""
    converted = found.astype(dtype)
    wrong = converted.astype(found.dtype) != found
    counts = converted.view("<i8")
    if bounds is not None:
        wrong |= (counts < bounds[0]) | (counts >= bounds[1])
    nulls = np.isnat(found) if mask is None else np.isnat(found) | mask
    wrong &= ~nulls
    if wrong.any():
        at = int(wrong.argmax())
        row = at if rows is None else int(rows[at])
        raise Fault("22008", f"{found[at]} does not fit into {type_name}", row)
    return np.where(nulls, 0, counts)


def _numpy_time(item: Any, row: int, kind: str, type_name: str, has_zone: bool) -> Any:
    """One of Python's, pandas' or numpy's dates and times as numpy's; for a type with a time zone in UTC."""
    if item is None:
        return np.datetime64("NaT") if kind == "M" else np.timedelta64("NaT")
    if getattr(item, "tzinfo", None) is not None and not has_zone:
        what = f"the function returned a {type(item).__name__} with a time zone for {type_name}"
        raise wrong_result(f"{what}, which has none; convert it, and remove the zone", row)
    if kind == "m" and isinstance(item, datetime.time):
        seconds = (item.hour * 60 + item.minute) * 60 + item.second
        return np.timedelta64(seconds * 1_000_000 + item.microsecond, "us")
    if isinstance(item, datetime.date if kind == "M" else datetime.timedelta):
        item = exact_time(item)
    if isinstance(item, (np.datetime64, np.timedelta64)) and item.dtype.kind == kind:
        return item
    raise wrong_type(row, item, type_name)


def exact_time(item: datetime.date | datetime.timedelta) -> Any:
    """numpy's value of a date, a datetime, in UTC if it has a time zone, or a timedelta. Those of pandas are Python's
    too, with nanoseconds and years that Python does not have, and make the value themselves."""
    to_numpy = getattr(item, "to_numpy", None)
    if to_numpy is not None:
        return to_numpy()
    if isinstance(item, datetime.datetime) and item.tzinfo is not None:
        item = item.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.timedelta64(item) if isinstance(item, datetime.timedelta) else np.datetime64(item)


def intervals(found: np.ndarray, mask: np.ndarray | None, type_name: str) -> bytes:
    if found.dtype.names == INTERVAL.names:
        with np.errstate(invalid="ignore"):
            written = found.astype(INTERVAL)
        wrong = np.logical_or.reduce([written[part] != found[part] for part in ("months", "days", "micros")])
        wrong = wrong if mask is None else wrong & ~mask
        if wrong.any():
            row = int(wrong.argmax())
            raise Fault("22008", f"{found[row]} does not fit into {type_name}", row)
        return (written if mask is None else np.where(mask, np.zeros(1, INTERVAL), written)).tobytes()
    written = np.zeros(len(found), INTERVAL)
    if found.dtype.kind == "m" and np.datetime_data(found.dtype)[0] not in MONTHS:
        written["micros"] = _exact(found, mask, "m8[us]", type_name)
        return written.tobytes()
    if found.dtype.kind == "m":
        found, mask = from_items(list(found))
    for row, item in enumerate(filled(found, mask, (0, 0, 0))):
        if isinstance(item, (datetime.timedelta, np.timedelta64)):
            item = _parts(item, row, type_name)
        elif isinstance(item, np.void):
            item = item.item()
        elif is_arrow_interval(item):
            micros, rest = divmod(item[2], 1000)
            if rest:
                raise Fault("22008", f"{item} does not fit into {type_name}", row)
            item = (item[0], item[1], micros)
        if not isinstance(item, tuple) or len(item) != 3 or not all(isinstance(part, INTEGERS) for part in item):
            raise wrong_type(row, item, type_name)
        try:
            written[row] = item
        except OverflowError:
            raise Fault("22008", f"{item} does not fit into {type_name}", row) from None
    return written.tobytes()


#: The parts of an interval: a float would be rounded, and a text read.
INTEGERS = (int, np.integer)
#: How many months the units of numpy have that have no fixed length.
MONTHS = {"Y": 12, "M": 1}


def is_arrow_interval(item: Any) -> bool:
    """Whether it is pyarrow's value of an interval: a tuple of months, days and nanoseconds."""
    return isinstance(item, tuple) and hasattr(item, "nanoseconds")


def _parts(item: datetime.timedelta | np.timedelta64, row: int, type_name: str) -> tuple[int, int, int]:
    """The months, days and microseconds of a length. numpy itself would make 30.436875 days of a month."""
    length = item if isinstance(item, np.timedelta64) else exact_time(item)
    unit, step = np.datetime_data(length.dtype)
    if unit in MONTHS:
        return int(length.astype(np.int64)) * step * MONTHS[unit], 0, 0
    return 0, 0, int(_exact(np.array([length]), None, "m8[us]", type_name, np.array([row]))[0])
