"""Returned numbers and booleans in the type of the result: exact, or refused with the row."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np

from .failures import Fault, wrong_result, wrong_type

#: The kinds of numpy's arrays from which a kind of numbers may come.
ACCEPTED = {"b": "b", "i": "iuf", "u": "iuf", "f": "iuf"}
#: The types of values that may be integers of 16 bytes, and the digits of these. pyarrow has a Decimal for them.
WHOLE = (int, float, np.integer, np.floating, decimal.Decimal)
MOST_DIGITS = 39


def numbers(found: np.ndarray, mask: np.ndarray | None, dtype: np.dtype, type_name: str) -> tuple[np.ndarray, Any]:
    """The values in `dtype`, and the mask. Values under the mask are zeros."""
    if found.dtype == object:
        found = from_objects(found, mask, dtype, type_name)
    if found.dtype == dtype:
        return (found if mask is None else np.where(mask, np.zeros(1, dtype), found)), mask
    if found.dtype.kind not in ACCEPTED[dtype.kind]:
        raise wrong_result(f"the function returned {found.dtype} for {type_name}")
    if mask is not None:
        found = np.where(mask, np.zeros(1, found.dtype), found)
    if dtype.kind == "f" and found.dtype.kind == "f":
        return rounded(found, dtype, type_name), mask
    if found.dtype.kind == "f" and np.isnan(found).any():
        refuse(np.isnan(found), found, type_name, state="22004", why="is no number of")
    with np.errstate(all="ignore"):
        converted = found.astype(dtype)
        # Back in the type that it had, each must be the same. Floats beyond the integers' range convert to anything,
        # so the range is checked apart.
        same = converted.astype(found.dtype) == found
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if found.dtype.kind == "f":
            # The largest integer may not be a float, the one after it is a power of two.
            same &= (found >= float(bounds.min)) & (found < float(bounds.max // 2 + 1) * 2)
        elif found.dtype.kind == "i" and dtype.kind == "u":
            same &= found >= 0
        elif found.dtype.kind == "u" and dtype.kind == "i":
            same &= converted >= 0
    elif found.dtype.itemsize == 8:
        # An integer near the type's end is rounded up to the power of two, and comes back as anything.
        same &= np.abs(converted) < 2.0**63
    if not same.all():
        refuse(~same, found, type_name)
    return converted, mask


def rounded(found: np.ndarray, dtype: np.dtype, type_name: str) -> np.ndarray:
    """Floats of another width: rounded, as REAL says. A finite value stays finite."""
    with np.errstate(all="ignore"):
        converted = found.astype(dtype)
    overflow = np.isinf(converted) & ~np.isinf(found)
    if overflow.any():
        refuse(overflow, found, type_name)
    return converted


def from_objects(found: np.ndarray, mask: np.ndarray | None, dtype: np.dtype, type_name: str) -> np.ndarray:
    """Python's objects as numpy's numbers; zero for NULL."""
    items = found.tolist()
    if mask is not None:
        items = [0 if is_null else item for item, is_null in zip(items, mask.tolist(), strict=True)]
    if dtype.kind == "b":
        for row, item in enumerate(items):
            if not isinstance(item, (bool, np.bool_)) and (mask is None or not mask[row]):
                raise wrong_type(row, item, type_name)
        return np.array(items, bool)
    for row, item in enumerate(items):
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, float, np.integer, np.floating)):
            raise wrong_type(row, item, type_name)
    if dtype.kind == "f":
        for row, item in enumerate(items):
            if isinstance(item, (int, np.integer)) and not fits_float(int(item), dtype):
                raise out_of_range(row, item, type_name)
        return np.array(items, "<f8")
    integers = [exact_integer(item, row, type_name) for row, item in enumerate(items)]
    bounds = np.iinfo(dtype)
    for row, item in enumerate(integers):
        if not bounds.min <= item <= bounds.max:
            raise out_of_range(row, item, type_name)
    return np.array(integers, dtype)


def fits_float(item: int, dtype: np.dtype) -> bool:
    try:
        return int(dtype.type(float(item))) == item
    except OverflowError:
        return False


def exact_integer(item: Any, row: int, type_name: str) -> int:
    """An integer, or a float or Decimal that is one."""
    if isinstance(item, (int, np.integer)):
        return int(item)
    if item != item:
        raise Fault("22004", f"NaN is no number of {type_name}; return None for NULL", row)
    # Before a Decimal with a huge exponent becomes an integer.
    is_huge = isinstance(item, decimal.Decimal) and item.adjusted() > MOST_DIGITS
    if is_huge or item in (float("inf"), float("-inf")) or int(item) != item:
        raise out_of_range(row, item, type_name)
    return int(item)


def out_of_range(row: int, item: Any, type_name: str) -> Fault:
    return Fault("22003", f"{item} does not fit into {type_name}", row)


def refuse(wrong: np.ndarray, found: np.ndarray, type_name: str, *, state: str = "22003", why: str = "") -> None:
    """Raise the error of the first row that is wrong."""
    row = int(wrong.argmax())
    raise Fault(state, f"{found[row]} {why or 'does not fit into'} {type_name}", row)


def large_integers(found: np.ndarray, mask: np.ndarray | None, type_name: str, *, signed: bool) -> bytes:
    """Integers of 16 bytes."""
    smallest, bound = (-(2**127), 2**127) if signed else (0, 2**128)
    parts = []
    for row, item in enumerate(python_items(found, mask)):
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, WHOLE):
            raise wrong_type(row, item, type_name)
        number = exact_integer(item, row, type_name)
        if not smallest <= number < bound:
            raise out_of_range(row, number, type_name)
        parts.append(number.to_bytes(16, "little", signed=signed))
    return b"".join(parts)


def decimals(found: np.ndarray, mask: np.ndarray | None, type_name: str, width: int, scale: int) -> bytes:
    """Decimals as integers of 16 bytes, not rounded."""
    bound = 10**width
    parts = []
    for row, item in enumerate(python_items(found, mask)):
        if isinstance(item, (np.integer, np.floating)):
            item = item.item()
        if isinstance(item, bool) or not isinstance(item, (decimal.Decimal, int, float)):
            raise wrong_type(row, item, type_name)
        number = decimal.Decimal(item)
        if number.is_nan():
            raise Fault("22004", f"NaN is no number of {type_name}; return None for NULL", row)
        # Before scaling, so that a huge exponent costs nothing.
        if not number.is_finite() or (number and not -scale - 1600 <= number.adjusted() < width - scale):
            raise out_of_range(row, item, type_name)
        sign, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)
        integer = int("".join(map(str, digits)))
        power = exponent + scale
        if power >= 0:
            integer *= 10**power
        else:
            integer, rest = divmod(integer, 10**-power)
            if rest:
                raise Fault("22003", f"{item} has more than {scale} digits behind the point of {type_name}", row)
        if integer >= bound:
            raise out_of_range(row, item, type_name)
        parts.append((-integer if sign else integer).to_bytes(16, "little", signed=True))
    return b"".join(parts)


def python_items(found: np.ndarray, mask: np.ndarray | None) -> list[Any]:
    """The values as Python's; 0 for NULL."""
    items = found.tolist()
    return items if mask is None else [0 if null else item for item, null in zip(items, mask.tolist(), strict=True)]
