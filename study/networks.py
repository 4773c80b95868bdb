"""Tables 10 to 12: each system on one machine, over a LAN and over a WAN, with each data set."""

from __future__ import annotations

import os
from collections.abc import Callable

from laboratory import Link, congestion_controls
from matplotlib.axes import Axes

from study import databases, figures, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Spread, Table, Unmeasurable
from study.medians import cell, median, names, ratio, reason, span

#: The paper's data sets: the table that is read for each (the user's files if there are any), and rows of the quick
#: size.
DATA = {
    "lineitem": ("lineitem", 100_000),
    "acs": ("pums" if "COLONNADE_PUMS" in os.environ else "acs", 10_000),
    "ontime": ("ontime" if "COLONNADE_ONTIME" in os.environ else "flights", 100_000),
}
LAN = Link("LAN", 1000, delay=0.3, queue=2_000_000)


def wan() -> Link:
    """The WAN, with the congestion control that is usual for such links. CUBIC treats each loss as a full queue, so 1 %
    loss would leave 3 Mbit/s."""
    control = "bbr" if "bbr" in congestion_controls() else "cubic"
    return Link("WAN", 100, delay=25, loss=0.01, queue=1_500_000, congestion=control)


NETWORKS = ("local", "LAN", "WAN")
#: The systems of the quick size.
QUICK = {
    "CSV through a socket",
    "CSV through a socket, snappy",
    "CSV through a socket, gzip",
    "PostgreSQL, ODBC (arrow-odbc)",
    "PostgreSQL, ConnectorX",
    "PostgreSQL, DuckDB's scanner",
    "PostgreSQL as it is, Colonnade",
    "PostgreSQL with the extension, Colonnade",
    "MariaDB, ODBC (arrow-odbc)",
    "MariaDB, ODBC, compressed",
    "DuckDB, Arrow Flight",
    "DuckDB, Arrow Flight, ZSTD",
    "DuckDB, Quack",
    "colonnade serve, Colonnade",
}
COMPRESSED, UNCOMPRESSED = "MariaDB, ODBC, compressed", "MariaDB, ODBC (arrow-odbc)"
OURS = (systems.EXTENSION.name, systems.SERVE.name)


def run(context: Context) -> list[Row]:
    if os.geteuid() != 0:
        raise Unmeasurable("links need network namespaces, and they need root")
    is_full = context.size.name == "full"
    wanted = [
        system
        for system in systems.available(context.peers)
        if system.is_remote and (not system.is_slow if is_full else system.name in QUICK)
    ]
    tables = {
        name: databases.first(context, source, context.size.rows if is_full else min(context.size.rows, rows))
        for name, (source, rows) in DATA.items()
    }
    found: list[Row] = []
    with databases.started(context, tables, wanted) as there:
        for table, (source, _) in DATA.items():
            rows = there.readings(wanted, table, (None, LAN, wan()))
            found += [{**row, "source": source} for row in rows]
    for table, rows_of_paper in figures.NETWORKS.items():
        for system, (*seconds, gigabytes) in rows_of_paper.items():
            for link, one in zip(NETWORKS, seconds, strict=True):
                each = {
                    "seconds_a_million": figures.per_million(one, table),
                    "bytes_a_row": figures.bytes_a_row(gigabytes, table),
                }
                found.append({"system": system, "table": table, "link": link, "paper": True, **each})
    return found


def show(rows: list[Row]) -> list[Part]:
    return [part for table in DATA for part in shown(rows, table)]


def shown(rows: list[Row], table: str) -> list[Part]:
    of_table = [row for row in rows if row["table"] == table]
    counts = [row["rows"] for row in of_table if "rows" in row]
    source = next((row["source"] for row in of_table if "source" in row), table)
    lines = [
        [
            name,
            *(per_million(of_table, name, link) for link in NETWORKS),
            ratio(median(of_table, "wire_bytes", system=name, link="LAN"), max(counts, default=0)),
        ]
        for name in names(of_table)
    ]
    for name in dict.fromkeys(row["system"] for row in of_table if row.get("paper")):
        theirs = {row["link"]: row for row in of_table if row.get("paper") and row["system"] == name}
        times = [
            theirs[link]["seconds_a_million"] if theirs[link]["seconds_a_million"] is not None else "over an hour"
            for link in NETWORKS
        ]
        lines.append([f"{name} (paper)", *times, theirs["LAN"]["bytes_a_row"]])
    read = f"{max(counts, default=0):,} rows of {source}" + ("" if source == table else f" for the paper's {table}")
    return [
        Table(
            f"{table}: seconds for a million rows, and bytes on the wire; {read}", ["", *NETWORKS, "bytes/row"], lines
        ),
        Plot(
            f"{table}: seconds, by network",
            lines_of(of_table),
            width=9,
            height=4.5,
            name="networks" if table == "lineitem" else "",
        ),
    ]


def per_million(rows: list[Row], system: str, link: str) -> float | str | Spread | None:
    count = median(rows, "rows", system=system, link=link)
    where = {"system": system, "link": link}
    return cell(rows, "wall", 1e6 / count, **where) if count else reason(rows, **where)


def lines_of(rows: list[Row]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for number, name in enumerate(names(rows)):
            walls = [median(rows, "wall", system=name, link=link) for link in NETWORKS]
            points = [(link, wall) for link, wall in zip(NETWORKS, walls, strict=True) if wall is not None]
            if points:
                # There are ten colours.
                style = {"linewidth": 2.2 if "Colonnade" in name else 1, "linestyle": "-" if number < 10 else "--"}
                axes.plot(*zip(*points, strict=True), marker="o", label=name, **style)
        axes.set_yscale("log")
        axes.set_ylabel("seconds")
        if axes.lines:
            axes.legend(fontsize=7, bbox_to_anchor=(1.01, 1), loc="upper left")

    return draw


def findings(rows: list[Row]) -> list[Finding]:
    def wall(system: str, link: str, table: str = "lineitem") -> float | None:
        return median(rows, "wall", system=system, link=link, table=table)

    # Sending CSV that no client parses is not a system.
    all_of_them = [name for name in names(rows) if not name.startswith("CSV")]
    theirs = [name for name in all_of_them if "Colonnade" not in name]
    first = {}
    for table in DATA:
        for link in NETWORKS:
            times = {name: wall(name, link, table) for name in all_of_them}
            if known := {name: time for name, time in times.items() if time is not None}:
                first[table, link] = min(known, key=known.__getitem__)
    lan = [ratio(wall(name, "LAN"), wall(name, "local")) for name in theirs]
    sizes = {name: median(rows, "wire_bytes", system=name, link="WAN", table="lineitem") for name in names(rows)}
    sized = sorted((name for name in sizes if sizes[name] and wall(name, "WAN")), key=lambda name: sizes[name] or 0)
    local, far = (
        ratio(wall(COMPRESSED, "local"), wall(UNCOMPRESSED, "local")),
        ratio(wall(COMPRESSED, "WAN"), wall(UNCOMPRESSED, "WAN")),
    )
    won = sum("Colonnade" in name for name in first.values())
    return [
        Finding(
            "A columnar protocol that compresses over networks is the fastest one on every data set.",
            f"Colonnade is the fastest in {won} of {len(first)} combinations of data set and network"
            + "".join(
                f". The fastest over {link} with {table} is {name}"
                for (table, link), name in first.items()
                if "Colonnade" not in name
            )
            + ".",
            won == len(first) if first else None,
        ),
        Finding(
            "On a gigabit LAN most systems take about as long as on one machine: serialization is their bottleneck.",
            f"For lineitem, other systems take {span(lan)} times as long.",
            sum(one < 1.5 for one in lan if one) > len([one for one in lan if one]) / 2 if any(lan) else None,
        ),
        Finding(
            "On a WAN the number of bytes determines the time.",
            f"The {min(3, len(sized))} systems that send the fewest bytes for lineitem: "
            + ", ".join(f"{name} ({sizes[name] / 1e6:.1f} MB, {wall(name, 'WAN'):.2f} s)" for name in sized[:3])
            + ". The 2 that send the most: "
            + ", ".join(f"{name} ({sizes[name] / 1e6:.1f} MB, {wall(name, 'WAN'):.2f} s)" for name in sized[-2:])
            + ".",
            (wall(sized[0], "WAN") or 0) < (wall(sized[-1], "WAN") or 0) if len(sized) > 1 else None,
        ),
        Finding(
            "MySQL's compression takes 3.8 times as long on one machine, and 0.55 times as long on the WAN.",
            f"MariaDB's takes {local:.2f} times as long on one machine, and {far:.2f} times as long on the WAN."
            if local and far
            else "Not measured.",
            local > 1 > far if local and far else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Whole systems over networks",
    source="VLDB 2017, Tables 10 to 12",
    question=(
        "How do systems compare on one machine, over a LAN (1000 Mbit/s, 0.3 ms each way) and over a WAN (100 Mbit/s, "
        "25 ms each way, 1 % loss)? The link is emulated between two network namespaces. `colonnade serve` requires "
        "TLS for clients on other machines; the other systems do not use TLS."
    ),
    run=run,
    show=show,
    findings=findings,
)
