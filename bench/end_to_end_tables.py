"""End to end: results of several sizes and shapes from DuckDB into pyarrow, compared with Arrow Flight.

    python bench/end_to_end_tables.py [--rounds 5] [--markdown FILE] [--json FILE]

As `end_to_end.py` with warm clients. A small result is read several times by one client, because the kernel counts a
server's CPU time in hundredths of a second. What DuckDB takes for the same table in the client's process is the floor.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import turns
from colonnade._cli.memory_state import memory_report
from end_to_end import CONTENDERS, FLIGHT_ROWS, Row, expected, prepare, read, served

#: The total CPU divided by Flight's.
MOST_CPU = 0.6
TRANSPORTS = ("TCP", "unix socket")
FLOOR = next(contender.name for contender in CONTENDERS if not contender.transport)
#: The part of the benchmark, for `turns.median`.
PART = "tables"


@dataclass(frozen=True)
class Result:
    """What is read: a table, or so many rows of it."""

    name: str
    table: str
    rows: int | None
    #: How often a client reads it.
    times: int

    @property
    def query(self) -> str:
        return f"SELECT * FROM {self.table}"


RESULTS = [
    Result("lineitem, 0.1 M rows", "lineitem", 100_000, 60),
    Result("lineitem, 1 M rows", "lineitem", 1_000_000, 6),
    Result("lineitem, 6 M rows", "lineitem", None, 1),
    Result("flights", "flights", None, 4),
    Result("acs", "acs", None, 5),
]


def measure(rounds: int) -> list[Row]:
    results: list[Row] = []
    for result in RESULTS:
        database = prepare(result.table, result.rows)
        rows, checksum = expected(database, result.query)
        for number in range(rounds):
            for contender in CONTENDERS:
                with served(contender, database, FLIGHT_ROWS) as (address, server):
                    row = read(contender, address, server, result.query, "warm", result.times)
                if (row["rows"], row["checksum"]) != (rows, checksum):
                    raise RuntimeError(f"{contender.name} returned another result than DuckDB: {result.name}")
                for field in ("wall", "client_cpu", "server_cpu"):
                    row[field] /= result.times
                results.append({**row, "part": PART, "table": result.name, "round": number})
                print(f"{result.name}, {contender.name}: {row['wall']:.3f} s", file=sys.stderr, flush=True)
    return results


def report(results: list[Row], rounds: int, state: str) -> str:
    lines = [
        "### Results of several sizes and shapes from DuckDB into a pyarrow.Table",
        "",
        f"Medians of {rounds} rounds, with new processes and warm clients. CPU is that of both sides. {state}",
        "",
        "| | | CPU ms, DuckDB alone | Colonnade | Flight | Colonnade / Flight |"
        " wall ms, DuckDB alone | Colonnade | Flight | Colonnade / Flight |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for result in RESULTS:
        for transport in TRANSPORTS:
            cells: list[str] = []
            for fields in (("client_cpu", "server_cpu"), ("wall",)):
                floor, ours, theirs = (
                    (turns.median(results, PART, result.name, name, *fields) or 0.0) * 1e3
                    for name in (FLOOR, f"Colonnade, {transport}", f"Arrow Flight, {transport}")
                )
                cells += [f"{floor:.1f}", f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}"]
            lines.append(f"| {result.name} | {transport} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    turns.add_outputs(parser)
    arguments = parser.parse_args()
    state = memory_report()
    results = measure(arguments.rounds)
    turns.write(report(results, arguments.rounds, state), results, arguments)


if __name__ == "__main__":
    main()
