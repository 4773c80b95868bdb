"""Chunk bodies with one error in strings or nested types, and nodes that would decode to too many bytes."""

from collections.abc import Iterator

from .body import Body
from .cases import field
from .nodes import As, write_node
from .parts import (
    BINARY,
    CONSTANT,
    DICTIONARY,
    FSST,
    INT8,
    INT32,
    INT64,
    LARGE,
    LENGTHS,
    LIST,
    PACKED,
    PLAIN,
    STRUCT,
    UTF8,
    WIDE,
    Bad,
    column,
    done,
    integers,
    node,
)


def texts() -> Iterator[Bad]:
    def plain(offsets: list[int], data: bytes, total: int | None = None) -> bytes:
        body = node(PLAIN).u64(len(data) if total is None else total).align(64)
        return done(body.u32(*offsets).align(64).raw(data))

    yield "offsets_descending", "offsets", "offsets that descend", [UTF8], 3, plain([0, 2, 1, 3], b"abc")
    yield "offsets_first", "offsets", "a first offset of 1", [UTF8], 2, plain([1, 2, 3], b"abc")
    yield "offsets_last", "offsets", "a last offset short of the data", [UTF8], 2, plain([0, 1, 2], b"abc")
    yield "offsets_beyond", "offsets", "a last offset beyond the data", [UTF8], 2, plain([0, 1, 9], b"abc")
    yield "offsets_negative", "offsets", "an offset of -1", [UTF8], 2, plain([0, 0xFFFFFFFF, 3], b"abc")
    yield "offsets_cut", "bounds", "fewer offsets than rows", [UTF8], 100, plain([0, 1], b"a")
    yield "data_cut", "bounds", "less data than declared", [UTF8], 1, plain([0, 40], b"abc", 40)
    yield (
        "data_padding",
        "zero",
        "padding before the data",
        [UTF8],
        1,
        done(node(PLAIN).u64(1).align(64).u32(0, 1, 1).align(64).raw(b"a")),
    )
    yield (
        "data_length_huge",
        "limit",
        "data of 2^63 bytes",
        [LARGE],
        1,
        done(node(PLAIN).u64(1 << 63).align(64).u64(0, 1 << 63)),
    )
    yield (
        "data_length_2_gib",
        "limit",
        "offsets of 4 bytes for 2^31 bytes",
        [BINARY],
        1,
        plain([0, 1 << 31], b"", 1 << 31),
    )
    for name, data, cut in (
        ("stray_byte", b"a\xffb", None),
        ("overlong", b"\xc0\x80", None),
        ("surrogate", b"\xed\xa0\x80", None),
        ("above_10ffff", b"\xf4\x90\x80\x80", None),
        ("cut_off", b"ab\xe6\xbc", None),
        ("split_between_values", "漢".encode(), 1),
    ):
        offsets = [0, len(data) if cut is None else cut, len(data)]
        yield f"utf8_{name}", "utf8", name.replace("_", " "), [UTF8], 2, plain(offsets, data)
        large = node(LENGTHS).u64(len(data))
        integers(large, [offsets[1], len(data) - offsets[1]]).raw(data)
        yield f"utf8_lengths_{name}", "utf8", name.replace("_", " "), [LARGE], 2, done(large)
    constant = node(CONSTANT).u64(1).raw(b"\x80")
    yield "utf8_constant", "utf8", "a constant that is not UTF-8", [UTF8], 2, done(constant)
    entries = node(DICTIONARY).u32(1, 0).u64(2).u8(CONSTANT, 0, 0, 0).u32(0).u64(1).raw(b"\x80").align(8)
    yield (
        "utf8_dictionary",
        "utf8",
        "a dictionary entry that is not UTF-8",
        [UTF8],
        2,
        done(integers(entries, [0, 0], 1)),
    )

    def lengths(numbers: list[int], total: int, data: bytes) -> bytes:
        return done(integers(node(LENGTHS).u64(total), numbers).raw(data))

    yield "lengths_short", "lengths", "lengths that add up to less", [UTF8], 2, lengths([1, 1], 3, b"abc")
    yield "lengths_long", "lengths", "lengths that add up to more", [UTF8], 2, lengths([2, 2], 3, b"abc")
    yield "lengths_wrap", "lengths", "lengths that add up modulo 2^32", [UTF8], 2, lengths([2**32 - 1, 4], 3, b"abc")
    yield "lengths_data_cut", "bounds", "less data than the lengths say", [UTF8], 2, lengths([20, 20], 40, b"abc")


def fsst() -> Iterator[Bad]:
    def of(
        codes: bytes, total: int, symbols: list[bytes], sizes: list[int] | None = None, size: int | None = None
    ) -> bytes:
        body = node(FSST, parameter=len(symbols)).u64(total, len(codes) if size is None else size)
        integers(body, [total]).u8(*(sizes or [len(s) for s in symbols])).raw(b"".join(symbols)).align(8)
        return done(body.raw(codes))

    yield "fsst_symbol_0", "fsst", "a symbol of no bytes", [UTF8], 1, of(b"\0", 0, [b""])
    yield "fsst_symbol_9", "fsst", "a symbol of nine bytes", [UTF8], 1, of(b"\0", 9, [b"abcdefghi"])
    yield "fsst_escape_at_end", "fsst", "an escape at the end", [UTF8], 1, of(b"\0\xff", 2, [b"ab"])
    yield "fsst_code_beyond", "fsst", "a code without a symbol", [UTF8], 1, of(b"\1", 2, [b"ab"])
    yield "fsst_shorter", "fsst", "codes that stand for less", [UTF8], 1, of(b"\0", 3, [b"ab"])
    yield "fsst_longer", "fsst", "codes that stand for more", [UTF8], 1, of(b"\0\0", 3, [b"ab"])
    yield "fsst_cut", "bounds", "fewer codes than declared", [UTF8], 1, of(b"\0", 2, [b"ab"], size=99)
    yield (
        "fsst_symbols_cut",
        "bounds",
        "fewer symbols than declared",
        [UTF8],
        1,
        done(integers(node(FSST, parameter=200).u64(2, 1), [2]).u8(2).raw(b"ab").align(8)),
    )
    yield "fsst_utf8", "utf8", "an escaped byte that is not UTF-8", [UTF8], 1, of(b"\0\xff\xfe", 3, [b"ab"])
    body = integers(node(FSST, parameter=1).u64(2, 1), [3]).u8(2).raw(b"ab").align(8).u8(0)
    yield "fsst_lengths", "lengths", "lengths that do not add up", [UTF8], 1, done(body)
    padded = integers(node(FSST, parameter=1).u64(2, 1), [2]).u8(2).raw(b"ab").u8(1).align(8).u8(0)
    yield "fsst_padding", "zero", "padding after the symbols", [UTF8], 1, done(padded)


def nested() -> Iterator[Bad]:
    def listed(offsets: list[int], children: int, items: list[int]) -> bytes:
        body = node(PLAIN).u64(children).align(64).u32(*offsets).align(8)
        write_node(body, INT32, items, As("packed"))
        return done(body)

    yield "list_offsets_descending", "offsets", "offsets that descend", [LIST], 3, listed([0, 2, 1, 3], 3, [1, 2, 3])
    yield "list_offsets_last", "offsets", "a last offset short of the child", [LIST], 2, listed([0, 1, 2], 3, [1, 2, 3])
    yield "list_child_cut", "bounds", "a child of fewer rows", [LIST], 1, listed([0, 90], 90, [1, 2, 3])
    body = integers(node(LENGTHS).u64(3), [1, 1])
    write_node(body, INT32, [1, 2, 3], As("packed"))
    yield "list_lengths", "lengths", "lengths that do not add up", [LIST], 2, done(body)
    short = Body().u32(8).align(8)
    write_node(short, field("v", "struct", children=[INT32]), [[1]], As())
    two = field("v", "struct", children=[INT32, INT32])
    yield "struct_child_missing", "bounds", "a struct with a child's node missing", [two], 1, done(short)
    extra = column(lambda b: write_node(b, two, [[1, 2]], As(children=[As("packed")] * 2)))
    yield "struct_child_more", "leftover", "a struct with a node too many", [STRUCT], 1, extra
    entries = field("e", "struct", False, children=[field("key", "utf8", False), INT32])
    a_map = field("v", "map", keys_sorted=False, children=[entries])
    void = b"\0\1" + bytes(6)
    for what, nodes in (("entry", void), ("key", bytes(8) + void * 2)):
        body = node(PLAIN).u64(1).align(64).u32(0, 1).align(8).raw(nodes)
        yield f"map_null_{what}", "nulls", f"a NULL {what} of a map", [a_map], 1, done(body)
    body = node(PLAIN).u64(1).align(64).u32(0, 1).align(8)
    yield "map_entries_cut", "bounds", "a map without its entries", [a_map], 1, done(body)


def bombs() -> Iterator[Bad]:
    most = 0xFFFFFFFF
    yield "bomb_constant", "limit", "a constant int64 of 2^32 - 1 rows", [INT64], most, done(node(CONSTANT).u64(7))
    yield "bomb_packed", "bounds", "2^27 packed rows in no bytes", [INT64], 1 << 27, done(node(PACKED).u64(0))
    yield "bomb_all_null", "limit", "2^32 - 1 NULLs of 16 bytes", [WIDE], most, done(node(PLAIN, 1))
    wide_text = node(CONSTANT).u64(1000).raw(b"x" * 1000)
    yield "bomb_constant_text", "limit", "4 MB of text a thousand times", [LARGE], 4_000_000, done(wide_text)
    both = Body().u32(8, 8 + 8 + 8 + 1000)
    for _ in range(2):
        both.u8(CONSTANT, 0, 0, 0).u32(0).u64(1000).raw(b"x" * 1000)
    yield "bomb_columns", "limit", "two columns that fit alone, 2.2 GB together", [LARGE] * 2, 1_100_000, done(both)
    fixed = field("v", "fixed_size_list", size=most, children=[INT8])
    yield (
        "bomb_fixed_list",
        "limit",
        "a fixed-size list of 2^32 - 1 items",
        [fixed],
        1 << 16,
        done(node(PLAIN).u8(CONSTANT, 0, 0, 0).u32(0).u8(7)),
    )
    twice = field("v", "fixed_size_list", size=most, children=[fixed])
    yield "bomb_fixed_lists", "limit", "2^96 items", [twice], most, done(node(PLAIN, 1))
    empty = node(LENGTHS).u64(1 << 40).u8(CONSTANT, 0, 0, 0).u32(0).u32(1 << 20).align(8)
    large = field("v", "large_list", children=[INT64])
    yield (
        "bomb_list",
        "limit",
        "2^40 items in a list",
        [large],
        1 << 20,
        done(empty.u8(CONSTANT, 0, 0, 0).u32(0).u64(7)),
    )
    lengths = node(FSST, parameter=1).u64(1 << 40, 1 << 37)
    yield "bomb_fsst", "limit", "2^40 bytes of text", [LARGE], 1, done(lengths.u64(0))
