"""Good vectors of the schema, of codecs, and of streams with several chunks or none."""

from .cases import Case, field, one
from .nodes import As
from .stream import LZ4, NONE, ZSTD

EXTREMES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def type_cases() -> list[Case]:
    fields, columns = [], []
    for name, bits in EXTREMES.items():
        fields.append(field(name, name))
        columns.append([-(1 << bits - 1), (1 << bits - 1) - 1, None])
        fields.append(field(f"u{name}", f"u{name}"))
        columns.append([0, (1 << bits) - 1, None])
    cases = [one("types_integers", fields, columns, [As(nulls="bitmap")] + [As(nulls="same")] * 7)]
    fields = [field("d32", "decimal32", precision=9, scale=4), field("d64", "decimal64", precision=18, scale=0)]
    fields += [field("d128", "decimal128", precision=38, scale=-2), field("d256", "decimal256", precision=76, scale=38)]
    fields += [field("tiny", "decimal128", precision=5, scale=5)]
    columns = [["-99999.9999", "0.0001"], ["999999999999999999", "-1"], ["12300", "0"]]
    columns += [["0." + "0" * 37 + "1", "-" + "9" * 38 + "." + "9" * 38], ["0.00009", "-0.00001"]]
    cases.append(one("types_decimals", fields, columns, [As("packed"), As("delta"), As(), As(), As("split", parts=1)]))
    fields = [field("date32", "date32"), field("date64", "date64")]
    columns = [[-719162, 2932896], [-62135596800000, 253402214400000]]
    for unit in ("s", "ms"):
        fields.append(field(f"time32 {unit}", "time32", unit=unit))
        columns.append([0, 86399])
    for unit in ("us", "ns"):
        fields.append(field(f"time64 {unit}", "time64", unit=unit))
        columns.append([0, 86399999999])
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Amsterdam"):
            fields.append(field(f"timestamp {unit} {zone}", "timestamp", unit=unit, zone=zone))
            columns.append([-1, 1709210096])
        fields.append(field(f"duration {unit}", "duration", unit=unit))
        columns.append([-(2**63), 2**63 - 1])
    fields += [field("year-month", "interval_year_month"), field("no zone name", "timestamp", unit="us", zone="")]
    columns += [[[14], [-1]], [0, 1]]
    cases.append(one("types_temporal", fields, columns, [As()] * 2 + [As("packed")] * (len(fields) - 2)))
    cases.append(one("types_null", [field("n", "null")], [[None] * 3], [As(nulls="all")]))
    return cases


def stream_cases() -> list[Case]:
    cases = type_cases()
    number, text = field("n", "int32", False), field("s", "utf8")
    cases.append(Case("no_chunks", [number, text], []))
    cases.append(Case("no_columns", [], [(3, [], [], NONE), (4, [], [], LZ4)]))
    hows = [As(), As(nulls="bitmap")]
    cases.append(Case("no_rows", [number, text], [(0, [[], []], [As("packed"), As("lengths")], NONE)]))
    fields = [number, text, field("b", "bool"), field("l", "list", children=[number]), field("d", "float64")]
    empty = [As("delta"), As(nulls="sparse"), As(nulls="bitmap"), As(nulls="all"), As("alp")]
    cases.append(Case("no_rows_encodings", fields, [(0, [[]] * 5, empty, NONE)]))
    chunks = [(2, [[1, 2], ["a", None]], hows, NONE), (0, [[], []], hows, NONE)]
    chunks += [(3, [[7, 7, 7], ["x", "y", "z"]], [As("constant"), As("lengths")], NONE)]
    cases.append(Case("chunks", [number, text], chunks))
    # The example of PROTOCOL §10.
    cases.append(one("copy_in", [field("n", "int64")], [[7]], [As()]))
    metadata = [["k", "v"], ["", "漢"], ["k", "again"]]
    fields = [{**number, "name": "", "metadata": [["postgres type", "inet"]]}, {**text, "name": ""}]
    cases.append(Case("metadata", fields, [(1, [[1], ["x"]], hows, NONE)], metadata))
    words = ["a repeated sentence", "a repeated sentence", None, "another one, a repeated one"] * 3
    columns = [[5] * len(words), words]
    for name, codec in (("lz4", LZ4), ("zstd", ZSTD)):
        cases.append(Case(f"codec_{name}", [number, text], [(len(words), columns, hows, codec)]))
        cases.append(Case(f"codec_{name}_empty_body", [], [(9, [], [], codec)]))
    long = [f"{'ab' * 400}{i}" for i in range(3)]
    cases.append(one("codec_lz4_long_runs", [text], [long], [As("lengths")], LZ4))
    cases.append(
        Case("codecs_mixed", [number], [(2, [[i, i]], [As()], codec) for i, codec in enumerate((ZSTD, NONE, LZ4))])
    )
    gap = [None, "x"] * 20
    fields = [field(str(i), "utf8") for i in range(4)]
    hows = [As(nulls="sparse"), As("lengths", "bitmap"), As(nulls="same", of=1), As("dictionary", "same sparse", of=0)]
    cases.append(one("same_of_sparse", fields, [gap] * 4, hows))
    dense = As(nulls="bitmap", under_null="qq")
    cases.append(one("bytes_under_null", [text, number], [["a", None, "b"], [1, 2, 3]], [dense, As()]))
    cases.append(one("values_under_null", [field("n", "int64")], [[1, None, 3]], [As(nulls="bitmap", under_null=-1)]))
    return cases
