"""Arguments as arrays of pyarrow (PARAMETER STYLE ARROW), with the functions of `numpy_style.py`.

Buffers of the ring are those of the arrays, except where Arrow's layout differs: BOOLEAN, HUGEINT and UHUGEINT,
INTERVAL and the offsets of a MAP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from . import inbound
from .arrow_results import write as write
from .failures import Fault
from .inbound import NUMBERS

#: An array of pyarrow, and nothing: its NULLs are in it.
Values = tuple[Any, None]
Array = Callable[[memoryview, Iterator[int]], Any]

#: Microseconds of a day.
DAY = 86_400_000_000
#: The most members of a union in Arrow.
MAX_MEMBERS = 127


def reader(column_type: list[Any]) -> Callable[[memoryview, Iterator[int]], Values]:
    """The reader of a parameter."""
    read, _ = array(column_type)
    return lambda memory, words: (read(memory, words), None)


def taken(values: Values, numbers: np.ndarray) -> Values:
    return values[0].take(pa.array(numbers)), None


def repeated(values: Values, rows: int) -> Values:
    return values[0].take(pa.array(np.zeros(rows, np.int64))), None


def nulls(values: Values) -> np.ndarray | None:
    found = values[0]
    return found.is_null().to_numpy(zero_copy_only=False) if found.null_count else None


def part(values: Values, start: int, stop: int) -> Values:
    return values[0].slice(start, stop - start), None


def argument(values: Values, kept: np.ndarray | None = None) -> Any:
    return values[0] if kept is None else values[0].filter(pa.array(kept))


def group_numbers(numbers: np.ndarray) -> Any:
    return pa.array(numbers)


def array(column_type: list[Any]) -> tuple[Array, Any]:
    """What reads a column, and its type in Arrow."""
    name, *arguments = column_type
    if name in NUMBERS and name != "bool":
        return simple(pa.from_numpy_dtype(np.dtype(NUMBERS[name])), np.dtype(NUMBERS[name]).itemsize)
    makers: dict[str, Callable[..., tuple[Array, Any]]] = {
        "bool": lambda: (booleans, pa.bool_()),
        "int128": lambda: (integers(signed=True), INTEGERS),
        "uint128": lambda: (integers(signed=False), INTEGERS),
        "decimal": lambda width, scale: simple(pa.decimal128(width, scale), 16),
        "text": lambda: bytes_of(pa.large_string()),
        "blob": lambda: bytes_of(pa.large_binary()),
        "uuid": lambda: simple(pa.binary(16), 16),
        "date": lambda: checked(pa.date32(), "<i4", "date"),
        "time": lambda: checked(pa.time64("us"), "<i8", "time"),
        "timestamp": lambda unit, zone=None: checked(pa.timestamp(unit, zone), "<i8", "timestamp"),
        "interval": lambda: (intervals, pa.month_day_nano_interval()),
        "list": lists,
        "array": arrays,
        "struct": structs,
        "map": maps,
        "union": unions,
    }
    return makers[name](*arguments)


#: All integers of 128 bits have at most 39 digits. A decimal of 128 bits has 38.
INTEGERS = pa.decimal256(39, 0)


def node(memory: memoryview, words: Iterator[int]) -> tuple[int, Any, int, int, int]:
    """The length of a node, its bitmap of values, the place of its values, and that of its heap with its size."""
    length, validity, values, _, heap, heap_bytes = (next(words) for _ in range(6))
    bits = buffer(memory, validity, (length + 7) // 8) if validity else None
    return length, bits, values, heap, heap_bytes


def buffer(memory: memoryview, at: int, size: int) -> Any:
    """Bytes of the ring, not copied."""
    return pa.py_buffer(memory[at : at + size])


def simple(arrow_type: Any, width: int) -> tuple[Array, Any]:
    """Values of this width, not copied."""

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, values, _, _ = node(memory, words)
        return pa.Array.from_buffers(arrow_type, length, [bits, buffer(memory, values, length * width)])

    return read, arrow_type


def checked(arrow_type: Any, dtype: str, what: str) -> tuple[Array, Any]:
    """Dates and times, not copied. DuckDB has infinite ones and 24:00:00, and Arrow has not."""
    read, _ = simple(arrow_type, np.dtype(dtype).itemsize)
    largest = DAY if what == "time" else np.iinfo(dtype).max

    def read_checked(memory: memoryview, words: Iterator[int]) -> Any:
        found = read(memory, words)
        values = np.frombuffer(found.buffers()[1], dtype)
        wrong = (values == largest) | (values == -largest)
        if wrong.any():
            wrong &= found.is_valid().to_numpy(zero_copy_only=False)
        if wrong.any():
            row = int(wrong.argmax()) + 1
            text = "time of day 24:00:00" if what == "time" else f"infinite {what}"
            raise Fault("22008", f"row {row}: Arrow has no {text}; replace it with NULL before the call")
        return found

    return read_checked, arrow_type


def booleans(memory: memoryview, words: Iterator[int]) -> Any:
    length, bits, values, _, _ = node(memory, words)
    packed = np.packbits(np.frombuffer(memory, bool, length, values), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), length, [bits, pa.py_buffer(packed)])


def integers(*, signed: bool) -> Array:
    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, values, _, _ = node(memory, words)
        halves = np.frombuffer(memory, "<i8", length * 2, values).reshape(length, 2)
        wide = np.zeros((length, 4), "<i8")
        wide[:, :2] = halves
        if signed:
            wide[:, 2:] = (halves[:, 1] >> 63)[:, np.newaxis]
        return pa.Array.from_buffers(INTEGERS, length, [bits, pa.py_buffer(wide)])

    return read


def intervals(memory: memoryview, words: Iterator[int]) -> Any:
    length, bits, values, _, _ = node(memory, words)
    found = np.frombuffer(memory, inbound.INTERVAL, length, values).copy()
    nanos = found["micros"] * 1000
    wrong = nanos // 1000 != found["micros"]
    if wrong.any():
        row = int(wrong.argmax()) + 1
        raise Fault("22008", f"row {row}: an interval has more microseconds than Arrow's intervals have")
    found["micros"] = nanos
    return pa.Array.from_buffers(pa.month_day_nano_interval(), length, [bits, pa.py_buffer(found.view("u1"))])


def bytes_of(arrow_type: Any) -> tuple[Array, Any]:
    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, values, heap, heap_bytes = node(memory, words)
        offsets = buffer(memory, values, (length + 1) * 8)
        return pa.Array.from_buffers(arrow_type, length, [bits, offsets, buffer(memory, heap, heap_bytes)])

    return read, arrow_type


def lists(item: list[Any]) -> tuple[Array, Any]:
    read_items, item_type = array(item)
    arrow_type = pa.large_list(item_type)

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, values, _, _ = node(memory, words)
        offsets = buffer(memory, values, (length + 1) * 8)
        return pa.Array.from_buffers(arrow_type, length, [bits, offsets], children=[read_items(memory, words)])

    return read, arrow_type


def arrays(size: int, item: list[Any]) -> tuple[Array, Any]:
    read_items, item_type = array(item)
    arrow_type = pa.list_(item_type, size)

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, _, _, _ = node(memory, words)
        return pa.Array.from_buffers(arrow_type, length, [bits], children=[read_items(memory, words)])

    return read, arrow_type


def structs(names: list[str], *fields: list[Any]) -> tuple[Array, Any]:
    readers = [array(field) for field in fields]
    pairs = zip(names, readers, strict=True)
    arrow_type = pa.struct([pa.field(name, field_type) for name, (_, field_type) in pairs])

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, _, _, _ = node(memory, words)
        children = [read(memory, words) for read, _ in readers]
        return pa.Array.from_buffers(arrow_type, length, [bits], children=children)

    return read, arrow_type


def maps(entry: list[Any]) -> tuple[Array, Any]:
    _, _, key, value = entry
    (read_keys, key_type), (read_values, value_type) = array(key), array(value)
    arrow_type = pa.map_(key_type, value_type)
    entry_type = pa.struct([pa.field("key", key_type, nullable=False), pa.field("value", value_type)])

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, bits, values, _, _ = node(memory, words)
        offsets = np.frombuffer(memory, "<i8", length + 1, values)
        if offsets[-1] > np.iinfo(np.int32).max:
            raise Fault("22023", f"{offsets[-1]} entries are too many for one column of maps in Arrow")
        count = node(memory, words)[0]
        children = [read_keys(memory, words), read_values(memory, words)]
        entries = pa.Array.from_buffers(entry_type, count, [None], children=children)
        offsets = pa.py_buffer(offsets.astype("<i4"))
        return pa.Array.from_buffers(arrow_type, length, [bits, offsets], children=[entries])

    return read, arrow_type


def unions(names: list[str], *members: list[Any]) -> tuple[Array, Any]:
    """Arrow's unions have no NULLs of their own: the member of such a row is NULL."""
    if len(members) > MAX_MEMBERS:
        raise Fault("55000", f"a union of {len(members)} members is too large for Arrow, which has {MAX_MEMBERS}")
    readers = [array(member) for member in members]
    pairs = zip(names, readers, strict=True)
    arrow_type = pa.sparse_union([pa.field(name, member_type) for name, (_, member_type) in pairs])

    def read(memory: memoryview, words: Iterator[int]) -> Any:
        length, _, values, _, _ = node(memory, words)
        tags = pa.Array.from_buffers(pa.int8(), length, [None, buffer(memory, values, length)])
        children = [read(memory, words) for read, _ in readers]
        return pa.UnionArray.from_sparse(tags, children, names)

    return read, arrow_type
