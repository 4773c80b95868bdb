"""Numbers, booleans and moments of a result in NumPy arrays that grow with it.

Large memory grows where it is (mremap). The peak is the column itself and a batch, where joining chunks at the end
would need all of it twice. A wide table has few rows a batch: what is done once a batch must be little.
"""

from __future__ import annotations

import mmap
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from colonnade._options.dtype import Backend

#: Rows of the first allocation.
_FIRST = 1024
_DAY_MILLISECONDS = 86_400_000
#: Floats have room for every integer up to this one.
_FLOAT_INTEGERS = 2**53
_INT64_MAX = 2**63 - 1


def column(field: pa.Field, backend: Backend, *, widens: bool) -> Growing | None:
    """A column that grows, if NumPy has such a type. With `widens`, numbers get 64 bits, and NULLs are kept as pandas
    keeps them."""
    kind = field.type
    #: Whether the type knows NULL although there is none.
    masks = backend in ("numpy_nullable", "connectorx")
    if pa.types.is_integer(kind):
        prefix = "UInt" if pa.types.is_unsigned_integer(kind) else "Int"
        if widens and kind.bit_width <= 32:
            return Integers("int64", masks=masks, source=str(kind))
        if widens and backend != "connectorx":
            return Integers(str(kind), masks=masks)
        # A float has no room for every integer, and NumPy no integer for NULL.
        return Growing(str(kind), f"{prefix}{kind.bit_width}", always=masks)
    if pa.types.is_boolean(kind):
        return Flags() if widens and not masks else Growing("bool", "boolean", always=masks)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        source = f"float{kind.bit_width}"
        name = "float64" if widens else source
        if backend == "numpy_nullable":
            return Growing(name, name.capitalize(), always=True, source=source)
        return Growing(name, None, source=source)
    if pa.types.is_date32(kind):
        return Growing("datetime64[ms]", None, source="int32", factor=_DAY_MILLISECONDS)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return Growing(f"datetime64[{kind.unit}]", None)
    return None


class Buffer:
    """An array that grows where it is: the system moves pages, nothing is copied, and room that is never used costs no
    memory. What holds objects, and other systems than Linux, have to do with NumPy's own way. New values are 0."""

    def __init__(self, dtype: str) -> None:
        self.values: np.ndarray = np.empty(0, dtype)
        self._is_mapped = sys.platform == "linux" and not self.values.dtype.hasobject
        self._map: mmap.mmap | None = None

    def reserve(self, rows: int) -> None:
        if rows > len(self.values):
            spare = rows // 2 if self._is_mapped else rows // 8
            self._resize(max(_FIRST, rows + spare))

    def finish(self, rows: int) -> np.ndarray:
        self._resize(rows)
        return self.values

    def _resize(self, rows: int) -> None:
        if not self._is_mapped:
            self.values.resize(rows, refcheck=False)
            return
        dtype = self.values.dtype
        size = max(rows, 1) * dtype.itemsize
        # A map that an array looks at keeps its size.
        self.values = np.empty(0, dtype)
        if self._map is None:
            self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            self._map.resize(size)
        self.values = np.frombuffer(self._map, dtype, rows)


class Growing:
    """One column. `masked` is pandas' type for values with NULLs beside them, which is used if there are any, or
    `always`; without one, NULL is NaN or NaT. `source` is the type of Arrow's values, if it is another one, and
    `factor` what they are multiplied with."""

    def __init__(
        self, dtype: str, masked: str | None, *, always: bool = False, source: str | None = None, factor: int = 1
    ) -> None:
        self._values = Buffer(dtype)
        self._mask = Buffer("bool") if masked is not None else None
        self._masked = masked
        self._always = always
        self._source = source or dtype
        self._factor = factor
        self._rows = 0
        self._nulls = 0

    def add(self, array: pa.Array) -> None:
        start, self._rows = self._rows, self._rows + len(array)
        self._values.reserve(self._rows)
        target = self._values.values[start : self._rows]
        if self._factor == 1:
            target[:] = self._plain(array)
        else:
            integers = target.view("int64")
            integers[:] = self._plain(array)
            integers *= self._factor
        nulls = array.null_count
        self._nulls += nulls
        if self._mask is not None:
            self._mask.reserve(self._rows)
            if nulls:
                # pandas ignores the values that are masked.
                _find_nulls(array, self._mask.values[start : self._rows])
        elif nulls:
            null = np.empty(len(array), "bool")
            _find_nulls(array, null)
            blank = np.array("NaT", target.dtype) if target.dtype.kind == "M" else float("nan")
            # Where NULLs are many, this is several times an assignment to target[null].
            np.putmask(target, null, blank)

    def _plain(self, array: pa.Array) -> Any:
        """The values as they lie in the array, with anything where it is NULL."""
        if self._source == "bool":
            return array.fill_null(False).to_numpy(zero_copy_only=False)
        if len(array) == 0:
            return np.empty(0, self._source)
        return np.frombuffer(array.buffers()[1], self._source)[array.offset : array.offset + len(array)]

    def finish(self) -> pd.Series:
        values = self._values.finish(self._rows)
        if self._mask is None or (self._nulls == 0 and not self._always):
            return pd.Series(values, copy=False)
        mask = self._mask.finish(self._rows)
        if self._masked == "boolean":
            return pd.Series(pd.arrays.BooleanArray(values, mask), copy=False)
        made = pd.arrays.FloatingArray if values.dtype.kind == "f" else pd.arrays.IntegerArray
        return pd.Series(made(values, mask), copy=False)


class Integers(Growing):
    """Integers of 64 bits as pandas.read_sql keeps them: with NULLs as floats, and unsigned only if one of them is
    beyond the signed ones. Where a float has no room for one of them, they stay integers, in pandas' type that knows
    NULL; with `masks` they always do."""

    def __init__(self, dtype: str, *, masks: bool, source: str | None = None) -> None:
        super().__init__(dtype, dtype.replace("i", "I").replace("u", "U"), always=masks, source=source)

    def finish(self) -> pd.Series:
        values = self._values.finish(self._rows)
        assert self._mask is not None
        mask = self._mask.finish(self._rows)
        if self._nulls:
            np.putmask(values, mask, 0)
        low, high = (int(values.min()), int(values.max())) if self._rows else (0, 0)
        if values.dtype == "uint64" and high <= _INT64_MAX:
            values = values.view("int64")
        if self._nulls and not self._always and max(-low, high) <= _FLOAT_INTEGERS:
            floats = values.astype("float64")
            np.putmask(floats, mask, float("nan"))
            return pd.Series(floats, copy=False)
        if self._nulls or self._always:
            return pd.Series(pd.arrays.IntegerArray(values, mask), copy=False)
        return pd.Series(values, copy=False)


class Flags(Growing):
    """Booleans as pandas.read_sql keeps them: with NULLs as objects, True, False and None."""

    def __init__(self) -> None:
        super().__init__("bool", "boolean")

    def finish(self) -> pd.Series:
        if self._nulls == 0:
            return super().finish()
        assert self._mask is not None
        codes = np.where(self._mask.finish(self._rows), 2, self._values.finish(self._rows))
        return pd.Series(np.array([False, True, None], dtype=object)[codes], dtype=object, copy=False)


def _find_nulls(array: pa.Array, to: np.ndarray) -> None:
    """Says of each row of an array with NULLs whether it is one. Arrow's bits say the opposite, from the lowest on."""
    first, skipped = divmod(array.offset, 8)
    bits = np.frombuffer(array.buffers()[0], "uint8")[first:]
    np.equal(np.unpackbits(bits, count=skipped + len(array), bitorder="little")[skipped:], 0, out=to)
