"""Numbers, booleans, dates and timestamps of a result in NumPy arrays that grow with it.

Large arrays grow in place (mremap). So the peak of memory is the column and one batch; joining chunks at the end would
need twice the column. The work for each batch must be small, because the batches of a wide table have few rows.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from colonnade._system.names import IS_LINUX

if TYPE_CHECKING:
    from colonnade._options.dtype import Backend

#: The rows of the first allocation.
_FIRST = 1024
_DAY_MILLISECONDS = 86_400_000
#: A float64 represents every integer up to this one exactly.
_FLOAT_INTEGERS = 2**53
_INT64_MAX = 2**63 - 1
#: The values that are converted at once. They stay in the nearest cache.
_CONVERTED_ROWS = 4096


def column(field: pa.Field, backend: Backend, *, widens: bool) -> Growing | None:
    """The growing column of a field, or None if NumPy lacks its type. With `widens`, numbers get 64 bits, and NULLs
    get pandas' form."""
    kind = field.type
    #: Whether the column gets a nullable type even without NULLs.
    masks = backend in ("numpy_nullable", "connectorx")
    if pa.types.is_integer(kind):
        prefix = "UInt" if pa.types.is_unsigned_integer(kind) else "Int"
        if widens and kind.bit_width <= 32:
            return Integers("int64", masks=masks, source=str(kind))
        if widens and backend != "connectorx":
            return Integers(str(kind), masks=masks)
        # A float does not represent every integer, and NumPy's integers have no NULL.
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
    """An array that grows in place: the system moves pages instead of copying, and unused room costs no memory. Arrays
    of objects, and systems other than Linux, use NumPy's resize. New values are 0."""

    def __init__(self, dtype: str) -> None:
        self.values: np.ndarray = np.empty(0, dtype)
        self._is_mapped = IS_LINUX and not self.values.dtype.hasobject
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
        # A map cannot be resized while an array uses it.
        self.values = np.empty(0, dtype)
        if self._map is None:
            self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            self._map.resize(size)
        self.values = np.frombuffer(self._map, dtype, rows)


class Growing:
    """One column. `masked` is pandas' nullable type, which is used if there are NULLs, or `always`. Without it, NULL is
    NaN or NaT. `source` is the type of Arrow's values if it differs, which are multiplied by `factor`."""

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
        if nulls and self._mask is not None:
            # pandas ignores the values that are masked. Rows after the last NULL need no memory before the end.
            self._mask.reserve(self._rows)
            _find_nulls(array, self._mask.values[start : self._rows])
        elif nulls:
            null = np.empty(len(array), "bool")
            _find_nulls(array, null)
            blank = np.array("NaT", target.dtype) if target.dtype.kind == "M" else float("nan")
            # With many NULLs, this is several times faster than an assignment to target[null].
            np.putmask(target, null, blank)

    def _plain(self, array: pa.Array) -> Any:
        """The values in the array's memory, which are arbitrary where the array is NULL."""
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
    """Integers of 64 bits in the types of pandas.read_sql: unsigned only if a value exceeds int64, and float64 if there
    are NULLs. With `masks`, or if float64 does not represent a value exactly, they have pandas' nullable type."""

    def __init__(self, dtype: str, *, masks: bool, source: str | None = None) -> None:
        super().__init__(dtype, dtype.replace("i", "I").replace("u", "U"), always=masks, source=source)
        #: Whether int64 and float64 represent every value, because Arrow's have at most 32 bits.
        self._is_narrow = source is not None

    def finish(self) -> pd.Series:
        values = self._values.finish(self._rows)
        assert self._mask is not None
        as_floats = False
        if not self._is_narrow and self._rows:
            if self._nulls:
                np.putmask(values, self._mask.finish(self._rows), 0)
            low, high = int(values.min()), int(values.max())
            if values.dtype == "uint64" and high <= _INT64_MAX:
                values = values.view("int64")
            as_floats = max(-low, high) <= _FLOAT_INTEGERS
        if self._nulls == 0 and not self._always:
            return pd.Series(values, copy=False)
        mask = self._mask.finish(self._rows)
        if not self._always and (as_floats or self._is_narrow):
            floats = _floats(values)
            np.putmask(floats, mask, float("nan"))
            return pd.Series(floats, copy=False)
        return pd.Series(pd.arrays.IntegerArray(values, mask), copy=False)


def _floats(values: np.ndarray) -> np.ndarray:
    """Integers of 64 bits as floats in the same memory. Another array would cost a page fault every 4 KiB."""
    floats = values.view("float64")
    for start in range(0, len(values), _CONVERTED_ROWS):
        rows = slice(start, start + _CONVERTED_ROWS)
        floats[rows] = values[rows].astype("float64")
    return floats


class Flags(Growing):
    """Booleans in the types of pandas.read_sql: if there are NULLs, the objects True, False and None."""

    def __init__(self) -> None:
        super().__init__("bool", "boolean")

    def finish(self) -> pd.Series:
        if self._nulls == 0:
            return super().finish()
        assert self._mask is not None
        codes = np.where(self._mask.finish(self._rows), 2, self._values.finish(self._rows))
        return pd.Series(np.array([False, True, None], dtype=object)[codes], dtype=object, copy=False)


def _find_nulls(array: pa.Array, to: np.ndarray) -> None:
    """Sets `to` where the array is NULL. Arrow's bits are set where it is not NULL, beginning with the lowest bit."""
    first, skipped = divmod(array.offset, 8)
    bits = np.frombuffer(array.buffers()[0], "uint8")[first:]
    np.equal(np.unpackbits(bits, count=skipped + len(array), bitorder="little")[skipped:], 0, out=to)
