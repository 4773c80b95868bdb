"""Figure 1 and Table 1: reading all of lineitem from each system, on one machine."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median as middle

from matplotlib.axes import Axes

from study import databases, figures, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table
from study.medians import median, names, ratio, reason, span, spread

TABLE = "lineitem"
#: With more rows, systems that create Python objects are omitted.
MANY = 1_000_000
STEPS = ("connect", "execute", "transfer")
COLUMNS = [
    "",
    "all s",
    *(f"{step} s" for step in STEPS),
    "client CPU s",
    "server CPU s",
    "peak MB",
    "bytes/row",
    "s/M rows",
    "paper: s/M rows",
    "paper: bytes/row",
]
PAPER = {system.name: system.paper for system in systems.SYSTEMS}


def run(context: Context) -> list[Row]:
    wanted = systems.available(context.peers)
    with databases.started(context, {TABLE: context.size.rows}, wanted) as there:
        rows, _, _ = there.expected(f"SELECT * FROM {TABLE}")
        left_out = [system for system in wanted if system.is_slow and rows > MANY]
        found = there.readings([system for system in wanted if system not in left_out], TABLE)
    found += [{"system": system.name, "error": f"not tried with {rows:,} rows"} for system in left_out]
    found += [
        {
            "system": name,
            "paper": True,
            "seconds": seconds,
            "gigabytes": gigabytes,
            "seconds_a_million": figures.per_million(seconds, TABLE),
            "bytes_a_row": figures.bytes_a_row(gigabytes, TABLE),
        }
        for name, (seconds, gigabytes) in figures.TABLE_1.items()
    ]
    return found


def bytes_a_row(rows: list[Row], system: str) -> float | None:
    """Bytes per row on the wire."""
    return ratio(median(rows, "wire_bytes", system=system), median(rows, "rows", system=system))


def show(rows: list[Row]) -> list[Part]:
    paper = {row["system"]: (row["seconds_a_million"], row["bytes_a_row"]) for row in rows if row.get("paper")}
    lines, failed, beside = [], [], set()
    for name in names(rows):
        wall, count = median(rows, "wall", system=name), median(rows, "rows", system=name)
        if wall is None or not count:
            failed.append([name, reason(rows, system=name)])
            continue
        beside.add(PAPER.get(name, ""))
        times = [median(rows, field, system=name) for field in (*STEPS, "client_cpu", "server_cpu")]
        peak = (median(rows, "client_peak", system=name) or 0.0) / 1e6
        theirs = paper.get(PAPER.get(name, ""), (None, None))
        walls = (spread(rows, "wall", system=name), spread(rows, "wall", 1e6 / count, system=name))
        lines.append([name, walls[0], *times, peak, bytes_a_row(rows, name), walls[1], *theirs])
    lines += [[f"{name} (paper)", *[None] * 9, *theirs] for name, theirs in paper.items() if name not in beside]
    count = next((row["rows"] for row in rows if "rows" in row), 0)
    caption = f"{count:,} rows of lineitem on one machine. Bytes are counted on the wire and include all headers"
    return [
        Plot("Seconds to read the table; dashed line: CSV through a socket", bars(rows), height=6.5, name="systems"),
        Table(caption, COLUMNS, lines),
        *([Table("Not measured", ["", "why"], failed)] if failed else []),
    ]


def bars(rows: list[Row]) -> Callable[[Axes], None]:
    """A bar for each system, divided into the steps that its client reports separately."""

    def draw(axes: Axes) -> None:
        measured = [name for name in names(rows) if median(rows, "wall", system=name) is not None]
        measured.sort(key=lambda name: -(median(rows, "wall", system=name) or 0.0))
        steps = {name: [median(rows, step, system=name) or 0.0 for step in STEPS] for name in measured}
        for name, parts in steps.items():
            # The rest contains the steps that are not reported separately.
            parts[2] = (median(rows, "wall", system=name) or 0.0) - parts[0] - parts[1]
        left = [0.0] * len(measured)
        for number, step in enumerate(STEPS):
            widths = [steps[name][number] for name in measured]
            drawn = axes.barh(measured, widths, left=left, label=step)
            left = [one + other for one, other in zip(left, widths, strict=True)]
        axes.bar_label(drawn, [f"{wall:.2f}" for wall in left], padding=3, fontsize=7)
        axes.margins(y=0.01)
        axes.set_xlim(0, 1.1 * max(left, default=1.0))
        if floor := median(rows, "wall", system=systems.FLOOR.name):
            axes.axvline(floor, color="black", linestyle="--", linewidth=0.8)
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if "Colonnade" in label.get_text() else "normal")
        axes.set_xlabel("seconds")
        axes.legend()

    return draw


def findings(rows: list[Row]) -> list[Finding]:
    walls = {name: median(rows, "wall", system=name) for name in names(rows)}
    theirs = {
        system.name: walls[system.name]
        for system in systems.SYSTEMS
        if walls.get(system.name) and system.is_remote and not system.is_ours and not system.database.startswith("csv")
    }
    ours = {system.name: walls.get(system.name) for system in (systems.EXTENSION, systems.SERVE)}
    floor = walls.get(systems.FLOOR.name)
    shares = [
        ratio(median(rows, "transfer", system=name), walls[name])
        for name in (*theirs, *ours)
        if median(rows, "transfer", system=name) is not None and median(rows, "connect", system=name) is not None
    ]
    csv = bytes_a_row(rows, systems.FLOOR.name)
    plain = ("PostgreSQL, ODBC (arrow-odbc)", "MariaDB, ODBC (arrow-odbc)", "DuckDB, Arrow Flight")
    sizes = {name: ratio(bytes_a_row(rows, name), csv) for name in plain}
    known = [size for size in sizes.values() if size is not None]
    times = [wall / floor for wall in theirs.values() if wall and floor]
    ahead = [wall / floor for wall in ours.values() if wall and floor]
    compressed, uncompressed = "MariaDB, ODBC, compressed", "MariaDB, ODBC (arrow-odbc)"
    slower = ratio(walls.get(compressed), walls.get(uncompressed))
    smaller = ratio(bytes_a_row(rows, compressed), bytes_a_row(rows, uncompressed))
    return [
        Finding(
            "Serialization and transfer take most of the time. Connecting and executing take an insignificant part.",
            f"Transfer takes {span(shares)} of the time with the clients that report it separately; the median is "
            f"{middle(share for share in shares if share):.0%}."
            if shares
            else "No measured client reports it separately.",
            middle(share for share in shares if share) > 0.9 if shares else None,
        ),
        Finding(
            "CSV through a socket is an order of magnitude faster than any system.",
            f"{len(times)} other systems take {span(times)} times as long as sending CSV that no client parses. "
            f"Colonnade's protocol takes {span(ahead)} times as long.",
            min(times) >= 10 if times else None,
        ),
        Finding(
            "Uncompressed protocols send 0.9 to 1.4 times the bytes of CSV, not an order of magnitude more.",
            "Bytes, as multiples of the bytes of CSV: "
            + ", ".join(f"{name} {size:.2f}" for name, size in sizes.items() if size)
            + ".",
            1 < middle(known) < 10 if known else None,
        ),
        Finding(
            "MySQL's compressed protocol sends the fewest bytes (0.38 of the uncompressed one's) and takes 3.9 times "
            "as long.",
            f"MariaDB's compressed protocol sends {smaller:.2f} of the bytes and takes {slower:.1f} times as long."
            if smaller and slower
            else "Not measured.",
            slower > 1 and smaller < 1 if smaller and slower else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Whole systems on one machine",
    source="VLDB 2017, Figure 1 and Table 1",
    question=(
        "How long does each system take to transfer all of lineitem, and how many bytes does it send? Each reading "
        "starts a new client process. The process reads into Arrow if its library can. The time includes connecting. "
        "A step that a library does not report separately has an empty cell. Every result is compared with the source."
    ),
    run=run,
    show=show,
    findings=findings,
)
