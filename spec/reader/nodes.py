"""Decodes the nodes of a chunk (FORMAT §6.1 to 6.10) into the values of a column."""

import struct
from itertools import pairwise

from . import strings
from .cursor import Cursor
from .errors import FormatError, Kind
from .integers import read_delta, read_packed
from .logical import value_to_json
from .schema import Field, Layout, integer

PLAIN, CONSTANT, PACKED, DELTA, DICTIONARY, LENGTHS, ALP, FSST, SPLIT = range(9)
NAMES = ["plain", "constant", "packed", "delta", "dictionary", "lengths", "alp", "fsst", "split"]
FIXED = {"integer", "float", "opaque", "wide", "parts"}
LAYOUTS = [
    {"none", "bits", "bytes", "list", "fixed list", "struct", "dictionary"} | FIXED,
    {"bits", "bytes"} | FIXED,
    {"integer"},
    {"integer"},
    {"bytes"} | FIXED,
    {"bytes", "list"},
    {"float"},
    {"bytes"},
    {"wide", "parts"},
]
NO_NULLS, ALL_NULL, BITMAP, SPARSE, SAME, SAME_SPARSE = range(6)
NULLS = ["no NULLs", "all NULL", "bitmap, dense", "bitmap, sparse", "same bitmap, dense", "same bitmap, sparse"]
MAX_EXPONENT = {4: 10, 8: 18}


class Chunk:
    """One chunk that is being decoded: its rows, the bitmaps of earlier columns, and the remaining budget."""

    def __init__(self, rows: int, limit: int, where: str):
        self.rows = rows
        self.where = where
        self.left = limit
        self.bitmaps: list[list[bool] | None] = []  # one for each column; None if "same" must not name it

    def charge(self, size: int) -> None:
        if size > self.left:
            raise FormatError(Kind.LIMIT, self.where, "the chunk decodes to more than the reader's limit")
        self.left -= size

    def column(self, c: Cursor, field: Field) -> list:
        """The top-level column in `c`, as JSON values."""
        self.bitmaps.append(None)
        values = self.field_node(c, field, self.rows, top=True)
        c.finish()
        return values

    def field_node(self, c: Cursor, field: Field, rows: int, top: bool = False) -> list:
        """A node of a field: one JSON value for each row, None for NULL."""
        c.note(f"node: {field.type} {field.name!r}, {rows} rows")
        encoding, nulls, parameter, aux = self.node_head(c, field.layout)
        if top and not field.nullable and nulls != NO_NULLS:
            raise c.fail(Kind.NULLS, "NULLs in a field that is not nullable")
        valid = self.read_nulls(c, field.layout, nulls, aux, rows, top)
        if nulls == ALL_NULL:
            if encoding != PLAIN:
                raise c.fail(Kind.ENCODING, "an all-NULL node is not plain")
            if parameter:
                raise c.fail(Kind.PARAMETER, "an all-NULL node has a parameter")
            self.charge_nulls(field, rows)
            return [None] * rows
        sparse = nulls in (SPARSE, SAME_SPARSE)
        present = sum(valid) if sparse else rows
        kind = field.layout.kind
        if kind == "none":
            raise c.fail(Kind.NULLS, "a null column is not all NULL")
        if kind == "bits":
            values = self.read_bits(c, encoding, parameter, present)
        elif kind in FIXED or kind == "bytes":
            if sparse:
                self.charge((rows - present) * field.layout.width)
            raw = self.read_values(c, field.layout, encoding, parameter, present)
            shown = {value: value_to_json(field, value) for value in set(raw)}
            values = [shown[value] for value in raw]
        else:
            if parameter:
                raise c.fail(Kind.PARAMETER, f"parameter {parameter} with {NAMES[encoding]}")
            values = self.read_nested(c, field, encoding, rows, valid)
        c.align(8)
        if sparse:
            present_values = iter(values)
            return [next(present_values) if v else None for v in valid]
        return values if valid is None else [value if v else None for v, value in zip(valid, values, strict=True)]

    def node_head(self, c: Cursor, layout: Layout) -> tuple[int, int, int, int]:
        encoding = c.u8("encoding")
        if encoding >= len(NAMES) or layout.kind not in LAYOUTS[encoding]:
            raise c.fail(Kind.ENCODING, f"encoding {encoding} for layout {layout.kind}")
        nulls = c.u8("nulls")
        if nulls >= len(NULLS):
            raise c.fail(Kind.NULLS, f"nulls {nulls}")
        c.note(f"^ {NAMES[encoding]}, {NULLS[nulls]}")
        parameter = c.u8("parameter")
        c.zero(1)
        return encoding, nulls, parameter, c.u32("aux")

    def read_nulls(self, c: Cursor, layout: Layout, nulls: int, aux: int, rows: int, top: bool) -> list[bool] | None:
        """The validity of each row, or None if every row is valid or every row is NULL."""
        if nulls in (SPARSE, SAME_SPARSE) and layout.kind not in FIXED | {"bytes"}:
            raise c.fail(Kind.NULLS, f"sparse values of layout {layout.kind}")
        if nulls in (NO_NULLS, ALL_NULL):
            if aux:
                raise c.fail(Kind.NULL_COUNT, f"aux {aux} without a bitmap")
            return None
        self.charge((rows + 7) // 8)
        if nulls in (SAME, SAME_SPARSE):
            if not top:
                raise c.fail(Kind.SAME, "only a top-level column has the same bitmap as another")
            if aux >= len(self.bitmaps) - 1 or self.bitmaps[aux] is None:
                raise c.fail(Kind.SAME, f"column {aux} is not an earlier column with a bitmap")
            return self.bitmaps[aux]
        bits = int.from_bytes(c.take((rows + 7) // 8, "bitmap"), "little")
        if bits >> rows:
            raise c.fail(Kind.ZERO, "unused bits of the bitmap are not zero")
        c.align(8)
        valid = [bool(bits >> i & 1) for i in range(rows)]
        if rows - sum(valid) != aux:
            raise c.fail(Kind.NULL_COUNT, f"the bitmap has {rows - sum(valid)} NULLs, not {aux}")
        if top:
            self.bitmaps[-1] = valid
        return valid

    def charge_nulls(self, field: Field, rows: int) -> None:
        """Charges the bytes to which `rows` NULLs of this field decode."""
        self.charge((rows + 7) // 8 + rows * max(1, field.layout.width))
        if field.layout.kind == "fixed list":
            self.charge_nulls(field.children[0], rows * field.parameters["size"])
        elif field.layout.kind == "struct":
            for child in field.children:
                self.charge_nulls(child, rows)

    def read_bits(self, c: Cursor, encoding: int, parameter: int, count: int) -> list[bool]:
        self.charge((count + 7) // 8)
        if encoding == CONSTANT:
            if parameter > 1:
                raise c.fail(Kind.PARAMETER, f"a bool of {parameter}")
            if count == 0:
                raise c.fail(Kind.COUNT, "a constant of no values")
            return [bool(parameter)] * count
        if parameter:
            raise c.fail(Kind.PARAMETER, f"parameter {parameter} with plain")
        bits = int.from_bytes(c.take((count + 7) // 8, "bits"), "little")
        if bits >> count:
            raise c.fail(Kind.ZERO, "unused bits are not zero")
        return [bool(bits >> i & 1) for i in range(count)]

    def inner_node(self, c: Cursor, layout: Layout, count: int, label: str, dictionary: bool = False) -> list[bytes]:
        """A node without NULLs inside another one. `dictionary`: it may be a dictionary itself."""
        c.note(f"node: {label}, {layout.kind} {layout.width} x {count}")
        encoding, nulls, parameter, aux = self.node_head(c, layout)
        if nulls != NO_NULLS:
            raise c.fail(Kind.NULLS, f"NULLs in {label}")
        if aux:
            raise c.fail(Kind.NULL_COUNT, f"aux {aux} without a bitmap")
        if encoding == DICTIONARY and not dictionary:
            raise c.fail(Kind.ENCODING, f"{label} as a dictionary")
        values = self.read_values(c, layout, encoding, parameter, count)
        c.align(8)
        return values

    def integers(self, c: Cursor, width: int, count: int, label: str, signed: bool = False) -> list[int]:
        raw = self.inner_node(c, integer(width), count, label)
        return [int.from_bytes(value, "little", signed=signed) for value in raw]

    def read_values(self, c: Cursor, layout: Layout, encoding: int, parameter: int, count: int) -> list[bytes]:
        """`count` values of a fixed width or of the layout bytes."""
        if parameter and encoding not in (FSST, SPLIT):
            raise c.fail(Kind.PARAMETER, f"parameter {parameter} with {NAMES[encoding]}")
        self.charge(count * max(1, layout.width))
        if encoding == CONSTANT and count == 0:
            raise c.fail(Kind.COUNT, "a constant of no values")
        if encoding == DICTIONARY:
            return self.read_dictionary(c, layout, count)
        if layout.kind == "bytes":
            values = self.read_strings(c, layout, encoding, parameter, count)
            if layout.text:
                strings.check_utf8(c, values)
            return values
        width = layout.width
        if encoding == PLAIN:
            c.align(64)
            raw = c.take(count * width, f"{count} values of {width} bytes")
            return [raw[i * width : (i + 1) * width] for i in range(count)]
        if encoding == CONSTANT:
            return [c.take(width, "the value")] * count
        if encoding == ALP:
            return self.read_alp(c, width, count)
        if encoding == SPLIT:
            return self.read_split(c, layout, parameter, count)
        numbers = read_packed(c, count, width) if encoding == PACKED else read_delta(c, count, width)
        return [number.to_bytes(width, "little") for number in numbers]

    def read_strings(self, c: Cursor, layout: Layout, encoding: int, parameter: int, count: int) -> list[bytes]:
        if encoding == CONSTANT:
            length = c.u64("length")
            strings.check_total(c, length * count, layout.width)
            self.charge(length * count)
            return [c.take(length, "the value")] * count
        total = c.u64("data length")
        strings.check_total(c, total, layout.width)
        self.charge(total)
        if encoding == PLAIN:
            offsets = strings.read_offsets(c, count, layout.width, total)
            c.align(64)
            return strings.cut(c.take(total, "data"), offsets)
        if encoding == LENGTHS:
            offsets = strings.offsets_of(c, self.integers(c, 4, count, "lengths"), total)
            return strings.cut(c.take(total, "data"), offsets)
        size = c.u64("compressed length")
        offsets = strings.offsets_of(c, self.integers(c, 4, count, "lengths"), total)
        symbols = strings.read_symbols(c, parameter)
        return strings.cut(strings.expand(c, c.take(size, "compressed bytes"), symbols, total), offsets)

    def read_dictionary(self, c: Cursor, layout: Layout, count: int) -> list[bytes]:
        entries = c.u32("entries")
        c.zero(4)
        if not 1 <= entries <= count:
            raise c.fail(Kind.COUNT, f"a dictionary of {entries} entries for {count} values")
        total = c.u64("data length") if layout.kind == "bytes" else None
        if total is not None:
            strings.check_total(c, total, layout.width)
            self.charge(total)
        values = self.inner_node(c, layout, entries, "dictionary values")
        code_width = 1 if entries <= 256 else 2 if entries <= 65536 else 4
        codes = self.integers(c, code_width, count, "codes")
        if any(code >= entries for code in codes):
            raise c.fail(Kind.CODE, f"code {max(codes)} with {entries} entries")
        if total is not None and sum(len(values[code]) for code in codes) != total:
            raise c.fail(Kind.LENGTHS, f"the lengths of the values do not sum to {total} bytes")
        return [values[code] for code in codes]

    def read_alp(self, c: Cursor, width: int, count: int) -> list[bytes]:
        e, f = c.u8("e"), c.u8("f")
        if not f <= e <= MAX_EXPONENT[width]:
            raise c.fail(Kind.ALP, f"e = {e}, f = {f}")
        c.zero(2)
        exceptions = c.u32("exceptions")
        code = "<f" if width == 4 else "<d"

        def rounded(x: float) -> float:  # a float64 rounded to the column's precision
            return struct.unpack(code, struct.pack(code, x))[0]

        up, down = rounded(float(f"1e{f}")), rounded(float(f"1e-{e}"))
        numbers = self.integers(c, width, count, "integers", signed=True)
        values = [struct.pack(code, rounded(rounded(float(n)) * up) * down) for n in numbers]
        positions = [c.u32("exception position") for _ in range(exceptions)]
        c.align(8)
        if (positions and positions[-1] >= count) or any(a >= b for a, b in pairwise(positions)):
            raise c.fail(Kind.EXCEPTION, f"the exception positions do not ascend below {count}")
        for position in positions:
            values[position] = c.take(width, f"exception for value {position}")
        return values

    def read_split(self, c: Cursor, layout: Layout, parts: int, count: int) -> list[bytes]:
        if layout.kind == "parts":
            if parts != len(layout.parts):
                raise c.fail(Kind.PARAMETER, f"{parts} parts instead of {len(layout.parts)}")
            columns = [self.inner_node(c, integer(w), count, f"part {i}", True) for i, w in enumerate(layout.parts)]
            return [b"".join(values) for values in zip(*columns, strict=True)]
        if not 1 <= parts <= layout.width // 8:
            raise c.fail(Kind.PARAMETER, f"{parts} parts for {layout.width} bytes")
        columns = [self.inner_node(c, integer(8), count, f"part {i}", True) for i in range(parts)]
        joined = [b"".join(values) for values in zip(*columns, strict=True)]
        return [raw + (b"\xff" if raw[-1] & 0x80 else b"\0") * (layout.width - len(raw)) for raw in joined]

    def read_nested(self, c: Cursor, field: Field, encoding: int, rows: int, valid: list[bool] | None) -> list:
        kind, children = field.layout.kind, field.children
        self.charge(rows * max(1, field.layout.width))
        if kind == "struct":
            columns = [self.field_node(c, child, rows) for child in children]
            return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(rows)]
        if kind == "fixed list":
            size = field.parameters["size"]
            items = self.field_node(c, children[0], rows * size)
            return [items[i * size : (i + 1) * size] for i in range(rows)]
        child_rows = c.u64("child rows")
        if kind == "dictionary":
            return self.read_dictionary_type(c, field, rows, child_rows, valid)
        strings.check_total(c, child_rows, field.layout.width)
        if encoding == PLAIN:
            offsets = strings.read_offsets(c, rows, field.layout.width, child_rows)
            c.align(8)
        else:
            offsets = strings.offsets_of(c, self.integers(c, 4, rows, "lengths"), child_rows)
        items = self.field_node(c, children[0], child_rows)
        if field.type == "map" and any(entry is None or entry[0] is None for entry in items):
            raise c.fail(Kind.NULLS, "a NULL among a map's entries or keys")
        return [items[a:b] for a, b in pairwise(offsets)]

    def read_dictionary_type(self, c: Cursor, field: Field, rows: int, child_rows: int, valid: list | None) -> list:
        name = field.parameters["index"]
        width = int(name.removeprefix("u").removeprefix("int")) // 8
        indices = self.integers(c, width, rows, "indices", signed=name.startswith("i"))
        values = self.field_node(c, field.children[0], child_rows)
        looked_up = []
        for i, index in enumerate(indices):
            if valid is not None and not valid[i]:
                looked_up.append(None)
            elif 0 <= index < child_rows:
                looked_up.append(values[index])
            else:
                raise c.fail(Kind.CODE, f"index {index} with {child_rows} values")
        return looked_up
