"""Common code of benchmarks with several contenders: a client process for each reading (`read.py`), turns, medians."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT = 900

Row = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """A way to read a table."""

    name: str
    #: One of `readers.READERS`.
    peer: str
    options: dict[str, Any] = field(default_factory=dict)
    #: Runs in the peers' environment.
    other: bool = False
    #: Reads row by row; omitted for large tables.
    slow: bool = False


def reading(command: Sequence[str], server_cpu: Callable[[], float] = lambda: 0.0, timeout: float = TIMEOUT) -> Row:
    """The parent's side: the client process's report, with the server's CPU seconds."""
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with client:
        assert client.stdout is not None
        client.stdout.readline()
        before = server_cpu()
        try:
            out, errors = client.communicate("go\n", timeout=timeout)
        except subprocess.TimeoutExpired:
            client.kill()
            return {"error": f"took more than {timeout:g} s"}
    # A server process whose client has just ended needs a moment to be reaped.
    time.sleep(0.3)
    spent = server_cpu() - before
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if not lines:
        return {"error": (errors.strip().splitlines() or ["no answer"])[-1][:200]}
    return {**json.loads(lines[-1]), "server_cpu": spent}


def median(results: list[Row], part: str, table: str, contender: str, *fields: str) -> float | None:
    """The median of the sum of some fields."""
    found = [
        sum(row[field] for field in fields)
        for row in results
        if (row["part"], row["table"], row["contender"]) == (part, table, contender) and "error" not in row
    ]
    return statistics.median(found) if found else None


def reason(results: list[Row], table: str, contender: str) -> str:
    """Why there is no measurement."""
    errors = [
        row["error"] for row in results if (row["table"], row["contender"]) == (table, contender) and "error" in row
    ]
    return f"not measured: {errors[0].replace('|', '/')}" if errors else "not measured"


def table_of_clients(results: list[Row], part: str, table: str, contenders: Sequence[Contender]) -> list[str]:
    """Wall time, CPU and memory of each contender, in Markdown."""
    lines = [
        "| | wall s | client CPU s | server CPU s | total CPU s | client's peak MB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for contender in contenders:
        cells = [
            median(results, part, table, contender.name, *fields)
            for fields in (("wall",), ("client_cpu",), ("server_cpu",), ("client_cpu", "server_cpu"), ("client_peak",))
        ]
        if cells[0] is None:
            lines.append(f"| {contender.name} | {reason(results, table, contender.name)} | | | | |")
            continue
        wall, client, server, total, peak = (cell or 0.0 for cell in cells)
        lines.append(
            f"| {contender.name} | {wall:.2f} | {client:.2f} | {server:.2f} | {total:.2f} | {peak / 1e6:.0f} |"
        )
    return [*lines, ""]


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Where a benchmark writes its report and its results."""
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)


def write(text: str, results: Sequence[Any], arguments: argparse.Namespace) -> None:
    """Prints a report, and writes it and the results to the files that were asked for."""
    print(text)
    if arguments.markdown is not None:
        arguments.markdown.write_text(text)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results))
