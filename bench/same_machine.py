"""Plain chunks, light chunks and `auto` from PostgreSQL with the extension to a client on the same machine.

    python bench/same_machine.py [--tables lineitem acs ...] [--rounds 5] [--unix] [--priority]

A new process reads a table into a `pyarrow.Table`, in each compression in turn. Besides wall and CPU time, it prints
how long the backend and the client waited for a CPU, and how long the backend waited for the client (Linux: schedstat).
`--priority` gives both priority over other work on the machine (root; sched_autogroup_enabled).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import data
from postgres_tables import SETTINGS, load, pg

COMPRESSIONS = ("plain", "light", "auto")
#: The nice value of a session (sched(7), "The autogroup feature").
PRIORITY = "-19"

Row = dict[str, float]


def scheduled(pid: int) -> tuple[float, float]:
    """The seconds in which the threads of a process ran, and in which they waited for a CPU."""
    run = wait = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "schedstat").read_text().split()
        run, wait = run + int(fields[0]), wait + int(fields[1])
    return run / 1e9, wait / 1e9


def prefer(pid: int) -> None:
    Path(f"/proc/{pid}/autogroup").write_text(PRIORITY)


def read(uri: str, table: str, compression: str, *, priority: bool) -> Row:
    """In this process, which has read nothing before."""
    import colonnade

    with colonnade.connect(uri) as connection:
        backend: int = connection.query("select pg_backend_pid() as pid").to_arrow().column(0)[0].as_py()
        if priority:
            os.setsid()
            prefer(os.getpid())
            prefer(backend)
        before, cpu, start = scheduled(backend), time.process_time(), time.perf_counter()
        waited = scheduled(os.getpid())[1]
        result = connection.query(f"select * from {table}", compression=compression).to_arrow()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        run, wait = (after - earlier for after, earlier in zip(scheduled(backend), before, strict=True))
        return {
            "wall": wall,
            "client": cpu,
            "backend": run,
            "cpu": cpu + run,
            "backend waits for a CPU": wait,
            "client waits for a CPU": scheduled(os.getpid())[1] - waited,
            "backend waits for the client": wall - run - wait,
            "rows": len(result),
        }


def in_new_process(uri: str, table: str, compression: str, *, priority: bool) -> Row:
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sending, json.dumps(read(uri, table, compression, priority=priority)).encode())
        # Freeing the table is not part of a measurement.
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        row: Row = json.loads(answer.read())
    os.waitpid(child, 0)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(data.SHORT), default=list(data.SHORT), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unix", action="store_true", help="over the unix socket instead of TCP")
    parser.add_argument("--priority", action="store_true")
    arguments = parser.parse_args()
    # Imported once, before the processes are forked.
    import colonnade  # noqa: F401
    import pyarrow as pa  # noqa: F401

    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        uri = cluster.uri(tcp=not arguments.unix)
        for table in arguments.tables:
            load(cluster, f"'{data.DIRECTORY}/{table}.parquet'", table)
            found: dict[str, list[Row]] = {compression: [] for compression in COMPRESSIONS}
            for number in range(arguments.rounds):
                for compression in COMPRESSIONS if number % 2 == 0 else reversed(COMPRESSIONS):
                    found[compression].append(in_new_process(uri, table, compression, priority=arguments.priority))
            for compression, rows in found.items():
                medians = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
                shown = ", ".join(f"{name} {value:.3f}" for name, value in medians.items() if name != "rows")
                print(f"{table:>9} {compression:>6}: {shown}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
