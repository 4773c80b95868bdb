"""Converts a value's bytes to its canonical JSON form (vectors/README.md)."""

import struct

from .schema import Field

FLOATS = {"float16": ("<e", 0x7E00), "float32": ("<f", 0x7FC00000), "float64": ("<d", 0x7FF8000000000000)}


def value_to_json(field: Field, raw: bytes) -> object:
    """`raw` is one value of the layout integer, float, opaque, wide, parts or bytes."""
    if field.type in FLOATS:
        return float_to_json(field.type, raw)
    if field.layout.kind == "parts":
        parts, at = [], 0
        for width in field.layout.parts:
            parts.append(int.from_bytes(raw[at : at + width], "little", signed=True))
            at += width
        return parts
    if field.layout.kind == "bytes":
        return raw.decode("utf-8") if field.layout.text else raw.hex()
    if field.type == "fixed_size_binary":
        return raw.hex()
    number = int.from_bytes(raw, "little", signed=not field.type.startswith("uint"))
    if field.type.startswith("decimal"):
        return decimal_to_json(number, field.parameters["scale"])
    return [number] if field.type == "interval_year_month" else number


def float_to_json(type_name: str, raw: bytes) -> str:
    code, quiet_nan = FLOATS[type_name]
    number = struct.unpack(code, raw)[0]
    if number == number:
        return repr(number)
    bits = int.from_bytes(raw, "little")
    return "nan" if bits == quiet_nan else f"nan:{raw[::-1].hex()}"


def decimal_to_json(number: int, scale: int) -> str:
    if scale <= 0:
        return str(number * 10**-scale)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def normalise(field: dict, value: object) -> object:
    """The same value, with every float as this module writes it. `field` is a field's description."""
    if value is None:
        return None
    name = field["type"]
    if name in FLOATS:
        if value.startswith("nan"):
            return value
        return float_to_json(name, struct.pack(FLOATS[name][0], float(value)))
    children = field.get("children", [])
    if name in ("list", "large_list", "fixed_size_list"):
        return [normalise(children[0], item) for item in value]
    if name == "struct":
        return [normalise(child, item) for child, item in zip(children, value, strict=True)]
    if name == "map":
        return [normalise(children[0], item) for item in value]
    if name == "dictionary":
        return normalise(children[0], value)
    return value
