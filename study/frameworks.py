"""Table 7: a custom layout, Protocol Buffers, and Arrow's messages."""

from __future__ import annotations

from study import encodings
from study.encodings import COMPUTED, bytes_per_row, named, one, ours, seconds
from study.experiment import Context, Experiment, Finding, Part, Row, Table, Text

#: Table 7, lineitem: seconds on one machine, over a LAN and a WAN, and MB.
PAPER = encodings.papers(
    ("system", "local", "lan", "wan", "megabytes"),
    [
        ("Custom", 10.3, 64.1, 498.9, 5943.3),
        ("Custom+C", 18.3, 25.4, 221.4, 2637.4),
        ("Protobuf", 33.1, 45.5, 391.6, 4656.1),
        ("Protobuf+C", 35.7, 47.3, 195.2, 2315.9),
    ],
)
PROTOBUF, PACKED = "Protocol Buffers, a message a row", "Protocol Buffers, packed columns"
#: The paper's systems, with their names here.
PAPERS_NAME = {
    "MonetDB++": "Custom",
    "MonetDB++, Snappy": "Custom+C",
    PROTOBUF: "Protobuf",
    f"{PROTOBUF}, Snappy": "Protobuf+C",
}
LINKS = {"local": None, "LAN (1000 Mbit/s)": 1000.0, "WAN (100 Mbit/s)": 100.0}
#: Rows of the paper's lineitem, in millions.
PAPER_MILLIONS = 60


def run(context: Context) -> list[Row]:
    return [*encodings.measured(context, "frameworks", {"lineitem": context.size.rows}), *PAPER]


def show(rows: list[Row]) -> list[Part]:
    lines: list[list[str | float | int | None]] = []
    for row in ours(rows):
        times = [seconds(row, rate) for rate in LINKS.values()]
        lines.append([named(row), *times, row["encode_seconds"] / row["rows"] * 1e6, bytes_per_row(row)])
        for paper in encodings.theirs(rows, system=PAPERS_NAME.get(named(row))):
            per_million = [paper[link] / PAPER_MILLIONS for link in ("local", "lan", "wan")]
            lines.append([f"{paper['system']} (paper)", *per_million, None, paper["megabytes"] / PAPER_MILLIONS])
    return [
        Table(
            "lineitem: seconds for a million rows, and bytes",
            ["", *LINKS, "of which encoding, local", "bytes/row"],
            lines,
        ),
        Text(
            f"{COMPUTED} The paper's times include sockets; they are divided by its 60 million rows. The Protocol "
            "Buffers messages are declared in the program, as protoc would declare them, and handled by prost. Arrow "
            "and our format are read with validation."
        ),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    custom, protobuf, packed, arrow, plain = (
        one(rows, layout=layout, codec="none")
        for layout in ("MonetDB++", PROTOBUF, PACKED, "Arrow IPC", "Colonnade plain")
    )
    time = seconds(protobuf) / seconds(custom)
    size = protobuf["bytes"] / custom["bytes"]
    generic = seconds(arrow) / seconds(custom)
    return [
        Finding(
            "Protocol Buffers take 3.2 times as long as a specialized layout.",
            f"One message a row takes {time:.1f} times as long as the MonetDB layout. Packed columns take "
            f"{seconds(packed) / seconds(custom):.1f} times as long.",
            time > 1.5,
        ),
        Finding(
            "Variable-length integers of Protocol Buffers take 0.78 of the layout's bytes. A codec takes 0.44, and "
            "less time.",
            f"Shares of the MonetDB layout's bytes: one message a row {size:.2f}, packed columns "
            f"{packed['bytes'] / custom['bytes']:.2f}, Snappy over the layout "
            f"{one(rows, layout='MonetDB++', codec='Snappy')['bytes'] / custom['bytes']:.2f}, light encodings "
            f"{one(rows, layout='Colonnade light', codec='none')['bytes'] / custom['bytes']:.2f}.",
            size > one(rows, layout="MonetDB++", codec="Snappy")["bytes"] / custom["bytes"],
        ),
        Finding(
            "A generic format is too slow, because it is made for no particular pair of systems. A specialized format "
            "is needed.",
            f"Arrow IPC is generic and columnar. It takes {generic:.2f} of the time of the MonetDB layout and "
            f"{arrow['bytes'] / custom['bytes']:.2f} times its bytes. Our plain chunks take "
            f"{seconds(plain) / seconds(custom):.2f} of the time.",
            generic > 1,
        ),
    ]


EXPERIMENT = Experiment(
    title="Serialization frameworks",
    source="VLDB 2017, Table 7",
    question=(
        "How much slower is a generic serialization library than a specialized layout? Protocol Buffers (one message a "
        "row, as in the paper, and with packed columns), Arrow IPC, the paper's layouts and ours are measured on "
        "lineitem."
    ),
    run=run,
    show=show,
    findings=findings,
)
