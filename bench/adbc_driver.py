"""The ADBC driver compared with `colonnade.connect`, which is the same client: what ADBC's interface costs.

    python bench/adbc_driver.py [--rounds 42] [--rows 1000000] [--driver LIBRARY] [--markdown FILE] [--json FILE]

One process reads lineitem into a `pyarrow.Table` from PostgreSQL with the extension, without it, and from `colonnade
serve`. All ways keep their connection and take turns, so that all meet the same state of the machine and of the memory.
The first reading of each is not counted. `fetch_arrow_table` reads in a thread that adbc_driver_manager starts for each
call, so that Ctrl-C works; the stream of `fetch_arrow` is the driver's own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import adbc_driver_colonnade
import colonnade
import data
import duckdb
import pyarrow as pa
from adbc_driver_manager import dbapi
from colonnade._cli.memory_state import memory_report
from postgres_tables import SETTINGS, load, pg, without_extension

from tests.testbed.serving import serve

QUERY = "SELECT * FROM lineitem"
EXTENSION, STOCK, SERVE = "PostgreSQL with the extension", "PostgreSQL as it is", "`colonnade serve`"
OURS, ADBC, DBAPI = "`colonnade.connect`", "the driver's stream", "the driver, `fetch_arrow_table`"

Read = Callable[[], pa.Table]


def ways(uri: str, driver: Path, ends: ExitStack) -> dict[str, Read]:
    """All ways to read the query, over connections that stay open."""
    connection = ends.enter_context(colonnade.connect(uri))
    # Otherwise a transaction would begin first.
    adbc = ends.enter_context(dbapi.connect(str(driver), uri, autocommit=True))
    cursor = ends.enter_context(adbc.cursor())
    return {
        OURS: lambda: connection.query(QUERY).to_arrow(),
        ADBC: lambda: pa.table(cursor.execute(QUERY).fetch_arrow()),
        DBAPI: lambda: cursor.execute(QUERY).fetch_arrow_table(),
    }


def reading(source: str, way: str, read: Read) -> dict[str, Any]:
    """The seconds of one reading. The table is freed before the next one."""
    wall, cpu = time.perf_counter(), time.process_time()
    table = read()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"source": source, "way": way, "client_cpu": cpu, "wall": wall, "rows": table.num_rows}


def measure(source: str, uri: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with ExitStack() as ends:
        found = ways(uri, arguments.driver, ends)
        tables = [read() for read in found.values()]
        if any(not table.equals(tables[0]) or table.num_rows != arguments.rows for table in tables):
            raise RuntimeError(f"{source}: the ways differ")
        del tables
        order = list(found)
        for number in range(arguments.rounds):
            for way in order:
                yield {"round": number, **reading(source, way, found[way])}
            # Each way is the first one as often as the others.
            order.append(order.pop(0))


def run(source: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        load(cluster, source, "lineitem", arguments.rows)
        uri = cluster.uri(tcp=True, sslmode="disable")
        results = list(measure(EXTENSION, uri, arguments))
        with without_extension(cluster):
            results += measure(STOCK, uri, arguments)
    with TemporaryDirectory() as directory:
        file = Path(directory) / "bench.duckdb"
        with duckdb.connect(file) as connection:
            connection.execute(f"CREATE TABLE lineitem AS FROM {source} LIMIT {arguments.rows}")
        with serve(file) as server:
            uri = f"postgresql://tester@{server.host}:{server.port}/?sslmode=disable"
            results += measure(SERVE, uri, arguments)
    return results


def figures(results: list[dict[str, Any]], source: str, way: str, field: str) -> list[float]:
    return [row[field] for row in results if (row["source"], row["way"]) == (source, way)]


def ratio(results: list[dict[str, Any]], source: str, way: str = ADBC) -> float:
    """A way's client CPU divided by that of `colonnade.connect`: of medians."""
    theirs, ours = (statistics.median(figures(results, source, which, "client_cpu")) for which in (way, OURS))
    return theirs / ours


def spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


def markdown(results: list[dict[str, Any]], memory: str) -> str:
    rounds, rows = 1 + max(row["round"] for row in results), results[0]["rows"]
    lines = [
        f"lineitem, {rows} rows, into a pyarrow.Table over TCP on this machine: medians of {rounds} rounds with the "
        "lowest and the highest; the ratio is that of the medians. All ways take turns in one process; their "
        "connections are open.",
        "",
        f"| source | way | client CPU s | / {OURS} | wall s |",
        "|---|---|--:|--:|--:|",
    ]
    for source in dict.fromkeys(row["source"] for row in results):
        for way in (OURS, ADBC, DBAPI):
            cpu, wall = (spread(figures(results, source, way, field)) for field in ("client_cpu", "wall"))
            lines.append(f"| {source} | {way} | {cpu} | {ratio(results, source, way):.2f} | {wall} |")
    return "\n".join([*lines, "", memory, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=42)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--driver", type=Path, default=adbc_driver_colonnade.driver_path())
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    source = f"read_parquet('{data.write('lineitem')}')"
    memory = memory_report()
    results = run(source, arguments)
    text = markdown(results, memory)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
