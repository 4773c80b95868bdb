"""Many clients at once, on `colonnade serve` and on PostgreSQL: throughput, and the time of `select 1` among them.

    python bench/concurrency.py [--clients 200] [--seconds 10] [--rounds 3] [--markdown FILE] [--json FILE]

Each client of colonnade has its own connection, and reads as fast as it can: seven of ten times `select 1`, twice 1,000
and once 100,000 rows of lineitem. One client reads alone, and then all read at once, as threads of four processes.
PostgreSQL has the extension. Server and clients share the machine's cores. The figures are medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import colonnade
from data import DIRECTORY
from plans import lineitem_database
from postgres_tables import SETTINGS, load
from turns import add_outputs, write

from tests.testbed import postgres as pg
from tests.testbed.serving import serve

Row = dict[str, Any]
#: How many of ten queries give so many rows.
SIZES = {1: 7, 1_000: 2, 100_000: 1}
PROCESSES = 4
#: The throughput of all clients over that of one, and the 99th percentile of `select 1` over PostgreSQL's.
LEAST_THROUGHPUT, MOST_P99 = 1.5, 1.2


def reading(uri: str, clients: int, seconds: float) -> None:
    """This process's share of the clients: it connects, writes a line, waits for one, and prints what it has read."""
    connections = [colonnade.connect(uri) for _ in range(clients)]
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + seconds
    done: list[int] = []
    short: list[float] = []

    def run(number: int) -> None:
        chosen = random.Random(number)
        while (began := time.monotonic()) < end:
            [rows] = chosen.choices(list(SIZES), list(SIZES.values()))
            query = "select 1" if rows == 1 else f"select * from lineitem limit {rows}"
            done.append(sum(batch.num_rows for batch in connections[number].query(query)))
            if rows == 1:
                short.append(time.monotonic() - began)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"rows": sum(done), "results": len(done), "short": short}), flush=True)


def load_of(uri: str, clients: int, seconds: float) -> Row:
    """Rows and results a second of all clients together, and percentiles of `select 1` in milliseconds."""
    processes = min(PROCESSES, clients)
    shares = [clients // processes + (number < clients % processes) for number in range(processes)]
    command = [sys.executable, __file__, "--reader", uri, "--seconds", str(seconds), "--clients"]
    started = [
        subprocess.Popen([*command, str(share)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for share in shares
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    began = time.monotonic()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate()[0]) for process in started]
    spent = time.monotonic() - began
    short = sorted(time for answer in answers for time in answer["short"])
    found = {what: sum(answer[what] for answer in answers) / spent for what in ("rows", "results")}
    return {**found, **{f"p{part}": short[len(short) * part // 100] * 1000 for part in (50, 99)}}


def measure(arguments: argparse.Namespace) -> Iterator[Row]:
    most = str(arguments.clients + 10)
    with (
        lineitem_database() as database,
        serve(database, "--read-only", "--max-connections", most) as server,
        pg.installed() as installation,
        pg.cluster(installation, {**SETTINGS, "max_connections": most}) as cluster,
    ):
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        load(cluster, f"read_parquet('{DIRECTORY / 'lineitem.parquet'}')", "lineitem")
        places = {
            "colonnade serve": f"postgresql://tester@{server.host}:{server.port}/?sslmode=disable",
            "PostgreSQL with the extension": cluster.uri(tcp=True),
        }
        for number in range(arguments.rounds):
            for place, uri in places.items():
                for clients in (1, arguments.clients):
                    found = load_of(uri, clients, arguments.seconds)
                    yield {"place": place, "clients": clients, "round": number, **found}


def report(results: list[Row]) -> str:
    lines = [
        "| | clients | rows a second | results a second | `select 1`, p50 ms | p99 ms |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    rates: dict[tuple[str, int], float] = {}
    p99: dict[tuple[str, int], float] = {}
    for place, clients in dict.fromkeys((row["place"], row["clients"]) for row in results):
        found = [row for row in results if (row["place"], row["clients"]) == (place, clients)]
        rows, count, p50, slow = (
            statistics.median(row[field] for row in found) for field in ("rows", "results", "p50", "p99")
        )
        rates[place, clients], p99[place, clients] = rows, slow
        lines.append(f"| {place} | {clients} | {rows:,.0f} | {count:,.0f} | {p50:.2f} | {slow:.2f} |")
    ours, theirs = dict.fromkeys(row["place"] for row in results)
    most = max(row["clients"] for row in results)
    gain, slower = rates[ours, most] / rates[ours, 1], p99[ours, most] / p99[theirs, most]
    lines += [
        "",
        f"- {most} clients over one, rows a second: {gain:.2f} {'✓' if gain >= LEAST_THROUGHPUT else '✗'}"
        f" (≥ {LEAST_THROUGHPUT:g})",
        f"- p99 of `select 1` among {most} clients: {slower:.2f} x PostgreSQL's"
        f" {'✓' if slower <= MOST_P99 else '✗'} (≤ {MOST_P99:g})",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    add_outputs(parser)
    arguments = parser.parse_args()
    if arguments.reader is not None:
        reading(arguments.reader, arguments.clients, arguments.seconds)
        return
    results: list[Row] = []
    for row in measure(arguments):
        print(row, file=sys.stderr, flush=True)
        results.append(row)
    write(report(results), results, arguments)


if __name__ == "__main__":
    main()
