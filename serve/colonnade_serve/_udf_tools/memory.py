"""From Arrow to the memory that a function process's conversions read (`_udf/inbound.py`), and from what they write."""

from __future__ import annotations

import copy
import mmap
import struct
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from colonnade_serve._udf import inbound
from colonnade_serve._udf.ring import ALIGNMENT, DATA, MAX_ANSWER_WORDS, REQUEST_WORDS, Ring

if TYPE_CHECKING:
    import pyarrow as pa

#: Address space for arguments and results. Pages that nobody touches take no memory.
SPACE = 1 << 34


class LocalRing(Ring):
    """The memory of calls in this process. It has the layout of the ring that a function process has."""

    def __init__(self) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self.memory = memoryview(mmap.mmap(-1, SPACE, flags=flags))
        self.at = DATA
        self.words = b""
        self.result: tuple[int, list[int]] = (0, [])
        self.columns: list[int] = []
        #: The types and the words of the arguments.
        self.arguments: list[tuple[list[Any], list[int]]] = []
        #: The names of a result with any columns, and for each its type, or the number of the argument that it is.
        self.any_columns: list[tuple[str, str | int]] = []

    def begin(self) -> None:
        """Forget the arguments and the result of the call before."""
        self.at = DATA
        self.words = b""
        self.columns = []
        self.arguments = []

    def argument(self, array: pa.Array, column_type: list[Any], *, is_one: bool) -> None:
        """Write an argument: one value, which each row has, or an array."""
        self.columns.append(1 if is_one else 0)
        first = len(self.columns)
        write(self, array, column_type)
        self.arguments.append((column_type, self.columns[first:]))

    def send(self) -> int:
        """Write the words of the arguments. Returns their number."""
        struct.pack_into(f"<{len(self.columns)}Q", self.memory, REQUEST_WORDS, *self.columns)
        return len(self.columns)

    def reserve(self, size: int) -> int:
        at = self.at
        self.at = (at + size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if self.at > SPACE:
            raise MemoryError(f"the arguments and the result of one call need more than {SPACE >> 30} GiB")
        return at

    def answer(self, kind: int, rows: int = 0, words: int = 0, record: int = 0, wanted: int = 0) -> None:
        nodes = inbound.unpack(self.memory, 65536, words)
        self.result = (rows, list(nodes))

    def finish(self, rows: int, nodes: list[int], record: int = 0) -> None:
        if len(nodes) > MAX_ANSWER_WORDS:
            raise ValueError(f"{len(nodes) // 6} columns and fields are too many for one result")
        self.result = (rows, nodes)

    def finish_any(self, rows: int, nodes: list[int], columns: list[tuple[str, str | int]]) -> None:
        self.any_columns = columns
        self.finish(rows, nodes)

    def node(self, length: int, valid: np.ndarray | None, values: bytes | np.ndarray, heap: bytes = b"") -> None:
        """Add a node of an argument."""
        data = values.tobytes() if isinstance(values, np.ndarray) else values
        validity = 0
        if valid is not None and not valid.all():
            bits = np.packbits(valid, bitorder="little").tobytes()
            validity = self.write(bits + bytes(-len(bits) % 8))
        at = self.write(data)
        self.columns += (length, validity, at, len(data), self.write(heap), len(heap))


def write(ring: LocalRing, array: pa.Array, column_type: list[Any]) -> None:
    """Write the nodes of a column, as the server's export has it (spec/TYPES.md)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name, *arguments = column_type
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    valid = np.asarray(array.is_valid()) if array.null_count else None
    length = len(array)
    if name == "bool":
        ring.node(length, valid, np.asarray(pc.fill_null(array, False)).astype(np.uint8))
    elif name in inbound.NUMBERS:
        filled = pc.fill_null(array, 0) if array.null_count else array
        ring.node(length, valid, np.ascontiguousarray(filled, np.dtype(inbound.NUMBERS[name])))
    elif name in ("int128", "uint128"):
        ring.node(length, valid, integers(array, signed=name == "int128"))
    elif name == "decimal":
        array = array.cast(pa.decimal128(38, arguments[1]))
        ring.node(length, valid, fixed(array, 16))
    elif name == "text":
        write_bytes(ring, array.cast(pa.large_string()), valid)
    elif name == "blob":
        write_bytes(ring, array.cast(pa.large_binary()), valid)
    elif name == "uuid":
        ring.node(length, valid, b"".join(uuid_bytes(item) for item in array.to_pylist()))
    elif name == "date":
        ring.node(length, valid, fixed(array.cast(pa.date32()), 4))
    elif name == "time":
        ring.node(length, valid, fixed(array.cast(pa.time64("us")), 8))
    elif name == "timestamp":
        zone = array.type.tz if pa.types.is_timestamp(array.type) else None
        ring.node(length, valid, fixed(array.cast(pa.timestamp(arguments[0], zone)), 8))
    elif name == "interval":
        ring.node(length, valid, intervals(array))
    elif name == "list":
        lengths = np.asarray(pc.fill_null(array.value_lengths(), 0)).astype(np.int64)
        ring.node(length, valid, np.concatenate(([0], np.cumsum(lengths))))
        write(ring, array.flatten(), arguments[0])
    elif name == "map":
        write(ring, entries(array), ["list", arguments[0]])
    elif name == "array":
        size, item = arguments
        ring.node(length, valid, b"")
        items = array.values if pa.types.is_fixed_size_list(array.type) else None
        if items is None:
            rows = [row if row is not None else [None] * size for row in array.to_pylist()]
            items = pa.array([one for row in rows for one in row], array.type.value_type)
        else:
            items = items.slice(array.offset * size, length * size)
        write(ring, items, item)
    elif name == "struct":
        ring.node(length, valid, b"")
        for field, child in zip(arguments[1:], array.flatten(), strict=True):
            write(ring, child, field)
    elif name == "union":
        # A struct with the name of the member and the values of all members (`_duckdb/unions.py`).
        names, *members = arguments
        member, values = array.flatten()
        numbers = {None: 0} | {one: number for number, one in enumerate(names)}
        ring.node(length, valid, np.array([numbers[one] for one in member.to_pylist()], np.uint8))
        for child, child_type in zip(values.flatten(), members, strict=True):
            write(ring, child, child_type)
    else:
        raise ValueError(f"inputs of the type {name} cannot be read")


def entries(array: pa.Array) -> pa.Array:
    """A MAP as a list of its entries, each a struct of key and value."""
    import pyarrow as pa

    if not pa.types.is_map(array.type):
        return array
    pairs = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    # Offsets of a part count from the beginning of the whole array, as `keys` does.
    return pa.ListArray.from_arrays(array.offsets, pairs, mask=array.is_null() if array.null_count else None)


def fixed(array: pa.Array, width: int) -> bytes:
    """The values of a column as bytes. Those of NULL are any."""
    data = array.buffers()[1]
    if data is None:
        return bytes(width * len(array))
    return data[array.offset * width : (array.offset + len(array)) * width].to_pybytes()


def integers(array: pa.Array, *, signed: bool) -> bytes:
    import pyarrow as pa

    if pa.types.is_decimal128(array.type) and array.type.scale == 0:
        return fixed(array, 16)
    return b"".join(int(item or 0).to_bytes(16, "little", signed=signed) for item in array.to_pylist())


def uuid_bytes(item: Any) -> bytes:
    if item is None:
        return bytes(16)
    return item if isinstance(item, bytes) else uuid.UUID(str(item)).bytes


def intervals(array: pa.Array) -> bytes:
    found = np.frombuffer(fixed(array, 16), np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")]))
    micros = np.zeros(len(found), inbound.INTERVAL)
    micros["months"], micros["days"], micros["micros"] = found["months"], found["days"], found["nanos"] // 1000
    return micros.tobytes()


def write_bytes(ring: LocalRing, array: pa.Array, valid: np.ndarray | None) -> None:
    """Write texts or blobs. The bytes of a NULL are not read."""
    _, offsets, heap = array.buffers()
    if offsets is None or len(array) == 0:
        ring.node(len(array), valid, np.zeros(len(array) + 1, np.int64))
        return
    found = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    data = b"" if heap is None else heap[int(found[0]) : int(found[-1])].to_pybytes()
    ring.node(len(array), valid, found - found[0], data)


def read(ring: LocalRing, column_type: list[Any], nodes: list[int]) -> list[Any]:
    """The items of a result's column, as Python has them; NULL is None."""
    return inbound.items(read_values(ring, column_type, nodes))


def read_rows(ring: LocalRing, sources: list[list[Any] | int], rows: int, nodes: list[int]) -> list[list[Any]]:
    """The rows of a result with several columns. Each has a type, or is the argument with this number."""
    words = iter(nodes)
    columns = []
    for source in sources:
        type_, own = ring.arguments[source] if isinstance(source, int) else (source, words)
        columns.append(inbound.items(copy.deepcopy(inbound.reader(type_)(ring.memory, iter(own)))))
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(rows)]


def read_values(ring: LocalRing, column_type: list[Any], nodes: list[int]) -> inbound.Values:
    """The values of a column and their mask. They are copies: the memory is used again."""
    return copy.deepcopy(inbound.reader(column_type)(ring.memory, iter(nodes)))
