"""What a spooled result costs `colonnade serve`: CPU time and memory of the server, against a direct read.

    python bench/plans.py [--rounds 5] [--readers 8] [--markdown FILE] [--json FILE]

The query reads lineitem (bench/data.py) from a DuckDB file over TCP on this machine. A client receives every byte and
decodes nothing. The measurements take turns in each round: a direct read, a spool, and then readers of all its parts.
The figures are medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from data import DIRECTORY
from process import cpu_seconds, forget_peak, memory
from turns import add_outputs, write

from tests.testbed.serving import Server, serve

QUERY = "SELECT * FROM lineitem"
#: A spool costs at most so many direct reads, and each reader adds at most this part of one.
MOST_SPOOL, MOST_READER = 1.4, 0.05


@dataclass(frozen=True)
class Sample:
    """One measurement: what was done, in which round, and its cost for the server."""

    work: str
    round: int
    cpu: float
    wall: float
    #: How much the server's peak of memory was above its memory before.
    memory: int


@contextmanager
def lineitem_database() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as directory:
        path = Path(directory) / "lineitem.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(DIRECTORY / "lineitem.parquet")])
        yield path


@contextmanager
def lineitem_server() -> Iterator[Server]:
    with lineitem_database() as path, serve(path, "--read-only") as server:
        yield server


def receive(client: psycopg.Connection[Any], copy: str) -> int:
    """The bytes that a COPY sends."""
    with client.cursor().copy(copy) as stream:
        return sum(len(message) for message in stream)


def direct(client: psycopg.Connection[Any]) -> None:
    receive(client, f"COPY ({QUERY}) TO STDOUT (FORMAT colonnade)")


def spool(client: psycopg.Connection[Any], compression: str) -> list[tuple[str, int]]:
    statement = f"SELECT * FROM colonnade_spool('{QUERY}', compression => '{compression}')"
    return [(ticket, part) for ticket, part, *_ in client.execute(statement)]


def read_parts(client: psycopg.Connection[Any], parts: list[tuple[str, int]]) -> None:
    for ticket, part in parts:
        receive(client, f"COPY colonnade_part('{ticket}', {part}) TO STDOUT (FORMAT colonnade)")


def measure(rounds: int, readers: int) -> list[Sample]:
    samples: list[Sample] = []
    with lineitem_server() as server, psycopg.connect(server.dsn, autocommit=True) as client:
        direct(client)  # fills the caches

        def timed(work: str, number: int, run: Callable[[], Any]) -> Any:
            forget_peak(server.worker)
            used, cpu, wall = memory(server.worker, "VmRSS"), cpu_seconds(server.worker), time.perf_counter()
            result = run()
            cpu, wall = cpu_seconds(server.worker) - cpu, time.perf_counter() - wall
            samples.append(Sample(work, number, cpu, wall, max(0, memory(server.worker, "VmHWM") - used)))
            return result

        for number in range(rounds):
            timed("direct read", number, lambda: direct(client))
            for compression in ("plain", "light"):
                parts = timed(f"spool, {compression}", number, lambda kind=compression: spool(client, kind))
                for _ in range(readers):
                    timed(f"one reader, {compression}", number, lambda read=parts: read_parts(client, read))
                client.execute("SELECT * FROM colonnade_release(%s)", (parts[0][0],))
    return samples


def report(samples: list[Sample]) -> str:
    def median(work: str, field: str) -> float:
        return statistics.median(getattr(sample, field) for sample in samples if sample.work == work)

    base = median("direct read", "cpu")
    lines = [
        "| lineitem, server's share | CPU, s | of a direct read | aim | wall, s | memory above before, MB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for work in dict.fromkeys(sample.work for sample in samples):
        aim = {"spool": f"≤ {MOST_SPOOL}", "one r": f"≤ {MOST_READER}"}.get(work[:5], "")
        cpu = median(work, "cpu")
        most = max(sample.memory for sample in samples if sample.work == work) / 1e6
        lines.append(f"| {work} | {cpu:.2f} | {cpu / base:.2f} | {aim} | {median(work, 'wall'):.2f} | {most:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--readers", type=int, default=8)
    add_outputs(parser)
    arguments = parser.parse_args()
    samples = measure(arguments.rounds, arguments.readers)
    write(report(samples), [asdict(sample) for sample in samples], arguments)


if __name__ == "__main__":
    main()
