"""Results: from what a function returns to buffers of the ring.

A writer takes a column and its mask, writes its buffers, and adds the words of its nodes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from . import numbers, results
from .failures import Fault, wrong_result, wrong_type
from .inbound import NUMBERS
from .results import filled
from .ring import Ring
from .times import intervals, moments

Writer = Callable[[Ring, list[int], np.ndarray, np.ndarray | None], None]


def writer(column_type: list[Any], type_name: str) -> Writer:
    """The writer of a type, with its name for messages."""
    name, *arguments = column_type
    if name in NUMBERS:
        return _number(np.dtype(NUMBERS[name]), type_name)
    makers: dict[str, Callable[..., Writer]] = {
        "int128": lambda: _packed(lambda found, mask: numbers.large_integers(found, mask, type_name, signed=True)),
        "uint128": lambda: _packed(lambda found, mask: numbers.large_integers(found, mask, type_name, signed=False)),
        "decimal": lambda *digits: _packed(lambda found, mask: numbers.decimals(found, mask, type_name, *digits)),
        "text": lambda: _bytes(type_name, text),
        "blob": lambda: _bytes(type_name, blob),
        "uuid": lambda: _packed(lambda found, mask: _uuids(found, mask, type_name)),
        "date": lambda: _packed(lambda found, mask: moments(found, mask, "M8[D]", type_name).astype("<i4").tobytes()),
        "time": lambda: _packed(lambda found, mask: moments(found, mask, "m8[us]", type_name).tobytes()),
        "timestamp": lambda unit, zone=None: _packed(
            lambda found, mask: moments(found, mask, f"M8[{unit}]", type_name, has_zone=zone is not None).tobytes()
        ),
        "interval": lambda: _packed(lambda found, mask: intervals(found, mask, type_name)),
        "list": lambda item: _list(writer(item, f"an item of {type_name}"), type_name),
        "array": lambda size, item: _array(size, writer(item, f"an item of {type_name}"), type_name),
        "struct": lambda names, *fields: _struct(names, _named(names, fields, type_name), type_name),
        "map": lambda entry: _map(writer(entry, f"an entry of {type_name}"), type_name),
        "union": lambda names, *members: _union(names, _named(names, members, type_name), type_name),
    }
    return makers[name](*arguments)


def _named(names: list[str], types: tuple[list[Any], ...], type_name: str) -> list[Writer]:
    return [writer(found, f'"{name}" of {type_name}') for name, found in zip(names, types, strict=True)]


def _node(ring: Ring, nodes: list[int], length: int, mask: Any, values: tuple[int, int], heap: tuple[int, int]) -> None:
    """Add the words of a node; places and sizes of its buffers."""
    validity = 0
    if mask is not None:
        validity = ring.write(np.packbits(~mask, bitorder="little").tobytes())
    nodes += (length, validity, *values, *heap)


def write_array(ring: Ring, found: np.ndarray) -> tuple[int, int]:
    """Write numbers with one copy."""
    at = ring.reserve(found.nbytes)
    np.frombuffer(ring.memory, found.dtype, len(found), at)[:] = found
    return at, found.nbytes


def _number(dtype: np.dtype, type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        found, mask = numbers.numbers(found, mask, dtype, type_name)
        _node(ring, nodes, len(found), mask, write_array(ring, found), (ring.at, 0))

    return write


def _packed(pack: Callable[[np.ndarray, np.ndarray | None], bytes]) -> Writer:
    """The writer of values of a fixed width. Dates and times have NULLs that no mask shows: NaT."""

    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        if found.dtype.kind in "mM":
            nulls = np.isnat(found)
            mask = nulls if mask is None else mask | nulls
            mask = mask if mask.any() else None
        data = pack(found, mask)
        _node(ring, nodes, len(found), mask, (ring.write(data), len(data)), (ring.at, 0))

    return write


def _bytes(type_name: str, encode: Callable[[np.ndarray, Any, str], tuple[np.ndarray, bytes]]) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        lengths, data = encode(found, mask, type_name)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = write_array(ring, offsets)
        _node(ring, nodes, len(found), mask, values, (ring.write(data), len(data)))

    return write


def text(found: np.ndarray, mask: np.ndarray | None, type_name: str) -> tuple[np.ndarray, bytes]:
    """The bytes of each text, and all bytes."""
    items = filled(found, mask, "")
    for row, item in enumerate(items):
        if isinstance(item, bytes) and found.dtype.kind == "S":
            try:
                items[row] = item.decode()
            except UnicodeDecodeError as error:
                raise Fault("22021", f"a text is not UTF-8: {error}", row) from None
        elif not isinstance(item, str):
            raise wrong_type(row, item, type_name)
    whole = "".join(items)
    if "\0" in whole:
        row = next(row for row, item in enumerate(items) if "\0" in item)
        raise Fault("22021", "a text has a NUL, which databases do not store", row)
    if whole.isascii():
        return np.fromiter(map(len, items), np.int64, len(items)), whole.encode("ascii")
    encoded = []
    for row, item in enumerate(items):
        try:
            encoded.append(item.encode())
        except UnicodeEncodeError as error:
            raise Fault("22021", f"a text is not Unicode: {error}", row) from None
    return np.fromiter(map(len, encoded), np.int64, len(encoded)), b"".join(encoded)


def blob(found: np.ndarray, mask: np.ndarray | None, type_name: str) -> tuple[np.ndarray, bytes]:
    items = filled(found, mask, b"")
    for row, item in enumerate(items):
        if not isinstance(item, (bytes, bytearray, memoryview)):
            raise wrong_type(row, item, type_name)
    items = [bytes(item) for item in items]
    return np.fromiter(map(len, items), np.int64, len(items)), b"".join(items)


def _uuids(found: np.ndarray, mask: np.ndarray | None, type_name: str) -> bytes:
    parts = []
    for row, item in enumerate(filled(found, mask, uuid.UUID(int=0))):
        if isinstance(item, str):
            try:
                item = uuid.UUID(item)
            except ValueError:
                raise Fault("22023", f"{item!r:.80} is no UUID", row) from None
        if isinstance(item, bytes):
            if len(item) != 16:
                raise Fault("22023", f"{len(item)} bytes are no UUID, which has 16", row)
            parts.append(item)
        elif isinstance(item, uuid.UUID):
            parts.append(item.bytes)
        else:
            raise wrong_type(row, item, type_name)
    return b"".join(parts)


def _sequences(found: np.ndarray, mask: Any, type_name: str) -> list[Any]:
    """The items of each row; none for NULL."""
    rows = _rows(found, mask)
    for row, item in enumerate(rows):
        if isinstance(item, (str, bytes, dict, *results.UNORDERED)) or not hasattr(item, "__len__"):
            raise wrong_type(row, item, type_name)
    return rows


def _rows(found: np.ndarray, mask: Any, null: Any = ()) -> list[Any]:
    rows = list(found)
    return rows if mask is None else [null if no else row for row, no in zip(rows, mask.tolist(), strict=True)]


def _joined(rows: list[Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """The items of all rows as one column."""
    dtypes = {row.dtype if type(row) is np.ndarray and row.ndim == 1 else None for row in rows}
    if len(dtypes) == 1 and dtypes.isdisjoint({None, np.dtype(object)}):
        return results.from_array(np.concatenate(rows), items=False)
    return results.from_items([item for row in rows for item in row])


def _list(items: Writer, type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        rows = _sequences(found, mask, type_name)
        _write_list(ring, nodes, rows, mask, items, *_joined(rows))

    return write


def _write_list(
    ring: Ring, nodes: list[int], rows: list[Any], mask: Any, items: Writer, found: np.ndarray, nulls: Any
) -> None:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    _node(ring, nodes, len(rows), mask, write_array(ring, offsets), (ring.at, 0))
    try:
        items(ring, nodes, found, nulls)
    except Fault as fault:
        # It has the number of an item.
        raise fault.of(lambda item: int(np.searchsorted(offsets, item, side="right")) - 1) from None


def _array(size: int, items: Writer, type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        rows = _rows(found, mask, [None] * size)
        rows = _sequences(results.from_items(rows)[0], None, type_name)
        for row, item in enumerate(rows):
            if len(item) != size:
                raise wrong_result(f"the function returned {len(item)} items for {type_name}", row)
        _node(ring, nodes, len(rows), mask, (ring.at, 0), (ring.at, 0))
        try:
            items(ring, nodes, *_joined(rows))
        except Fault as fault:
            raise fault.of(lambda item: item // size) from None

    return write


def _struct(names: list[str], fields: list[Writer], type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        rows = _rows(found, mask, dict.fromkeys(names))
        for row, item in enumerate(rows):
            if not isinstance(item, dict):
                raise wrong_type(row, item, type_name)
            if item.keys() != set(names):
                keys = ", ".join(map(str, item))
                raise wrong_result(f"the keys {keys} are not the fields of {type_name}", row)
        _node(ring, nodes, len(rows), mask, (ring.at, 0), (ring.at, 0))
        for name, field in zip(names, fields, strict=True):
            field(ring, nodes, *results.from_items([item[name] for item in rows]))

    return write


def _entries(item: Any, row: int, type_name: str) -> dict[Any, Any]:
    """The entries of a map: a dict, or a list of pairs, as pyarrow gives them."""
    if isinstance(item, dict):
        return item
    if not isinstance(item, list) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in item):
        raise wrong_type(row, item, type_name)
    try:
        made = dict(item)
    except TypeError:
        raise wrong_result(f"a list cannot be a key of {type_name}", row) from None
    if len(made) != len(item):
        raise Fault("22023", "a map has a key twice", row)
    return made


def _map(entries: Writer, type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        rows = _rows(found, mask, {})
        for row, item in enumerate(rows):
            rows[row] = _entries(item, row, type_name)
        pairs = [{"key": key, "value": value} for item in rows for key, value in item.items()]
        _write_list(ring, nodes, rows, mask, entries, *results.from_items(pairs))

    return write


def _union(names: list[str], members: list[Writer], type_name: str) -> Writer:
    def write(ring: Ring, nodes: list[int], found: np.ndarray, mask: np.ndarray | None) -> None:
        rows = _rows(found, mask, (names[0], None))
        for row, item in enumerate(rows):
            if not isinstance(item, tuple) or len(item) != 2 or item[0] not in names:
                raise wrong_result(f"return a pair of a member's name and its value for {type_name}", row)
        tags = bytes(names.index(item[0]) for item in rows)
        _node(ring, nodes, len(rows), mask, (ring.write(tags), len(tags)), (ring.at, 0))
        for name, member in zip(names, members, strict=True):
            member(ring, nodes, *results.from_items([item[1] if item[0] == name else None for item in rows]))

    return write
