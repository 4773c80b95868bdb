"""Arguments: from buffers of the ring to numpy arrays.

A reader takes the words of a column's nodes and gives the values and a mask, which is None if no row is NULL. Numbers
are not copied."""

from __future__ import annotations

import decimal
import itertools
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .failures import Fault

Values = tuple[np.ndarray, np.ndarray | None]
Reader = Callable[[memoryview, Iterator[int]], Values]

#: Types whose values are numpy's as they are.
NUMBERS = {
    "bool": "?",
    **{f"{sign}int{bits}": f"<{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "<f4",
    "float64": "<f8",
}
INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("micros", "<i8")])
#: The counts that dates and times can have, by their unit: the first one, and the one after the last. Those of
#: timestamps are DuckDB's years 290309 BC to 294247: beyond them, DuckDB cannot convert a TIMESTAMP_S or TIMESTAMP_MS,
#: and fails. The largest numbers are its infinities.
COUNTS = {
    "M8[D]": (2 - 2**31, 2**31 - 1),
    "m8[us]": (0, 86_400_000_000 + 1),
    "M8[s]": (-9_223_372_022_400, 9_223_372_036_855),
    "M8[ms]": (-9_223_372_022_400_000, 9_223_372_036_854_776),
    "M8[us]": (-9_223_372_022_400_000_000, 2**63 - 1),
    "M8[ns]": (2 - 2**63, 2**63 - 1),
}
#: More digits than any decimal has, so that nothing is rounded.
EXACT = decimal.Context(prec=80)


def reader(column_type: list[Any]) -> Reader:
    """The reader of a type."""
    name, *arguments = column_type
    if name in NUMBERS:
        return lambda memory, words: fixed(memory, words, np.dtype(NUMBERS[name]))
    makers: dict[str, Callable[..., Reader]] = {
        "decimal": _decimal,
        "timestamp": _timestamp,
        "list": _list,
        "array": _array,
        "struct": _struct,
        "map": _map,
        "union": _union,
    }
    simple: dict[str, Reader] = {
        "int128": lambda memory, words: _integers(memory, words, "<i8"),
        "uint128": lambda memory, words: _integers(memory, words, "<u8"),
        "text": lambda memory, words: _bytes(memory, words, is_text=True),
        "blob": lambda memory, words: _bytes(memory, words, is_text=False),
        "uuid": _uuid,
        "date": _date,
        "time": lambda memory, words: _viewed(fixed(memory, words, np.dtype("<i8")), "m8[us]"),
        "interval": lambda memory, words: fixed(memory, words, INTERVAL),
    }
    return simple[name] if name in simple else makers[name](*arguments)


def _node(memory: memoryview, words: Iterator[int]) -> tuple[int, np.ndarray | None, int, int, int]:
    """The length of a node, its mask, the place of its values, the place of its heap and its end."""
    length, validity, values, _, heap, heap_bytes = (next(words) for _ in range(6))
    mask = None
    if validity:
        bits = np.frombuffer(memory, np.uint8, (length + 7) // 8, validity)
        mask = np.unpackbits(bits, count=length, bitorder="little") == 0
        mask = mask if mask.any() else None
    return length, mask, values, heap, heap + heap_bytes


def fixed(memory: memoryview, words: Iterator[int], dtype: np.dtype) -> Values:
    """Values of a fixed width, not copied."""
    length, mask, values, _, _ = _node(memory, words)
    return np.frombuffer(memory, dtype, length, values), mask


def _viewed(values: Values, dtype: str) -> Values:
    """Values as numpy's dates and times. NULL is NaT."""
    found, mask = values
    if mask is not None:
        found = found.copy()
        found[mask] = np.iinfo(np.int64).min
    return found.view(dtype), mask


def _objects(items: list[Any], mask: np.ndarray | None) -> Values:
    """Objects of Python as an array. NULL is None."""
    found = np.empty(len(items), object)
    # Item by item: numpy would take lists of equal lengths for rows of a table.
    for at, item in enumerate(items):
        found[at] = item
    if mask is not None:
        found[mask] = None
    return found, mask


def _integers(memory: memoryview, words: Iterator[int], high: str) -> Values:
    pairs, mask = fixed(memory, words, np.dtype([("low", "<u8"), ("high", high)]))
    items = [low + (high << 64) for low, high in zip(pairs["low"].tolist(), pairs["high"].tolist(), strict=True)]
    return _objects(items, mask)


def _decimal(_: int, scale: int) -> Reader:
    def read(memory: memoryview, words: Iterator[int]) -> Values:
        integers, mask = _integers(memory, words, "<i8")
        items = [0 if item is None else item for item in integers]
        return _objects([EXACT.scaleb(decimal.Decimal(item), -scale) for item in items], mask)

    return read


def _offsets(memory: memoryview, at: int, length: int) -> list[int]:
    return np.frombuffer(memory, np.int64, length + 1, at).tolist()


def _bytes(memory: memoryview, words: Iterator[int], *, is_text: bool) -> Values:
    length, mask, values, heap, end = _node(memory, words)
    offsets = _offsets(memory, values, length)
    whole: Any = bytes(memory[heap:end])
    if is_text and whole.isascii():
        whole = whole.decode("ascii")
        is_text = False
    pairs = itertools.pairwise(offsets)
    items = [whole[start:stop] for start, stop in pairs]
    return _objects([item.decode() for item in items] if is_text else items, mask)


def _uuid(memory: memoryview, words: Iterator[int]) -> Values:
    found, mask = fixed(memory, words, np.dtype("V16"))
    return _objects([uuid.UUID(bytes=item) for item in found.tolist()], mask)


def _check_finite(values: np.ndarray, mask: np.ndarray | None, largest: int, what: str) -> None:
    infinite = (values == largest) | (values == -largest)
    if mask is not None:
        infinite &= ~mask
    if infinite.any():
        row = int(infinite.argmax()) + 1
        raise Fault("22008", f"row {row}: numpy has no infinite {what}; replace it with NULL before the call")


def _date(memory: memoryview, words: Iterator[int]) -> Values:
    days, mask = fixed(memory, words, np.dtype("<i4"))
    _check_finite(days, mask, np.iinfo(np.int32).max, "date")
    return _viewed((days.astype("<i8"), mask), "M8[D]")


def _timestamp(unit: str, _zone: str | None = None) -> Reader:
    def read(memory: memoryview, words: Iterator[int]) -> Values:
        counts, mask = fixed(memory, words, np.dtype("<i8"))
        _check_finite(counts, mask, np.iinfo(np.int64).max, "timestamp")
        return _viewed((counts, mask), f"M8[{unit}]")

    return read


def argument(values: Values) -> np.ndarray:
    """An array as a function gets it: masked if and only if a row is NULL."""
    found, mask = values
    return found if mask is None else np.ma.MaskedArray(found, mask)


def joined(parts: list[Values]) -> Values:
    """The values of a column that came in parts."""
    if len(parts) == 1:
        return parts[0]
    arrays = [found for found, _ in parts]
    if len({found.ndim for found in arrays}) > 1:
        # Of an ARRAY, the parts with a row that is NULL are arrays of arrays.
        arrays = [_objects(list(found), None)[0] for found in arrays]
    masks = [mask if mask is not None else np.zeros(len(found), bool) for found, mask in parts]
    has_mask = any(mask is not None for _, mask in parts)
    return np.concatenate(arrays), np.concatenate(masks) if has_mask else None


def items(values: Values) -> list[Any]:
    """The values as Python's, one by one; NULL is None. Dates and times stay numpy's, because Python's are narrower."""
    found, mask = values
    items = list(found) if found.dtype.kind in "mMV" or found.ndim > 1 else found.tolist()
    if mask is not None:
        for at in np.flatnonzero(mask):
            items[at] = None
    return items


def _parts(values: Values, offsets: list[int]) -> list[Any]:
    """The items of each row as arrays, masked where one of them is NULL."""
    found, mask = values
    parts = []
    for start, stop in itertools.pairwise(offsets):
        part = None if mask is None else mask[start:stop]
        has_null = part is not None and part.any() and found.dtype != object
        parts.append(argument((found[start:stop], part if has_null else None)))
    return parts


def _list(item: list[Any]) -> Reader:
    read_items = reader(item)

    def read(memory: memoryview, words: Iterator[int]) -> Values:
        length, mask, values, _, _ = _node(memory, words)
        return _objects(_parts(read_items(memory, words), _offsets(memory, values, length)), mask)

    return read


def _array(size: int, item: list[Any]) -> Reader:
    read_items = reader(item)

    def read(memory: memoryview, words: Iterator[int]) -> Values:
        length, mask, _, _, _ = _node(memory, words)
        found, nulls = read_items(memory, words)
        # A table of items with a row that is NULL could not tell it from a row whose items all are.
        if found.dtype == object or found.ndim > 1 or mask is not None:
            return _objects(_parts((found, nulls), list(range(0, (length + 1) * size, size))[: length + 1]), mask)
        found = found.reshape(length, size)
        return found if nulls is None else np.ma.MaskedArray(found, nulls.reshape(length, size)), None

    return read


def _struct(names: list[str], *fields: list[Any]) -> Reader:
    readers = [reader(field) for field in fields]

    def read(memory: memoryview, words: Iterator[int]) -> Values:
        length, mask, _, _, _ = _node(memory, words)
        columns = [items(read(memory, words)) for read in readers]
        rows = zip(*columns, strict=True) if columns else [()] * length
        return _objects([dict(zip(names, row, strict=True)) for row in rows], mask)

    return read


def _map(entry: list[Any]) -> Reader:
    read_entries = reader(entry)

    def read(memory: memoryview, words: Iterator[int]) -> Values:
        length, mask, values, _, _ = _node(memory, words)
        offsets = _offsets(memory, values, length)
        pairs = [(entry["key"], entry["value"]) for entry in read_entries(memory, words)[0]]
        return _objects([dict(pairs[a:b]) for a, b in itertools.pairwise(offsets)], mask)

    return read


def _union(names: list[str], *members: list[Any]) -> Reader:
    readers = [reader(member) for member in members]

    def read(memory: memoryview, words: Iterator[int]) -> Values:
        length, mask, values, _, _ = _node(memory, words)
        tags = memory[values : values + length].tolist()
        columns = [items(read(memory, words)) for read in readers]
        return _objects([columns[tag][row] for row, tag in enumerate(tags)], mask)

    return read


def unpack(memory: memoryview, at: int, count: int) -> tuple[int, ...]:
    """The words of a request."""
    return struct.unpack_from(f"<{count}Q", memory, at)
