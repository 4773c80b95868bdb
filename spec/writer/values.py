"""Converts the canonical JSON form of a value (vectors/README.md) to its bytes."""

import struct
from fractions import Fraction

WIDTHS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
WIDTHS |= {"float16": 2, "float32": 4, "float64": 8, "decimal32": 4, "decimal64": 8, "decimal128": 16, "decimal256": 32}
WIDTHS |= {"date32": 4, "date64": 8, "time32": 4, "time64": 8, "timestamp": 8, "duration": 8, "interval_year_month": 4}
WIDTHS |= {"interval_day_time": 8, "interval_month_day_nano": 16}
OFFSETS = {"utf8": 4, "binary": 4, "large_utf8": 8, "large_binary": 8, "list": 4, "map": 4, "large_list": 8}
FLOATS = {"float16": ("<e", "7e00"), "float32": ("<f", "7fc00000"), "float64": ("<d", "7ff8000000000000")}
PARTS = {"interval_day_time": (4, 4), "interval_month_day_nano": (4, 4, 8)}


def width_of(field: dict) -> int:
    return field["width"] if field["type"] == "fixed_size_binary" else WIDTHS[field["type"]]


def is_text(field: dict) -> bool:
    return field["type"] in ("utf8", "large_utf8")


def is_bytes(field: dict) -> bool:
    return field["type"] in ("utf8", "large_utf8", "binary", "large_binary")


def to_bytes(field: dict, value: object) -> bytes:
    """One value of the layouts integer, float, opaque, wide, parts and bytes; zeros (or nothing) for None."""
    name = field["type"]
    if is_bytes(field):
        return b"" if value is None else value.encode("utf-8") if is_text(field) else bytes.fromhex(value)
    width = width_of(field)
    if value is None:
        return bytes(width)
    if name == "fixed_size_binary":
        return bytes.fromhex(value)
    if name in FLOATS:
        code, quiet = FLOATS[name]
        if value.startswith("nan"):
            return bytes.fromhex(value[4:] or quiet)[::-1]
        return struct.pack(code, float(value))
    if name in PARTS:
        return b"".join(v.to_bytes(w, "little", signed=True) for v, w in zip(value, PARTS[name], strict=True))
    if name == "interval_year_month":
        value = value[0]
    if name.startswith("decimal"):
        value = int(Fraction(value) * Fraction(10) ** field["scale"])
    return (value % (1 << 8 * width)).to_bytes(width, "little")
