"""Reading into pandas, with one connection and with several: speed, memory, and the server's cost."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import psycopg
from matplotlib.axes import Axes

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text, Unmeasurable
from study.medians import median, ratio, spread, those
from study.parted import (
    DASK,
    KEYS,
    WHOLE,
    can_part,
    condition,
    has_free_cores,
    memory,
    named,
    not_measured,
    variants,
    with_cores,
)
from study.systems import EXTENSION, POSTGRES, System

#: The number of the run's rows is divided by this. The second table has five times as many columns.
SHARES = {"lineitem": 2, "ddos": 20}
#: Numbers of connections, by the size of the run: for the curve, and for the comparisons.
PARTS = {"tiny": [WHOLE, 2], "quick": [WHOLE, 2, 4], "full": [WHOLE, 1, 2, 4, 8]}
FEW = {"tiny": [WHOLE], "quick": [WHOLE, 4], "full": [WHOLE, 4]}
#: The systems that are compared, by database; pandas is the first.
COMPARED: dict[str, list[System]] = {
    "PostgreSQL": [
        *systems.by_name("PostgreSQL, pandas + SQLAlchemy"),
        DASK,
        *systems.by_name("PostgreSQL, ConnectorX"),
        POSTGRES,
        EXTENSION,
    ],
    "MariaDB": systems.by_name(
        "MariaDB, pandas + SQLAlchemy + PyMySQL", "MariaDB, ConnectorX", "MariaDB as it is, Colonnade"
    ),
    "SQLite": systems.by_name("SQLite, pandas + sqlite3", "SQLite, ConnectorX", "SQLite, Colonnade"),
}
ALL = [system for group in COMPARED.values() for system in group]
CONNECTORX = "PostgreSQL, ConnectorX"
#: The systems whose work in the server is counted.
COUNTED = [CONNECTORX, POSTGRES.name, EXTENSION.name]
#: Seconds to wait for the statistics of backends that have ended.
STATISTICS_TIMEOUT = 30
#: ConnectorX's speed divided by pandas' (section 6.3), without partitions and, at most, with four.
PAPER_SPEED = {
    "lineitem": {"PostgreSQL": (4.2, 12.8), "MySQL": (5.2, None), "SQLite": (2.3, None)},
    "ddos": {"PostgreSQL": (7.1, 14.5), "SQLite": (5.2, None)},
}
#: Table 2: partitions; scans of the table and seconds, with client-side and with server-side partitions.
PAPER_SERVER = [(0, 1, 156.1, 1, 156.1), (2, 3, 86.4, 1, 86.7), (4, 5, 49.1, 1, 45.7), (8, 9, 30.4, 1, 23.9)]
PAPER_SERVER += [(16, 17, 26.7, 1, 19.6)]


def run(context: Context) -> list[Row]:
    wanted = systems.available(context.peers, ALL)
    tables = {table: max(2_000, context.size.rows // share) for table, share in SHARES.items()}
    rows: list[Row] = []
    with databases.started(context, tables, wanted) as there:
        for table in tables:
            counts = (PARTS if table == "lineitem" else FEW)[context.size.name]
            asked = variants(wanted, counts, KEYS[table])
            rows += [{"part": "client", **row} for row in there.readings(asked, table, destination="pandas")]
        if "postgres" in there.started:
            counted = [system for system in wanted if system.name in COUNTED]
            rows += on_the_server(there, variants(counted, PARTS[context.size.name], KEYS["lineitem"]))
    rows = with_cores(rows)
    for table, figures in PAPER_SPEED.items():
        for database, (whole, parted) in figures.items():
            known = {"part": "client", "table": table, "system": f"{database}, ConnectorX", "paper": True}
            rows.append({**known, "faster": whole, "faster_in_parts": parted})
    for parts, *figures in PAPER_SERVER:
        for side, (scans, wall) in {"by the client": figures[:2], "by the server": figures[2:]}.items():
            system = named(f"partitions made {side}", parts)
            rows.append({"part": "server", "system": system, "paper": True, "scans": scans, "wall": wall})
    return rows


def on_the_server(there: databases.Databases, asked: list[System]) -> list[Row]:
    """How often PostgreSQL scans the table for one result, into Arrow. (For pandas, ConnectorX counts rows first.)"""
    place = there.started["postgres"].place
    address = f"host={place['directory']} port={place['port']} user={place['user']} dbname={place['database']}"
    rows: list[Row] = []
    with psycopg.connect(address, autocommit=True) as session:
        size = session.execute("SELECT pg_relation_size('lineitem') / 8192").fetchone()
        assert size is not None
        for system in asked:
            before = visited(session)
            found = there.readings([system], "lineitem")
            scans = (visited(session) - before) / size[0] / len(found)
            rows += [{"part": "server", **row, "scans": scans} for row in found]
    return rows


def visited(session: psycopg.Connection) -> int:
    """Blocks of the table that ended backends have accessed, cached or not. A backend reports them when it ends."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + STATISTICS_TIMEOUT
    while session.execute(others).fetchone() != (0,):
        if time.monotonic() > deadline:
            raise Unmeasurable("backends of clients that have ended still exist")
        time.sleep(0.05)
    blocks = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'lineitem'"
    found = session.execute(blocks).fetchone()
    assert found is not None
    return found[0]


def measured(rows: list[Row], table: str) -> list[tuple[str, System]]:
    """The systems of a table, and their databases."""
    there = {row["system"] for row in those(rows, part="client", table=table)}
    return [(database, system) for database, group in COMPARED.items() for system in group if system.name in there]


def counts(rows: list[Row], table: str, part: str = "client") -> list[int]:
    """The numbers of parts that were tried."""
    there = {row["system"] for row in those(rows, part=part, table=table)}
    tried = sorted({parts for known in PARTS.values() for parts in known})
    return [parts for parts in tried if any(named(system.name, parts) in there for system in ALL if can_part(system))]


def wall(rows: list[Row], table: str, system: str, parts: int = WHOLE) -> float | None:
    return median(rows, "wall", part="client", table=table, system=named(system, parts))


def of_pandas(rows: list[Row], table: str, database: str) -> float | None:
    return wall(rows, table, COMPARED[database][0].name)


def times(parts: int) -> str:
    return named("", parts).removeprefix(", ") or "whole"


def of_speed(rows: list[Row], table: str) -> Table:
    columns = counts(rows, table)
    lines: list[list[Any]] = []
    for database, system in measured(rows, table):
        of = {"part": "client", "table": table}
        walls = [wall(rows, table, system.name, parts) for parts in columns]
        best = min((one for one in walls if one is not None), default=None)
        shown = [spread(rows, "wall", **of, system=named(system.name, parts)) for parts in columns]
        pandas = of_pandas(rows, table, database)
        cpu = median(rows, "client_cpu", part="client", table=table, system=system.name)
        lines.append([system.name, *shown, cpu, ratio(pandas, walls[0] if walls else None), ratio(pandas, best)])
    for row in rows:
        if row.get("paper") and row["part"] == "client" and row["table"] == table:
            blank = [None] * (len(columns) + 1)
            lines.append([f"{row['system']} (paper)", *blank, row["faster"], row["faster_in_parts"]])
    head = ["", *(f"{times(parts)} s" for parts in columns), "client CPU s", "times pandas' speed", "at best"]
    return Table(f"{table} into pandas (Figure 13)", head, lines)


def of_memory(rows: list[Row]) -> Table:
    head, lines = [""], []
    for database, system in measured(rows, "lineitem"):
        cells: list[Any] = [system.name]
        for table in KEYS:
            pandas = memory(rows, part="client", table=table, system=COMPARED[database][0].name)
            for parts in (WHOLE, max(counts(rows, table), default=WHOLE)):
                cells.append(memory(rows, part="client", table=table, system=named(system.name, parts)))
            cells.append(ratio(cells[-2], pandas))
        lines.append(cells)
    for table in KEYS:
        head += [f"{table} MB", f"{times(max(counts(rows, table), default=WHOLE))} MB", "of pandas' memory"]
    return Table("Peak memory of the client, without the memory of its libraries (Figure 11)", head, lines)


def of_server(rows: list[Row]) -> Table:
    found = those(rows, part="server")
    lines: list[list[Any]] = []
    for name in dict.fromkeys(row["system"] for row in found):
        lines.append([name, *(median(found, field, system=name) for field in ("scans", "server_cpu", "wall"))])
    for row in rows:
        if row.get("paper") and row["part"] == "server":
            lines.append([f"{row['system']} (paper)", float(row["scans"]), None, row["wall"]])
    head = ["", "times the table's blocks", "server CPU s", "s"]
    return Table("PostgreSQL, lineitem into Arrow: how often the table is scanned (Table 2)", head, lines)


def draw(rows: list[Row], axes: Axes) -> None:
    for database, system in measured(rows, "lineitem"):
        points = [(parts or 1, wall(rows, "lineitem", system.name, parts)) for parts in counts(rows, "lineitem")]
        known = [(parts, seconds) for parts, seconds in points if seconds is not None]
        if database != "PostgreSQL" or not known:
            continue
        if len(known) == 1:
            axes.axhline(known[0][1], linestyle="--", linewidth=1, color="gray", label=system.name)
        else:
            axes.plot(*zip(*known, strict=True), marker="o", label=system.name)
    axes.set_xlabel("connections")
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def show(rows: list[Row]) -> list[Part]:
    about = (
        f"Client and server share {rows[0].get('cores')} cores here; the paper had two machines with 16 cores each. "
        "ConnectorX and Dask partition a table by ranges of a key. Colonnade partitions it by ranges of blocks or row "
        "ids (MariaDB: of a key). Modin is left out because it needs a pandas older than 3. Figure 10 is left out: it "
        "switches off parts of ConnectorX, and ConnectorX's releases have no options for that."
    )
    lines = Plot("PostgreSQL, lineitem into pandas (Figure 12)", partial(draw, rows), name="partitions")
    speeds = [of_speed(rows, table) for table in KEYS]
    return [Text(about), *speeds, lines, of_memory(rows), of_server(rows), *not_measured(rows)]


def findings(rows: list[Row]) -> list[Finding]:
    table, most = "lineitem", max(counts(rows, "lineitem"), default=WHOLE)
    faster: dict[str, float | None] = {}
    lighter: dict[str, float | None] = {}
    for database, (pandas, *_) in COMPARED.items():
        theirs = f"{database}, ConnectorX"
        faster[database] = ratio(wall(rows, table, pandas.name), wall(rows, table, theirs))
        sizes = [memory(rows, part="client", table=table, system=name) for name in (pandas.name, theirs)]
        lighter[database] = ratio(*sizes)
    gains = {
        system.name: ratio(wall(rows, table, system.name), wall(rows, table, system.name, most))
        for _, system in measured(rows, table)
        if most and can_part(system)
    }
    gained = f"Speed with {times(most)} over the speed without: {listed(gains)} {condition(rows, most)}".strip()
    last = max(counts(rows, table, "server"), default=WHOLE)
    theirs, ours = (
        median(rows, "scans", part="server", system=named(name, last)) for name in (CONNECTORX, POSTGRES.name)
    )
    return [
        Finding(
            "Without partitions ConnectorX is 4.2 times as fast as pandas with PostgreSQL, 5.2 with MySQL and 2.3 with "
            "SQLite.",
            listed(faster),
            verdict(faster, 1.5),
        ),
        Finding(
            "pandas needs three times the memory of ConnectorX with PostgreSQL and MySQL, and twice with SQLite.",
            listed(lighter),
            verdict(lighter, 1.5),
        ),
        Finding(
            "Partitions help until cores and bandwidth are used up: four make ConnectorX about three times as fast.",
            gained,
            verdict({"": gains.get(CONNECTORX)}, 2) if has_free_cores(rows, most) else None,
        ),
        Finding(
            "With partitions made by the client, the server scans the table once for each partition and once for the "
            "range of the key. With partitions made by the server, it would scan the table once.",
            "not measured"
            if theirs is None or ours is None
            else f"Scans for {times(last)}: ConnectorX {theirs:.1f}, Colonnade {ours:.1f}. PostgreSQL ran without our "
            "extension; the parts are ranges of blocks.",
            None if theirs is None or ours is None else theirs > 2 > 1.5 > ours,
        ),
    ]


def listed(figures: dict[str, float | None]) -> str:
    known = [f"{name} {figure:.1f}" for name, figure in figures.items() if figure is not None]
    return f"{', '.join(known)} times." if known else "not measured"


def verdict(figures: dict[str, float | None], least: float) -> bool | None:
    known = [figure for figure in figures.values() if figure is not None]
    return all(figure > least for figure in known) if known else None


EXPERIMENT = Experiment(
    title="Into pandas, in parts",
    source="ConnectorX, Figures 11 to 13, Table 2",
    question=(
        "How long does reading a table into a dataframe take, how much memory does it need, and how much do several "
        "connections help? Each reading starts a new client process. The time includes connecting and the queries that "
        "a library runs first."
    ),
    run=run,
    show=show,
    findings=findings,
)
