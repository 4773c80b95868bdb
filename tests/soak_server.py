"""Load on `colonnade serve`: many connections at work, then many that come and go, then many idle ones.

    python tests/soak_server.py [--seconds 600] [--connections 200]

It ends with an error if a result was wrong, an error came that nothing explains, memory grew, a session stayed behind
or an idle connection was of no use. How long `select 1` takes meanwhile is told beside PostgreSQL, which has the same
load for a shorter time. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import colonnade
import postgres as pg
import psycopg
from raw_client import wait_until
from serving import Server, serve
from test_serve_operations import base, numbers

MB = 1 << 20
ROWS = 20_000
#: Both databases understand it.
SETUP = f"""
create table facts as select i::bigint as i, (i % 100)::integer as k, 'note ' || i as note,
    (i / 7.0)::numeric(12, 3) as amount from generate_series(1, {ROWS}) t(i);
create unique index facts_i on facts (i);
create table notes (client integer, i integer, note text);
"""
#: Takes long enough to be stopped.
LONG = "select sum((a.i * b.i) % 7) from facts a, facts b"
#: DuckDB's transactions fail where PostgreSQL's would wait for each other (docs/clients.md).
EXPLAINED = {"40001"}
#: Processes that the connections of a load are spread over.
PROCESSES = 4
#: How often `select 1` is timed, in seconds.
PAUSE = 0.01


@dataclass
class Load:
    """What became of a load."""

    done: Counter[str] = field(default_factory=Counter)
    errors: Counter[str | None] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    #: Of `select 1`, in seconds.
    times: list[float] = field(default_factory=list)

    def add(self, other: Load) -> None:
        self.done += other.done
        self.errors += other.errors
        self.faults += other.faults
        self.times += other.times

    @property
    def percentiles(self) -> str:
        cuts = statistics.quantiles(self.times, n=1000, method="inclusive")
        of = {"p50": cuts[499], "p99": cuts[989], "p99.9": cuts[998], "most": max(self.times)}
        return ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in of.items())


class Client:
    """One connection of a load, and what it does."""

    def __init__(self, dsn: str, number: int) -> None:
        self.dsn, self.number = dsn, number
        self.chance = random.Random(number)
        self.connection = psycopg.connect(dsn, autocommit=True)

    def one(self) -> None:
        check(self.connection.execute("select 1").fetchone() == (1,))

    def look_up(self) -> None:
        at = self.chance.randint(1, ROWS)
        row = self.connection.execute("select i, k, note from facts where i = %s", [at], prepare=True).fetchone()
        check(row == (at, at % 100, f"note {at}"), row)

    def page(self) -> None:
        start = self.chance.randint(1, ROWS - 500)
        query = "select i, note, amount from facts where i >= %s and i < %s order by i"
        rows = self.connection.execute(query, [start, start + 500], binary=True).fetchall()
        check([(i, note) for i, note, _ in rows] == [(i, f"note {i}") for i in range(start, start + 500)])

    def summarize(self) -> None:
        query = "select k, count(*), sum(i), max(amount) from facts group by k order by k"
        rows = self.connection.execute(query).fetchall()
        check([(k, count) for k, count, _, _ in rows] == [(k, ROWS // 100) for k in range(100)])

    def copy_out(self) -> None:
        form = self.chance.choice(["text", "csv", "binary"])
        size = 0
        with self.connection.cursor() as cursor:
            with cursor.copy(f"copy (select i, note from facts where i <= 5000) to stdout (format {form})") as copy:
                size = sum(len(part) for part in copy)
            check(cursor.rowcount == 5000 and size > 50_000, (form, size))

    def copy_in(self) -> None:
        rows, is_kept = self.chance.randint(1, 500), self.chance.random() < 0.5
        count = "select count(*) from notes where client = %s"
        try:
            with self.connection.transaction(force_rollback=not is_kept), self.connection.cursor() as cursor:
                with cursor.copy("copy notes from stdin") as copy:
                    for i in range(rows):
                        copy.write_row((self.number, i, f"note {i}"))
                check(cursor.execute(count, [self.number]).fetchone() == (rows,))
            check(self.connection.execute(count, [self.number]).fetchone() == (rows if is_kept else 0,))
        finally:
            self.connection.execute("delete from notes where client = %s", [self.number])

    def fail(self) -> None:
        wrong, code = self.chance.choice([("select * from nowhere", "42P01"), ("select 'x'::text::integer", "22P02")])
        try:
            self.connection.execute(wrong)
        except psycopg.Error as error:
            check(error.sqlstate == code, error)
        else:
            raise AssertionError("the error did not come")
        self.one()

    def run_out_of_time(self) -> None:
        self.connection.execute("set statement_timeout = 50")
        try:
            self.connection.execute(LONG)
        except psycopg.errors.QueryCanceled:
            pass
        else:
            raise AssertionError("it was not stopped")
        self.connection.execute("reset statement_timeout")

    def come_again(self) -> None:
        self.connection.close()
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    def work(self) -> Callable[[], None]:
        names = [self.one] * 6 + [self.look_up] * 4 + [self.page] * 2 + [self.summarize, self.copy_out, self.copy_in]
        return self.chance.choice([*names, self.fail, self.run_out_of_time, self.come_again])

    def close(self) -> None:
        self.connection.close()


class Columnar(Client):
    """One that reads columns."""

    def __init__(self, uri: str, number: int) -> None:
        self.number, self.chance = number, random.Random(number)
        self.columns = colonnade.connect(uri)

    def read(self) -> None:
        limit = self.chance.randint(1, ROWS)
        table = self.columns.query("select i, k, note from facts where i <= $1 order by i", params=[limit]).to_arrow()
        check(table.num_rows == limit and table.column("i")[limit - 1].as_py() == limit)

    def work(self) -> Callable[[], None]:
        return self.read

    def close(self) -> None:
        self.columns.close()


def check(condition: bool, found: object = "a result") -> None:
    if not condition:
        raise AssertionError(f"{found} is wrong")


@dataclass
class Plan:
    """What the processes of a load know."""

    dsn: str
    uri: str
    seconds: float
    think: float
    #: Where all wait for each other after they have connected.
    start: Barrier
    results: Queue[Load]


def at_work(plan: Plan, numbers: range) -> None:
    """A process of a load: a thread for each of its connections, with pauses of `think` seconds on average."""
    load, lock = Load(), threading.Lock()
    clients = [Client(plan.dsn, number) if number % 10 else Columnar(plan.uri, number) for number in numbers]

    def life(client: Client) -> None:
        deadline = time.monotonic() + plan.seconds
        try:
            while time.monotonic() < deadline and not load.faults:
                work = client.work()
                try:
                    work()
                except (psycopg.Error, colonnade.Error) as error:
                    with lock:
                        load.errors[error.sqlstate] += 1
                    if error.sqlstate not in EXPLAINED:
                        raise
                with lock:
                    load.done[work.__name__] += 1
                time.sleep(client.chance.expovariate(1 / plan.think))
            client.close()
        except BaseException:
            load.faults.append(traceback.format_exc())

    plan.start.wait(pg.PATIENCE)
    threads = [threading.Thread(target=life, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plan.results.put(load)


def time_one(plan: Plan) -> None:
    """A process that does nothing but see how long `select 1` takes, by the simple query protocol."""
    load = Load()
    with psycopg.connect(plan.dsn, autocommit=True, prepare_threshold=None) as connection:
        plan.start.wait(pg.PATIENCE)
        deadline = time.monotonic() + plan.seconds
        while time.monotonic() < deadline:
            start = time.perf_counter()
            connection.execute("select 1").fetchone()
            load.times.append(time.perf_counter() - start)
            time.sleep(PAUSE)
    plan.results.put(load)


def loaded(dsn: str, uri: str, connections: int, seconds: float, think: float, watch: Callable[[], None]) -> Load:
    """The end of a load. `watch` is called ten times a second meanwhile."""
    spawn = multiprocessing.get_context("spawn")
    share = -(-connections // PROCESSES)
    parts = [range(start, min(start + share, connections)) for start in range(0, connections, share)]
    plan = Plan(dsn, uri, seconds, think, spawn.Barrier(len(parts) + 2), spawn.Queue())
    processes = [spawn.Process(target=at_work, args=(plan, part)) for part in parts]
    processes.append(spawn.Process(target=time_one, args=(plan,)))
    for process in processes:
        process.start()
    plan.start.wait(pg.PATIENCE)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        watch()
        time.sleep(0.1)
    load = Load()
    for _ in processes:
        load.add(plan.results.get(timeout=pg.PATIENCE))
    for process in processes:
        process.join(pg.PATIENCE)
    return load


class Watched:
    """A server under load, and what is found out about it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = base(server)
        self.faults: list[str] = []

    @property
    def uri(self) -> str:
        return f"postgresql://tester@{self.server.host}:{self.server.port}/test"

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
    arguments = ("--metrics", "127.0.0.1:0", "--max-connections", str(most))
    try:
        with tempfile.TemporaryDirectory() as directory, serve(Path(directory) / "soak.duckdb", *arguments) as server:
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
