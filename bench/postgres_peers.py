"""PostgreSQL with the extension: the server's cost, and reading into pyarrow end to end, compared with every peer.

    python bench/postgres_peers.py [--rounds 3] [--peers PYTHON] [--markdown FILE] [--json FILE]

A private PostgreSQL with all tables in memory. Each measurement has its own client process. The contenders take turns,
round by round, and medians are reported. Server CPU is that of the backend, of parallel workers and of the postmaster.
Clients that only receive use a unix socket, the others TCP on this machine. `--peers` is the interpreter with the peers
(tools/requirements/peers.txt), whose packages conflict with ours.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import data
from colonnade._cli.memory_state import memory_report
from postgres_tables import SETTINGS, cpu, load, pg, place, without_extension
from process import memory
from turns import Contender, Row, median, reading, reason, table_of_clients

HERE = Path(__file__).parent
#: Tables, and the number of rows to read (None: all).
TABLES = {"lineitem": ("lineitem", None), "flights": ("flights", None), "acs": ("acs", None)}
#: A smaller table, for peers that need minutes for the large ones.
SMALL = "lineitem1m"
#: Rows of two results. The second must not need more memory in a backend than the first.
GROWTH = (1_000_000, 100_000_000)


def copy(options: str, *before: str) -> dict[str, Any]:
    return {"statement": f"COPY {{table}} TO STDOUT ({options})", "before": list(before)}


def ours(options: str, *before: str) -> dict[str, Any]:
    return copy(f"FORMAT colonnade, {options}", "SELECT colonnade_version()", *before)


PANDAS = {"return_type": "pandas"}
#: The types that the tables name.
EXACT = {**PANDAS, "dtype_backend": "exact"}
THEIR_TYPES = {**PANDAS, "dtype_backend": "connectorx"}
STOCK = {"extension": False}
WORKERS = "SET max_parallel_workers_per_gather = 2"
FLOOR = "floor: executor and deforming"
SERVER = [
    # A filter on the last column makes the executor deform every row, and nothing else.
    Contender(FLOOR, "drain", {"statement": "SELECT FROM {table} WHERE {last} IS NULL"}),
    Contender("COPY text", "drain", copy("FORMAT text")),
    Contender("COPY binary", "drain", copy("FORMAT binary")),
    Contender("Colonnade plain", "drain", ours("compression plain")),
    Contender("Colonnade light", "drain", ours("compression light")),
    Contender("Colonnade light+fsst", "drain", ours("compression 'light+fsst'")),
    Contender("Colonnade light+lz4", "drain", ours("compression 'light+lz4'")),
    Contender("Colonnade light+zstd-1", "drain", ours("compression 'light+zstd-1'")),
    Contender("Colonnade plain, 2 workers", "drain", ours("compression plain, parallel on", WORKERS)),
    Contender("Colonnade light, 2 workers", "drain", ours("compression light, parallel on", WORKERS)),
    Contender("Colonnade light+zstd-1, 2 workers", "drain", ours("compression 'light+zstd-1', parallel on", WORKERS)),
]
END_TO_END = [
    Contender("Colonnade", "colonnade"),
    Contender("Colonnade, unix socket", "colonnade", {"unix": True}),
    Contender("Colonnade light, unix socket", "colonnade", {"unix": True, "compression": "light"}),
    Contender(
        "Colonnade light, dictionaries, unix socket",
        "colonnade",
        {"unix": True, "compression": "light", "texts": "dictionary", "dtype": {"l_comment": "utf8_view"}},
    ),
    Contender("Colonnade, 2 workers", "colonnade", {"parallel": "on"}),
    Contender("Colonnade light", "colonnade", {"compression": "light"}),
    Contender("Colonnade, no extension", "colonnade", STOCK),
    Contender("Colonnade, no extension, unix socket", "colonnade", {**STOCK, "unix": True}),
    Contender("Colonnade, no extension, 2 partitions", "colonnade", {**STOCK, "partition_num": 2}),
    Contender("COPY binary, thrown away", "drain", copy("FORMAT binary")),
    Contender("DuckDB postgres_scan", "duckdb_scan", other=True),
    Contender("DuckDB postgres_scan, 1 thread", "duckdb_scan", {"threads": 1}, other=True),
    Contender("ConnectorX", "connectorx", other=True),
    Contender("ConnectorX, 2 partitions", "connectorx", {"partition_num": 2}, other=True),
    Contender("ADBC", "adbc", other=True),
    Contender("Colonnade into pandas", "colonnade", EXACT),
    Contender("Colonnade into pandas, no extension", "colonnade", {**EXACT, **STOCK}),
    Contender(
        "Colonnade into pandas, no extension, ConnectorX's types",
        "colonnade",
        {**PANDAS, **STOCK, "dtype_backend": "connectorx"},
    ),
    Contender("ConnectorX into pandas", "connectorx", PANDAS, other=True),
    Contender("COPY csv, pyarrow.csv", "copy_csv", other=True),
    Contender("arrow-odbc", "arrow_odbc", other=True),
    Contender("turbodbc", "turbodbc", other=True),
    Contender("psycopg 3, binary", "psycopg3", other=True, slow=True),
    Contender("asyncpg", "asyncpg", other=True, slow=True),
    Contender("pandas, SQLAlchemy, psycopg2", "sqlalchemy", other=True, slow=True),
]
#: ConnectorX needs a column of integers to partition by; Colonnade uses ranges of blocks.
KEYS = {"lineitem": "l_orderkey", SMALL: "l_orderkey", "flights": "day", "acs": "serialno"}


def measure(cluster: pg.Cluster, contender: Contender, table: str, last: str, peers: str) -> Row:
    """One reading by a new process."""
    options = dict(contender.options)
    if statement := options.get("statement"):
        options["statement"] = statement.format(table=table, last=last)
    if "partition_num" in options and contender.other:
        options["partition_on"] = KEYS[table]
    python = peers if contender.other else sys.executable
    with nullcontext() if options.pop("extension", True) else without_extension(cluster):
        question = {"reader": contender.peer, "place": place(cluster), "table": table, "options": options}
        return reading([python, str(HERE / "read.py"), json.dumps(question)], lambda: cpu(cluster))


PARTS = {"server": SERVER, "end to end": END_TO_END}


def run(cluster: pg.Cluster, lasts: dict[str, str], arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    dead: set[tuple[str, str]] = set()
    for number in range(arguments.rounds):
        for part, contenders in PARTS.items():
            if arguments.part not in (None, part):
                continue
            for table, last in lasts.items():
                for contender in contenders:
                    left_out = (contender.slow and table != SMALL) or (part == "server" and table == SMALL)
                    if left_out or (table, contender.name) in dead or not re.search(arguments.only, contender.name):
                        continue
                    row = measure(cluster, contender, table, last, arguments.peers)
                    if "error" in row:
                        # A contender that failed once is not run again; the table shows the reason.
                        dead.add((table, contender.name))
                    results.append({"part": part, "table": table, "contender": contender.name, "round": number, **row})
                    shown = row.get("error") or f"{row['wall']:.2f} s, server {row['server_cpu']:.2f} s CPU"
                    print(f"round {number} {table} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def backend_memory(cluster: pg.Cluster) -> dict[int, int]:
    """A backend's peak memory in bytes after consecutive results with these numbers of rows."""
    import colonnade

    peaks: dict[int, int] = {}
    with colonnade.connect(cluster.uri()) as connection:
        backend = connection.query("SELECT pg_backend_pid() AS pid").to_arrow().column(0)[0].as_py()
        for rows in GROWTH:
            query = f"SELECT i, i / 7.0::float8 AS f, 'row ' || i AS t FROM (SELECT generate_series(1, {rows}) AS i) s"
            read = sum(batch.num_rows for batch in connection.query(query, compression="light"))
            if read != rows:
                raise RuntimeError(f"{read} of {rows} rows arrived")
            peaks[rows] = memory(backend, "VmHWM")
    return peaks


def server_table(results: list[Row], table: str, rows: int) -> list[str]:
    lines = [
        f"### The server's side: {table}, {rows} rows",
        "",
        "| | server CPU s | / COPY binary | / floor | wall s | bytes/row |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    binary = median(results, "server", table, "COPY binary", "server_cpu")
    floor = median(results, "server", table, FLOOR, "server_cpu")
    for contender in SERVER:
        cost = median(results, "server", table, contender.name, "server_cpu")
        wall = median(results, "server", table, contender.name, "wall")
        size = median(results, "server", table, contender.name, "bytes")
        if cost is None or wall is None or size is None:
            lines.append(f"| {contender.name} | {reason(results, table, contender.name)} | | | | |")
            continue
        ratios = [f"{cost / base:.2f}" if base else "-" for base in (binary, floor)]
        shown = "-" if contender.name == FLOOR else f"{size / rows:.1f}"
        lines.append(f"| {contender.name} | {cost:.2f} | {' | '.join(ratios)} | {wall:.2f} | {shown} |")
    return [*lines, ""]


def end_to_end_table(results: list[Row], table: str, rows: int) -> list[str]:
    contenders = [contender for contender in END_TO_END if table == SMALL or not contender.slow]
    title = f"### From end to end: {table}, {rows} rows, into a pyarrow.Table unless it says otherwise"
    return [title, "", *table_of_clients(results, "end to end", table, contenders)]


def markdown(results: list[Row], rows: dict[str, int], peaks: dict[int, int], rounds: int, state: str) -> str:
    lines = [f"Medians of {rounds} rounds. Each has its own client process; the time includes connecting. {state}", ""]
    measured = {(row["part"], row["table"]) for row in results}
    for part, shown in (("server", server_table), ("end to end", end_to_end_table)):
        for table, count in rows.items():
            if (part, table) in measured:
                lines += shown(results, table, count)
    if peaks:
        grown = ", then ".join(f"{peak / 1e6:.1f} MB after {count / 1e6:g} M rows" for count, peak in peaks.items())
        lines += [f"Peak memory of a backend, including the shared buffers that it accessed: {grown}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter in whose environment the peers are")
    parser.add_argument("--only", default="", help="only contenders whose name matches this regular expression")
    parser.add_argument("--part", choices=PARTS, help="default: both")
    parser.add_argument("--tables", nargs="*", choices=[*TABLES, SMALL], help="default: all")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    tables = {**TABLES, SMALL: ("lineitem", 1_000_000)}
    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        lasts: dict[str, str] = {}
        rows: dict[str, int] = {}
        for table in arguments.tables or tables:
            source, limit = tables[table]
            print(f"loading {table} …", file=sys.stderr, flush=True)
            lasts[table] = load(cluster, f"read_parquet('{data.write(source)}')", table, limit)[-1]
            with cluster.connect() as session:
                [(rows[table],)] = session.execute(f"SELECT count(*) FROM {table}").fetchall()
        state = memory_report()
        peaks = {} if arguments.only or arguments.part == "end to end" else backend_memory(cluster)
        results = run(cluster, lasts, arguments)
    for row in results:
        if row.get("rows") not in (None, rows[row["table"]]):
            raise RuntimeError(f"{row['contender']} gave {row['rows']} rows of {row['table']}")
    text = markdown(results, rows, peaks, arguments.rounds, state)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"state": state, "results": results, "rows": rows, "memory": peaks}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
