"""Bodies of schema messages with one error."""

from collections.abc import Iterator

from .body import Body
from .cases import field
from .stream import schema_body


def bad_schemas() -> Iterator[tuple[str, str, str, bytes]]:
    good = schema_body([field("name", "int32")])
    yield "schema_cut_in_name", "bounds", "the body stops in a name", good[:18]
    yield "schema_cut_in_field", "bounds", "the body stops before the metadata", good[:-4]
    yield "schema_cut_before_field", "bounds", "a field fewer than declared", good[:12]
    yield "schema_empty", "bounds", "no body", b""
    yield "schema_longer", "leftover", "a byte after the last field", good + b"\0"
    yield "schema_zero", "zero", "the first word", b"\1" + good[1:]
    yield "schema_fields_huge", "bounds", "2^32 - 1 fields", good[:4] + b"\xff" * 4 + good[8:]
    yield "schema_pairs_huge", "bounds", "2^32 - 1 pairs of metadata", good[:8] + b"\xff" * 4 + good[12:]
    yield "schema_string_huge", "bounds", "a name of 2^32 - 1 bytes", good[:12] + b"\xff" * 4 + good[16:]
    yield "schema_name_utf8", "utf8", "a name that is not UTF-8", good.replace(b"name", b"na\xffe")
    metadata = schema_body([field("n", "int8")], [["key", "value"]])
    yield "schema_key_utf8", "utf8", "a key that is not UTF-8", metadata.replace(b"key", b"\xc0\x80y")
    yield "schema_value_surrogate", "utf8", "a surrogate in a value", metadata.replace(b"value", b"\xed\xa0\x80ue")
    zoned = schema_body([field("n", "timestamp", unit="us", zone="UTC")])
    yield "schema_zone_utf8", "utf8", "a time zone that is not UTF-8", zoned.replace(b"UTC", b"UT\x80")

    def one(type_code: int, flags: int, children: int, rest: bytes = b"") -> bytes:
        body = Body().u32(0, 1).u32(0).string("f").u8(type_code, flags).u16(children).raw(rest)
        return bytes(body)

    def child(type_code: int = 3, children: int = 0, inner: bytes = b"") -> bytes:
        return bytes(Body().string("").u8(type_code, 0).u16(children).u32(0).raw(inner))

    none = bytes(4)  # no metadata
    yield "type_37", "type", "an unknown type", one(37, 0, 0, none)
    yield "type_255", "type", "an unknown type", one(255, 0, 0, none)
    yield "flags_8", "zero", "flag bit 3", one(4, 8, 0, none)
    yield "flags_ordered", "zero", "an ordered int32", one(4, 2, 0, none)
    yield "flags_sorted", "zero", "an int32 with sorted keys", one(4, 4, 0, none)
    yield "children_of_int32", "type", "an int32 with a child", one(4, 0, 1, none + child())
    yield "list_childless", "type", "a list without a child", one(31, 0, 0, none)
    yield "list_two_children", "type", "a list of two children", one(31, 0, 2, none + child() + child())
    yield "struct_children_missing", "bounds", "a struct with fewer fields than declared", one(34, 0, 2, none + child())
    yield "map_of_int8", "type", "a map of int8", one(35, 0, 1, none + child())
    yield "map_of_one", "type", "a map whose entries have one field", one(35, 0, 1, none + child(34, 1, child()))
    three = child(34, 3, child() * 3)
    yield "map_of_three", "type", "a map whose entries have three fields", one(35, 0, 1, none + three)
    yield "dictionary_childless", "type", "a dictionary without values", one(36, 0, 0, b"\4" + none)
    yield "dictionary_index_float", "type", "a dictionary with float indices", one(36, 0, 1, b"\x0c" + none + child())
    yield "dictionary_index_bool", "type", "a dictionary with bool indices", one(36, 0, 1, b"\1" + none + child())
    for code, name, most in (
        (13, "decimal32", 9),
        (14, "decimal64", 18),
        (15, "decimal128", 38),
        (16, "decimal256", 76),
    ):
        yield f"{name}_precision", "type", f"precision {most + 1}", one(code, 0, 0, bytes([most + 1, 0]) + none)
    yield "decimal_precision_0", "type", "precision 0", one(15, 0, 0, b"\0\0" + none)
    yield "decimal_scale", "type", "a scale above the precision", one(15, 0, 0, b"\5\6" + none)
    yield "unit_4", "type", "an unknown unit", one(22, 0, 0, b"\4" + none)
    yield "time32_us", "type", "time32 in microseconds", one(19, 0, 0, b"\2" + none)
    yield "time64_ms", "type", "time64 in milliseconds", one(20, 0, 0, b"\1" + none)
    yield "timestamp_zoned_2", "type", "zoned = 2", one(21, 0, 0, b"\2\2" + none)
    deep = b"".join(Body().string("").u8(31, 0).u16(1).u32(0).__bytes__() for _ in range(64))
    yield "nesting_65", "nesting", "65 levels", bytes(Body().u32(0, 1, 0)) + deep + child()
    endless = b"".join(Body().string("").u8(31, 0).u16(1).u32(0).__bytes__() for _ in range(2000))
    yield "nesting_2000", "nesting", "2000 levels", bytes(Body().u32(0, 1, 0)) + endless + child()
