"""Reading into Arrow instead of pandas, from three databases."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.axes import Axes

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text
from study.medians import median, ratio, spread
from study.parted import KEYS, WHOLE, memory, named, not_measured, variants
from study.systems import EXTENSION, POSTGRES

TABLE = "lineitem"
#: The number of the run's rows is divided by this.
SHARE = 2
PARTS = 4
COMPARED = [
    *systems.by_name(
        "PostgreSQL, ODBC (arrow-odbc)",
        "PostgreSQL, turbodbc",
        "PostgreSQL, ConnectorX",
        "PostgreSQL, ADBC",
        "PostgreSQL, DuckDB's scanner",
    ),
    POSTGRES,
    EXTENSION,
    *systems.by_name("MariaDB, ODBC (arrow-odbc)", "MariaDB, ConnectorX", "MariaDB as it is, Colonnade"),
    *systems.by_name("SQLite, ConnectorX", "SQLite, ADBC", "SQLite, Colonnade"),
]
#: Section 6.3 (5): Turbodbc's maximum seconds divided by ConnectorX's, without partitions and with four; GB of memory.
PAPER = {"slower": 2.5, "slower_parted": 7.0, "memory": 10.0}


def run(context: Context) -> list[Row]:
    wanted = systems.available(context.peers, COMPARED)
    with databases.started(context, {TABLE: max(2_000, context.size.rows // SHARE)}, wanted) as there:
        rows = there.readings(variants(wanted, [WHOLE, PARTS], KEYS[TABLE]), TABLE)
    return [*rows, {"system": "Turbodbc", "table": TABLE, "paper": True, **PAPER}]


def measured(rows: list[Row]) -> list[str]:
    """The systems, without their variants."""
    there = {row["system"] for row in rows}
    return [system.name for system in COMPARED if system.name in there]


def wall(rows: list[Row], system: str, parts: int = WHOLE) -> float | None:
    return median(rows, "wall", system=named(system, parts))


def of_all(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for name in measured(rows):
        size = ratio(median(rows, "arrow_bytes", system=name), 1e6)
        peak = memory(rows, system=name)
        cpu = [median(rows, f"{side}_cpu", system=name) for side in ("client", "server")]
        walls = [spread(rows, "wall", system=named(name, parts)) for parts in (WHOLE, PARTS)]
        lines.append([name, *walls, *cpu, peak, ratio(peak, size)])
    head = ["", "s", f"{PARTS} parts s", "client CPU s", "server CPU s", "peak MB", "peak / table"]
    return Table("lineitem into a pyarrow.Table (Figure 14)", head, lines)


def draw(rows: list[Row], axes: Axes) -> None:
    # The first system is at the top.
    found = [name for name in reversed(measured(rows)) if wall(rows, name) is not None]
    for parts, shift in ((WHOLE, 0.2), (PARTS, -0.2)):
        bars = [
            (at + shift, seconds) for at, name in enumerate(found) if (seconds := wall(rows, name, parts)) is not None
        ]
        if bars:
            axes.barh(*zip(*bars, strict=True), height=0.4, label=f"{PARTS} parts" if parts else "whole")
    axes.set_yticks(range(len(found)), found)
    axes.set_xlabel("seconds")
    axes.legend(fontsize=8)


def show(rows: list[Row]) -> list[Part]:
    about = (
        "In the paper ConnectorX was up to 2.5 times as fast as Turbodbc, and 7 times as fast with four partitions. "
        "Turbodbc was the only other library that returned Arrow. arrow-odbc, ADBC and DuckDB's scanners are newer."
    )
    plot = Plot("Into Arrow", partial(draw, rows), height=4.6, name="arrow")
    return [Text(about), of_all(rows), plot, *not_measured(rows)]


def findings(rows: list[Row]) -> list[Finding]:
    walls = {name: seconds for name in measured(rows) if (seconds := wall(rows, name)) is not None}
    theirs = {name.partition(",")[0]: seconds for name, seconds in walls.items() if name.endswith(", ConnectorX")}
    faster = {
        name: seconds / theirs[database]
        for name, seconds in walls.items()
        if "ODBC" in name and (database := name.partition(",")[0]) in theirs
    }
    best = {
        database: min((name for name in walls if name.startswith(database)), key=walls.__getitem__)
        for database in theirs
    }
    return [
        Finding(
            "ConnectorX is faster than ODBC into Arrow (Turbodbc) with all databases, up to 2.5 times.",
            (
                ", ".join(f"{name} takes {times:.1f} times as long as ConnectorX" for name, times in faster.items())
                or "not measured"
            )
            + ".",
            all(times > 1 for times in faster.values()) if faster else None,
        ),
        Finding(
            "ConnectorX is the fastest way into Arrow on every database.",
            "Today, without partitions: " + "; ".join(best.values()) + "." if best else "not measured",
            all(name.endswith(", ConnectorX") for name in best.values()) if best else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Into Arrow",
    source="ConnectorX, Figure 14",
    question="How long does reading a table into Arrow take? Most libraries newer than the paper return Arrow.",
    run=run,
    show=show,
    findings=findings,
)
