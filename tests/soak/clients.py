"""The clients of a load: processes with many connections at work, which check what they are given."""

from __future__ import annotations

import multiprocessing
import random
import statistics
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import TypeVar

import colonnade
import psycopg

from tests.testbed import postgres as pg

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
#: DuckDB's transactions fail where PostgreSQL's would wait for each other (docs/reference/clients.md).
EXPLAINED = {"40001"}
#: What the others may have taken, next to hostile clients: the error comes, and the next statement may succeed.
OUT_OF_MEMORY = "53200"
#: Processes that the connections of a load are spread over.
PROCESSES = 4
#: How often `select 1` is timed, in seconds.
PAUSE = 0.01

C = TypeVar("C")


@dataclass
class Load:
    """What became of a load."""

    done: Counter[str] = field(default_factory=Counter)
    errors: Counter[str | None] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    #: Of `select 1`, in seconds.
    times: list[float] = field(default_factory=list)
    #: Of clients that connected again and went on.
    disconnections: int = 0
    #: What these clients were told.
    endings: Counter[str] = field(default_factory=Counter)

    def add(self, other: Load) -> None:
        self.done += other.done
        self.errors += other.errors
        self.faults += other.faults
        self.times += other.times
        self.disconnections += other.disconnections
        self.endings += other.endings

    @property
    def percentiles(self) -> str:
        cuts = statistics.quantiles(self.times, n=1000, method="inclusive")
        of = {"p50": cuts[499], "p99": cuts[989], "p99.9": cuts[998], "most": max(self.times)}
        return ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in of.items())


class Client:
    """One connection of a load, and what it does."""

    def __init__(self, dsn: str, number: int, patience: float) -> None:
        self.dsn, self.number = dsn, number
        self.chance = random.Random(number)
        #: For so many seconds it tries again to connect.
        self.patience = patience
        self.connection = self.connected()

    def connected(self) -> psycopg.Connection:
        return until_it_connects(lambda: psycopg.connect(self.dsn, autocommit=True), self.patience)

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
        count, delete = "select count(*) from notes where client = %s", "delete from notes where client = %s"
        # The connection before this one may have ended before its own were deleted.
        self.connection.execute(delete, [self.number])
        try:
            with self.connection.transaction(force_rollback=not is_kept), self.connection.cursor() as cursor:
                with cursor.copy("copy notes from stdin") as copy:
                    for i in range(rows):
                        copy.write_row((self.number, i, f"note {i}"))
                check(cursor.execute(count, [self.number]).fetchone() == (rows,))
            check(self.connection.execute(count, [self.number]).fetchone() == (rows if is_kept else 0,))
        finally:
            self.connection.execute(delete, [self.number])

    def fail(self) -> None:
        wrong, code = self.chance.choice([("select * from nowhere", "42P01"), ("select 'x'::text::integer", "22P02")])
        try:
            self.connection.execute(wrong)
        except psycopg.Error as error:
            if self.is_gone or error.sqlstate == OUT_OF_MEMORY:
                raise
            check(error.sqlstate == code, error)
        else:
            raise AssertionError("the error did not come")
        self.one()

    def run_out_of_time(self) -> None:
        try:
            with self.connection.transaction(force_rollback=True):
                self.connection.execute("set local statement_timeout = 50")
                self.connection.execute(LONG)
        except psycopg.errors.QueryCanceled:
            return
        raise AssertionError("it was not stopped")

    def come_again(self) -> None:
        self.connection.close()
        self.connection = self.connected()

    @property
    def is_gone(self) -> bool:
        """Whether the server has ended the connection."""
        return self.connection.broken

    def work(self) -> Callable[[], None]:
        names = [self.one] * 6 + [self.look_up] * 4 + [self.page] * 2 + [self.summarize, self.copy_out, self.copy_in]
        return self.chance.choice([*names, self.fail, self.run_out_of_time, self.come_again])

    def close(self) -> None:
        self.connection.close()


class Columnar(Client):
    """One that reads columns."""

    def __init__(self, uri: str, number: int, patience: float) -> None:
        self.uri, self.number, self.chance = uri, number, random.Random(number)
        self.patience = patience
        self.columns = self.connected_columns()

    def connected_columns(self) -> colonnade.Connection:
        return until_it_connects(lambda: colonnade.connect(self.uri), self.patience)

    def read(self) -> None:
        limit = self.chance.randint(1, ROWS)
        table = self.columns.query("select i, k, note from facts where i <= $1 order by i", params=[limit]).to_arrow()
        check(table.num_rows == limit and table.column("i")[limit - 1].as_py() == limit)

    @property
    def is_gone(self) -> bool:
        return not self.columns.is_open

    def come_again(self) -> None:
        self.columns.close()
        self.columns = self.connected_columns()

    def work(self) -> Callable[[], None]:
        return self.read

    def close(self) -> None:
        self.columns.close()


def until_it_connects(connect: Callable[[], C], patience: float) -> C:
    """A connection; one that the server ends before it is ready is tried again for so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return connect()
        except (psycopg.OperationalError, colonnade.Error):
            if time.monotonic() >= deadline:
                raise


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
    #: How often a client may be disconnected.
    disconnections: int = 0


def at_work(plan: Plan, numbers: range) -> None:
    """A process of a load: a thread for each of its connections, with pauses of `think` seconds on average."""
    load, lock = Load(), threading.Lock()
    patience = pg.TIMEOUT if plan.disconnections else 0
    explained = EXPLAINED | {OUT_OF_MEMORY} if plan.disconnections else EXPLAINED
    clients = [
        Client(plan.dsn, number, patience) if number % 10 else Columnar(plan.uri, number, patience)
        for number in numbers
    ]

    def life(client: Client) -> None:
        deadline, left = time.monotonic() + plan.seconds, plan.disconnections
        try:
            while time.monotonic() < deadline and not load.faults:
                work = client.work()
                try:
                    work()
                except (psycopg.Error, colonnade.Error) as error:
                    with lock:
                        load.errors[error.sqlstate] += 1
                    if client.is_gone and left > 0:
                        left -= 1
                        with lock:
                            load.disconnections += 1
                            load.endings[f"{error.sqlstate} {str(error).split(chr(10))[0]}"] += 1
                        client.come_again()
                    elif error.sqlstate not in explained:
                        raise
                with lock:
                    load.done[work.__name__] += 1
                time.sleep(client.chance.expovariate(1 / plan.think))
            client.close()
        except BaseException:
            load.faults.append(traceback.format_exc())

    plan.start.wait(pg.TIMEOUT)
    threads = [threading.Thread(target=life, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plan.results.put(load)


def time_one(plan: Plan) -> None:
    """A process that does nothing but see how long `select 1` takes, by the simple query protocol."""
    load = Load()
    again = partial(psycopg.connect, plan.dsn, autocommit=True, prepare_threshold=None)
    connection = again()
    plan.start.wait(pg.TIMEOUT)
    deadline = time.monotonic() + plan.seconds
    while time.monotonic() < deadline:
        start = time.perf_counter()
        try:
            connection.execute("select 1").fetchone()
        except psycopg.OperationalError as error:
            if not connection.broken and plan.disconnections and error.sqlstate == OUT_OF_MEMORY:
                load.errors[error.sqlstate] += 1
            elif load.disconnections == plan.disconnections:
                load.faults.append(traceback.format_exc())
                break
            else:
                load.disconnections += 1
                connection = until_it_connects(again, pg.TIMEOUT)
        load.times.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    connection.close()
    plan.results.put(load)


def loaded(
    dsn: str,
    uri: str,
    connections: int,
    seconds: float,
    think: float,
    watch: Callable[[], None],
    disconnections: int = 0,
    begin: Callable[[], None] = lambda: None,
) -> Load:
    """The end of a load. `begin` is called when all are connected, `watch` ten times a second from then on. A client
    may be disconnected so often."""
    spawn = multiprocessing.get_context("spawn")
    share = -(-connections // PROCESSES)
    parts = [range(start, min(start + share, connections)) for start in range(0, connections, share)]
    plan = Plan(dsn, uri, seconds, think, spawn.Barrier(len(parts) + 2), spawn.Queue(), disconnections)
    processes = [spawn.Process(target=at_work, args=(plan, part)) for part in parts]
    processes.append(spawn.Process(target=time_one, args=(plan,)))
    for process in processes:
        process.start()
    plan.start.wait(pg.TIMEOUT)
    begin()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        watch()
        time.sleep(0.1)
    load = Load()
    for _ in processes:
        load.add(plan.results.get(timeout=pg.TIMEOUT))
    for process in processes:
        process.join(pg.TIMEOUT)
    return load
