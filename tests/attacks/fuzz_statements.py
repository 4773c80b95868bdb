"""Statements at random, sent to a `colonnade serve` by users who may only read.

    python -m tests.attacks.fuzz_statements [--seconds 30] [--seed 1] [--connections 4]
    python -m tests.attacks.fuzz_statements --replay FILE

After every few seconds it compares the tables, the catalog, the settings of sessions that were opened before, and the
files outside of the database's folder with what they were. It ends with an error if something has changed, or if the
process that holds the engine ended more often than once in DEATHS statements. Statements that were under way when their
connection ended are printed, as a line of JSON each; with --replay each line of a file is sent to a server of its own.
`make fuzz` runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from colonnade_serve._core import Fence

from tests.attacks.attackers import Target, target
from tests.attacks.pipelined import Client, extended, simple
from tests.attacks.sql_grammar import Grammar
from tests.testbed.serving import TIMEOUT

#: The engine's process may end once in so many statements.
DEATHS = 20_000
#: As strict as an operator would be who expects this.
LIMITS = (
    "--memory",
    "1GB",
    "--threads",
    "2",
    "--statement-timeout",
    "3",
    "--temp-size",
    "1GB",
    "--max-result-bytes",
    "1MB",
)
BATCH = 16
SETUP = """
create table odd as select i, x.* from range(20) r(i), (select null::int as n, 'nan'::double as d, 'é'::varchar as s,
    [1, null] as l, {'a': 1} as st, '\\xFF'::blob as b, interval 1 month as v, 'infinity'::timestamptz as z) x;
insert into t values (2), (3); create view seen as from canary; create macro ours(x) as x + 1;
create schema other; create table other.deep (i int primary key, s varchar default 'x'); 
insert into other.deep values (1, 'y');
"""


def allowed_to_all() -> Callable[[str], bool]:
    fence = Fence([], 1000)
    return lambda name: fence.decision("functions", name) == "all"


@dataclass
class Progress:
    """What all connections together have done."""

    statements: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    #: Statements that were under way when their connection broke.
    suspects: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def requests(grammar: Grammar, count: int) -> tuple[list[str], list[bytes]]:
    """Statements, and the messages that send them."""
    statements, sent = [], []
    for _ in range(count):
        statement = grammar.statement()
        statements.append(statement)
        data = statement.encode("utf-8", "replace")
        if grammar.once_in(2):
            sent.append(simple(data))
        else:
            count_of_values = max((number for number in range(1, 4) if f"${number}" in statement), default=0)
            values = [grammar.one_of((b"1", b"", b"x", b"'", b"1e400", b"-1", b"{}")) for _ in range(count_of_values)]
            sent.append(extended(data, values))
        if "stdin" in statement.lower():
            # What follows would be taken for its data.
            break
    return statements, sent


def attack(attacked: Target, grammar: Grammar, progress: Progress, goes_on: Callable[[], bool]) -> None:
    """One connection after the other, until told to end."""
    client: Client | None = None
    while goes_on():
        try:
            client = client or Client(attacked)
        except psycopg.OperationalError:
            # The next worker is starting.
            time.sleep(0.1)
            continue
        statements, sent = requests(grammar, BATCH)
        if grammar.once_in(2):
            # A transaction that has failed would refuse all of them.
            statements[0], sent[0] = "rollback", simple(b"rollback")
        codes: Counter[str] = Counter()
        answered = client.run(sent, codes)
        with progress.lock:
            progress.statements += answered
            progress.codes += codes
            if answered < len(sent):
                progress.suspects.append(statements[answered])
        if answered < len(sent):
            client.close()
            client = None
    if client is not None:
        client.close()


class Keeper:
    """Sessions that are opened before the attack, and what they see."""

    SETTINGS = "select name, value, scope from duckdb_settings() order by all"
    CATALOG = (
        "select database_name, schema_name, table_name, column_count, sql from duckdb_tables() where not temporary",
        "select database_name, schema_name, view_name, sql from duckdb_views() where not internal and not temporary",
        "select database_name, schema_name, sequence_name, last_value from duckdb_sequences() where not temporary",
        "select database_name, schema_name, index_name, sql from duckdb_indexes()",
        "select database_name, schema_name, type_name from duckdb_types() where not internal",
        "select database_name, schema_name, function_name, macro_definition from duckdb_functions() where not internal",
        "select database_name, schema_name from duckdb_schemas()",
        "select database_name, path, readonly from duckdb_databases() where database_name <> 'temp'",
    )

    def __init__(self, attacked: Target) -> None:
        self.attacked = attacked
        self.sessions: list[psycopg.Connection] = []

    def state(self) -> dict[str, object]:
        """What no reader may change; new sessions are opened where the engine's process has ended."""
        for _ in range(TIMEOUT):
            try:
                if not self.sessions:
                    self.sessions = [self.attacked.connect(user) for user in ("writer", "reader")]
                return self._state()
            except psycopg.OperationalError:
                self.close()
                time.sleep(0.2)
        raise TimeoutError("the server does not come back")

    def _state(self) -> dict[str, object]:
        writer = self.sessions[0]
        found: dict[str, object] = {
            f"settings of a {session.info.user}": session.execute(self.SETTINGS).fetchall() for session in self.sessions
        }
        for query in self.CATALOG:
            found[query] = sorted(map(repr, writer.execute(query).fetchall()))
        tables = writer.execute(
            "select schema_name, table_name from duckdb_tables() where database_name = 'shop'"
        ).fetchall()
        for schema, table in tables:
            name = f'"{schema}"."{table}"'
            found[f"rows of {name}"] = sorted(map(repr, writer.execute(f"select x::varchar from {name} x").fetchall()))
        found["files"] = files_outside(self.attacked.file.parent)
        return found

    def close(self) -> None:
        for session in self.sessions:
            session.close()
        self.sessions = []


def files_outside(data: Path) -> list[str]:
    """Files beside the database's own folder, and in it those that are not its own."""
    own = (data / "shop.duckdb", data / "shop.duckdb.wal")
    everything = [
        path for path in data.parent.rglob("*") if path not in own and data / "shop.duckdb.tmp" not in path.parents
    ]
    return sorted(str(path) for path in everything if path.name != "shop.duckdb.tmp")


@dataclass
class Deaths:
    """How often the engine's process has ended, and what the server says of the last time."""

    count: int
    last: list[str]


@contextmanager
def attackable(directory: Path, options: tuple[str, ...]) -> Iterator[tuple[Target, Callable[[], Deaths]]]:
    """A server whose database has a folder of its own, and how often its worker has ended."""
    data, elsewhere = directory / "data", directory / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    # What a relative path means, and where a library would put files of its own.
    before, home = Path.cwd(), os.environ.get("HOME")
    os.chdir(elsewhere)
    os.environ["HOME"] = str(elsewhere)
    try:
        with target(data, *options, "--metrics", "127.0.0.1:0") as attacked:
            assert attacked.server.process.stdout is not None
            url = attacked.server.process.stdout.readline().split()[-1]
            with attacked.connect("writer") as writer:
                writer.execute(SETUP)

            def deaths() -> Deaths:
                with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                    lines = answer.read().decode().splitlines()
                count = next(line for line in lines if line.startswith("colonnade_worker_restarts_total "))
                last = [line for line in lines if line.startswith("colonnade_worker_last_death_info{")]
                return Deaths(int(count.split()[1]), last)

            yield attacked, deaths
    finally:
        os.chdir(before)
        if home is not None:
            os.environ["HOME"] = home


@dataclass
class Report:
    """What an attack has come to."""

    progress: Progress
    deaths: int
    #: What has changed that no reader may change.
    faults: list[str]


def fuzz(
    seed: int, connections: int, *, seconds: float | None = None, statements: int = 0, options: tuple[str, ...] = LIMITS
) -> Report:
    """Attack a server of its own for some time, or with so many statements."""
    progress, faults = Progress(), []
    deadline = 0.0

    def goes_on() -> bool:
        return time.monotonic() < deadline and (seconds is not None or progress.statements < statements)

    with (
        tempfile.TemporaryDirectory(prefix="colonnade-fuzz-") as directory,
        attackable(Path(directory), options) as (attacked, deaths),
    ):
        keeper = Keeper(attacked)
        before = keeper.state()
        deadline = time.monotonic() + (seconds if seconds is not None else 10 * TIMEOUT)
        grammars = [Grammar(f"{seed}-{number}", allowed_to_all()) for number in range(connections)]
        threads = [
            threading.Thread(target=attack, args=(attacked, grammar, progress, goes_on), daemon=True)
            for grammar in grammars
        ]
        for thread in threads:
            thread.start()
        seen = known = 0
        while any(thread.is_alive() for thread in threads):
            threads[0].join(2)
            after, died = keeper.state(), deaths()
            changed = [what for what in before | after if before.get(what) != after.get(what)]
            faults += [f"{what}: {before.get(what)} became {after.get(what)}" for what in changed]
            with progress.lock:
                new, seen = progress.suspects[seen:], len(progress.suspects)
            for suspect in new:
                tell(f"under way when a connection ended, seed {seed}: {json.dumps(suspect)}")
            if died.count > known:
                known = died.count
                tell(f"death {known}: {'; '.join(died.last)}")
            if changed:
                deadline = 0
        keeper.close()
        return Report(progress, deaths().count, faults)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def replay(lines: list[str]) -> None:
    """Send each statement to a server of its own, by both protocols, and say which end it."""
    for line in lines:
        statement = json.loads(line)
        with (
            tempfile.TemporaryDirectory(prefix="colonnade-fuzz-") as directory,
            attackable(Path(directory), LIMITS) as (attacked, deaths),
        ):
            for way in (simple, lambda data: extended(data, [])):
                client, codes = Client(attacked), Counter[str]()
                before, begin = deaths().count, time.monotonic()
                answered = client.run([way(statement.encode())], codes)
                client.close()
                # The supervisor sees a death a moment later.
                for _ in range(20 if not answered else 1):
                    died = deaths()
                    if died.count > before:
                        break
                    time.sleep(0.2)
                end = "died" if died.count > before else "answered" if answered else "cut off"
                took = time.monotonic() - begin
                tell(f"{end} {dict(codes)} {took:.1f} s {json.dumps(statement)[:400]} {died.last}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="how long it lasts (default: 30)")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="what the statements are made from (default: the time)"
    )
    parser.add_argument("--connections", type=int, default=4, help="readers at once (default: 4)")
    parser.add_argument("--replay", type=Path, help="a file of statements, one JSON string a line")
    args = parser.parse_args()
    if args.replay:
        replay(args.replay.read_text().splitlines())
        return
    begin = time.monotonic()
    report = fuzz(args.seed, args.connections, seconds=args.seconds)
    done, took = report.progress.statements, time.monotonic() - begin
    print(f"seed {args.seed}: {done} statements in {took:.0f} s, {report.deaths} deaths of the engine's process")
    print(f"errors by SQLSTATE: {dict(report.progress.codes.most_common())}")
    faults = report.faults
    if report.deaths > 1 + done // DEATHS:
        faults.append(f"{report.deaths} deaths are more than one in {DEATHS} statements")
    if faults:
        sys.exit("\n".join([f"seed {args.seed} has found faults:", *faults]))


if __name__ == "__main__":
    main()
