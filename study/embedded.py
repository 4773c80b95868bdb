"""Chapter 6 of the thesis: writing into databases, reading from them, and queries, in the client's process and over a
socket."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import colonnade
import data
import laboratory
import psycopg
import writes
import writes_places
from matplotlib.axes import Axes
from place import Place
from turns import Contender

from study import databases, systems, tpch
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text
from study.medians import cell, median, names, ratio, span, spread
from study.networks import DATA
from study.queries import LINEITEM_ROWS, MIN_SCALE, generated

#: Rows that are written, in the quick size: of lineitem, of acs, and by clients that make SQL text of each row.
QUICK_ROWS = {"lineitem": 200_000, "acs": 5_000}
SLOW_ROWS = {"tiny": 500, "quick": 10_000, "full": 100_000}
#: Rows of acs that clients make SQL text of: a row has 274 values.
SLOW_WIDTH = 10
#: Seconds after which a query is stopped. The thesis stopped after 300.
LIMITS = {"tiny": 60, "quick": 20, "full": 300}
#: The rows of one INSERT. The thesis does not say how many its clients sent at once.
ROWS_A_STATEMENT = 200


def writing(name: str, database: str, peer: str, **options: Any) -> tuple[str, Contender]:
    """A system that writes: its place in `writes_places.PLACES`, and how it writes."""
    is_slow = options.pop("is_slow", False)
    return database, Contender(name, peer, options, other=peer in ("pandas", "sqlite3"), slow=is_slow)


SQL_TEXT = {"method": "multi", "is_slow": True, "chunksize": ROWS_A_STATEMENT}
WRITERS = [
    writing("DuckDB in process", "DuckDB", "duckdb"),
    writing("SQLite, sqlite3.executemany", "SQLite", "sqlite3"),
    writing("SQLite, pandas.to_sql", "SQLite", "pandas", plain=True),
    writing("SQLite, Colonnade", "SQLite", "colonnade"),
    writing("PostgreSQL, pandas.to_sql (INSERT)", "PostgreSQL", "pandas", **SQL_TEXT),
    writing("PostgreSQL, Colonnade (COPY)", "PostgreSQL", "colonnade", extension=False),
    writing("MariaDB, pandas.to_sql (INSERT)", "MariaDB", "pandas", **SQL_TEXT),
    writing("MariaDB, Colonnade", "MariaDB", "colonnade"),
    writing("colonnade serve, Colonnade", "colonnade serve", "colonnade"),
]
EMBEDDED = ("DuckDB in process", "SQLite, sqlite3.executemany", "SQLite, pandas.to_sql", "SQLite, Colonnade")
INSERTS = ("PostgreSQL, pandas.to_sql (INSERT)", "MariaDB, pandas.to_sql (INSERT)")
COPIES = ("PostgreSQL, Colonnade (COPY)", "MariaDB, Colonnade", "colonnade serve, Colonnade")

READERS = systems.by_name(
    "DuckDB in process",
    "SQLite, pandas + sqlite3",
    "SQLite, Colonnade",
    "PostgreSQL, pandas + SQLAlchemy",
    "PostgreSQL as it is, Colonnade",
    "MariaDB, pandas + SQLAlchemy + PyMySQL",
    "MariaDB as it is, Colonnade",
    "colonnade serve, Colonnade",
)
#: With more rows, clients that make Python's objects are left out.
MANY = 1_000_000
#: Who executes the queries, and the thesis's name of the most similar system.
ENGINES = {
    "DuckDB in process": "MonetDBLite",
    "colonnade serve, Colonnade": "MonetDB",
    "SQLite, Colonnade": "SQLite",
    "PostgreSQL as it is, Colonnade": "PostgreSQL",
    "MariaDB as it is, Colonnade": "MariaDB",
}
#: The thesis's systems.
PAPER = list(tpch.TABLE_6_1)
ROW_STORES = ("SQLite, Colonnade", "PostgreSQL as it is, Colonnade", "MariaDB as it is, Colonnade")


def run(context: Context) -> list[Row]:
    rows = [row for table in QUICK_ROWS for row in written(context, table)]
    scale = min(1.0, max(MIN_SCALE, context.size.rows / LINEITEM_ROWS))
    tables = generated(context.scratch, scale)
    with databases.started(context, tables, systems.available(context.peers, READERS)) as there:
        rows += exported(there, context)
        limit = LIMITS[context.size.name]
        prepare(there, tables, limit)
        engines = [system for system in READERS if system.name in ENGINES]
        for name, query in tpch.QUERIES.items():
            found = there.readings(engines, name, destination="pandas", query=query, limit=limit * 1.25)
            rows += [{**row, "part": "query", "scale": scale, "limit": limit} for row in found]
    for name, seconds in tpch.TABLE_6_1.items():
        each = zip(tpch.QUERIES, seconds, strict=True)
        rows += [{"part": "query", "paper": True, "system": name, "table": query, "wall": wall} for query, wall in each]
    return rows


def written(context: Context, table: str) -> list[Row]:
    """Each system writes the table's first rows, in turns."""
    count = context.size.rows if context.size.name == "full" else min(context.size.rows, QUICK_ROWS[table])
    file = data.write(DATA[table][0])
    many = writes_places.Source.of(file, count)
    few = SLOW_ROWS[context.size.name] // (SLOW_WIDTH if table == "acs" else 1)
    sources = {False: many, True: writes_places.Source.of(file, min(count, few))}
    rows: list[Row] = []
    for database in dict.fromkeys(database for database, _ in WRITERS):
        wanted = [one for where, one in WRITERS if where == database and (context.peers or not one.other)]
        context.say(f"starting {database} …")
        place: Callable[[writes_places.Source], Any] = writes_places.PLACES[database]
        if database == "PostgreSQL":
            place = partial(writes_places.postgres, has_extension=False)
        try:
            with place(many) as target:
                for number in range(context.size.rounds):
                    for one in wanted:
                        row = writes.measure(target, one, sources[one.slow], context.peers, number == 0)
                        named = {"part": "write", "system": one.name, "table": table, "round": number}
                        rows.append({**named, **row})
                        context.say(f"{table:>14} {one.name:<40} {row.get('error') or row['wall']}")
        except (RuntimeError, OSError) as error:
            failed = {"part": "write", "table": table, "error": f"{database} did not start: {error}"[:300]}
            rows += [{**failed, "system": one.name} for one in wanted]
    return rows


def exported(there: databases.Databases, context: Context) -> list[Row]:
    count, _, _ = there.expected("SELECT * FROM lineitem")
    wanted = [system for system in systems.available(context.peers, READERS) if not (system.is_slow and count > MANY)]
    return [{**row, "part": "read"} for row in there.readings(wanted, "lineitem", destination="pandas")]


def prepare(there: databases.Databases, tables: Mapping[str, Path], limit: float) -> None:
    """Indexes of the row stores' keys, their statistics, and a limit of time that the servers themselves keep."""
    indexes = [
        f"CREATE INDEX {table}_{number} ON {table} ({columns})"
        for table in tables
        for number, columns in enumerate(tpch.INDEXES[table])
    ]
    if found := there.started.get("sqlite"):
        with closing(sqlite3.connect(found.place["path"])) as connection:
            for index in indexes:
                connection.execute(index)
            connection.execute("ANALYZE")
    if found := there.started.get("postgres"):
        where = {"host": found.place["directory"], "port": found.place["port"], "user": found.place["user"]}
        with psycopg.connect(dbname=found.place["database"], autocommit=True, **where) as connection:
            for statement in (*indexes, "VACUUM ANALYZE"):
                connection.execute(statement)
            connection.execute(f"ALTER ROLE {where['user']} SET statement_timeout = '{limit:g}s'")
    if found := there.started.get("mariadb"):
        beside = laboratory.within(there.namespace) if there.namespace else nullcontext()
        with beside, colonnade.connect(Place(**found.place).uri) as connection:
            for statement in (*indexes, *(f"ANALYZE TABLE {table}" for table in tables)):
                connection.execute(statement)
            connection.execute(f"SET GLOBAL max_statement_time = {limit:g}")


def show(rows: list[Row]) -> list[Part]:
    parts: list[Part] = []
    for table in QUICK_ROWS:
        of_table = [row for row in rows if row["part"] == "write" and row["table"] == table]
        counts = [row["rows"] for row in of_table if "rows" in row]
        shown = f"{max(counts, default=0):,} rows of {DATA[table][0]}"
        figure = "Figure 6-5" if table == "acs" else "Figure 6-3"
        parts.append(costs(of_table, f"Writing {shown}: seconds for a million rows ({figure})"))
    read = [row for row in rows if row["part"] == "read"]
    counts = [row["rows"] for row in read if "rows" in row]
    parts.append(
        costs(read, f"Reading {max(counts, default=0):,} rows of lineitem into pandas: seconds (Figure 6-4)", 1)
    )
    parts.append(Plot("Seconds for a million rows of lineitem, written", partial(draw, rows)))
    return [*parts, of_queries(rows), of_factors(rows), Text(UNMEASURED)]


def costs(rows: list[Row], caption: str, times: float = 1e6) -> Table:
    """A line for each system. Without `times`, the seconds of all rows."""
    lines: list[list[Any]] = []
    for name in names(rows):
        count = median(rows, "rows", system=name)
        scaled = times / count if count and times > 1 else 1.0
        shares = [spread(rows, field, scaled, system=name) for field in ("client_cpu", "server_cpu")]
        lines.append([name, cell(rows, "wall", scaled, system=name), *shares, count and int(count)])
    return Table(caption, ["", "s", "client CPU s", "server CPU s", "rows"], lines)


def draw(rows: list[Row], axes: Axes) -> None:
    known = {name: seconds for name in reversed(names(rows)) if (seconds := a_million(rows, name)) is not None}
    drawn = axes.barh(list(known), list(known.values()))
    axes.bar_label(drawn, [f"{seconds:.1f}" for seconds in known.values()], padding=3, fontsize=7)
    axes.set_xscale("log")
    axes.margins(x=0.2)
    axes.set_xlabel("seconds for a million rows")


def a_million(rows: list[Row], name: str, table: str = "lineitem") -> float | None:
    """Seconds to write a million rows."""
    where = {"part": "write", "system": name, "table": table}
    return ratio(median(rows, "wall", **where), (median(rows, "rows", **where) or 0.0) / 1e6)


def seconds(rows: list[Row], engine: str, query: str) -> float | None:
    return median(rows, "wall", part="query", system=engine, table=query)


def paper(rows: list[Row], engine: str, query: str) -> float | None:
    return next(
        (row["wall"] for row in rows if row.get("paper") and (row["system"], row["table"]) == (engine, query)), None
    )


def of_queries(rows: list[Row]) -> Table:
    asked = [row for row in rows if row["part"] == "query" and not row.get("paper")]
    scale = next((row["scale"] for row in asked), 0.0)
    lines: list[list[Any]] = [
        [query, *(of_query(asked, engine, query) for engine in ENGINES), *(paper(rows, one, query) for one in PAPER)]
        for query in tpch.QUERIES
    ]
    head = ["", *ENGINES, *(f"{one} (thesis)" for one in PAPER)]
    caption = f"TPC-H queries: seconds at scale factor {scale:.2g}; the thesis's at scale factor 1 (Table 6.1)"
    return Table(caption, head, lines)


def of_query(rows: list[Row], engine: str, query: str) -> Any:
    found = cell(rows, "wall", system=engine, table=query)
    if not isinstance(found, str):
        return found
    limit = next(row["limit"] for row in rows)
    return f"over {limit:g} s" if is_stopped(found) else found


def is_stopped(error: str) -> bool:
    """Whether a query was stopped by the limit of time: ours, PostgreSQL's or MariaDB's."""
    return any(part in error for part in ("took more than", "statement timeout", "max_statement_time"))


def factors(rows: list[Row], engine: str) -> dict[str, float]:
    """The time of each query divided by that of the column store in the client's process."""
    base = next(iter(ENGINES))
    found = {query: ratio(seconds(rows, engine, query), seconds(rows, base, query)) for query in tpch.QUERIES}
    return {query: times for query, times in found.items() if times is not None}


def thesis_factors(rows: list[Row], engine: str) -> dict[str, float]:
    base = ENGINES[next(iter(ENGINES))]
    found = {query: ratio(paper(rows, ENGINES[engine], query), paper(rows, base, query)) for query in tpch.QUERIES}
    return {query: times for query, times in found.items() if times is not None}


def of_factors(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for engine in list(ENGINES)[1:]:
        ours, theirs = factors(rows, engine), thesis_factors(rows, engine)
        for whose, found in (("", ours), (f" ({ENGINES[engine]} and MonetDBLite, thesis)", theirs)):
            lines.append([f"{engine}{whose}", *(found.get(query) for query in tpch.QUERIES)])
    return Table("Times the time of the column store in the client's process", ["", *tpch.QUERIES], lines)


UNMEASURED = (
    "What this chapter does not tell. The thesis's Figures 6-3 to 6-6 have no numbers in its text, so only Table 6.1 "
    "is beside ours. Its systems used one thread; here, DuckDB and colonnade serve use all cores, of which clients and "
    "servers also take some. On 2 cores, a server and its client compete as soon as both work, so the wall time over "
    "a socket is longer than with free cores; CPU seconds do not depend on this. Scale factor 10, where the thesis's "
    "libraries ran out of memory, is not measured. The thesis loaded the survey by an R package that also transforms "
    "it, and then computed statistics in R (Figure 6-6); here, only the rows are written. The synthetic table of "
    "bench/data.py stands for the survey unless COLONNADE_PUMS names its files. Data frame libraries are not run: the "
    "thesis's scripts were written by hand for each of them. Disks are not compared: files are in the page cache, and "
    "PostgreSQL runs without fsync."
)


def findings(rows: list[Row]) -> list[Finding]:
    embedded, inserts, copies = (
        [found for name in those if (found := a_million(rows, name)) is not None]
        for those in (EMBEDDED, INSERTS, COPIES)
    )
    acs = {name: a_million(rows, name, "acs") for name in (*EMBEDDED, *COPIES)}
    known = {name: found for name, found in acs.items() if found is not None}
    read = {name: median(rows, "wall", part="read", system=name) for name in names(rows)}
    duck, slow = read.get("DuckDB in process"), read.get("SQLite, pandas + sqlite3")
    ours = {name: read.get(name) for name in (*ROW_STORES, "colonnade serve, Colonnade")}
    times = [one for engine in ROW_STORES for one in factors(rows, engine).values()]
    return [
        Finding(
            "Clients that insert rows over a socket are orders of magnitude slower than databases in the client's "
            "process, because the protocols have no way to copy large amounts of data.",
            f"For a million rows, INSERT statements take {span(inserts)} s and databases in the process "
            f"{span(embedded)} s. Where the client uses a protocol's way to copy, writing takes {span(copies)} s."
            if inserts and embedded
            else "Not measured.",
            min(inserts) / statistics.median(embedded) >= 10 if inserts and embedded else None,
        ),
        Finding(
            "SQLite takes a very long time to give a table to the client, although it is in the same process, and a "
            "column store in the process takes almost none.",
            f"SQLite by pandas and sqlite3 takes {slow / duck:.0f} times as long as DuckDB. With Colonnade: "
            + ", ".join(f"{name.removesuffix(', Colonnade')} {one / duck:.1f}" for name, one in ours.items() if one)
            + "."
            if duck and slow
            else "Not measured.",
            slow / duck >= 5 if duck and slow else None,
        ),
        Finding(
            "Row stores execute TPC-H's queries one to two orders of magnitude slower than a column store.",
            f"The row stores take {min(times):.1f} to {max(times):.0f} times as long as DuckDB; the median is "
            f"{statistics.median(times):.0f}. DuckDB uses all cores, and the thesis used one thread."
            if times
            else "Not measured.",
            statistics.median(times) >= 10 if times else None,
        ),
        Finding(
            "Loading the census survey differs less between databases than loading TPC-H, because R's preprocessing "
            "takes the same time with each.",
            "The rows alone, without preprocessing, take "
            + ", ".join(f"{name} {found:.0f} s" for name, found in known.items())
            + " for a million rows of 274 columns."
            if known
            else "Not measured.",
            None,
        ),
    ]


EXPERIMENT = Experiment(
    title="In the client's process and over a socket: writing, reading, queries",
    source="thesis, chapter 6",
    question=(
        "How long does it take to write a table into a database, to read it into pandas, and to execute TPC-H's first "
        "ten queries, if the database is in the client's process, and if it is behind a socket? What is written is "
        "compared with the source, and the results of the queries with DuckDB's. Row stores have indexes of the keys."
    ),
    run=run,
    show=show,
    findings=findings,
)
