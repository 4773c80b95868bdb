"""Everything at once, for a while, on a private PostgreSQL: queries, cancels, killed clients, errors, schema changes.

    python -m tests.soak.postgres [--seconds 600]

It ends with an error if a result was wrong, an error came that nothing explains, a process crashed, a backend stayed
behind, or the backend that had worked from the beginning had grown. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import colonnade
import psycopg

from tests.testbed import postgres as pg

MB = 1 << 20
ROWS = 30_000
SETTINGS = {
    "max_parallel_workers_per_gather": "2",
    "min_parallel_table_scan_size": "0",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "deadlock_timeout": "100ms",
}
SETUP = f"""
create extension colonnade;
create type mood as enum ('sad', 'ok');
create table steady as select i, i % 100 as k, 'note ' || i as note, (i / 7.0)::numeric(12, 3) as amount,
    (array['sad', 'ok'])[i % 2 + 1]::mood as mood, array[i, null] as l from generate_series(1, {ROWS}) i;
create table shifting (a int, b text);
insert into shifting select i, 'b ' || i from generate_series(1, 5000) i;
"""
CHANGES = [
    "alter table shifting add column if not exists extra numeric(9, 2) default 1.5",
    "alter table shifting drop column if exists extra",
    "alter table shifting alter column a type bigint",
    "alter table shifting alter column a type int",
    "alter table shifting rename to moved; alter table moved rename to shifting",
    "drop table if exists fleeting",
    "create table if not exists fleeting as select i, 'x' as x from generate_series(1, 2000) i",
    "truncate shifting",
    "insert into shifting (a, b) select i, 'b ' || i from generate_series(1, 5000) i",
    "vacuum shifting",
    "update steady set note = note where i % 100 = 0",
]
#: What may happen to a query while others change tables, cancel and terminate. Internal errors may not.
EXPLAINED = {
    *("57014", "57P01", "22012", "22003", "0A000", "42P01", "42703", "40P01", "55P03", "40001", None),
    # The table's type has changed between planning and running.
    "42804",
}
COMPRESSIONS = [None, "plain", "light", "light+fsst", "light+lz4", "light+zstd-1"]


class Soak:
    """What the threads share."""

    def __init__(self, cluster: pg.Cluster, seconds: float) -> None:
        self.cluster = cluster
        self.deadline = time.monotonic() + seconds
        self.done: Counter[str] = Counter()
        self.errors: Counter[str | None] = Counter()
        self.faults: list[str] = []
        self.lock = threading.Lock()

    @property
    def over(self) -> bool:
        return time.monotonic() > self.deadline or bool(self.faults)

    def again(self, work: Callable[[Soak, random.Random], None], seed: int) -> None:
        """One thread's life."""
        chance = random.Random(seed)
        while not self.over:
            try:
                work(self, chance)
            except (colonnade.Error, psycopg.Error) as error:
                with self.lock:
                    self.errors[error.sqlstate] += 1
                # Without an SQLSTATE a connection was lost, or found to be, as terminated ones are.
                lost = isinstance(error, (colonnade.OperationalError, psycopg.OperationalError))
                closed = isinstance(error, colonnade.InterfaceError) and "is closed" in str(error)
                if error.sqlstate not in EXPLAINED or (error.sqlstate is None and not lost and not closed):
                    self.faults.append(traceback.format_exc())
            except BaseException:
                self.faults.append(traceback.format_exc())
            with self.lock:
                self.done[work.__name__] += 1


def read(soak: Soak, chance: random.Random) -> None:
    """Reads what nobody changes, and checks it."""
    with colonnade.connect(soak.cluster.uri(tcp=chance.random() < 0.5)) as connection:
        for _ in range(10):
            options = {"compression": chance.choice(COMPRESSIONS), "parallel": chance.choice(["on", "off", "auto"])}
            table = connection.query("select i, k, note, amount, mood, l from steady", **options).to_arrow()
            check(table.num_rows == ROWS, "rows are missing")
            numbers = table.column("i").to_pylist()
            check(sum(numbers) == ROWS * (ROWS + 1) // 2, "values are wrong")
            at = chance.randrange(ROWS)
            row = {name: table.column(name)[at].as_py() for name in ("k", "note", "mood", "l")}
            i = numbers[at]
            wanted = {"k": i % 100, "note": f"note {i}", "mood": "ok" if i % 2 else "sad", "l": [i, None]}
            check(row == wanted, f"row {i} is {row}")


def check(condition: bool, complaint: str) -> None:
    if not condition:
        raise AssertionError(complaint)


def chase(soak: Soak, chance: random.Random) -> None:
    """Reads tables that others change."""
    with colonnade.connect(soak.cluster.uri()) as connection:
        for _ in range(10):
            table = chance.choice(["shifting", "fleeting", "steady"])
            connection.query(f"select * from {table}", chunk_rows=chance.choice([100, 5000])).to_arrow()


def give_up(soak: Soak, chance: random.Random) -> None:
    """Stops reading somewhere, and goes on with the connection."""
    with colonnade.connect(soak.cluster.uri(tcp=True)) as connection:
        for _ in range(5):
            endless = chance.choice(["* from steady a, steady b", "generate_series(1, 1000000000) as i"])
            result = connection.query(f"select {endless}", parallel=chance.choice(["on", "off"]))
            for _, _ in zip(range(chance.randrange(3)), result, strict=False):
                pass
            result.close()
            check(connection.query("select 1 as one").to_arrow().num_rows == 1, "the connection is out of step")


def fail(soak: Soak, chance: random.Random) -> None:
    """Errors before, in the middle and at the end."""
    with colonnade.connect(soak.cluster.uri()) as connection:
        for _ in range(10):
            at = chance.choice([1, 500, ROWS])
            value = chance.choice(
                [f"1 / (i - {at})", f"case i when {at} then 'NaN'::numeric else 1 end::numeric(3, 1)", "missing"]
            )
            try:
                connection.query(f"select {value} as v from steady", parallel=chance.choice(["on", "off"])).to_arrow()
            except colonnade.Error as error:
                if error.sqlstate not in ("22012", "22003", "42703"):
                    raise
            else:
                raise AssertionError("the error did not come")
            check(connection.query("select 1 as one").to_arrow().num_rows == 1, "the connection is out of step")


def vanish(soak: Soak, chance: random.Random) -> None:
    """Clients that die with their queries under way."""
    with psycopg.connect(soak.cluster.dsn(), autocommit=True) as client:
        client.execute("select colonnade_version()")
        client.pgconn.send_query(b"copy (select * from steady a, steady b) to stdout (format colonnade)")
        time.sleep(chance.random() / 20)
        client.pgconn.finish()
    code = (
        "import colonnade,sys\nfor b in colonnade.connect(sys.argv[1]).query('select * from steady a, steady b'): pass"
    )
    with subprocess.Popen([sys.executable, "-c", code, soak.cluster.uri()], stderr=subprocess.DEVNULL) as killed:
        time.sleep(0.5 + chance.random() / 2)
        killed.kill()


def change(soak: Soak, chance: random.Random) -> None:
    """Changes of tables and types under way."""
    with soak.cluster.connect() as session:
        session.execute("set lock_timeout = '2s'")
        for number in range(30):
            session.execute(chance.choice(CHANGES))
            if number % 10 == 0:
                label = f"label {chance.randrange(200)}"
                session.execute(f"alter type mood add value if not exists '{label}'")
            time.sleep(0.01)


def stop(soak: Soak, chance: random.Random) -> None:
    """Cancels and terminates sessions by chance."""
    with soak.cluster.connect() as session:
        how = chance.choice(["cancel", "cancel", "terminate"])
        session.execute(
            f"select pg_{how}_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query ilike 'copy%'"
            " and application_name <> 'veteran' order by random() limit 1"
        )
        time.sleep(0.1)


WORK = [read, read, chase, give_up, fail, vanish, change, stop]


class Veteran:
    """A connection that works from the beginning to the end, while its backend's memory is watched."""

    def __init__(self, cluster: pg.Cluster) -> None:
        self.connection = colonnade.connect(cluster.uri(application_name="veteran"))
        self.backend = self.connection.query("select pg_backend_pid() as pid").to_arrow().column(0)[0].as_py()

    def work(self, times: int) -> int:
        """Bytes of the backend's own memory afterwards."""
        for number in range(times):
            self.connection.query("select * from steady", compression=COMPRESSIONS[number % 6]).to_arrow()
            try:
                self.connection.query("select 1 / (i - 20000) as q, note from steady").to_arrow()
            except colonnade.DataError:
                continue
            raise AssertionError("the error did not come")
        status = Path(f"/proc/{self.backend}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon:"))


@contextmanager
def soaked(seconds: float) -> Iterator[Soak]:
    """The end of a soak, with the cluster still running."""
    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            for statement in SETUP.split(";\n"):
                session.execute(statement)
        veteran = Veteran(cluster)
        before = veteran.work(30)
        soak = Soak(cluster, seconds)
        threads = [threading.Thread(target=soak.again, args=(work, seed)) for seed, work in enumerate(WORK)]
        for thread in threads:
            thread.start()
        while not soak.over:
            veteran.work(1)
        for thread in threads:
            thread.join(pg.TIMEOUT)
            if thread.is_alive():
                soak.faults.append("a client is stuck")
        grown = veteran.work(30) - before
        veteran.connection.close()
        if grown > 8 * MB:
            soak.faults.append(f"a backend has grown by {grown / MB:.1f} MB")
        print(f"work done: {dict(soak.done)}\nerrors by SQLSTATE: {dict(soak.errors)}", file=sys.stderr)
        print(f"a backend that worked all the time has grown by {grown / MB:.1f} MB", file=sys.stderr)
        yield soak


def faults_of(soak: Soak) -> list[str]:
    """What went wrong, once the clients are gone."""
    deadline = time.monotonic() + pg.TIMEOUT
    with soak.cluster.connect() as session:
        others = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and backend_type in"
        others += " ('client backend', 'parallel worker')"
        while session.execute(others).fetchone() != (0,):
            if time.monotonic() > deadline:
                soak.faults.append("a backend is stuck")
                break
            time.sleep(0.1)
    log = soak.cluster.log.read_text(errors="replace")
    signs = ("was terminated by signal", "PANIC", "TRAP:", "cache lookup failed", "leak", "WARNING")
    # Whom `stop` has chosen may have ended by then.
    late = "is not a PostgreSQL backend process"
    soak.faults += [line for line in log.splitlines() if any(sign in line for sign in signs) and late not in line]
    if soak.cluster.process.poll() is not None:
        soak.faults.append("the server is gone")
    return soak.faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: 600)")
    with soaked(parser.parse_args().seconds) as soak:
        faults = faults_of(soak)
    if faults:
        sys.exit("\n".join(["the soak has found faults:", *faults]))
    print("no wrong result, no leak, no stuck backend, no crash")


if __name__ == "__main__":
    main()
