"""Reading into pandas over links of different bandwidth: when a client's speed matters, and when only bytes matter."""

from __future__ import annotations

from functools import partial
from typing import Any

from laboratory import Link
from matplotlib.axes import Axes

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, cells
from study.medians import median, names, ratio, spread
from study.parted import DASK, KEYS, condition, has_free_cores, in_parts, named, not_measured, with_cores
from study.systems import EXTENSION, POSTGRES

TABLE = "lineitem"
#: The number of the run's rows is divided by this.
SHARE = 4
PARTS = 4
#: The paper also has a link of 10 Gbit/s, which is too fast for the shaper.
LINKS = [None, Link("1 Gbit/s", 1000, queue=1_000_000), Link("200 Mbit/s", 200, queue=500_000)]
PANDAS, CONNECTORX = systems.by_name("PostgreSQL, pandas + SQLAlchemy", "PostgreSQL, ConnectorX")
COMPARED = [
    PANDAS,
    in_parts(DASK, PARTS, KEYS[TABLE]),
    CONNECTORX,
    in_parts(CONNECTORX, PARTS, KEYS[TABLE]),
    POSTGRES,
    in_parts(POSTGRES, PARTS, KEYS[TABLE]),
    EXTENSION,
]
BASE = named(CONNECTORX.name, PARTS)
#: Table 3: each system's seconds divided by those of ConnectorX with partitions, on one machine and on the links.
PAPER_LINKS = ["local", "10 Gbit/s", "200 Mbit/s"]
PAPER = {
    "pandas": (14.26, 12.80, 3.05),
    "Dask": (6.09, 4.80, 5.31),
    "Modin": (3.88, 3.45, 1.58),
    "Turbodbc": (6.64, 6.21, 1.90),
    "ConnectorX, no partitions": (3.16, 3.03, 1.08),
}


def run(context: Context) -> list[Row]:
    wanted = systems.available(context.peers, COMPARED)
    with databases.started(context, {TABLE: max(2_000, context.size.rows // SHARE)}, wanted) as there:
        rows = with_cores(there.readings(wanted, TABLE, LINKS, destination="pandas"))
    for name, figures in PAPER.items():
        for link, slower in zip(PAPER_LINKS, figures, strict=True):
            rows.append({"system": name, "table": TABLE, "link": link, "paper": True, "slower": slower})
    return rows


def wall(rows: list[Row], system: str, link: str) -> float | None:
    return median(rows, "wall", system=system, link=link)


def slower(rows: list[Row], system: str, link: str) -> float | None:
    """Seconds divided by those of ConnectorX in parts."""
    return ratio(wall(rows, system, link), wall(rows, BASE, link))


def of_seconds(rows: list[Row]) -> Table:
    links = names(rows, "link")
    lines: list[list[Any]] = []
    for name in names(rows):
        sent = ratio(median(rows, "wire_bytes", system=name, link=links[-1]), 1e6)
        walls = [spread(rows, "wall", system=name, link=link) for link in links]
        lines.append([name, *walls, sent])
    return Table("PostgreSQL, lineitem into pandas", ["", *(f"{link} s" for link in links), "MB on the wire"], lines)


def of_speed(rows: list[Row]) -> Table:
    links = names(rows, "link")
    lines: list[list[Any]] = [[name, *(slower(rows, name, link) for link in links)] for name in names(rows)]
    return Table(f"Seconds over those of ConnectorX in {PARTS} parts (Table 3)", ["", *links], lines)


def of_paper(rows: list[Row]) -> Table:
    paper = [row for row in rows if row.get("paper")]
    return cells(paper, "system", "link", "slower", "The same (paper)")


def draw(rows: list[Row], axes: Axes) -> None:
    for name in names(rows):
        known = [(link, seconds) for link in names(rows, "link") if (seconds := wall(rows, name, link)) is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", label=name)
    axes.set_yscale("log")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=7)


def show(rows: list[Row]) -> list[Part]:
    return [
        of_seconds(rows),
        of_speed(rows),
        of_paper(rows),
        Plot("Seconds by bandwidth", partial(draw, rows)),
        *not_measured(rows),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    near, far = (names(rows, "link")[at] for at in (0, -1))
    pandas = [slower(rows, PANDAS.name, link) for link in (near, far)]
    whole = slower(rows, CONNECTORX.name, far)
    at_far = {name: seconds for name in names(rows) if (seconds := wall(rows, name, far)) is not None}
    if None in pandas or whole is None:
        return []
    best = min(at_far, key=at_far.__getitem__)
    return [
        Finding(
            "A fast client matters more on a fast link: pandas takes 14.3 times as long as ConnectorX in parts on one "
            "machine, and 3.1 times as long at 200 Mbit/s.",
            f"{pandas[0]:.1f} times as long on one machine, {pandas[1]:.1f} times as long at {far}.",
            pandas[0] > 1.1 * pandas[1],
        ),
        Finding(
            "At 200 Mbit/s partitions do not help: one connection is as fast.",
            f"Without partitions ConnectorX takes {whole:.2f} times as long at {far}. {condition(rows, PARTS)}".strip(),
            whole < 1.3 if has_free_cores(rows, PARTS) else None,
        ),
        Finding(
            "ConnectorX in parts is the fastest client in all environments.",
            f"At {far} the fastest is {best}. ConnectorX in parts takes {at_far[BASE] / at_far[best]:.1f} times as "
            "long.",
            best == BASE,
        ),
    ]


EXPERIMENT = Experiment(
    title="Into pandas, over links of different bandwidth",
    source="ConnectorX, Table 3",
    question="How much does the speed of the client matter when the link is slow? Emulating links needs root.",
    run=run,
    show=show,
    findings=findings,
)
