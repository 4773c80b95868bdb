"""Small statements: `select 1` on an open connection, and connecting with one, compared with psycopg and ADBC.

    python bench/latency.py [--calls 3000] [--connects 100] [--stock] [--markdown FILE] [--json FILE]

One process calls all clients in turns, in short blocks, so that all meet the same load of the machine. Wall time is the
least and the median of all calls. CPU time is the least of the blocks, of the client's process, and of the server's
processes for calls on an open connection: a process that has ended cannot be read any more.
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

import adbc_driver_postgresql.dbapi
import colonnade.dbapi
import duckdb
import psycopg
from postgres_tables import pg, without_extension
from process import cpu_seconds

from tests.testbed.serving import serve

STATEMENT = "select 1"
BLOCK = 100
PSYCOPG = "psycopg"
Call = Callable[[], object]


def open_calls(uri: str, ends: ExitStack, *, is_served: bool) -> dict[str, Call]:
    """A call of the statement on an open connection, for each client."""
    ours = ends.enter_context(colonnade.connect(uri))
    cursor = ends.enter_context(ends.enter_context(colonnade.dbapi.connect(uri, autocommit=True)).cursor())
    theirs = ends.enter_context(psycopg.connect(uri, autocommit=True))
    unprepared = ends.enter_context(psycopg.connect(uri, autocommit=True, prepare_threshold=None))
    calls: dict[str, Call] = {
        PSYCOPG: lambda: theirs.execute(STATEMENT).fetchall(),
        # As behind a pooler that knows no prepared statements.
        f"{PSYCOPG}, prepare_threshold=None": lambda: unprepared.execute(STATEMENT).fetchall(),
        "Colonnade, to_arrow": lambda: ours.query(STATEMENT).to_arrow(),
        "Colonnade, dbapi": lambda: cursor.execute(STATEMENT).fetchall(),
    }
    if not is_served:
        adbc = ends.enter_context(adbc_driver_postgresql.dbapi.connect(uri, autocommit=True))
        reader = ends.enter_context(adbc.cursor())

        def adbc_call() -> object:
            reader.execute(STATEMENT)
            return reader.fetch_arrow_table()

        calls["ADBC"] = adbc_call
    return calls


def connecting_calls(uri: str, *, is_served: bool) -> dict[str, Call]:
    """A call that connects, runs the statement and closes, for each client."""

    def theirs() -> object:
        with psycopg.connect(uri, autocommit=True) as connection:
            return connection.execute(STATEMENT).fetchall()

    def ours() -> object:
        with colonnade.connect(uri) as connection:
            return connection.query(STATEMENT).to_arrow()

    def adbc() -> object:
        with adbc_driver_postgresql.dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(STATEMENT)
            return cursor.fetch_arrow_table()

    calls: dict[str, Call] = {PSYCOPG: theirs, "Colonnade": ours}
    return calls if is_served else calls | {"ADBC": adbc}


def measured(calls: dict[str, Call], count: int, block: int, server: int | None) -> Iterator[dict[str, Any]]:
    """One row for each block of calls of one client."""
    for call in calls.values():
        for _ in range(10):
            call()
    order = list(calls)
    for _ in range(max(1, count // block)):
        for name in order:
            call, times = calls[name], []
            server_cpu = cpu_seconds(server) if server is not None else 0.0
            cpu = time.process_time()
            for _ in range(block):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            cpu = time.process_time() - cpu
            server_cpu = cpu_seconds(server) - server_cpu if server is not None else 0.0
            yield {"client": name, "times": times, "cpu": cpu / block, "server_cpu": server_cpu / block}
        order.append(order.pop(0))


def measure(source: str, uri: str, server: int, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    is_served = source == "colonnade serve"
    with ExitStack() as ends:
        calls = open_calls(uri, ends, is_served=is_served)
        for row in measured(calls, arguments.calls, BLOCK, server):
            yield {"source": source, "task": "on an open connection", **row}
    for row in measured(connecting_calls(uri, is_served=is_served), arguments.connects, 5, None):
        yield {"source": source, "task": "with connecting", **row}


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    with ExitStack() as ends:
        installation = pg.stock() if arguments.stock else ends.enter_context(pg.installed())
        cluster = ends.enter_context(pg.cluster(installation, {}))
        uri = cluster.uri(tcp=True, sslmode="disable")
        pid = int((cluster.directory / "data/postmaster.pid").read_text().split()[0])
        if arguments.stock:
            results += measure("PostgreSQL as it is", uri, pid, arguments)
        else:
            with cluster.connect() as session:
                session.execute("CREATE EXTENSION colonnade")
            results += measure("PostgreSQL with the extension", uri, pid, arguments)
            with without_extension(cluster):
                results += measure("PostgreSQL as it is", uri, pid, arguments)
    with TemporaryDirectory() as directory:
        file = Path(directory) / "empty.duckdb"
        duckdb.connect(file).close()
        with serve(file) as server:
            uri = f"postgresql://tester@{server.host}:{server.port}/?sslmode=disable"
            results += measure("colonnade serve", uri, server.process.pid, arguments)
    return results


def markdown(results: list[dict[str, Any]]) -> str:
    lines = [
        f"`{STATEMENT}`, µs a call; the ratio is that of the medians.",
        "",
        f"| source | task | client | least | median | / {PSYCOPG} | client CPU | server CPU |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for source, task in dict.fromkeys((row["source"], row["task"]) for row in results):
        rows = [row for row in results if (row["source"], row["task"]) == (source, task)]
        medians: dict[str, float] = {}
        for client in dict.fromkeys(row["client"] for row in rows):
            own = [row for row in rows if row["client"] == client]
            times = [seconds for row in own for seconds in row["times"]]
            medians[client] = statistics.median(times)
            cpu = min(row["cpu"] for row in own)
            served = statistics.mean(row["server_cpu"] for row in own)
            shown = f"{served * 1e6:.0f}" if task == "on an open connection" else "-"
            lines.append(
                f"| {source} | {task} | {client} | {min(times) * 1e6:.0f} | {medians[client] * 1e6:.0f} "
                f"| {medians[client] / medians[PSYCOPG]:.2f} | {cpu * 1e6:.0f} | {shown} |"
            )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--connects", type=int, default=100)
    parser.add_argument("--stock", action="store_true", help="without the extension, which needs a build")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = run(arguments)
    text = markdown(results)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
