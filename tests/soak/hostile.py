"""Ordinary clients beside hostile ones, on one `colonnade serve`.

    python -m tests.soak.hostile [--seconds 600] [--connections 200] [--hostile 20]

The ordinary ones do what `server.py` has them do. The hostile ones have logins, half of them as readers, and send
what was found to harm the server or other sessions: statements, and calls of hostile functions. At half time one of
them sends a statement that DuckDB cannot be made to stop, which costs the worker process. It ends with an error if an
ordinary client got a wrong answer or was disconnected more than once, or if something has changed that no client may
change. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import queue
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path

import psycopg

from tests.attacks.attackers import PASSWORD, Target, target
from tests.attacks.nested_statements import CONSTRUCTS, DEEP_VALUES, SLOW
from tests.attacks.refused_statements import REFUSED_FOR_ALL
from tests.soak import hostile_functions
from tests.soak.clients import SETUP, loaded
from tests.testbed.serving import function_options

#: Depths at which statements are nested.
DEPTHS = (100, 1000, 30_000)
#: What cannot be told before it runs, and does not stop: each costs a worker, and so has its own place below.
UNSTOPPABLE = {*DEEP_VALUES, *SLOW}
DEEP = [construct for name, construct in CONSTRUCTS.items() if name not in UNSTOPPABLE]
#: What takes more than a session may have: memory, time, temporary space.
EXCESS = [
    "select range(100000) from range(16384)",
    "select printf('%2000000000d', 1)",
    "select [range(1000000) for x in range(1000)]",
    "select sum(a.range * b.range) from range(10000000) a, range(10000000) b",
    "select count(*) from (select i, random() as r from range(30000000) t(i) order by r)",
    "select repeat('x', 100000000) from range(100)",
    "create temp table big as select random() as r, repeat('x', 100) as s from range(20000000)",
]
#: Seconds that a hostile client may need to end. None of its statements may take as long: else the server forgot it.
TIMEOUT = 120
#: As strict as an operator would be who expects this.
LIMITS = ("--memory", "2GB", "--threads", "2", "--statement-timeout", "20", "--temp-size", "2GB")
FUNCTIONS = (*function_options(), "--udf-memory", "64MB")


def attack(target: Target, user: str, number: int, seconds: float, results: Queue[Counter[str]]) -> None:
    """A process of one hostile client: one thing after the other, on the connection that is left or a new one."""
    # One that does not end says where it is.
    faulthandler.dump_traceback_later(seconds + TIMEOUT - 10)
    chance, done = random.Random(number), Counter[str]()
    connection: psycopg.Connection | None = None
    start = time.monotonic()
    costs_a_worker = number == 0
    while (passed := time.monotonic() - start) < seconds:
        try:
            if connection is None or connection.closed:
                connection = target.connect(user)
            if costs_a_worker and passed > seconds / 2:
                costs_a_worker = False
                connection.execute(CONSTRUCTS["json computed"](100_000))
            kind = chance.choice(["refused", "deep", "excess", "hoard", "functions", "discard", "leave"])
            done[kind] += 1
            if kind == "refused":
                connection.execute(
                    chance.choice(REFUSED_FOR_ALL).format(file=target.file), prepare=chance.random() < 0.5
                )
            elif kind == "deep":
                connection.execute(chance.choice(DEEP)(chance.choice(DEPTHS)))
            elif kind == "excess":
                connection.execute(chance.choice(EXCESS))
            elif kind == "functions":
                connection.execute(chance.choice(hostile_functions.STATEMENTS))
            elif kind == "discard":
                connection.execute("discard all")
                # The process of functions has ended, with what a statement left there.
                if connection.execute("select remembers(7)").fetchone() != (0,):
                    done["left behind"] += 1
            elif kind == "hoard":
                for at in range(100):
                    connection.execute(f"select {at}, '{'x' * 1_000_000}'", prepare=True)
            else:
                connection.pgconn.send_query(chance.choice(EXCESS).encode())
                connection.close()
        except psycopg.Error as error:
            done[str(error.sqlstate)] += 1
    with suppress(psycopg.Error):
        if connection is not None:
            connection.close()
    results.put(done)
    faulthandler.cancel_dump_traceback_later()


def ended(processes: list[SpawnProcess], results: Queue[Counter[str]], faults: list[str]) -> Counter[str]:
    """What all hostile clients have done, once they have ended."""
    attacks = Counter[str]()
    for _ in processes:
        try:
            attacks += results.get(timeout=TIMEOUT)
        except queue.Empty:
            faults.append("a hostile client got neither an answer nor an end of its connection")
            break
    for process in processes:
        process.join(10)
        process.kill()
    return attacks


def unchanged(target: Target) -> object:
    with target.connect("writer") as other:
        return (
            other.execute("select * from canary").fetchall(),
            other.execute("select * from t").fetchall(),
            other.execute("select last_value from duckdb_sequences()").fetchall(),
            other.execute("select current_setting('TimeZone'), current_setting('integer_division')").fetchall(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="how long it lasts (default: 600)")
    parser.add_argument("--connections", type=int, default=200, help="ordinary clients (default: 200)")
    parser.add_argument("--hostile", type=int, default=20, help="hostile clients (default: 20)")
    parser.add_argument("--think", type=float, default=2, help="seconds between pieces of ordinary work (default: 2)")
    args = parser.parse_args()
    faults: list[str] = []
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as directory,
        target(Path(directory), *LIMITS, *FUNCTIONS, "--log", f"{directory}/log") as attacked,
    ):
        with attacked.connect("writer") as session:
            session.execute(SETUP)
        with attacked.connect("author") as session:
            session.execute(hostile_functions.SETUP)
        before = unchanged(attacked)
        results: Queue[Counter[str]] = spawn.Queue()
        place = Target(attacked.server.address_only(), attacked.file)
        users = ["reader" if number % 2 else "writer" for number in range(args.hostile)]
        attackers = [
            spawn.Process(target=attack, args=(place, user, number, args.seconds, results))
            for number, user in enumerate(users)
        ]

        def begin() -> None:
            for process in attackers:
                process.start()

        dsn = f"host={attacked.server.host} port={attacked.server.port} user=writer password='{PASSWORD}'"
        uri = f"postgresql://writer:{PASSWORD.replace(' ', '%20')}@{attacked.server.host}:{attacked.server.port}/"
        load = loaded(dsn, uri, args.connections, args.seconds, args.think, lambda: None, disconnections=1, begin=begin)
        attacks = ended(attackers, results, faults)
        faults += load.faults
        if attacks["left behind"]:
            faults.append("DISCARD ALL has left what a function had kept in its process")
        if unchanged(attacked) != before:
            faults.append("something has changed that no client may change")
        deaths = [line for line in Path(directory, "log").read_text().splitlines() if "event=worker_died" in line]
    print(f"ordinary: {dict(load.done)}, errors by SQLSTATE: {dict(load.errors)}", file=sys.stderr)
    print(f"  select 1: {load.percentiles}, of {len(load.times)}", file=sys.stderr)
    print(
        f"  disconnections: {load.disconnections}, {dict(load.endings)}; what is logged of the worker's deaths:",
        file=sys.stderr,
    )
    print(*(f"    {line}" for line in deaths), sep="\n", file=sys.stderr)
    print(f"hostile: {dict(attacks)}", file=sys.stderr)
    if faults:
        sys.exit("\n".join(["the soak has found faults:", *faults]))
    print("no wrong answer, no ordinary client disconnected more than once, nothing changed")


if __name__ == "__main__":
    main()
