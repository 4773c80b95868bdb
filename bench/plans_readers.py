"""What several readers of one spooled result gain: over links of their own, and on one machine.

    python bench/plans_readers.py [--rounds 3] [--readers 8] [--rate 100] [--shaper target/release/colonnade-shaper]
                                  [--only links machine columns] [--markdown FILE] [--json FILE]

* `links`: each reader is in a network namespace with a shaped link of its own to the server (laboratory.py), which
  needs root. All readers read their share of one spool at the same time, and one reader reads a share alone.
* `machine`: one process reads lineitem by a query, and both parts of a plan of two; then two processes read one part
  each at the same time, over TCP on this machine.
* `columns`: what choosing columns costs the server and the reader, against reading all of them.

The figures are medians, and walls are those of the slowest reader.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
from laboratory import SERVER_SIDE, USER, Ends, Link, inside, namespaces, serving, wire, within
from plans import lineitem_database, lineitem_server
from process import cpu_seconds
from turns import add_outputs, write

QUERY = "SELECT * FROM lineitem"
CLIENT = Path(__file__).with_name("plans_client.py")
#: Eight readers take at most so many times the time of one; two processes at most this part of the time of one.
MOST_LINKS, MOST_MACHINE = 1.1, 0.6


@dataclass(frozen=True)
class Reader:
    """A process that reads, and where it is."""

    parts: Sequence[colonnade.Part]
    uri: str
    namespace: str | None = None


@dataclass(frozen=True)
class Sample:
    """One measurement: the wall time of the slowest reader, and the CPU time of all readers and of the server."""

    work: str
    round: int
    wall: float
    cpu: float
    server_cpu: float


def together(work: str, number: int, readers: Sequence[Reader], server: int) -> Sample:
    """All readers begin at the same time."""
    expected = sum(part.rows or 0 for reader in readers for part in reader.parts)
    with ExitStack() as stack:
        processes = []
        for reader in readers:
            command = [sys.executable, str(CLIENT)]
            command = inside(reader.namespace, *command) if reader.namespace else command
            process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(pickle.dumps((list(reader.parts), reader.uri)))
            process.stdin.flush()
            processes.append((process.stdin, process.stdout))
        for _, out in processes:
            out.readline()
        before = cpu_seconds(server)
        for given, _ in processes:
            given.write(b"go\n")
            given.flush()
        answers: list[dict[str, Any]] = [json.loads(out.readline()) for _, out in processes]
        spent = cpu_seconds(server) - before
    found = sum(answer["rows"] for answer in answers)
    if found != expected:
        raise SystemExit(f"{work}: {found} rows instead of {expected}")
    wall, cpu = max(answer["wall"] for answer in answers), sum(answer["cpu"] for answer in answers)
    return Sample(work, number, wall, cpu, spent)


def over_links(arguments: argparse.Namespace) -> Iterator[Sample]:
    """`light` is the form in which the server keeps chunks, so they leave unchanged. By `auto` the server encodes the
    chunks of each reader for its link."""
    # Eight shapers of single packets would take one of two cores.
    link = Link("link", arguments.rate, delay=0.25, offload=True)
    ends = [Ends(number) for number in range(arguments.readers)]
    with ExitStack() as stack:
        database = stack.enter_context(lineitem_database())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        stack.enter_context(namespaces(arguments.readers))
        for each in ends:
            stack.enter_context(wire(link, arguments.shaper, each))
        server = stack.enter_context(serving(database, directory / ".s.PGSQL.5432"))
        pid = server.process.pid
        local = f"postgresql://{USER}@127.0.0.1:{server.port}/?sslmode=disable"
        for compression in ("light", "light+zstd-1", "auto"):
            with within(SERVER_SIDE):
                plan = colonnade.plan(local, QUERY, arguments.readers, compression=compression)
            readers = [
                Reader(
                    [part],
                    f"postgresql://{USER}@{each.server}:{server.port}/?sslmode=require&sslnegotiation=direct",
                    each.client_side,
                )
                for part, each in zip(plan.parts, ends, strict=True)
            ]
            for number in range(arguments.rounds):
                # Shares differ a little, so each reader is alone once.
                alone = [together(f"one, {compression}", number, [reader], pid) for reader in readers]
                yield max(alone, key=lambda sample: sample.wall)
                yield together(f"{len(readers)} at once, {compression}", number, readers, pid)
            with within(SERVER_SIDE):
                plan.close()


def on_one_machine(arguments: argparse.Namespace) -> Iterator[Sample]:
    with lineitem_server() as server:
        uri = f"postgresql://tester@{server.host}:{server.port}/lineitem?sslmode=disable"
        with (
            colonnade.plan(uri, QUERY, 2) as plan,
            colonnade.plan(uri, QUERY, 1) as whole,
        ):
            for number in range(arguments.rounds):
                yield direct(number, uri, server.process.pid)
                yield together("one process, a spool", number, [Reader(whole.parts, uri)], server.process.pid)
                both = [Reader([part], uri) for part in plan.parts]
                yield together("two processes, a part each", number, both, server.process.pid)


def direct(number: int, uri: str, server: int) -> Sample:
    """One process reads the query itself."""
    program = (
        "import sys, time, json, colonnade, pyarrow\n"
        "cpu, wall = time.process_time(), time.perf_counter()\n"
        "with colonnade.connect(sys.argv[1]) as c: rows = sum(b.num_rows for b in c.query(sys.argv[2]))\n"
        "print(json.dumps([rows, time.perf_counter() - wall, time.process_time() - cpu]))\n"
    )
    before = cpu_seconds(server)
    command = [sys.executable, "-c", program, uri, QUERY]
    _, wall, cpu = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return Sample("one process, the query", number, wall, cpu, cpu_seconds(server) - before)


def by_columns(arguments: argparse.Namespace) -> Iterator[Sample]:
    with lineitem_server() as server:
        uri = f"postgresql://tester@{server.host}:{server.port}/lineitem?sslmode=disable"
        with colonnade.plan(uri, QUERY, 1) as plan:
            part = plan.parts[0]
            names = part.schema.names
            for number in range(arguments.rounds):
                for count in (1, 2, 4, 8, 12, len(names)):
                    chosen = None if count == len(names) else names[:count]
                    yield reading(f"{count} of {len(names)} columns", number, part, chosen, server.process.pid)


def reading(work: str, number: int, part: colonnade.Part, columns: list[str] | None, server: int) -> Sample:
    own, other, began = os.times(), cpu_seconds(server), os.times().elapsed
    rows = sum(batch.num_rows for batch in part.batches(columns))
    ended = os.times()
    if rows != part.rows:
        raise SystemExit(f"{work}: {rows} rows instead of {part.rows}")
    cpu = ended.user + ended.system - own.user - own.system
    return Sample(work, number, ended.elapsed - began, cpu, cpu_seconds(server) - other)


def report(samples: list[Sample]) -> str:
    lines = ["| | wall s | readers' CPU s | server's CPU s |", "|---|--:|--:|--:|"]
    for work in dict.fromkeys(sample.work for sample in samples):
        rows = [sample for sample in samples if sample.work == work]
        cells = [statistics.median(getattr(row, field) for row in rows) for field in ("wall", "cpu", "server_cpu")]
        lines.append(f"| {work} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    return "\n".join(lines) + "\n"


WORKS = {"links": over_links, "machine": on_one_machine, "columns": by_columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--rate", type=float, default=100, help="of each link, in Mbit/s")
    parser.add_argument("--shaper", type=Path, default=Path("target/release/colonnade-shaper"))
    parser.add_argument("--only", nargs="*", choices=list(WORKS), default=list(WORKS))
    add_outputs(parser)
    arguments = parser.parse_args()
    samples: list[Sample] = []
    for work in arguments.only:
        if work == "links" and os.geteuid() != 0:
            print("links: not measured: network namespaces need root")
            continue
        for sample in WORKS[work](arguments):
            print(sample, flush=True)
            samples.append(sample)
    write(report(samples), [vars(sample) for sample in samples], arguments)


if __name__ == "__main__":
    main()
