"""Table 3: the best size of chunks."""

from __future__ import annotations

from matplotlib.axes import Axes

from study import encodings
from study.encodings import PAPERS_TABLE, bytes_per_row, listed, one, ours, seconds, values
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text

#: Table 3: seconds, GB, and the compression ratio of Snappy, for all of the table.
PAPER = encodings.papers(
    ("table", "chunk_bytes", "seconds", "gigabytes", "ratio"),
    [
        ("lineitem", 2_000, 55.9, 6.56, 1.38),
        ("lineitem", 10_000, 15.2, 5.92, 1.80),
        ("lineitem", 100_000, 10.9, 5.81, 2.12),
        ("lineitem", 1_000_000, 10.0, 5.80, 2.25),
        ("lineitem", 10_000_000, 10.9, 5.80, 2.26),
        ("lineitem", 100_000_000, 13.3, 6.15, 2.23),
        ("acs", 2_000, 281.1, 11.36, 2.06),
        ("acs", 10_000, 46.7, 9.72, 3.18),
        ("acs", 100_000, 16.2, 9.50, 3.68),
        ("acs", 1_000_000, 11.9, 9.49, 3.81),
        ("acs", 10_000_000, 15.3, 9.50, 3.86),
        ("acs", 100_000_000, 17.9, 10.05, 3.84),
        ("flights", 2_000, 162.9, 8.70, 2.13),
        ("flights", 10_000, 27.3, 4.10, 4.15),
        ("flights", 100_000, 7.6, 3.47, 8.15),
        ("flights", 1_000_000, 6.9, 3.42, 9.80),
        ("flights", 10_000_000, 6.2, 3.42, 10.24),
        ("flights", 100_000_000, 11.9, 3.60, 10.84),
    ],
)
#: The size that the paper calls optimal.
MEGABYTE = 1_000_000


def run(context: Context) -> list[Row]:
    return [*encodings.measured(context, "chunk_sizes", encodings.of_equal_size(context)), *PAPER]


def written(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1_000} KB"


def snappy_ratio(rows: list[Row], table: str, size: int, layout: str = "MonetDB++") -> float:
    """Snappy's compression ratio for the chunks of a layout."""
    plain, packed = (one(rows, table=table, chunk_bytes=size, layout=layout, codec=c) for c in ("none", "Snappy"))
    return bytes_per_row(plain) / bytes_per_row(packed)


def lines(rows: list[Row], table: str) -> list[list[str | float | int | None]]:
    found: list[list[str | float | int | None]] = []
    for size in values(rows, "chunk_bytes"):
        monetdb, postgres, light = (
            one(rows, table=table, chunk_bytes=size, layout=layout, codec="none")
            for layout in ("MonetDB++", "PostgreSQL++", "Colonnade light")
        )
        lz4 = one(rows, table=table, chunk_bytes=size, layout="Colonnade light", codec="LZ4")
        [paper] = encodings.theirs(rows, table=table, chunk_bytes=size)
        times = (seconds(row) for row in (monetdb, postgres, light))
        sizes = (bytes_per_row(row) for row in (monetdb, postgres, light, lz4))
        ratio = snappy_ratio(rows, table, size)
        found.append(
            [written(size), monetdb["rows_per_chunk"], *times, *sizes, ratio, paper["seconds"], paper["ratio"]]
        )
    return found


def draw(rows: list[Row]) -> Plot:
    def lines_of(axes: Axes) -> None:
        for table, color in zip(values(rows, "table"), ("tab:blue", "tab:orange", "tab:green"), strict=False):
            for layout, style in (("MonetDB++", "-"), ("Colonnade light", "--")):
                found = ours(rows, table=table, layout=layout, codec="none")
                best = min(map(seconds, found))
                times = [seconds(row) / best for row in found]
                sizes = [row["chunk_bytes"] for row in found]
                axes.plot(sizes, times, style, color=color, marker=".", label=f"{table}, {layout}")
            paper = encodings.theirs(rows, table=table)
            best = min(row["seconds"] for row in paper)
            times = [row["seconds"] / best for row in paper]
            label = f"{PAPERS_TABLE[table]} (paper)"
            axes.plot([row["chunk_bytes"] for row in paper], times, ":", color=color, label=label)
        axes.set(xscale="log", yscale="log", xlabel="bytes of a chunk", ylabel="time over the best")
        axes.legend(fontsize="small", ncols=2)

    return Plot("CPU time over the shortest time, by the size of a chunk", lines_of)


def show(rows: list[Row]) -> list[Part]:
    columns = ["chunk", "rows a chunk", "MonetDB++ s", "PostgreSQL++ s", "light s", "MonetDB++ bytes/row"]
    columns += ["PostgreSQL++ bytes/row", "light bytes/row", "light+LZ4 bytes/row", "Snappy ratio"]
    columns += ["s (paper)", "Snappy ratio (paper)"]
    tables = [
        Table(f"{table}: seconds for a million rows, and bytes", columns, lines(rows, table))
        for table in values(rows, "table")
    ]
    return [
        *tables,
        draw(rows),
        Text(
            "The times are the CPU time of one thread for encoding and decoding. Each result was compared with the "
            "original. The paper's times are for its complete tables and include sockets, so compare how the times "
            "grow, not their values. The Snappy ratio is that of the MonetDB layout. Where chunks are small, only the "
            "first 4,000 are measured."
        ),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    tables, largest = values(rows, "table"), max(values(rows, "chunk_bytes"))

    def time(table: str, size: int, layout: str = "MonetDB++") -> float:
        return seconds(one(rows, table=table, chunk_bytes=size, layout=layout, codec="none"))

    slower = {table: time(table, 2_000) / time(table, MEGABYTE) for table in tables}
    ours_slower = {
        table: time(table, 2_000, "Colonnade light") / time(table, MEGABYTE, "Colonnade light") for table in tables
    }
    best = {
        table: time(table, MEGABYTE) / min(time(table, size) for size in values(rows, "chunk_bytes"))
        for table in tables
    }
    gains = {table: snappy_ratio(rows, table, largest) / snappy_ratio(rows, table, MEGABYTE) for table in tables}
    light = {
        table: bytes_per_row(one(rows, table=table, chunk_bytes=MEGABYTE, layout="Colonnade light", codec="none"))
        / bytes_per_row(one(rows, table=table, chunk_bytes=10 * MEGABYTE, layout="Colonnade light", codec="none"))
        for table in tables
    }

    def each(by: dict[str, float], digits: int = 1) -> str:
        return listed(f"{value:.{digits}f} ({table})" for table, value in by.items())

    return [
        Finding(
            "Chunks of 2 KB take 5.6 times (lineitem) to 24 times (ACS, ontime) as long as those of 1 MB.",
            f"CPU time in the MonetDB layout: {each(slower)} times as long. With light encodings: {each(ours_slower)} "
            "times as long.",
            min(slower.values()) > 2,
        ),
        Finding(
            "The time is shortest with chunks of about 1 MB.",
            f"With chunks of 1 MB the MonetDB layout takes {each(best, 2)} times its shortest time.",
            max(best.values()) < 1.15,
        ),
        Finding(
            "Larger chunks hardly improve compression: 100 MB instead of 1 MB gain −1 % (lineitem), 1 % (ACS), 11 % "
            "(ontime).",
            f"With Snappy, the ratio of the largest chunks is {each(gains, 2)} times that of chunks of 1 MB. With "
            f"light encodings, chunks of 1 MB take {each(light, 2)} times the bytes of chunks of 10 MB.",
            max(gains.values()) < 1.15,
        ),
    ]


EXPERIMENT = Experiment(
    title="Chunk sizes",
    source="VLDB 2017, Table 3",
    question=(
        "How large should chunks be? Each table is encoded in the paper's two layouts, with and without Snappy, and in "
        "ours, in chunks of 2 KB to 100 MB (of plain Arrow bytes)."
    ),
    run=run,
    show=show,
    findings=findings,
)
