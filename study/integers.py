"""Table 6: integers, packed by column."""

from __future__ import annotations

from study import encodings
from study.encodings import COMPUTED, bytes_per_row, named, one, ours, seconds, values
from study.experiment import Context, Experiment, Finding, Part, Row, Table, Text

#: Table 6: seconds on one machine, over a LAN and a WAN, and MB.
PAPER = encodings.papers(
    ("table", "system", "local", "lan", "wan", "megabytes"),
    [
        ("lineitem", "None", 5.3, 15.7, 159.0, 1844.2),
        ("lineitem", "Binpack", 6.0, 8.0, 82.0, 944.1),
        ("lineitem", "PFOR", 5.7, 8.1, 82.1, 948.0),
        ("lineitem", "Snappy", 6.8, 12.3, 103.9, 1204.9),
        ("lineitem", "Binpack+Sy", 5.8, 7.5, 76.4, 882.0),
        ("lineitem", "PFOR+Sy", 5.7, 7.5, 77.5, 885.9),
        ("acs", "None", 15.2, 78.6, 800.6, 9244.8),
        ("acs", "Binpack", 120.5, 133.9, 421.2, 4288.2),
        ("acs", "PFOR", 166.8, 170.1, 300.9, 2703.4),
        ("acs", "Snappy", 20.5, 22.8, 204.5, 2434.8),
        ("acs", "Binpack+Sy", 152.6, 160.9, 190.0, 1694.6),
        ("acs", "PFOR+Sy", 165.8, 168.4, 185.4, 1203.2),
        ("flights", "None", 1.3, 5.8, 54.4, 649.1),
        ("flights", "Binpack", 1.4, 6.2, 44.4, 529.3),
        ("flights", "PFOR", 1.6, 5.8, 44.4, 528.6),
        ("flights", "Snappy", 1.4, 1.4, 3.2, 39.0),
        ("flights", "Binpack+Sy", 1.8, 1.9, 5.7, 67.7),
        ("flights", "PFOR+Sy", 1.8, 1.9, 5.9, 70.5),
    ],
)
#: The paper's systems, with their names here.
PAPERS_NAME = {
    "MonetDB++": "None",
    "binary packing": "Binpack",
    "PFOR": "PFOR",
    "MonetDB++, Snappy": "Snappy",
    "binary packing, Snappy": "Binpack+Sy",
    "PFOR, Snappy": "PFOR+Sy",
}
LINKS = {"local": None, "LAN (1000 Mbit/s)": 1000.0, "WAN (100 Mbit/s)": 100.0}


def run(context: Context) -> list[Row]:
    return [*encodings.measured(context, "integers", encodings.of_equal_size(context)), *PAPER]


def plain(rows: list[Row], table: str) -> Row:
    return one(rows, table=table, layout="MonetDB++", codec="none")


def share(rows: list[Row], table: str, layout: str, codec: str = "none") -> float:
    """The bytes, as a share of the bytes without any compression."""
    return one(rows, table=table, layout=layout, codec=codec)["bytes"] / plain(rows, table)["bytes"]


def show(rows: list[Row]) -> list[Part]:
    parts: list[Part] = []
    for table in values(rows, "table"):
        lines: list[list[str | float | int | None]] = []
        [none] = encodings.theirs(rows, table=table, system="None")
        for row in ours(rows, table=table):
            found = encodings.theirs(rows, table=table, system=PAPERS_NAME.get(named(row)))
            paper = [
                [known["local"], known["lan"], known["wan"], known["megabytes"] / none["megabytes"]] for known in found
            ]
            times = (seconds(row, rate) for rate in LINKS.values())
            part = row["bytes"] / plain(rows, table)["bytes"]
            lines.append([named(row), *times, bytes_per_row(row), part, *(paper[0] if paper else [None] * 4)])
        columns = plain(rows, table)["columns"]
        parts.append(
            Table(
                f"{table}, {columns} integer columns: seconds for a million rows, and bytes",
                [
                    "",
                    *LINKS,
                    "bytes/row",
                    "of plain",
                    "local (paper)",
                    "LAN (paper)",
                    "WAN (paper)",
                    "of plain (paper)",
                ],
                lines,
            )
        )
    return [
        *parts,
        Text(
            f"{COMPUTED} The paper's times are for its complete tables. As in the paper, integers have 4 bytes, "
            "decimals are scaled to integers, and a missing value is the least integer (except in PostgreSQL's layout "
            "and in ours). Blocks have 1024 values and are packed by the FastLanes library; the paper used Lemire's "
            "library. An incomplete block of a wide table is padded."
        ),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    tables = values(rows, "table")

    def against_snappy(table: str, layout: str, codec: str = "none") -> tuple[float, float]:
        """Bytes and time divided by those of Snappy."""
        row = one(rows, table=table, layout=layout, codec=codec)
        snappy = one(rows, table=table, layout="MonetDB++", codec="Snappy")
        return row["bytes"] / snappy["bytes"], seconds(row) / seconds(snappy)

    packings = ("binary packing", "PFOR")
    lineitem = {layout: against_snappy("lineitem", layout) for layout in packings}
    acs = {layout: against_snappy("acs", layout) for layout in packings}
    light = {table: against_snappy(table, "Colonnade light") for table in tables}
    lz4 = {table: against_snappy(table, "Colonnade light", "LZ4") for table in tables}

    def told(by: dict[str, tuple[float, float]]) -> str:
        return "; ".join(
            f"{name} takes {size:.2f} of the bytes and {time:.2f} of the time" for name, (size, time) in by.items()
        )

    def told_shares(table: str) -> str:
        parts = {layout: share(rows, table, layout) for layout in packings}
        parts |= {"Snappy": share(rows, table, "MonetDB++", "Snappy"), "light": share(rows, table, "Colonnade light")}
        return f"{table}: " + ", ".join(f"{name} {part:.2f}" for name, part in parts.items())

    return [
        Finding(
            "On lineitem, packing takes fewer bytes than Snappy (0.78) and less time (0.84 to 0.88).",
            f"Relative to Snappy: {told(lineitem)}.",
            all(size < 1 and time < 1 for size, time in lineitem.values()),
        ),
        Finding(
            "On a table of hundreds of columns (ACS), packing takes 6 to 8 times as long as Snappy.",
            f"acs, relative to Snappy: {told(acs)}.",
            all(time > 1 for _, time in acs.values()),
        ),
        Finding(
            "Where many values are missing and the others have a wide range (ontime), packing takes 0.81 of the plain "
            "bytes, and Snappy 0.06.",
            f"Shares of the plain bytes: {told_shares('flights')}; {told_shares('acs')}. Our flights are not the "
            "paper's table; few of their values are missing.",
            all(share(rows, "flights", layout) > share(rows, "flights", "MonetDB++", "Snappy") for layout in packings),
        ),
        Finding(
            "Therefore encodings should not depend on the values of a column: only a codec does well on all tables.",
            f"Encodings chosen for each column and chunk, relative to Snappy: {told(light)}. With LZ4 in addition: "
            f"{told(lz4)}.",
            not all(size < 1 and time < 1 for size, time in lz4.values()),
        ),
    ]


EXPERIMENT = Experiment(
    title="Integers, packed",
    source="VLDB 2017, Table 6",
    question=(
        "What do encodings of integer columns save compared with a codec that treats columns as bytes? Binary packing "
        "and PFOR, alone and with Snappy in addition, and our encodings are measured on the integer columns alone."
    ),
    run=run,
    show=show,
    findings=findings,
)
