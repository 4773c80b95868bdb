"""Random statements that call functions in Python, with errors, cancellations and killed processes.

    python -m tests.soak.functions [--seconds 7200] [--sessions 4]

It ends with an error if a result was wrong, an error came that nothing explains, or if descriptors, processes, memory,
files in /dev/shm or temporary names are more at the end than after the first round. `make soak-functions` runs it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, children, function_options, serve

MB = 1 << 20
#: Bytes of a function process's memory, and seconds of a call: many, because the load shares the processors with other
#: programs.
LIMITS = ("--udf-memory", "256MB", "--udf-timeout", "30", "--threads", "2")

SETUP = """
CREATE TABLE t AS SELECT i::INTEGER AS i, i % 7 AS g, 'text ' || i AS s FROM range(20000) r(i);
CREATE FUNCTION plus_one(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$;
CREATE FUNCTION upper_case(x VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP STRICT AS $$ return [s.upper() for s in x] $$;
CREATE FUNCTION rows_of_t(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP AS
    $$ return x + int(_conn.execute('SELECT count(*) AS n FROM t')['n'][0]) $$;
CREATE AGGREGATE total(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON AS
    $$ return numpy.bincount(aggr_group, x).astype('i8') $$;
CREATE FUNCTION doubled(i INTEGER) RETURNS TABLE (i INTEGER, d BIGINT) LANGUAGE PYTHON AS
    $$ return {'i': i, 'd': i * 2.0} $$;
CREATE FUNCTION halved(i INTEGER) RETURNS TABLE (h INTEGER) LANGUAGE PYTHON_MAP AS $$ return {'h': i // 2} $$;
CREATE FUNCTION counted(i INTEGER) RETURNS TABLE (n BIGINT) LANGUAGE PYTHON AS
    $$ return _conn.execute('SELECT sum(rows_of_t(i))::BIGINT AS n FROM t WHERE i < 3000') $$;
CREATE FUNCTION fails(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ raise ValueError(len(x)) $$;
CREATE FUNCTION too_short(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x[1:] $$;
CREATE FUNCTION wrong_query(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS
    $$ return _conn.execute('SELECT nothing')['n'] $$;
CREATE FUNCTION leaves(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ import os; os._exit(3) $$;
CREATE FUNCTION crashes(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ import ctypes; ctypes.string_at(0) $$;
CREATE FUNCTION hungry(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return len(bytearray(10**9)) + x $$;
CREATE FUNCTION waits(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ import time; time.sleep(60) $$;
CREATE FUNCTION waits_below(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP AS
    $$ return _conn.execute('SELECT count(*) AS n FROM range(100000000000) r(i) WHERE i % 7 = 3')['n'] $$;
CREATE FUNCTION threads(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$
import threading
started = [threading.Thread(target=threading.Event().wait, args=(0.01,)) for _ in range(3)]
for thread in started: thread.start()
for thread in started: thread.join()
print('started')
return x
$$
"""

#: Statements with the rows that they give.
RIGHT: dict[str, list[tuple[object, ...]]] = {
    "SELECT sum(plus_one(i))::BIGINT FROM t": [(200_010_000,)],
    "SELECT count(*) FROM t WHERE upper_case(s) = upper(s)": [(20_000,)],
    "SELECT g, total(i) = sum(i) FROM t GROUP BY g ORDER BY g": [(g, True) for g in range(7)],
    "SELECT sum(rows_of_t(i))::BIGINT FROM t WHERE i < 3000": [(64_498_500,)],
    "SELECT sum(d)::BIGINT FROM doubled((SELECT i FROM t WHERE i < 100))": [(9900,)],
    "SELECT max(h) FROM halved((SELECT i FROM t))": [(9999,)],
    "SELECT n FROM counted((SELECT 1))": [(64_498_500,)],
    "SELECT max(d) FROM doubled((SELECT h FROM halved((SELECT i FROM t))))": [(19_998,)],
    "SELECT threads(1)": [(1,)],
    "SELECT max(total) FROM (SELECT total(i) OVER (ORDER BY i ROWS 3 PRECEDING) AS total FROM t WHERE i < 200)": [
        (790,)
    ],
}
#: Statements that fail, with the SQLSTATE.
WRONG = {
    "SELECT fails(i) FROM t": "38000",
    "SELECT too_short(i) FROM t": "39000",
    "SELECT wrong_query(1)": "42703",
    "SELECT leaves(1)": "38000",
    "SELECT crashes(1)": "38000",
    "SELECT hungry(1)": "53200",
    "SELECT * FROM doubled((SELECT fails(i) FROM t))": "38000",
}
#: Statements that end when they are cancelled.
ENDLESS = ("SELECT max(waits(i)) FROM t", "SELECT waits_below(1)", "SELECT * FROM doubled((SELECT waits(i) FROM t))")
#: What a statement may fail with when a process was killed: that of the function, or the template.
AFTER_KILL = ("38000", "58000")
#: What concurrent changes of the same function may fail with.
CONFLICTS = ("40001", "42723", "42883", "55006", "25P02")


@dataclass
class Load:
    """Sessions with random statements."""

    server: Server
    seed: int
    faults: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    #: When a process was killed last.
    killed: float = 0.0

    def run(self, sessions: int, seconds: float) -> None:
        """Run so many sessions at a time, and one that kills processes."""
        end = time.monotonic() + seconds
        self.seed += 1
        threads = [threading.Thread(target=self.session, args=(self.seed * 1000 + at, end)) for at in range(sessions)]
        threads.append(threading.Thread(target=self.killer, args=(self.seed * 1000 + 999, end)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def session(self, seed: int, end: float) -> None:
        chance = random.Random(seed)
        try:
            while time.monotonic() < end:
                with psycopg.connect(self.server.dsn, autocommit=True) as connection:
                    for _ in range(chance.randint(1, 20)):
                        if time.monotonic() >= end:
                            break
                        self.statement(connection, chance)
        except BaseException:
            self.faults.append(f"seed {seed}: {traceback.format_exc()}")

    def statement(self, connection: psycopg.Connection, chance: random.Random) -> None:
        kind = chance.choices(["right", "wrong", "cancelled", "changed", "late"], [60, 20, 8, 8, 4])[0]
        begun = time.monotonic()
        query, allowed = kind, ()
        try:
            if kind == "right":
                query, rows = chance.choice(list(RIGHT.items()))
                found = connection.execute(query.encode()).fetchall()
                if found != rows:
                    self.faults.append(f"{query} gave {found}")
            elif kind == "wrong":
                query, state = chance.choice(list(WRONG.items()))
                allowed = (state,)
                connection.execute(query.encode())
                self.faults.append(f"{query} has not failed")
            elif kind == "changed":
                allowed = CONFLICTS
                change(connection, chance)
            else:
                query = chance.choice(ENDLESS)
                allowed = ("57014",)
                if kind == "late":
                    connection.execute("SET statement_timeout = '300ms'")
                    connection.execute(query.encode())
                else:
                    canceller = threading.Timer(chance.random() * 0.5, connection.cancel)
                    canceller.start()
                    try:
                        connection.execute(query.encode())
                    finally:
                        canceller.join()
                self.faults.append(f"{query} has not failed")
        except psycopg.Error as error:
            state = error.sqlstate or "none"
            self.errors[state] += 1
            was_killed = state in AFTER_KILL and self.killed > begun - 1
            if state not in allowed and not was_killed:
                self.faults.append(f"{query}: {state}: {error}")
        if kind == "late":
            connection.execute("SET statement_timeout = 0")
        self.done[kind] += 1

    def killer(self, seed: int, end: float) -> None:
        """Kill a function process now and then, and sometimes their template."""
        chance = random.Random(seed)
        while time.monotonic() < end:
            time.sleep(chance.random() * 2)
            with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):
                template = self.server.template
                victims = [template] if chance.random() < 0.1 else children(template)
                if victims:
                    self.killed = time.monotonic()
                    os.kill(chance.choice(victims), signal.SIGKILL)
                    self.killed = time.monotonic()
                    self.done["killed"] += 1


def change(connection: psycopg.Connection, chance: random.Random) -> None:
    """Create, call and drop a function in a transaction, which is kept or rolled back."""
    name, number = f"own_{chance.randint(0, 3)}", chance.randint(0, 9)
    create = (
        f"CREATE OR REPLACE FUNCTION {name}(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x * {number} $$"
    )
    with contextlib.suppress(psycopg.Rollback), connection.transaction() as transaction:
        connection.execute(create.encode())
        row = connection.execute(f"SELECT {name}(3)".encode()).fetchone()
        if row != (3 * number,):
            raise AssertionError(f"{name} gave {row}")
        if chance.random() < 0.3:
            connection.execute(f"DROP FUNCTION {name}(INTEGER)".encode())
        if chance.random() < 0.5:
            raise psycopg.Rollback(transaction)


@dataclass(frozen=True)
class Resources:
    """What a server without sessions holds."""

    descriptors: int
    processes: int
    shared_files: tuple[str, ...]
    #: Objects of the database that are neither tables nor functions of `SETUP`.
    names: tuple[str, ...]
    memory: int

    @classmethod
    def of(cls, server: Server) -> Resources:
        # Sessions end after their clients have gone, and a killed process is waited for later.
        wait_until(lambda: server.connections() == 0)
        wait_until(lambda: not function_processes(server))
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("SELECT plus_one(1)")
            query = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name <> 'colonnade_catalog'"
            names = [name for (name,) in connection.execute(query).fetchall()]
        wait_until(lambda: server.connections() == 0 and not function_processes(server))
        return cls(
            descriptors=count(f"/proc/{server.worker}/fd") + count(f"/proc/{server.template}/fd"),
            processes=len(server.children) + count(f"/proc/{server.worker}/task"),
            shared_files=shared_files(server),
            names=tuple(sorted(names)),
            memory=server.memory(),
        )


def shared_files(server: Server) -> tuple[str, ...]:
    """The files in /dev/shm of the user that runs functions. As root, other programs of the machine have some too."""
    user = Path(f"/proc/{server.template}").stat().st_uid
    files = [path for path in Path("/dev/shm").iterdir() if "PostgreSQL" not in path.name]
    return tuple(sorted(path.name for path in files if user == 0 or path.stat().st_uid == user))


def count(directory: str) -> int:
    return len(list(Path(directory).iterdir()))


def function_processes(server: Server) -> list[int]:
    """The function processes. The template may be starting."""
    try:
        return children(server.template)
    except (ValueError, FileNotFoundError):
        return []


@contextmanager
def watched() -> Iterator[Server]:
    """A server over a file, with functions."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "soak.duckdb"
        with serve(path, "--create", *function_options(), *LIMITS) as server:
            with psycopg.connect(server.dsn, autocommit=True) as session:
                session.execute(SETUP.encode())
            yield server


def soak(sessions: int, seconds: float, rounds: int, say: Callable[[str], None]) -> list[str]:
    """Load in rounds, with a look at the server without sessions after each. Returns what is wrong."""
    with watched() as server:
        load = Load(server, seed=random.randrange(1 << 20))
        say(f"seed {load.seed}")
        found: list[Resources] = []
        said = 0
        for number in range(rounds):
            load.run(sessions, seconds / rounds)
            found.append(Resources.of(server))
            shown = found[-1]
            say(
                f"round {number + 1}: {dict(load.done)}, errors {dict(load.errors)}, {shown.descriptors} descriptors, "
                f"{shown.processes} processes and threads, {shown.memory / MB:.0f} MB, {len(load.faults)} faults"
            )
            for fault in load.faults[said:]:
                say(f"fault: {fault}")
            said = len(load.faults)
            if server.process.poll() is not None or len(load.faults) > 20:
                break
        faults = load.faults
        early, late = found[: len(found) // 2 + 1], found[len(found) // 2 :]
        for name in ("descriptors", "processes"):
            # One of a process that was killed a moment ago may be there at any time.
            if max(getattr(part, name) for part in late) > max(getattr(part, name) for part in early):
                faults.append(f"{name}: {[getattr(part, name) for part in found]}")
        for name in ("shared_files", "names"):
            if getattr(early[0], name) != getattr(late[-1], name):
                faults.append(f"{name}: first {getattr(early[0], name)}, then {getattr(late[-1], name)}")
        before, after = max(part.memory for part in early), max(part.memory for part in late)
        if after > before * 1.1 + 32 * MB:
            faults.append(f"the server has grown from {before / MB:.0f} to {after / MB:.0f} MB")
        return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=7200, help="how long the load lasts (default: 7200)")
    parser.add_argument("--sessions", type=int, default=4, help="sessions at a time (default: 4)")
    parser.add_argument("--rounds", type=int, default=24, help="looks at the server without sessions (default: 24)")
    args = parser.parse_args()
    faults = soak(args.sessions, args.seconds, args.rounds, lambda text: print(text, file=sys.stderr, flush=True))
    if faults:
        sys.exit("\n".join(["the soak has found faults:", *faults]))
    print("no wrong result, no growth, no process or name left, no crash")


if __name__ == "__main__":
    main()
