"""Load on `colonnade serve`: many connections at work, then many that come and go, then many idle ones.

    python -m tests.soak.server [--seconds 600] [--connections 200]

It ends with an error if a result was wrong, an error came that nothing explains, memory grew, a session stayed behind
or an idle connection was of no use. How long `select 1` takes meanwhile is compared with PostgreSQL, which has the same
load for a shorter time. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.soak.clients import SETUP, Load, check, loaded
from tests.support.metrics import base, numbers
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

MB = 1 << 20


class Watched:
    """A server under load, and what is found out about it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = base(server)
        self.faults: list[str] = []

    @property
    def uri(self) -> str:
        return f"postgresql://tester@{self.server.host}:{self.server.port}/"

    def load(self, connections: int, seconds: float, think: float) -> None:
        """Many connections at work. Memory at its most in the last third is compared with the third before."""
        memory: list[int] = []

        def watch() -> None:
            memory.append(self.server.memory())

        load = loaded(self.server.dsn, self.uri, connections, seconds, think, watch)
        self.faults += load.faults
        third = len(memory) // 3
        before, after = max(memory[third : 2 * third]), max(memory[2 * third :])
        say(f"colonnade: {connections} connections, {load.done.total() / seconds:.0f} pieces of work a second")
        say(f"  done: {dict(load.done)}, errors by SQLSTATE: {dict(load.errors)}")
        say(f"  select 1: {load.percentiles}, of {len(load.times)}")
        say(f"  memory at most: {before / MB:.0f} MB in the second third, {after / MB:.0f} MB in the last one")
        self.expect_memory(before, after)
        self.expect_nobody()

    def come_and_go(self, count: int) -> None:
        """Many that connect, ask one thing and leave, some at a time."""
        visits, lock = iter(range(count)), threading.Lock()
        memory: list[int] = []

        def visit() -> None:
            try:
                while True:
                    with lock:
                        number = next(visits, None)
                    if number is None:
                        return
                    with psycopg.connect(self.server.dsn, autocommit=True) as connection:
                        check(connection.execute("select 1").fetchone() == (1,))
                    if number % max(1, count // 50) == 0:
                        memory.append(self.server.memory())
            except BaseException:
                self.faults.append(traceback.format_exc())

        start = time.monotonic()
        together(visit, 8)
        say(f"colonnade: {count} connections came and went, {count / (time.monotonic() - start):.0f} a second")
        before, after = (max(part) for part in (memory[: len(memory) // 2], memory[len(memory) // 2 :]))
        say(f"  memory at most: {before / MB:.0f} MB in the first half, {after / MB:.0f} MB in the second one")
        self.expect_memory(before, after)
        self.expect_nobody()

    def idle(self, count: int) -> None:
        """Many that do nothing, and can do something when they are asked."""
        before = self.server.memory()
        connections: list[psycopg.Connection] = []
        missing = iter(range(count))

        def connect() -> None:
            try:
                for _ in missing:
                    connections.append(psycopg.connect(self.server.dsn, autocommit=True))
            except BaseException:
                self.faults.append(traceback.format_exc())

        # One after the other: an iterator is not for several threads.
        together(connect, 1)
        sessions = numbers(self.url)["sessions"]
        if sessions != count:
            self.faults.append(f"{sessions} sessions of {count}")
        each = (self.server.memory() - before) / count
        times = []
        for _ in range(2):
            for connection in connections:
                start = time.perf_counter()
                check(connection.execute("select 1").fetchone() == (1,))
                times.append(time.perf_counter() - start)
        say(f"colonnade: {count} idle connections, {each / 1024:.0f} KB each, then asked in turn")
        say(f"  select 1: {Load(times=times).percentiles}")
        for connection in connections:
            connection.close()
        self.expect_nobody()

    def expect_memory(self, before: int, after: int) -> None:
        if after > before * 1.1 + 32 * MB:
            self.faults.append(f"the server has grown from {before / MB:.0f} to {after / MB:.0f} MB")

    def expect_nobody(self) -> None:
        try:
            wait_until(lambda: numbers(self.url)["sessions"] == 0 and self.server.connections() == 1)
        except AssertionError:
            self.faults.append(f"{numbers(self.url)['sessions']} sessions are left")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def together(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def watched(most: int) -> Iterator[Watched]:
    """A server over a file, for so many clients. Files are written as they would be in earnest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    arguments = ("--create", "--metrics", "127.0.0.1:0", "--max-connections", str(most))
    try:
        with (
            tempfile.TemporaryDirectory() as directory,
            serve(Path(directory) / "soak.duckdb", *arguments) as server,
        ):
            watched = Watched(server)
            with psycopg.connect(server.dsn, autocommit=True) as session:
                session.execute(SETUP)
            yield watched
            if server.process.poll() is not None:
                watched.faults.append("the server is gone")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def beside_postgresql(connections: int, seconds: float, think: float) -> None:
    """The same load on a PostgreSQL whose files are written likewise."""
    settings = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    with pg.cluster(pg.stock(), settings | {"max_connections": str(connections + 10)}) as cluster:
        with cluster.connect() as session:
            session.execute(SETUP)
            session.execute("analyze")
        dsn = f"host=127.0.0.1 port={cluster.port} user={pg.SUPERUSER} dbname=postgres"
        load = loaded(dsn, cluster.uri(tcp=True), connections, seconds, think, lambda: None)
    say(f"PostgreSQL: {connections} connections, {load.done.total() / seconds:.0f} pieces of work a second")
    say(f"  select 1: {load.percentiles}, of {len(load.times)}")
    if load.faults:
        raise AssertionError(f"PostgreSQL fails, too: {load.faults[0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="how long the load lasts (default: 600)")
    parser.add_argument("--connections", type=int, default=200, help="connections of the load (default: 200)")
    parser.add_argument("--think", type=float, default=2, help="seconds between pieces of work (default: 2)")
    parser.add_argument("--visits", type=int, default=5000, help="connections that come and go (default: 5000)")
    parser.add_argument("--idle", type=int, default=1000, help="idle connections (default: 1000)")
    args = parser.parse_args()
    with watched(most=max(args.connections, args.idle) + 10) as server:
        server.load(args.connections, args.seconds, args.think)
        server.come_and_go(args.visits)
        server.idle(args.idle)
    beside_postgresql(args.connections, min(args.seconds, 120), args.think)
    if server.faults:
        sys.exit("\n".join(["the soak has found faults:", *server.faults]))
    print("no wrong result, no growth, no session left, no crash")


if __name__ == "__main__":
    main()
