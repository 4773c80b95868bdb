"""Columns of pyarrow that functions return.

A column of the declared type is written as it is. Another one becomes values of NumPy and Python, which the writers of
`outbound.py` accept or refuse as those of any function."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from .failures import Fault
from .inbound import COUNTS, INTERVAL, NUMBERS

if TYPE_CHECKING:
    from .ring import Ring

#: Microseconds of a day. TIME has 24:00:00.
DAY = 86_400_000_000
#: Widths of offsets in bytes.
TEXTS = {"string": 4, "large_string": 8}
BLOBS = {"binary": 4, "large_binary": 8}
#: Types that NumPy has, by Arrow's names.
ARROW_NUMBERS = {
    "bool": "?",
    "float": "<f4",
    "double": "<f8",
    **{name: dtype for name, dtype in NUMBERS.items() if "int" in name},
}


def is_column(result: Any) -> bool:
    """Whether it is a column of pyarrow."""
    return type(result).__module__.partition(".")[0] == "pyarrow" and hasattr(result, "null_count")


def is_scalar(result: Any) -> bool:
    """Whether it is a single value of pyarrow."""
    return type(result).__module__.partition(".")[0] == "pyarrow" and hasattr(result, "as_py")


def one(scalar: Any) -> Any:
    """The value of a scalar."""
    import pyarrow as pa

    return items(pa.repeat(scalar, 1))[0]


def joined(column: Any) -> Any:
    """The column as one array."""
    return column.combine_chunks() if hasattr(column, "chunks") else column


def values(column: Any) -> Any:
    """The values of a column: an array of NumPy, masked if some are NULL, or a list of Python's values."""
    column = joined(column)
    kind = str(column.type)
    if hasattr(column, "storage"):
        # Of an extension type.
        return values(column.storage)
    found = None
    if kind in ARROW_NUMBERS:
        import pyarrow as pa

        filled = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type)) if column.null_count else column
        found = filled.to_numpy(zero_copy_only=False)
    elif kind == "month_day_nano_interval":
        found = intervals(column)
    elif kind.startswith("date32"):
        found = fixed(column, "<i4").astype("M8[D]")
    elif kind.startswith("timestamp[") and column.type.tz is None:
        found = fixed(column, "<i8").view(f"M8[{column.type.unit}]")
    elif kind.startswith("duration["):
        found = fixed(column, "<i8").view(f"m8[{column.type.unit}]")
    if found is None:
        return items(column)
    return np.ma.MaskedArray(found, mask(column)) if column.null_count else found


def items(column: Any) -> list[Any]:
    """The values one by one. None for NULL."""
    column = joined(column)
    kind = str(column.type)
    if hasattr(column, "storage"):
        return items(column.storage)
    if (
        kind in ARROW_NUMBERS
        or kind.startswith(("date32", "duration[", "month_day_nano_interval"))
        or (kind.startswith("timestamp[") and column.type.tz is None)
    ):
        found = values(column)
        nulls = mask(column)
        data = found.data if isinstance(found, np.ma.MaskedArray) else found
        listed = data.tolist() if kind in ARROW_NUMBERS or data.dtype == INTERVAL else list(data)
        return [None if null else item for item, null in zip(listed, nulls.tolist(), strict=True)]
    if kind.startswith(("list<", "large_list<", "fixed_size_list<")):
        return [None if row is None else items(row) for row in map(list_of, column)]
    if kind.startswith("struct<"):
        names = [field.name for field in column.type]
        fields = [items(field) for field in column.flatten()]
        rows = zip(*fields, strict=True) if fields else [()] * len(column)
        pairs = zip(rows, mask(column).tolist(), strict=True)
        return [None if null else dict(zip(names, row, strict=True)) for row, null in pairs]
    if kind.startswith("map<"):
        rows = enumerate(map(list_of, column), 1)
        return [None if entries is None else entry_dict(row, entries) for row, entries in rows]
    if kind.startswith(("sparse_union<", "dense_union<")):
        return [member(scalar) for scalar in column]
    if kind.startswith(("time32[", "time64[")):
        return times(column)
    if kind.startswith("timestamp["):
        return zoned(column)
    if kind.startswith("decimal") and column.type.scale <= 0:
        return [None if item is None else int(item) for item in column.to_pylist()]
    return column.to_pylist()


def exact_micros(found: np.ndarray, nulls: np.ndarray, what: str) -> list[Any]:
    """Times and timestamps as values of Python, which have microseconds and years up to 9999; None for NULL."""
    with np.errstate(all="ignore"):
        micros = found.astype(f"{found.dtype.kind}8[us]")
        wrong = (micros.astype(found.dtype) != found) & ~nulls
    items = [None if null else item for item, null in zip(micros.tolist(), nulls.tolist(), strict=True)]
    for row, item in enumerate(items):
        # Beyond the years that Python has, numpy gives a number.
        if wrong[row] or isinstance(item, int):
            raise Fault("22008", f"{found[row]} is no {what} in microseconds", row)
    return items


def times(column: Any) -> list[Any]:
    """The values of a column of times of day. pyarrow's own conversion takes any number."""
    width = 4 if str(column.type).startswith("time32") else 8
    found, nulls = fixed(column, f"<i{width}").astype(f"m8[{column.type.unit}]"), mask(column)
    zero, day = np.timedelta64(0, "us"), np.timedelta64(DAY, "us")
    wrong = ((found < zero) | (found >= day)) & ~nulls
    if wrong.any():
        row = int(wrong.argmax())
        raise Fault("22008", f"{found[row]} is no time of day", row)
    start = datetime.datetime.min
    return [None if item is None else (start + item).time() for item in exact_micros(found, nulls, "time")]


def zoned(column: Any) -> list[Any]:
    """The values of a column of timestamps with a time zone, in UTC."""
    found = fixed(column, "<i8").view(f"M8[{column.type.unit}]")
    items = exact_micros(found, mask(column), "timestamp")
    return [None if item is None else item.replace(tzinfo=datetime.UTC) for item in items]


def list_of(scalar: Any) -> Any:
    """The items of a list, as a column."""
    return scalar.values if scalar.is_valid else None


def entry_dict(row: int, entries: Any) -> dict[Any, Any]:
    keys, found = (items(field) for field in entries.flatten())
    made = dict(zip(keys, found, strict=True))
    if len(made) != len(keys):
        raise Fault("22023", f"row {row}: a map has a key twice")
    return made


def member(scalar: Any) -> Any:
    """A value of a union: the member's name and its value. None if that is NULL."""
    value = scalar.value
    if value is None or not value.is_valid:
        return None
    fields = zip(scalar.type, scalar.type.type_codes, strict=True)
    return next(field.name for field, code in fields if code == scalar.type_code), one(value)


def mask(column: Any) -> np.ndarray:
    """Which rows are NULL."""
    return column.is_null().to_numpy(zero_copy_only=False)


def fixed(column: Any, dtype: str) -> np.ndarray:
    """The values of a column of a fixed width. Those of NULL rows may be any."""
    return np.frombuffer(column.buffers()[1] or b"", dtype)[column.offset :][: len(column)]


def intervals(column: Any) -> np.ndarray:
    """Intervals with microseconds instead of Arrow's nanoseconds."""
    found = fixed(column, INTERVAL).copy()  # type: ignore[arg-type]
    wrong = (found["micros"] % 1000 != 0) & ~mask(column)
    if wrong.any():
        row = int(wrong.argmax()) + 1
        raise Fault("22008", f"row {row}: an interval has nanoseconds, and INTERVAL has microseconds")
    found["micros"] //= 1000
    return found


def write(ring: Ring, nodes: list[int], column_type: list[Any], result: Any, rows: int) -> bool:
    """Write a column that has the layout of the declared type. False, and nothing is written, if it has another one or
    other rows."""
    if not is_column(result) or len(result) != rows:
        return False
    at, count = ring.at, len(nodes)
    if copy(ring, nodes, column_type, joined(result)):
        return True
    ring.at = at
    del nodes[count:]
    return False


def copy(ring: Ring, nodes: list[int], column_type: list[Any], column: Any) -> bool:
    name, *arguments = column_type
    kind = str(column.type)
    if hasattr(column, "chunks"):
        return False
    if name in NUMBERS and name != "bool" and ARROW_NUMBERS.get(kind) == NUMBERS[name]:
        return copy_fixed(ring, nodes, column, NUMBERS[name])
    if name == "decimal" and kind == f"decimal128({arguments[0]}, {arguments[1]})":
        return copy_fixed(ring, nodes, column, "V16")
    if name == "date" and kind == "date32[day]":
        return copy_times(ring, nodes, column, "<i4", COUNTS["M8[D]"])
    if name == "time" and kind == "time64[us]":
        return copy_times(ring, nodes, column, "<i8", COUNTS["m8[us]"])
    if name == "timestamp" and is_timestamp(column.type, *arguments):
        return copy_times(ring, nodes, column, "<i8", COUNTS[f"M8[{arguments[0]}]"])
    if name == "uuid" and kind == "fixed_size_binary[16]":
        return copy_fixed(ring, nodes, column, "V16")
    if (name == "text" and kind in TEXTS) or (name == "blob" and kind in BLOBS):
        offsets, first, last = offsets_of(column, (TEXTS | BLOBS)[kind])
        heap = memoryview(column.buffers()[2] or b"").cast("B")[first:last]
        # A text with a NUL is refused with its row.
        if name == "text" and not np.frombuffer(heap, "u1").all():
            return False
        add_node(ring, nodes, column, offsets, heap)
        return True
    if name == "list" and kind.startswith(("list<", "large_list<")):
        offsets, first, last = offsets_of(column, 4 if kind.startswith("list<") else 8)
        add_node(ring, nodes, column, offsets, b"")
        return copy(ring, nodes, arguments[0], column.values.slice(first, last - first))
    if name == "struct" and kind.startswith("struct<"):
        names, *fields = arguments
        if [field.name for field in column.type] != names:
            return False
        add_node(ring, nodes, column, b"", b"")
        return all(copy(ring, nodes, *pair) for pair in zip(fields, column.flatten(), strict=True))
    return False


def copy_fixed(ring: Ring, nodes: list[int], column: Any, dtype: str) -> bool:
    add_node(ring, nodes, column, fixed(column, dtype), b"")
    return True


def is_timestamp(arrow_type: Any, unit: str, zone: str | None = None) -> bool:
    """Whether it is a timestamp of this unit, and has a zone if the declared type has one. The values are in UTC
    in any zone."""
    return str(arrow_type).startswith(f"timestamp[{unit}") and (arrow_type.tz is None) == (zone is None)


def copy_times(ring: Ring, nodes: list[int], column: Any, dtype: str, limits: tuple[int, int]) -> bool:
    """Copy dates or times. False if one of them is not within the limits."""
    found = fixed(column, dtype)
    wrong = (found < limits[0]) | (found >= limits[1])
    if wrong.any() and (wrong & ~mask(column)).any():
        return False
    return copy_fixed(ring, nodes, column, dtype)


def offsets_of(column: Any, width: int) -> tuple[np.ndarray, int, int]:
    """The offsets of a column from 0, and where its items begin and end."""
    if len(column) == 0:
        return np.zeros(1, "<i8"), 0, 0
    found = np.frombuffer(column.buffers()[1], f"<i{width}")[column.offset :][: len(column) + 1].astype("<i8")
    return found - found[0], int(found[0]), int(found[-1])


def add_node(ring: Ring, nodes: list[int], column: Any, data: Any, heap: Any) -> None:
    """Write the buffers of a node, and add its words."""
    validity = 0
    if column.null_count:
        validity = ring.write(np.packbits(~mask(column), bitorder="little").tobytes())
    written: Any = np.ascontiguousarray(data).view("u1") if isinstance(data, np.ndarray) else data
    values_at, heap_at = ring.write(memoryview(written)), ring.write(heap)
    nodes += (len(column), validity, values_at, len(written), heap_at, len(heap))
