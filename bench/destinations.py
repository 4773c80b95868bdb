"""Into pyarrow, polars and pandas: over a unix socket from `colonnade serve`, and in one process from a DuckDB file.

    python bench/destinations.py [--rounds 5] [--markdown FILE] [--json FILE]

Each reading has a client process of its own, after a small result of the same kind. `colonnade serve` has one engine
thread, and has read the table before. In one process, DuckDB's own methods are beside ours, with one thread and with
two; the process also reads the file from the system's cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import turns
from colonnade._cli.memory_state import memory_report
from end_to_end import HERE, expected, prepare
from process import cpu_seconds
from turns import Row

#: The tables, with their columns of texts that are nearly all distinct.
TABLES = {"lineitem": "l_comment", "flights": "tailnum", "acs": ""}


@dataclass(frozen=True)
class Way:
    """A way to read a table. Without threads, it is from `colonnade serve`."""

    name: str
    source: str
    destination: str
    threads: int = 0


SERVED = [
    Way("pyarrow", "colonnade", "arrow"),
    Way("pyarrow, dictionaries", "colonnade", "dictionary"),
    Way("polars", "colonnade", "polars"),
    Way("pandas", "colonnade", "pandas"),
    Way("pandas, dtype_backend pyarrow", "colonnade", "pandas-pyarrow"),
]
OWN = {"arrow": "DuckDB's to_arrow_table()", "polars": "DuckDB's .pl()", "pandas": "DuckDB's .df()"}
IN_PROCESS = [
    way
    for threads in (1, 2)
    for destination, own in OWN.items()
    for way in (
        Way(f"{destination}, {threads} thread{'s' * (threads > 1)}", "colonnade", destination, threads),
        Way(f"{own}, {threads} thread{'s' * (threads > 1)}", "duckdb", destination, threads),
    )
]


@contextmanager
def served(database: Path) -> Iterator[tuple[str, int]]:
    """`colonnade serve` with one engine thread: its address, and its process."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/socket"
        command = [sys.executable, "-m", "colonnade", "serve", str(database), "--read-only", "--threads", "1"]
        with subprocess.Popen([*command, "--unix", path], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            server.stdout.readline()
            try:
                yield f"postgresql:///{database.stem}?host={path}", server.pid
            finally:
                server.terminate()


def reading(way: Way, table: str, database: Path, address: str, server: int) -> Row:
    """One reading by a new process."""
    place = address
    if way.threads:
        place = f"duckdb:///{database}?access_mode=read_only" if way.source == "colonnade" else str(database)
    command = [sys.executable, str(HERE / "destinations_client.py"), way.source, way.destination, place]
    command += [f"SELECT * FROM {table}", str(way.threads), TABLES[table]]
    return turns.reading(command, lambda: cpu_seconds(server))


def measure(rounds: int) -> list[Row]:
    results: list[Row] = []
    for table in TABLES:
        database = prepare(table)
        rows, _ = expected(database, f"SELECT * FROM {table}")
        with served(database) as (address, server):
            reading(SERVED[0], table, database, address, server)
            for number in range(rounds):
                for part, way in [*(("served", way) for way in SERVED), *(("in process", way) for way in IN_PROCESS)]:
                    row = reading(way, table, database, address, server)
                    if row.get("rows") != rows:
                        raise RuntimeError(f"{way.name} of {table}: {row}")
                    results.append({"part": part, "table": table, "contender": way.name, "round": number, **row})
                    print(f"round {number} {table} {way.name}: {row['wall']:.2f} s", file=sys.stderr, flush=True)
    return results


def markdown(results: list[Row], rounds: int, state: str) -> str:
    lines = [f"Medians of {rounds} rounds. {state}"]
    for table in TABLES:

        def shown(part: str, way: Way, table: str = table) -> tuple[float, ...]:
            fields = ("wall", "client_cpu", "server_cpu", "client_peak")
            return tuple(turns.median(results, part, table, way.name, field) or 0.0 for field in fields)

        lines += ["", f"### {table} from `colonnade serve`, one engine thread, unix socket", ""]
        lines += ["| into | wall s | client CPU s | server CPU s | client's peak MB |", "|---|--:|--:|--:|--:|"]
        for way in SERVED:
            wall, client, server, peak = shown("served", way)
            lines.append(f"| {way.name} | {wall:.2f} | {client:.2f} | {server:.2f} | {peak / 1e6:.0f} |")
        lines += ["", f"### {table} from a DuckDB file in the same process", ""]
        lines += ["| into | wall s | CPU s | CPU over DuckDB's own | peak MB |", "|---|--:|--:|--:|--:|"]
        for pair in zip(IN_PROCESS[::2], IN_PROCESS[1::2], strict=True):
            own = shown("in process", pair[1])[1]
            for way in pair:
                wall, cpu, _, peak = shown("in process", way)
                lines.append(f"| {way.name} | {wall:.2f} | {cpu:.2f} | {cpu / own:.2f} | {peak / 1e6:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    turns.add_outputs(parser)
    arguments = parser.parse_args()
    # NumPy's threads spin for a moment when it is imported.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    state = memory_report()
    results = measure(arguments.rounds)
    turns.write(markdown(results, arguments.rounds, state), results, arguments)


if __name__ == "__main__":
    main()
