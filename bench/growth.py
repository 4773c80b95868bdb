"""How the cost of a read grows with its rows: lineitem of TPC-H at several scale factors, batch by batch.

    python bench/growth.py [--scales 0.1 1 10] [--postgres-scales 0.1 1] [--rounds 3] [--markdown FILE] [--json FILE]

A client reads the whole table from `colonnade serve` over a DuckDB file, and from PostgreSQL with the extension, and
keeps no batch. The CPU time is that of both sides. Memory is the increase of the client's peak, and for `colonnade
serve` the server's peak above its memory before, when DuckDB's cache has the file. The tables are made before and
removed afterwards; scale factor 30 needs 25 GB of disk. The figures are medians of new clients, after one that is not
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import data
import duckdb
import pyarrow.parquet as pq
from end_to_end import HERE, QUERY
from postgres_tables import SETTINGS, cpu, load
from process import cpu_seconds, forget_peak, memory
from turns import add_outputs, write

from tests.testbed import postgres as pg
from tests.testbed.serving import serve

Row = dict[str, Any]
#: The CPU time of a row differs by at most this part from that at scale factor 1.
MOST_GROWTH = 0.05


@contextmanager
def lineitem(scale: str) -> Iterator[tuple[Path, int]]:
    """The table as a Parquet file, and its number of rows. Another scale factor than data.py's own is removed."""
    directory = data.DIRECTORY if scale == data.SCALE else data.DIRECTORY / f"sf{scale}"
    command = [sys.executable, str(HERE / "data.py"), "lineitem"]
    subprocess.run(command, check=True, env={**os.environ, "COLONNADE_BENCH_SCALE": scale}, stdout=sys.stderr)
    file = directory / "lineitem.parquet"
    (directory / "generated/lineitem.parquet").unlink(missing_ok=True)
    try:
        yield file, pq.read_metadata(file).num_rows
    finally:
        if directory != data.DIRECTORY:
            file.unlink()


def read(address: str, server_cpu: Callable[[], float]) -> Row:
    """A new client reads all batches."""
    command = [sys.executable, str(HERE / "client.py"), "colonnade", address, QUERY, "stream"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin is not None and client.stdout is not None
        if client.stdout.readline() != "connected\n":
            raise RuntimeError("the client did not connect")
        before = server_cpu()
        client.stdin.write("go\n")
        client.stdin.flush()
        row: Row = json.loads(client.stdout.readline())
        row["server_cpu"] = server_cpu() - before
    return row


def from_serve(file: Path, rounds: int) -> Iterator[Row]:
    database = file.with_suffix(".growth.duckdb")
    try:
        with duckdb.connect(str(database)) as connection:
            connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(file)])
        with serve(database, "--read-only") as server:
            address = f"postgresql://tester@{server.host}:{server.port}/?sslmode=disable"
            # This one reads the file into DuckDB's cache, as loading has done for PostgreSQL.
            read(address, lambda: cpu_seconds(server.worker))
            for _ in range(rounds):
                forget_peak(server.worker)
                before = memory(server.worker, "VmRSS")
                row = read(address, lambda: cpu_seconds(server.worker))
                yield {**row, "server_peak": memory(server.worker, "VmHWM") - before}
    finally:
        database.unlink(missing_ok=True)


def from_postgres(file: Path, rounds: int) -> Iterator[Row]:
    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        load(cluster, f"read_parquet('{file}')", "lineitem")
        for _ in range(rounds):
            yield read(cluster.uri(tcp=True), lambda: cpu(cluster))


def measure(arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    for scale in arguments.scales:
        with lineitem(scale) as (file, rows):
            sources = {"colonnade serve": from_serve}
            if scale in arguments.postgres_scales:
                sources["PostgreSQL with the extension"] = from_postgres
            for name, source in sources.items():
                for row in source(file, arguments.rounds):
                    if row["rows"] != rows:
                        raise SystemExit(f"{name}: {row['rows']} of {rows} rows")
                    results.append({"source": name, "scale": scale, **row})
                    print(results[-1], file=sys.stderr, flush=True)
    return results


def report(results: list[Row]) -> str:
    lines = [
        "Batch by batch, over TCP on this machine. CPU is that of both sides.",
        "",
        "| lineitem, scale factor | rows | wall s | CPU ns a row | of scale factor 1 | client's memory, MB |"
        " server's memory, MB |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for source, scale in dict.fromkeys((row["source"], row["scale"]) for row in results):
        found = [row for row in results if (row["source"], row["scale"]) == (source, scale)]
        cost = _nanoseconds(found)
        base = [row for row in results if (row["source"], row["scale"]) == (source, "1")]
        growth = f"{cost / _nanoseconds(base):.3f} (≤ {1 + MOST_GROWTH:g})" if base else ""
        wall, peak = (statistics.median(row[field] for row in found) for field in ("wall", "client_peak"))
        server = [row["server_peak"] / 1e6 for row in found if "server_peak" in row]
        cells = [f"{found[0]['rows']:,}", f"{wall:.2f}", f"{cost:.0f}", growth, f"{peak / 1e6:.0f}"]
        cells.append(f"{statistics.median(server):.0f}" if server else "")
        lines.append(f"| {source}, {scale} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _nanoseconds(rows: list[Row]) -> float:
    return statistics.median((row["client_cpu"] + row["server_cpu"]) / row["rows"] * 1e9 for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--postgres-scales", nargs="*", default=["0.1", "1"])
    parser.add_argument("--rounds", type=int, default=3)
    add_outputs(parser)
    arguments = parser.parse_args()
    results = measure(arguments)
    write(report(results), results, arguments)


if __name__ == "__main__":
    main()
