"""Chunk bodies of one column (or two) with one error in a node."""

from collections.abc import Iterator

from .bad_variable import bombs, fsst, nested, texts
from .body import Body
from .cases import field
from .nodes import As, write_node
from .parts import (
    ALP,
    BOOL,
    CONSTANT,
    DAYS,
    DELTA,
    DICTIONARY,
    DOUBLE,
    FSST,
    INT8,
    INT32,
    INT64,
    LENGTHS,
    LIST,
    PACKED,
    PLAIN,
    SPLIT,
    STRUCT,
    UTF8,
    WIDE,
    Bad,
    done,
    integers,
    node,
)
from .stream import encode_chunk


def bad_nodes() -> Iterator[Bad]:
    for part in (heads, nulls, fixed, dictionaries, texts, fsst, nested, bombs):
        yield from part()


def heads() -> Iterator[Bad]:
    yield "encoding_9", "encoding", "an unknown encoding", [INT32], 1, done(node(9))
    for name, f, encoding in (
        ("packed_float", DOUBLE, PACKED),
        ("delta_wide", WIDE, DELTA),
        ("alp_integer", INT64, ALP),
        ("fsst_integer", INT32, FSST),
        ("split_integer", INT64, SPLIT),
        ("lengths_integer", INT32, LENGTHS),
        ("dictionary_bool", BOOL, DICTIONARY),
        ("packed_bool", BOOL, PACKED),
        ("constant_list", LIST, CONSTANT),
        ("constant_struct", STRUCT, CONSTANT),
        ("alp_float16", field("v", "float16"), ALP),
        ("packed_utf8", UTF8, PACKED),
        ("constant_null", field("v", "null"), CONSTANT),
    ):
        yield (
            f"encoding_{name}",
            "encoding",
            "an encoding that is not for this layout",
            [f],
            1,
            done(node(encoding).u64(0, 0)),
        )
    body = encode_chunk([INT32], [[1, 2]], [As()])
    yield "node_zero", "zero", "byte 3 of a node", [INT32], 2, body[:11] + b"\1" + body[12:]
    yield "node_parameter", "parameter", "a parameter for plain", [INT32], 2, body[:10] + b"\1" + body[11:]
    yield "node_aux", "null count", "aux without NULLs", [INT32], 2, body[:12] + b"\1" + body[13:]
    yield "padding_64", "zero", "padding before plain values", [INT32], 2, body[:20] + b"\1" + body[21:]
    tail = encode_chunk([INT32], [[1]], [As()])
    yield "padding_8", "zero", "padding after plain values", [INT32], 1, tail[:-1] + b"\1"
    yield "node_cut", "bounds", "half a node head", [INT32], 1, bytes(Body().u32(8, 0, 0))
    yield "node_values_cut", "bounds", "fewer values than rows", [INT32], 3, body
    yield (
        "node_values_more",
        "leftover",
        "more values than rows",
        [INT32],
        2,
        encode_chunk([INT32], [[1, 2, 3]], [As()]),
    )
    yield "bits_unused", "zero", "an unused bit of a bool column", [BOOL], 3, done(node(PLAIN).u8(0x0F))
    yield "bool_2", "parameter", "a constant bool of 2", [BOOL], 3, done(node(CONSTANT, parameter=2))
    yield "bool_constant_empty", "count", "a constant bool of no rows", [BOOL], 0, done(node(CONSTANT, parameter=1))


def nulls() -> Iterator[Bad]:
    yield "nulls_6", "nulls", "an unknown NULL layout", [INT32], 1, done(node(PLAIN, 6).u64(0))
    yield "null_column_valid", "nulls", "a null column without NULLs", [field("v", "null")], 1, done(node(PLAIN))
    yield "all_null_packed", "encoding", "an all-NULL node that is packed", [INT32], 1, done(node(PACKED, 1))
    yield "all_null_parameter", "parameter", "an all-NULL node with a parameter", [INT32], 1, done(node(PLAIN, 1, 1))
    yield "all_null_aux", "null count", "an all-NULL node with a count", [INT32], 1, done(node(PLAIN, 1, aux=1))
    yield "all_null_longer", "leftover", "values after an all-NULL node", [INT32], 1, done(node(PLAIN, 1).u64(0))
    for how in ("bitmap", "sparse"):
        body = encode_chunk([INT32], [[1, None, 3]], [As("packed", how)])
        yield (
            f"null_count_more_{how}",
            "null count",
            "2 NULLs declared, 1 there",
            [INT32],
            3,
            body[:12] + b"\2" + body[13:],
        )
        yield (
            f"null_count_less_{how}",
            "null count",
            "no NULL declared, 1 there",
            [INT32],
            3,
            body[:12] + b"\0" + body[13:],
        )
        yield f"bitmap_unused_{how}", "zero", "an unused bit of a bitmap", [INT32], 3, body[:16] + b"\x0d" + body[17:]
        yield f"bitmap_padding_{how}", "zero", "padding after a bitmap", [INT32], 3, body[:17] + b"\1" + body[18:]
    never = field("v", "int32", False)
    hole = encode_chunk([never], [[1, None]], [As("packed", "sparse")])
    yield "not_nullable_bitmap", "nulls", "a NULL in a field that is not nullable", [never], 2, hole
    yield "not_nullable_all", "nulls", "only NULLs in a field that is not nullable", [never], 2, done(node(PLAIN, 1))
    for name, f in (("bool", BOOL), ("list", LIST), ("struct", STRUCT)):
        body = node(PLAIN, 3, aux=1).u8(1).align(8).u64(0, 0)
        yield f"sparse_{name}", "nulls", "sparse values of this layout", [f], 2, done(body)
    fields, hole = [INT32, INT32], [1, None, 3]

    def same(first: As, second: As) -> bytes:
        return encode_chunk(fields, [hole, hole], [first, second])

    bitmap = As("packed", "bitmap")
    yield "same_itself", "same", "the same as itself", fields, 3, same(bitmap, As("packed", "same", of=1))
    yield "same_later", "same", "the same as a later column", fields, 3, same(As("packed", "same", of=1), bitmap)
    yield (
        "same_beyond",
        "same",
        "the same as a column that is not there",
        fields,
        3,
        same(bitmap, As("packed", "same", of=2)),
    )
    yield (
        "same_none",
        "same",
        "the same as a column without NULLs",
        fields,
        3,
        encode_chunk(fields, [[1, 2, 3], hole], [As("packed"), As("packed", "same sparse", of=0)]),
    )
    yield (
        "same_all_null",
        "same",
        "the same as an all-NULL column",
        fields,
        3,
        encode_chunk(fields, [[None] * 3, hole], [As(nulls="all"), As("packed", "same", of=0)]),
    )
    chain = [INT32] * 3
    yield (
        "same_of_same",
        "same",
        "the same as a column that is the same as another",
        chain,
        3,
        encode_chunk(chain, [hole] * 3, [bitmap, As("packed", "same", of=0), As("packed", "same", of=1)]),
    )
    inner = [INT32, STRUCT]
    yield (
        "same_nested",
        "same",
        "a child with the same bitmap as a column",
        inner,
        3,
        encode_chunk(inner, [hole, [[1], [None], [3]]], [bitmap, As(children=[As("packed", "same", of=0)])]),
    )
    body = node(LENGTHS).u64(1).u8(PACKED, 2, 0, 0).u32(0).u64(1).u32(1).u8(0).align(8).u8(65)
    yield "nulls_in_lengths", "nulls", "a bitmap in the lengths", [UTF8], 1, done(body)


def fixed() -> Iterator[Bad]:
    yield (
        "width_33",
        "width",
        "33 bits in an int32",
        [INT32],
        2,
        done(node(PACKED).raw(bytes(4)).u8(33).align(8).raw(bytes(9))),
    )
    yield (
        "width_9",
        "width",
        "9 bits in an int8",
        [INT8],
        2,
        done(node(PACKED).raw(bytes(1)).u8(9).align(8).raw(bytes(3))),
    )
    yield "width_255", "width", "255 bits", [INT64], 2, done(node(PACKED).raw(bytes(8)).u8(255).align(8).raw(bytes(64)))
    yield (
        "width_delta",
        "width",
        "65 bits in a delta",
        [INT64],
        2,
        done(node(DELTA).u64(0, 0).u8(65).align(8).raw(bytes(17))),
    )
    block = node(PACKED).raw(bytes(4)).u8(3).align(8).u8(0xFF, 0x0F)
    yield "packed_unused_bits", "zero", "unused bits of a short block", [INT32], 3, done(block)
    padded = node(PACKED).raw(bytes(4)).u8(3, 1).align(8).u8(0)
    yield "packed_padding", "zero", "padding after the widths", [INT32], 1, done(padded)
    cut = node(PACKED).raw(bytes(4)).u8(32).align(8).raw(bytes(4088))
    yield "packed_block_cut", "bounds", "a full block that is cut off", [INT32], 1024, done(cut)
    yield "delta_padding", "zero", "padding after the base", [INT32], 1, done(node(DELTA).u32(0, 1).u32(0).u8(0))
    yield "constant_empty", "count", "a constant of no rows", [INT32], 0, done(node(CONSTANT).u32(7))
    yield (
        "constant_all_sparse",
        "count",
        "a constant of no valid rows",
        [INT32],
        2,
        done(node(CONSTANT, 3, aux=2).u8(0).align(8).u32(7)),
    )
    yield "constant_cut", "bounds", "a constant without its value", [WIDE], 2, done(node(CONSTANT).u64(7))

    def alp(e: int, f: int, zero: int = 0, positions: tuple = (), numbers: tuple = (1, 2, 3)) -> bytes:
        body = integers(node(ALP).u8(e, f).u16(zero).u32(len(positions)), list(numbers), 8)
        return done(body.u32(*positions).align(8).raw(bytes(8 * len(positions))))

    yield "alp_f_above_e", "alp", "f above e", [DOUBLE], 3, alp(2, 3)
    yield "alp_e_19", "alp", "e = 19", [DOUBLE], 3, alp(19, 0)
    yield "alp_zero", "zero", "two bytes of zero", [DOUBLE], 3, alp(2, 0, zero=1)
    yield "exception_beyond", "exception", "an exception at row 3 of 3", [DOUBLE], 3, alp(2, 0, positions=(3,))
    yield "exception_descending", "exception", "positions that descend", [DOUBLE], 3, alp(2, 0, positions=(2, 1))
    yield "exception_twice", "exception", "a position twice", [DOUBLE], 3, alp(2, 0, positions=(1, 1))
    huge = node(ALP).u8(2, 0).u16(0).u32(0xFFFFFFFF)
    yield "exceptions_huge", "bounds", "2^32 - 1 exceptions", [DOUBLE], 3, done(integers(huge, [1, 2, 3], 8))
    single = field("v", "float32")
    short = integers(node(ALP).u8(11, 0).u16(0).u32(0), [1], 4)
    yield "alp_float32_e_11", "alp", "e = 11 for float32", [single], 1, done(short)
    yield "split_0", "parameter", "no parts", [WIDE], 1, done(node(SPLIT))
    three = integers(integers(integers(node(SPLIT, parameter=3), [1], 8), [1], 8), [1], 8)
    yield "split_3", "parameter", "three parts of a decimal128", [WIDE], 1, done(three)
    yield (
        "split_interval_1",
        "parameter",
        "one part of a day-time interval",
        [DAYS],
        1,
        done(integers(node(SPLIT, parameter=1), [1])),
    )


def dictionaries() -> Iterator[Bad]:
    def of(entries: int, codes: list[int], values: list[int], f: dict = INT32, **over) -> bytes:
        body = integers(node(DICTIONARY).u32(entries, over.get("zero", 0)), values, 4, over.get("how"))
        return done(integers(body, codes, 1, over.get("codes_how")))

    yield "code_2", "code", "code 2 of 2 entries", [INT32], 3, of(2, [0, 1, 2], [5, 6])
    yield "code_255", "code", "code 255 of 2 entries", [INT32], 3, of(2, [0, 1, 255], [5, 6])
    yield "dictionary_empty", "count", "no entries", [INT32], 0, of(0, [], [])
    yield "dictionary_entries", "count", "more entries than values", [INT32], 1, of(2, [0], [5, 6])
    yield "dictionary_zero", "zero", "a word of zero", [INT32], 3, of(2, [0, 1, 1], [5, 6], zero=1)
    yield (
        "dictionary_huge",
        "count",
        "2^32 - 1 entries",
        [INT32],
        1,
        done(node(DICTIONARY).u32(0xFFFFFFFF, 0).u8(1, 0, 0, 0).u32(0, 5)),
    )
    nested = integers(node(DICTIONARY).u32(1, 0), [5], 4, As("dictionary"))
    yield "dictionary_of_dictionary", "encoding", "entries as a dictionary", [INT32], 1, done(integers(nested, [0], 1))
    codes = integers(integers(node(DICTIONARY).u32(2, 0), [5, 6]), [0, 1], 1, As("dictionary"))
    yield "codes_as_dictionary", "encoding", "codes as a dictionary", [INT32], 2, done(codes)
    holes = integers(node(DICTIONARY).u32(2, 0).u8(PACKED, 2, 0, 0).u32(1).u64(1), [5, 6])
    yield "dictionary_of_null", "nulls", "an entry that is NULL", [INT32], 2, done(holes)
    text = node(DICTIONARY).u32(1, 0).u64(5).u8(CONSTANT, 0, 0, 0).u32(0).u64(2).raw(b"ab").align(8)
    yield "dictionary_data_length", "lengths", "a wrong data length", [UTF8], 2, done(integers(text, [0, 0], 1))
    value = [field("", "utf8")]
    for name, index, number in (("beyond", "int8", 2), ("negative", "int8", -1), ("huge", "uint64", 2**64 - 1)):
        f = field("v", "dictionary", index=index, ordered=False, children=value)
        body = integers(node(PLAIN).u64(2), [0, number], 1 if index == "int8" else 8, As())
        write_node(body, value[0], ["a", "b"], As("lengths"))
        yield f"index_{name}", "code", f"index {number} of 2 values", [f], 2, done(body)
