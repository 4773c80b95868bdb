"""Tables 4 and 5: codecs over rows and over columns, and the time that they save on a link."""

from __future__ import annotations

from study import encodings
from study.encodings import COMPUTED, RATES, bytes_per_row, listed, named, one, ours, seconds, values
from study.experiment import Context, Experiment, Finding, Part, Row, Table, Text

#: Table 4, lineitem: codec, columns, rows.
PAPER = encodings.papers(
    ("table", "codec", "columns", "rows"),
    [
        ("lineitem", "LZ4", 2.10, 1.85),
        ("lineitem", "Snappy", 2.20, 1.92),
        ("lineitem", "GZIP-6", 3.24, 2.76),
        ("lineitem", "XZ-6", 4.44, 3.74),
    ],
)
LIGHT = ("Snappy", "LZ4")
HEAVY = ("GZIP-6", "XZ-6")


def run(context: Context) -> list[Row]:
    # XZ is slow.
    return [*encodings.measured(context, "row_or_column", encodings.of_equal_size(context, share=5)), *PAPER]


def ratios(rows: list[Row], table: str, codec: str) -> tuple[float, float]:
    """A codec's compression ratio for columns, and for rows."""
    plain = one(rows, table=table, layout="columns", codec="none")
    columns, in_rows = (one(rows, table=table, layout=layout, codec=codec) for layout in ("columns", "rows"))
    return plain["bytes"] / columns["bytes"], plain["bytes"] / in_rows["bytes"]


def show(rows: list[Row]) -> list[Part]:
    parts: list[Part] = []
    codecs = list(dict.fromkeys(row["codec"] for row in ours(rows, layout="columns")))
    for table in values(rows, "table"):
        lines: list[list[str | float | int | None]] = []
        for codec in codecs[1:]:
            paper = next(iter(encodings.theirs(rows, table=table, codec=codec)), {})
            lines.append([codec, *ratios(rows, table, codec), paper.get("columns"), paper.get("rows")])
        parts.append(
            Table(
                f"{table}: compression ratio of each codec, for the same values in columns and in rows",
                ["", "columns", "rows", "columns (paper)", "rows (paper)"],
                lines,
            )
        )
    for table in values(rows, "table"):
        found = [row for row in ours(rows, table=table) if row["layout"] != "rows"]
        parts.append(
            Table(
                f"{table}: seconds for a million rows",
                ["", *RATES, "encode", "decode", "bytes/row"],
                [
                    [
                        named(row),
                        *(seconds(row, rate) for rate in RATES.values()),
                        row["encode_seconds"] / row["rows"] * 1e6,
                        row["decode_seconds"] / row["rows"] * 1e6,
                        bytes_per_row(row),
                    ]
                    for row in found
                ],
            )
        )
    return [
        *parts,
        Text(
            f"{COMPUTED} “columns” is the paper's layout for MonetDB in chunks of 4 MB. The paper compressed 1 M rows "
            "at once."
        ),
    ]


def best(rows: list[Row], rate: float | None, codecs: tuple[str, ...]) -> str:
    """The codec with which lineitem's columns have the shortest time on a link."""
    found = [row for row in ours(rows, table="lineitem", layout="columns") if row["codec"] in codecs]
    return min(found, key=lambda row: seconds(row, rate))["codec"]


def findings(rows: list[Row]) -> list[Finding]:
    codecs = [codec for codec in values(rows, "codec") if ours(rows, layout="rows", codec=codec) and codec != "none"]
    gains = {
        (table, codec): columns / in_rows
        for table in values(rows, "table")
        for codec in codecs
        for columns, in_rows in [ratios(rows, table, codec)]
    }
    of_lineitem = listed(f"{gains['lineitem', codec]:.2f} ({codec})" for codec in codecs)
    least = min(gains, key=gains.__getitem__)
    snappy, gzip, zstd = (
        one(rows, table="lineitem", layout="columns", codec=c) for c in ("Snappy", "GZIP-6", "ZSTD-1")
    )
    light = one(rows, table="lineitem", layout="Colonnade light", codec="none")

    def against(row: Row) -> str:
        return (
            f"a ratio {snappy['bytes'] / row['bytes']:.2f} times that of Snappy in "
            f"{seconds(row) / seconds(snappy):.1f} times the time"
        )

    theirs = ("none", *LIGHT, *HEAVY)
    chosen = {link: best(rows, rate, theirs) for link, rate in RATES.items()}
    everything = {
        link: named(min(ours(rows, table="lineitem"), key=lambda row, rate=rate: seconds(row, rate)))
        for link, rate in RATES.items()
    }
    fast, slow = [chosen[link] for link in ("1000 Mbit/s", "100 Mbit/s")], chosen["10 Mbit/s"]
    return [
        Finding(
            "Every codec compresses columns better than rows (lineitem: 1.14 times with LZ4 to 1.19 times with XZ).",
            f"lineitem: {of_lineitem} times. The smallest gain of all tables is {gains[least]:.2f} times "
            f"({', '.join(least)}).",
            gains[least] > 1,
        ),
        Finding(
            "A better ratio takes more time: the ratio of GZIP is 1.6 times that of Snappy (1.5 times in the paper's "
            "Table 4), and GZIP takes 18 times as long.",
            f"GZIP has {against(gzip)}. Zstandard has {against(zstd)}. Light encodings without any codec have "
            f"{against(light)}.",
            not (zstd["bytes"] <= gzip["bytes"] * 1.05 and seconds(zstd) < seconds(gzip) / 2),
        ),
        Finding(
            "The best choice is no codec on one machine, Snappy (light) at 1000 and 100 Mbit/s, and GZIP (heavy) at 10 "
            "Mbit/s.",
            "Among the paper's codecs: "
            + "; ".join(f"{link}: {codec}" for link, codec in chosen.items())
            + ". Among all codecs: "
            + "; ".join(f"{link}: {name}" for link, name in everything.items())
            + ". The times are computed from CPU time, bytes and rate.",
            chosen["local"] == "none" and set(fast) <= set(LIGHT) and slow in HEAVY,
        ),
    ]


EXPERIMENT = Experiment(
    title="Codecs, over rows and over columns",
    source="VLDB 2017, Tables 4 and 5",
    question=(
        "How well do codecs compress the same values in rows and in columns, how long do they take, and on which link "
        "do they save time? Zstandard, which the paper did not have, and our configurations are measured beside the "
        "paper's codecs."
    ),
    run=run,
    show=show,
    findings=findings,
)
