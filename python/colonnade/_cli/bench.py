"""`colonnade bench`: the time of a user's query into a dataframe, with Colonnade and with other libraries."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from colonnade._secrets import redacted, secrets

from .memory_state import memory_report
from .parameters import given_query
from .terminal import say

if TYPE_CHECKING:
    import argparse

#: The modules that each client needs.
_CLIENTS = {
    "colonnade": (),
    "connectorx": ("connectorx",),
    "adbc": ("adbc_driver_manager",),
    "pandas": ("pandas", "sqlalchemy"),
}
#: The columns of the table.
_HEADER = ("", "seconds", "rows/s", "CPU s", "peak MB", "rows", "columns")


@dataclass(frozen=True)
class _Reading:
    """The cost of one process in seconds and bytes, or its error."""

    wall: float = 0.0
    #: User and system time of the client.
    cpu: float = 0.0
    #: The peak of the process's memory.
    peak: int = 0
    rows: int = 0
    columns: int = 0
    error: str = ""


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand `bench`."""
    summary = "time a query into a dataframe, with the other libraries that are installed"
    parser = subparsers.add_parser(
        "bench",
        help=summary,
        description=f"{summary[0].upper() + summary[1:]}. Each reading is a new process with a new connection. "
        "The clients take turns, and the table shows medians. CPU and memory are the client's. The last line describes "
        "the state of the machine's memory.",
    )
    parser.add_argument(
        "uri", metavar="URI", help="in the form of all libraries: postgresql://…, mysql://…, sqlite:///…"
    )
    parser.add_argument("query", metavar="QUERY", help="the query; - reads it from standard input")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="readings of each client (default: 3)")
    parser.add_argument(
        "--return-type", choices=["pandas", "arrow", "polars"], default="pandas", help="what to make (default: pandas)"
    )
    parser.add_argument(
        "--clients", metavar="NAME", nargs="+", choices=list(_CLIENTS), help="of colonnade, connectorx, adbc, pandas"
    )
    parser.add_argument("--partition-on", metavar="COLUMN", help="read parts at once, with the clients that can")
    parser.add_argument("--partition-num", metavar="N", type=int, help="how many parts")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measures and prints. Returns the exit status: 1 if Colonnade could not read the result."""
    if args.rounds < 1:
        raise ValueError("--rounds must be at least 1")
    asked = {
        "uri": args.uri,
        "query": given_query(args.query),
        "return_type": args.return_type,
        "partition_on": args.partition_on,
        "partition_num": args.partition_num,
    }
    clients = args.clients or [name for name, needed in _CLIENTS.items() if all(map(_is_installed, needed))]
    memory = memory_report()
    readings: dict[str, list[_Reading]] = {name: [] for name in clients}
    for number in range(args.rounds):
        for name, found in readings.items():
            if found and found[-1].error:
                continue
            _say(f"{name}, {number + 1} of {args.rounds} …")
            found.append(_measure({**asked, "client": name}))
    _say("")
    say("\n".join([*_table(readings), memory]))
    return 1 if any(reading.error for reading in readings.get("colonnade", [])) else 0


def _say(text: str) -> None:
    """Shows the current step, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _measure(asked: dict[str, Any]) -> _Reading:
    # The URI may have a password, which a command line would show to all users.
    command = [sys.executable, "-m", "colonnade._cli.bench_client"]
    # JSON in ASCII, and messages of libraries.
    streams = {"input": json.dumps(asked), "capture_output": True, "encoding": "utf-8", "errors": "replace"}
    found = subprocess.run(command, **streams, check=False)
    hidden = secrets({"uri": asked["uri"], "query": asked["query"]})
    if found.returncode == 0:
        reading = _Reading(**json.loads(found.stdout.splitlines()[-1]))
        return replace(reading, error=redacted(reading.error, hidden))
    lines = [line for line in found.stderr.splitlines() if line and not line.startswith(" ")]
    return _Reading(error=redacted(lines[-1] if lines else f"ended with status {found.returncode}", hidden))


def _table(readings: dict[str, list[_Reading]]) -> list[str]:
    """A line for each client. A result whose shape differs from the first one has no time."""
    known = [reading for found in readings.values() for reading in found if not reading.error]
    first = known[0] if known else _Reading()
    lines: list[tuple[str, ...]] = [_HEADER]
    remarks: list[str] = []
    for name, found in readings.items():
        last = found[-1]
        if last.error:
            remarks.append(f"{name}: {last.error}")
        elif (last.rows, last.columns) != (first.rows, first.columns):
            remarks.append(f"{name}: gave {last.rows:,} rows of {last.columns} columns")
        else:
            wall, cpu = (statistics.median(getattr(reading, field) for reading in found) for field in ("wall", "cpu"))
            peak = max(reading.peak for reading in found)
            figures = (f"{wall:.2f}", f"{last.rows / wall:,.0f}", f"{cpu:.2f}", f"{peak / 1e6:,.0f}")
            lines.append((name, *figures, f"{last.rows:,}", str(last.columns)))
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    shown = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    return [*shown, *remarks]
