"""Arguments as arrays of NumPy: what calls do with them. `arrow_style.py` does the same with arrays of pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import inbound
from .inbound import Values
from .inbound import reader as reader


def taken(values: Values, numbers: np.ndarray) -> Values:
    """The values with these numbers."""
    found, mask = values
    return found[numbers], None if mask is None else mask[numbers]


def repeated(values: Values, rows: int) -> Values:
    """One value for all rows, not copied."""
    found, mask = values
    mask = None if mask is None else np.repeat(mask, rows)
    return np.broadcast_to(found, (rows, *found.shape[1:])), mask


def nulls(values: Values) -> np.ndarray | None:
    """Which rows are NULL; None if none is."""
    return values[1]


def part(values: Values, start: int, stop: int) -> Values:
    """Some rows. They have a mask only if one of them is NULL."""
    found, mask = values
    mask = None if mask is None or not mask[start:stop].any() else mask[start:stop]
    return found[start:stop], mask


def argument(values: Values, kept: np.ndarray | None = None) -> Any:
    """What the function gets: the rows that are kept, in which nothing is NULL, or all."""
    return inbound.argument(values) if kept is None else values[0][kept]


def group_numbers(numbers: np.ndarray) -> Any:
    """The number of each row's group."""
    return numbers


def write(*_: Any) -> bool:
    """Results are converted."""
    return False
