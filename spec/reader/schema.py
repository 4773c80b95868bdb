"""The schema message (FORMAT §4) and the layouts (§5)."""

from dataclasses import dataclass
from dataclasses import field as default

from .cursor import Cursor
from .errors import Kind

MAX_NESTING = 64
UNITS = ["s", "ms", "us", "ns"]
NULLABLE, ORDERED, KEYS_SORTED = 1, 2, 4


@dataclass(frozen=True)
class Layout:
    """`kind` as in FORMAT §5; `width`: bytes of a value (or offset); `parts`: widths; `text`: the bytes are UTF-8."""

    kind: str
    width: int = 0
    parts: tuple[int, ...] = ()
    text: bool = False


@dataclass
class Field:
    name: str
    type: str
    layout: Layout
    nullable: bool
    parameters: dict = default(default_factory=dict)
    metadata: list = default(default_factory=list)
    children: list = default(default_factory=list)

    def describe(self) -> dict:
        shown = {"name": self.name, "type": self.type, "nullable": self.nullable, **self.parameters}
        if self.metadata:
            shown["metadata"] = self.metadata
        if self.layout.kind in NESTED:
            shown["children"] = [child.describe() for child in self.children]
        return shown


def integer(width: int) -> Layout:
    return Layout("integer", width)


NESTED = {"list", "fixed list", "struct", "dictionary"}

# (name, layout, number of children, or None for any); opaque 0 gets its width from the parameters
TYPES = [
    ("null", Layout("none"), 0),
    ("bool", Layout("bits"), 0),
    *((name, integer(1 << i), 0) for i, name in enumerate(["int8", "int16", "int32", "int64"])),
    *((name, integer(1 << i), 0) for i, name in enumerate(["uint8", "uint16", "uint32", "uint64"])),
    ("float16", Layout("opaque", 2), 0),
    ("float32", Layout("float", 4), 0),
    ("float64", Layout("float", 8), 0),
    ("decimal32", integer(4), 0),
    ("decimal64", integer(8), 0),
    ("decimal128", Layout("wide", 16), 0),
    ("decimal256", Layout("wide", 32), 0),
    ("date32", integer(4), 0),
    ("date64", integer(8), 0),
    ("time32", integer(4), 0),
    ("time64", integer(8), 0),
    ("timestamp", integer(8), 0),
    ("duration", integer(8), 0),
    ("interval_year_month", integer(4), 0),
    ("interval_day_time", Layout("parts", 8, (4, 4)), 0),
    ("interval_month_day_nano", Layout("parts", 16, (4, 4, 8)), 0),
    ("utf8", Layout("bytes", 4, text=True), 0),
    ("large_utf8", Layout("bytes", 8, text=True), 0),
    ("binary", Layout("bytes", 4), 0),
    ("large_binary", Layout("bytes", 8), 0),
    ("fixed_size_binary", Layout("opaque", 0), 0),
    ("list", Layout("list", 4), 1),
    ("large_list", Layout("list", 8), 1),
    ("fixed_size_list", Layout("fixed list"), 1),
    ("struct", Layout("struct"), None),
    ("map", Layout("list", 4), 1),
    ("dictionary", Layout("dictionary"), 1),
]
TYPE_CODES = {name: code for code, (name, _, _) in enumerate(TYPES)}
MAX_PRECISION = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}
TIME_UNITS = {"time32": ["s", "ms"], "time64": ["us", "ns"]}


def read_schema(c: Cursor) -> tuple[list[Field], list]:
    """The fields and the metadata of a schema message's body."""
    c.zero(4)
    count = c.u32("fields")
    metadata = read_metadata(c)
    fields = [read_field(c, 1) for _ in range(count)]
    c.finish()
    return fields, metadata


def read_metadata(c: Cursor) -> list:
    return [[c.string("key"), c.string("value")] for _ in range(c.u32("metadata pairs"))]


def read_field(c: Cursor, level: int) -> Field:
    if level > MAX_NESTING:
        raise c.fail(Kind.NESTING, f"fields are nested more than {MAX_NESTING} levels deep")
    name = c.string("name")
    code = c.u8("type")
    if code >= len(TYPES):
        raise c.fail(Kind.TYPE, f"unknown type {code}")
    type_name, layout, children = TYPES[code]
    c.note(f"^ {type_name}")
    flags = c.u8("flags")
    known = NULLABLE | (ORDERED if type_name == "dictionary" else 0) | (KEYS_SORTED if type_name == "map" else 0)
    if flags & ~known:
        raise c.fail(Kind.ZERO, f"flags {flags:#04x} have no meaning for {type_name}")
    count = c.u16("children")
    if children is not None and count != children:
        raise c.fail(Kind.TYPE, f"{type_name} with {count} children")
    field = Field(name, type_name, layout, bool(flags & NULLABLE))
    field.parameters = read_parameters(c, type_name, flags)
    if type_name == "fixed_size_binary":
        field.layout = Layout("opaque", field.parameters["width"])
    field.metadata = read_metadata(c)
    field.children = [read_field(c, level + 1) for _ in range(count)]
    if type_name == "map" and (field.children[0].type != "struct" or len(field.children[0].children) != 2):
        raise c.fail(Kind.TYPE, "a map whose entries are not a struct of key and value")
    return field


def read_parameters(c: Cursor, type_name: str, flags: int) -> dict:
    if type_name in MAX_PRECISION:
        precision, scale = c.u8("precision"), c.integer(1, "scale", signed=True)
        if not 1 <= precision <= MAX_PRECISION[type_name] or scale > precision:
            raise c.fail(Kind.TYPE, f"{type_name} with precision {precision}, scale {scale}")
        return {"precision": precision, "scale": scale}
    if type_name in ("time32", "time64", "timestamp", "duration"):
        unit = c.u8("unit")
        if unit >= len(UNITS) or UNITS[unit] not in TIME_UNITS.get(type_name, UNITS):
            raise c.fail(Kind.TYPE, f"{type_name} with unit {unit}")
        if type_name != "timestamp":
            return {"unit": UNITS[unit]}
        zoned = c.u8("zoned")
        if zoned > 1:
            raise c.fail(Kind.TYPE, f"timestamp with zoned = {zoned}")
        return {"unit": UNITS[unit], "zone": c.string("zone") if zoned else None}
    if type_name == "fixed_size_binary":
        return {"width": c.u32("width")}
    if type_name == "fixed_size_list":
        return {"size": c.u32("size")}
    if type_name == "map":
        return {"keys_sorted": bool(flags & KEYS_SORTED)}
    if type_name == "dictionary":
        index = c.u8("index type")
        if not 2 <= index <= 9:
            raise c.fail(Kind.TYPE, f"dictionary with index type {index}")
        return {"index": TYPES[index][0], "ordered": bool(flags & ORDERED)}
    return {}
