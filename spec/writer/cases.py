"""The good vectors: every type, encoding, NULL layout and codec of FORMAT.md, each in a small stream."""

from dataclasses import dataclass
from dataclasses import field as default

from .nodes import As
from .stream import CHUNK, LZ4, NONE, SCHEMA, ZSTD, encode_chunk, end_message, message, schema_body, zstd_frame


@dataclass
class Case:
    name: str
    fields: list
    chunks: list  # (rows, columns, hows, codec)
    metadata: list = default(default_factory=list)

    def stream(self) -> bytes:
        messages = [message(SCHEMA, schema_body(self.fields, self.metadata))]
        for i, (rows, columns, hows, codec) in enumerate(self.chunks):
            body = encode_chunk(self.fields, columns, hows)
            stored = {"stored": zstd_by_hand(body)} if codec == ZSTD else {}
            messages.append(message(CHUNK, body, rows, i, codec, **stored))
        rows = sum(chunk[0] for chunk in self.chunks)
        return b"".join(messages) + end_message(messages, rows, len(self.chunks))

    def value(self) -> dict:
        shown = {"metadata": self.metadata} if self.metadata else {}
        columns = [[v for _, cols, _, _ in self.chunks for v in cols[i]] for i in range(len(self.fields))]
        rows = [chunk[0] for chunk in self.chunks]
        return {**shown, "schema": self.fields, "rows": sum(rows), "chunks": rows, "columns": columns}


def zstd_by_hand(body: bytes) -> bytes:
    """Runs of 32 or more zeros as RLE blocks, the rest as raw blocks."""
    blocks, start, at = [], 0, 0
    while at < len(body):
        end = at
        while end < len(body) and body[end] == 0:
            end += 1
        if end - at >= 32:
            if at > start:
                blocks.append(("raw", body[start:at], 0))
            blocks.append(("rle", b"\0", end - at))
            start = end
        at = max(end, at + 1)
    if start < len(body) or not blocks:
        blocks.append(("raw", body[start:], 0))
    return zstd_frame(blocks)


def field(name: str, type_name: str, nullable: bool = True, **parameters) -> dict:
    return {"name": name, "type": type_name, "nullable": nullable, **parameters}


def one(name: str, fields: list, columns: list, hows: list, codec: int = NONE, **more) -> Case:
    rows = len(columns[0]) if columns else 0
    return Case(name, fields, [(rows, columns, hows, codec)], **more)


def null_variants(type_name: str, values: list, how: As, **parameters) -> tuple[list, list, list]:
    """Columns of one type and encoding with every NULL layout: none, bitmap, sparse, same, same sparse, all NULL."""
    holes = [None if i % 3 == 1 else v for i, v in enumerate(values)]
    layouts = [("none", values), ("bitmap", holes), ("sparse", holes), ("same", holes), ("same sparse", holes)]
    fields, columns, hows = [], [], []
    for nulls, column in layouts:
        fields.append(field(f"{type_name} {nulls}", type_name, nulls != "none", **parameters))
        columns.append(column)
        hows.append(As(**{**how.__dict__, "nulls": nulls, "of": 1}))
    fields.append(field(f"{type_name} all NULL", type_name, **parameters))
    return fields, [*columns, [None] * len(values)], [*hows, As(nulls="all")]


def by_nulls(name: str, type_name: str, values: list, how: As, **parameters) -> Case:
    return one(name, *null_variants(type_name, values, how, **parameters))


def packed_blocks(name: str, type_name: str, widths: list[int], tail: int) -> Case:
    """Full blocks of each bit width, each with a different reference, and a partial last block."""
    signed = not type_name.startswith("u")
    size = int(type_name.removeprefix("u").removeprefix("int"))
    values, state = [], 12345
    for i, b in enumerate([*widths, tail]):
        reference = -(1 << size - 1) if signed and b == size else 0 if b == size else 3 * i + 1
        for k in range(1024 if i < len(widths) else 37):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            offset = (state >> 20 | state << 44) % (1 << b)
            values.append(reference + (0 if k == 0 else (1 << b) - 1 if k == 1 else offset))
    return one(name, [field("v", type_name, False)], [values], [As("packed")])


INT64 = [9007199254740993, -(2**63), 2**63 - 1, 0, -1, 42, 7, 7]
SMALL = [100, 103, 101, 100, 110, 110, 90, 91]
WORDS = ["alpha", "beta", "", "beta", "漢字", "alpha", "alphabet", "beta"]
SYMBOLS = (b"alpha", b"be", b"ta", b"bet", b"a", b"\xe6\xbc\xa2")


def integer_cases() -> list[Case]:
    cases = [by_nulls("integer_plain", "int64", INT64, As())]
    for encoding in ("packed", "delta", "dictionary"):
        for type_name in ("int8", "int16", "int32", "int64", "uint64"):
            values = [v + (2**64 - 200 if type_name == "uint64" else 0) for v in SMALL]
            inner = {"values": As("packed"), "codes": As("packed")} if encoding == "dictionary" else {}
            cases.append(by_nulls(f"integer_{encoding}_{type_name}", type_name, values, As(encoding, inner=inner)))
    for type_name in ("int8", "int16", "int32", "int64"):
        cases.append(by_nulls(f"integer_constant_{type_name}", type_name, [-7] * 5, As("constant")))
    extremes = [-(2**63), 2**63 - 1, 0, -1]
    wrap = [field("packed", "int64", False), field("delta", "int64", False), field("deltas packed", "uint8", False)]
    columns = [extremes, extremes, [0, 255, 1, 254]]
    cases.append(one("integer_wraparound", wrap, columns, [As("packed"), As("delta"), As("delta")]))
    many = [i % 300 * 1000003 for i in range(310)]
    how = As("dictionary", inner={"values": As("delta"), "codes": As("packed")})
    cases.append(one("dictionary_two_byte_codes", [field("v", "int64", False)], [many], [how]))
    cases.append(packed_blocks("packed_int8", "int8", [0, 1, 5, 8], 3))
    cases.append(packed_blocks("packed_int16", "int16", [7, 9, 16], 11))
    cases.append(packed_blocks("packed_int32", "uint32", [8, 17, 32], 29))
    cases.append(packed_blocks("packed_int64", "int64", [3, 33], 64))
    cases.append(packed_blocks("packed_int64_full", "uint64", [64], 63))
    steps = [1000 + 7 * i + i % 5 for i in range(1024 + 9)]
    cases.append(one("delta_blocks", [field("v", "int32", False)], [steps], [As("delta")]))
    return cases


def float_cases() -> list[Case]:
    prices = ["1.25", "0.1", "-3.5", "1234.56", "0.0", "99.99", "-0.0", "nan"]
    cases = []
    for type_name, e in (("float64", 14), ("float32", 8)):
        # A float32 is shown as its exact float64 value, so these values are exact in both.
        values = prices if type_name == "float64" else ["1.25", "0.5", "-3.5", "1234.5", "0.0", "99.75", "-0.0", "nan"]
        special = ["inf", "-inf", "nan", "-0.0", "5e-324" if e == 14 else "1.401298464324817e-45", "1.5", "2.0", "0.5"]
        cases.append(by_nulls(f"{type_name}_plain", type_name, special, As()))
        cases.append(by_nulls(f"{type_name}_constant", type_name, ["0.5"] * 4, As("constant")))
        inner = {"values": As("alp", exponents=(e, e - 2)), "codes": As("packed")}
        cases.append(by_nulls(f"{type_name}_dictionary", type_name, values, As("dictionary", inner=inner)))
        alp = As("alp", exponents=(e, e - 2), inner={"integers": As("packed")})
        cases.append(by_nulls(f"{type_name}_alp", type_name, values, alp))
    hows = [As("alp", exponents=(18, 0)), As("alp", exponents=(0, 0)), As("alp", exponents=(18, 18))]
    fields = [field(str(how.exponents), "float64", False) for how in hows]
    columns = [["0.5", "1e-18", "inf"], ["3.0", "4.0", "1e+300"], ["3.0", "-1.0", "5e-324"]]
    cases.append(one("float64_alp_exponents", fields, columns, hows))
    nans = [field("f64", "float64"), field("f32", "float32"), field("f16", "float16")]
    columns = [["nan:fff8000000000001", "nan", None], ["nan:ffc00001", "nan", None], ["nan:fe01", "nan", "65504.0"]]
    cases.append(one("nan_payloads", nans, columns, [As(nulls="bitmap"), As(nulls="sparse"), As(nulls="sparse")]))
    return cases


def string_cases() -> list[Case]:
    hexed = [w.encode().hex() for w in WORDS]
    lengths = {"lengths": As("packed")}
    hows = {
        "plain": As(),
        "lengths": As("lengths", inner=lengths),
        "fsst": As("fsst", symbols=SYMBOLS, inner=lengths),
        "dictionary": As("dictionary", inner={"values": As("lengths", inner=lengths), "codes": As("packed")}),
    }
    cases = []
    for name, how in hows.items():
        cases.append(by_nulls(f"utf8_{name}", "utf8", WORDS, how))
    for type_name, values in (("large_utf8", WORDS), ("binary", hexed), ("large_binary", ["00ff", *hexed[1:]])):
        fields = [field(name, type_name) for name in hows]
        cases.append(one(f"{type_name}_encodings", fields, [values] * len(hows), list(hows.values())))
        cases.append(by_nulls(f"{type_name}_constant", type_name, [values[0]] * 4, As("constant")))
    cases.append(by_nulls("utf8_constant", "utf8", ["漢"] * 4, As("constant")))
    fields = [field("values fsst", "utf8"), field("values constant", "utf8"), field("no symbols", "utf8", False)]
    fsst = As("dictionary", "bitmap", inner={"values": As("fsst", symbols=SYMBOLS)})
    alone = As("dictionary", inner={"values": As("constant"), "codes": As("constant")})
    columns = [[*WORDS[:4], None], ["x"] * 5, ["a", "", "bc", "d", "e"]]
    cases.append(one("utf8_dictionary_of", fields, columns, [fsst, alone, As("fsst")]))
    table = tuple(bytes([c]) for c in range(255))
    cases.append(
        one("fsst_255_symbols", [field("b", "binary", False)], [["00fe", "ff", "0102ff"]], [As("fsst", symbols=table)])
    )
    odd = ["", "a\0b", 'tab\tnl\n"q"\\', "ünïcödé 漢字 😀", "NULL", "x" * 300]
    cases.append(one("utf8_odd", [field("s", "utf8", False)], [odd], [As("lengths")]))
    eight = As("fsst", symbols=(b"xxxxxxxx", b"x"))
    cases.append(one("fsst_eight_byte_symbol", [field("s", "utf8", False)], [["x" * 21, "x" * 3, "y"]], [eight]))
    return cases


def fixed_cases() -> list[Case]:
    wide = ["0.01", "-0.01", "123456789012345678.90", "-99999999999999999999.99", "0.00", "5.00", "5.00", "7.25"]
    small = ["1.00", "-2.50", "3.75", "92233720368547758.07", "-92233720368547758.08", "0.00", "0.00", "9.99"]
    decimal = {"precision": 38, "scale": 2}
    cases = [by_nulls("decimal128_plain", "decimal128", wide, As(), **decimal)]
    packed = {"part 0": As("packed")}
    cases.append(by_nulls("decimal128_split", "decimal128", small, As("split", parts=1, inner=packed), **decimal))
    cases.append(by_nulls("decimal128_split_two", "decimal128", wide, As("split", parts=2, inner=packed), **decimal))
    split = As("dictionary", inner={"values": As("split", parts=2), "codes": As("packed")})
    cases.append(by_nulls("decimal128_dictionary", "decimal128", wide, split, **decimal))
    cases.append(by_nulls("decimal128_constant", "decimal128", ["-1.00"] * 4, As("constant"), **decimal))
    repeated = As("dictionary", inner={"values": As("packed"), "codes": As("packed")})
    some = ["18446744073709551616.00", "0.05", "0.05", "-0.01"] * 2
    how = As("split", parts=2, inner={"part 0": repeated, "part 1": As("dictionary")})
    cases.append(by_nulls("decimal128_split_dictionary", "decimal128", some, how, **decimal))
    huge = [str(10**75), str(-(10**75)), "0", "1", "-1", str(2**200), "7", "7"]
    fields = [
        field(f"{how}", "decimal256", precision=76, scale=0) for how in ("plain", "split 4", "dictionary", "split 1")
    ]
    hows = [As(), As("split", parts=4), As("dictionary"), As("split", parts=1)]
    few = ["0", "1", "-1", str(2**63 - 1), str(-(2**63)), "7", "7", "7"]
    cases.append(one("decimal256_encodings", fields, [huge, huge, huge, few], hows))
    days = [[i, -i * 1000] for i in range(8)]
    cases.append(by_nulls("interval_day_time_split", "interval_day_time", days, As("split")))
    nanos = [[14, -3, 1 + i % 2] for i in range(8)]
    packed = {f"part {i}": As("packed") for i in range(3)}
    cases.append(by_nulls("interval_month_day_nano_split", "interval_month_day_nano", nanos, As("split", inner=packed)))
    fields = [field("plain", "interval_month_day_nano"), field("dictionary", "interval_month_day_nano")]
    fields += [field("constant", "interval_day_time"), field("plain", "interval_day_time")]
    columns = [nanos, nanos, [[1, 2]] * 8, days]
    cases.append(one("intervals", fields, columns, [As(), As("dictionary"), As("constant"), As()]))
    uuids = ["a0eebc999c0b4ef8bb6d6bb9bd380a11", "00" * 16, "ff" * 16, "00" * 16]
    cases.append(by_nulls("fixed_size_binary_plain", "fixed_size_binary", uuids, As(), width=16))
    cases.append(by_nulls("fixed_size_binary_dictionary", "fixed_size_binary", uuids, As("dictionary"), width=16))
    cases.append(by_nulls("fixed_size_binary_constant", "fixed_size_binary", ["abcdef"] * 4, As("constant"), width=3))
    cases.append(by_nulls("fixed_size_binary_empty", "fixed_size_binary", [""] * 4, As(), width=0))
    cases.append(by_nulls("float16_plain", "float16", ["1.5", "-0.0", "inf", "0.5"], As()))
    cases.append(by_nulls("float16_dictionary", "float16", ["1.5", "-0.0", "1.5", "0.5"], As("dictionary")))
    bools = [True, False, True, True, False, False, True, False, True]
    dense = [(n, c, h) for n, c, h in zip(*null_variants("bool", bools, As()), strict=True) if "sparse" not in h.nulls]
    cases.append(one("bool_plain", *map(list, zip(*dense, strict=True))))
    fields = [field("true", "bool", False), field("false", "bool", False), field("true or NULL", "bool")]
    columns = [[True] * 3, [False] * 3, [True, None, True]]
    cases.append(one("bool_constant", fields, columns, [As("constant"), As("constant"), As("constant", "bitmap")]))
    return cases


def all_cases() -> list[Case]:
    from .cases_nested import nested_cases
    from .cases_stream import stream_cases

    return integer_cases() + float_cases() + string_cases() + fixed_cases() + nested_cases() + stream_cases()


__all__ = ["LZ4", "Case", "all_cases", "field", "one"]
