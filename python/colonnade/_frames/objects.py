"""Columns of Python objects: text and decimals. Equal values in a batch share an object where that saves time."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .fixed import Buffer

#: The average number of rows with the same value from which the search for equal values saves time.
_SHARED = 2
#: More digits than any decimal has, so that products are never rounded.
_EXACT = decimal.Context(prec=80)


def column(field: pa.Field, *, texts: bool, digits: bool) -> Objects | None:
    """The column of a field of decimals or, with `texts`, text; otherwise None. `digits` makes decimals of text."""
    if pa.types.is_decimal128(field.type) or ((texts or digits) and pa.types.is_string(field.type)):
        return Objects(decimals=digits)
    return None


class Objects:
    """One column. With `decimals`, text becomes decimals."""

    def __init__(self, *, decimals: bool = False) -> None:
        self._decimals = decimals
        self._values = Buffer("object")
        self._rows = 0
        self._shares = True

    def add(self, array: pa.Array) -> None:
        start, self._rows = self._rows, self._rows + len(array)
        self._values.reserve(self._rows)
        self._values.values[start : self._rows] = self._made(array)

    def _made(self, array: pa.Array) -> np.ndarray:
        make = _decimals if self._decimals else _objects
        if not self._shares or len(array) == 0:
            return make(array)
        labels = array.dictionary_encode()
        self._shares = len(labels.dictionary) * _SHARED <= len(array)
        if not self._shares:
            return make(array)
        values = np.append(make(labels.dictionary), np.array([None]))
        return values[labels.indices.fill_null(len(values) - 1).to_numpy()]

    def finish(self) -> pd.Series:
        return pd.Series(self._values.finish(self._rows), dtype=object, copy=False)


def _decimals(array: pa.Array) -> np.ndarray:
    """A decimal for each text."""
    if not pa.types.is_string(array.type):
        return _objects(array)
    made = np.empty(len(array), object)
    made[:] = [None if text is None else decimal.Decimal(text) for text in array.to_pylist()]
    return made


def _objects(array: pa.Array) -> np.ndarray:
    """An object for each value; None for NULL."""
    integers = _unscaled(array) if pa.types.is_decimal128(array.type) else None
    if integers is None:
        return array.to_numpy(zero_copy_only=False)
    made = np.empty(len(array), object)
    # This takes half the time of pyarrow's conversion, which uses text.
    unit = decimal.Decimal(1).scaleb(-array.type.scale)
    with decimal.localcontext(_EXACT):
        made[:] = list(map(unit.__mul__, integers.tolist()))
    if array.null_count:
        made[array.is_null().to_numpy(zero_copy_only=False)] = None
    return made


def _unscaled(array: pa.Array) -> Any:
    """The unscaled integers of decimals, which are arbitrary for NULL; None if one exceeds 64 bits."""
    values = array.buffers()[1]
    if values is None or array.type.scale < 0:
        return None
    halves = np.frombuffer(values, "int64")[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = halves[::2], halves[1::2]
    return low if bool((high == low >> 63).all()) else None
