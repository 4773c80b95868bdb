"""Figures 3 and 4: lineitem over links with increasing latency, and with decreasing throughput."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from laboratory import Link
from matplotlib.axes import Axes

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Unmeasurable
from study.medians import cell, median, names, ratio

TABLE = "lineitem"
ROWS = {"quick": 50_000, "full": 1_000_000}
#: Milliseconds each way, at a gigabit. The queue has room for the packets in transit.
LATENCIES = {
    "tiny": (1.0,),
    "quick": (0.1, 1.0, 10.0, 100.0),
    "full": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}
#: Mbit/s, at a tenth of a millisecond.
THROUGHPUTS = {"tiny": (100.0,), "quick": (10.0, 100.0, 1000.0), "full": (10.0, 30.0, 100.0, 300.0, 1000.0)}
#: A client that fetches few rows at a time and waits for them, as some protocols require.
BATCHES = "PostgreSQL, ODBC, 1000 rows at a time"
NAMES = (
    "CSV through a socket",
    "PostgreSQL, ODBC (arrow-odbc)",
    "PostgreSQL with the extension, Colonnade",
    "MariaDB, ODBC (arrow-odbc)",
    "MariaDB, ODBC, compressed",
    "DuckDB, Arrow Flight",
    "DuckDB, Quack",
    "colonnade serve, Colonnade",
)


def wanted(peers: str) -> list[systems.System]:
    chosen = systems.by_name(*NAMES)
    odbc = chosen[1]
    chosen.insert(2, replace(odbc, name=BATCHES, options={"fetch": 1000}, paper=""))
    return systems.available(peers, chosen)


def slow(rate: float) -> Link:
    """A link with this number of Mbit/s."""
    return Link(f"{rate:g} Mbit/s", rate, delay=0.1, queue=max(100_000, int(rate * 1000)))


def run(context: Context) -> list[Row]:
    if os.geteuid() != 0:
        raise Unmeasurable("links need network namespaces, and they need root")
    size = context.size.name
    chosen = wanted(context.peers)
    rows = min(context.size.rows, ROWS.get(size, context.size.rows))
    sweeps = {
        "latency": {one: Link(f"{one:g} ms", 1000, delay=one, queue=32_000_000) for one in LATENCIES[size]},
        "throughput": {one: slow(one) for one in THROUGHPUTS[size]},
    }
    found: list[Row] = []
    with databases.started(context, {TABLE: rows}, chosen) as there:
        for sweep, links in sweeps.items():
            for value, link in links.items():
                found += [{**row, "sweep": sweep, "value": value} for row in there.readings(chosen, TABLE, (link,))]
    return found


def show(rows: list[Row]) -> list[Part]:
    count = next((row["rows"] for row in rows if "rows" in row), 0)
    parts: list[Part] = []
    for sweep, axis in (("latency", "milliseconds each way"), ("throughput", "Mbit/s")):
        of_sweep = [row for row in rows if row["sweep"] == sweep]
        values = list(dict.fromkeys(row["value"] for row in of_sweep))
        lines = [
            [name, *(cell(of_sweep, "wall", system=name, value=value) for value in values)] for name in names(of_sweep)
        ]
        parts.append(
            Plot(f"{count:,} rows of lineitem by {sweep}", curves(of_sweep, values, axis), width=9, height=4.2)
        )
        parts.append(Table(f"Seconds, by {axis}", ["", *(f"{value:g}" for value in values)], lines))
    return parts


def curves(rows: list[Row], values: Sequence[float], axis: str) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for number, name in enumerate(names(rows)):
            points = [(value, median(rows, "wall", system=name, value=value)) for value in values]
            points = [(value, wall) for value, wall in points if wall is not None]
            if points:
                # There are ten colours.
                style = {"linewidth": 2.2 if "Colonnade" in name else 1, "linestyle": "-" if number < 10 else "--"}
                axes.plot(*zip(*points, strict=True), marker="o", label=name, **style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(axis)
        axes.set_ylabel("seconds")
        if axes.lines:
            axes.legend(fontsize=7, bbox_to_anchor=(1.01, 1), loc="upper left")

    return draw


def findings(rows: list[Row]) -> list[Finding]:
    def ends(sweep: str, system: str, *, falls: bool = False) -> tuple[float | None, float | None]:
        """Seconds at the value with the shortest times and at the opposite end of the range."""
        values = sorted({row["value"] for row in rows if row["sweep"] == sweep}, reverse=falls)
        best, worst = (median(rows, "wall", sweep=sweep, system=system, value=values[k]) for k in (0, -1))
        return best, worst if len(values) > 1 else None

    def growth(sweep: str, system: str, *, falls: bool = False) -> float | None:
        best, worst = ends(sweep, system, falls=falls)
        return ratio(worst, best)

    added = {
        name: worst - best
        for name, (best, worst) in ((name, ends("latency", name)) for name in names(rows))
        if best is not None and worst is not None
    }
    most = max((row["value"] for row in rows if row["sweep"] == "latency"), default=0.0)
    slowed = [one for one in (growth("latency", name) for name in added) if one is not None]
    starved = {name: growth("throughput", name, falls=True) for name in names(rows)}
    least = min((row["value"] for row in rows if row["sweep"] == "throughput"), default=None)
    sizes = {name: median(rows, "wire_bytes", sweep="throughput", system=name, value=least) for name in names(rows)}
    walls = {name: median(rows, "wall", sweep="throughput", system=name, value=least) for name in names(rows)}
    known = sorted((name for name in names(rows) if sizes[name] and walls[name]), key=lambda name: sizes[name] or 0.0)
    order = [walls[name] or 0.0 for name in known]
    # Pairs in which the system that sent fewer bytes took less time.
    pairs = [(k, j) for j in range(len(order)) for k in range(j)]
    agreeing = sum(order[k] <= order[j] for k, j in pairs)
    # The same client, with and without waiting. Its reading may have been stopped.
    waits, streams = added.get(BATCHES), added.get(NAMES[1])
    is_hit = streams is not None and (waits is None or waits > 1.5 * streams)
    small, large = walls.get("MariaDB, ODBC, compressed"), walls.get("MariaDB, ODBC (arrow-odbc)")
    return [
        Finding(
            "Latency slows all systems considerably, because TCP waits for acknowledgements.",
            f"Seconds added by {most:g} ms each way: "
            + ", ".join(f"{name} {one:.1f}" for name, one in added.items())
            + ".",
            min(slowed) > 2 if slowed else None,
        ),
        Finding(
            "Protocols that wait for the client's confirmation after each message suffer most from latency.",
            f"{NAMES[1]} takes {streams:.1f} s more when it fetches 20,000 rows at a time. With 1000 rows at a time, "
            + (f"it takes {waits:.1f} s more." if waits is not None else "the reading was stopped at the time limit.")
            if streams is not None
            else "Not measured.",
            is_hit if streams is not None else None,
        ),
        Finding(
            "On a slow link the number of bytes determines the time.",
            f"At {least:g} Mbit/s, the system that sends fewer bytes is faster in {agreeing} of {len(pairs)} pairs of "
            "systems. Time as a multiple of the time on the fastest link: "
            + ", ".join(f"{name} {one:.1f}" for name, one in starved.items() if one)
            + ".",
            agreeing > 0.9 * len(pairs) if pairs else None,
        ),
        Finding(
            "On a slow link compression saves time, also with a slow codec.",
            f"At {least:g} Mbit/s MariaDB takes {small:.1f} s with compression and {large:.1f} s without."
            if small and large
            else "Not measured.",
            small < large if small and large else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Latency and throughput",
    source="VLDB 2017, Figures 3 and 4",
    question=(
        "How does the time of each protocol change with the latency of the link (at 1000 Mbit/s), and with its "
        "throughput (at 0.1 ms)? The time includes connecting and its round trips. The link is emulated between two "
        "network namespaces. A reading that exceeded the time limit of this size was stopped."
    ),
    run=run,
    show=show,
    findings=findings,
)
