"""Starts the databases of an experiment with its tables, and reads from them.

    with databases.started(context, {"lineitem": 500_000}, systems.SYSTEMS) as there:
        row = there.reading(systems.EXTENSION, "lineitem", link=LAN, destination="pandas")

With root, servers have their own network namespace (`laboratory.py`), and a client is in the same one or behind a link.
The kernel then counts all bytes on the network. Without root, everything is on this machine, and `wire_bytes` comes
from the client's own sockets, if its library leaves them open.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import duckdb
import laboratory
import postgres_tables
import sources_tables
import sums
import turns
from laboratory import CLIENT_SIDE, SERVER_SIDE, Link
from postgres_tables import pg
from process import cpu_seconds

from study import systems
from study.experiment import Context, Row, Unmeasurable
from study.systems import System

BENCH = Path(__file__).parents[1] / "bench"
HERE = "127.0.0.1"
FLIGHT_ROWS = 65536
#: The time limit in seconds of a reading without a slow link.
TIME_LIMIT = 900.0
#: A reading of fewer seconds is repeated, because a moment without the CPU would change it visibly.
SHORT = 0.3


@dataclass(frozen=True)
class Started:
    """A running server, or a file."""

    #: The information that a reader needs in addition to the host (`Place`).
    place: dict[str, Any]
    #: CPU seconds used so far.
    cpu: Callable[[], float] = lambda: 0.0
    #: PostgreSQL without our extension during a block.
    without_extension: Callable[[], AbstractContextManager[None]] = nullcontext


class Databases:
    """The databases that run now."""

    def __init__(self, context: Context, directory: Path, tables: Sequence[str], namespace: str | None) -> None:
        self.context, self.directory, self.tables, self.namespace = context, directory, tables, namespace
        #: All tables in DuckDB. Every result is compared with these.
        self.file = directory / "tables.duckdb"
        self.started: dict[str, Started] = {}
        #: The databases that did not start, with the reason.
        self.failed: dict[str, str] = {}
        self._expected: dict[str, tuple[int, list[str], list[sums.Sum]]] = {}

    def parquet(self, table: str) -> Path:
        return self.directory / f"{table}.parquet"

    def csv(self, table: str) -> Path:
        return self.directory / f"{table}.csv"

    def relations(self) -> dict[str, str]:
        """The relation from which DuckDB reads each table."""
        return {table: f"read_parquet('{self.parquet(table)}')" for table in self.tables}

    def reading(
        self,
        system: System,
        table: str,
        link: Link | None = None,
        destination: str = "arrow",
        query: str | None = None,
        limit: float = TIME_LIMIT,
    ) -> Row:
        """A new client process reads the table, or the query's result, and ends.

        The row: `system`, `table`, `link` (its name, or `local`); seconds `wall`, `connect`, `execute` and `transfer`
        (None if this client's library does not separate the step), `client_cpu`, `server_cpu`; bytes `client_peak` (the
        whole process), `wire_bytes` (None if unknown), `arrow_bytes`; `rows`; `checked`: `values`, or `rows` if the
        client discards the values. If the result is not the source's, or something else fails, there is an `error` and
        no time. The time excludes imports and includes connecting.

        `destination` is `arrow` or `pandas`. A client that supports only one of them returns that one. pyarrow converts
        the results of those that return Arrow.

        Raises `Unmeasurable` for a link without root, or without the shaper.
        """
        question = query or f"SELECT * FROM {table}"
        named = {"system": system.name, "table": table, "link": link.name if link else "local"}
        named["destination"] = destination
        if reason := self.failed.get(system.database):
            return {**named, "error": reason}
        database = self.started[system.database]
        rows, kinds, expected = self.expected(question)
        asked = {
            "reader": system.reader,
            "place": {**database.place, "host": laboratory.SERVER if link else HERE, "is_far": link is not None},
            "table": table,
            "query": question,
            "options": system.options,
            "destination": destination,
            "kinds": kinds,
            "is_alone": self.namespace is not None,
        }
        command = [self.context.peers if system.is_peer else sys.executable, str(BENCH / "read.py"), json.dumps(asked)]
        with ExitStack() as stack:
            if link:
                stack.enter_context(self.linked(link))
            if self.namespace:
                command = laboratory.inside(CLIENT_SIDE if link else SERVER_SIDE, *command)
            if not system.has_extension:
                stack.enter_context(database.without_extension())
            found = turns.reading(command, database.cpu, self.context.size.time_limit if link else limit)
        return {**named, **judged(found, rows, expected)}

    def readings(
        self, wanted: Sequence[System], table: str, links: Sequence[Link | None] = (None,), **more: Any
    ) -> list[Row]:
        """All systems over all links, in turns, round by round. A combination that failed once is not tried again."""
        rows: list[Row] = []
        dead: set[tuple[str, str | None]] = set()
        least: dict[tuple[str, str | None], float] = {}
        for number in range(max(self.context.size.rounds, self.context.size.short_rounds)):
            for link in links:
                for system in wanted:
                    cell = system.name, link.name if link else None
                    if cell in dead or (number >= self.context.size.rounds and least[cell] >= SHORT):
                        continue
                    row = self.reading(system, table, link, **more)
                    if "error" in row:
                        dead.add(cell)
                    least[cell] = min(row.get("wall", SHORT), least.get(cell, SHORT))
                    rows.append({**row, "round": number})
                    shown = row.get("error") or f"{row['wall']:.2f} s"
                    self.context.say(f"{row['table']:>14} {row['link']:>14} {system.name:<40} {shown}")
        return rows

    @contextmanager
    def linked(self, link: Link) -> Iterator[None]:
        shaper = self.context.programs / "colonnade-shaper"
        if self.namespace is None:
            raise Unmeasurable("a link needs network namespaces, and they need root")
        if not shaper.exists():
            raise Unmeasurable(f"{shaper} is missing: cargo build --release -p colonnade-shaper")
        if link.congestion not in laboratory.congestion_controls():
            raise Unmeasurable(f"this kernel has no {link.congestion.upper()}")
        with laboratory.wire(link, shaper):
            yield

    def expected(self, query: str) -> tuple[int, list[str], list[sums.Sum]]:
        """DuckDB's number of rows, kinds of the columns and their sums."""
        if query not in self._expected:
            with duckdb.connect(str(self.file), read_only=True) as connection:
                relation = connection.sql(query)
                kinds = [sums.kind(str(type_)) for type_ in relation.types]
                names = [f"c{number}" for number in range(len(kinds))]
                [(rows,)] = connection.sql(f"SELECT count(*) FROM ({query})").fetchall()
                found = sums.of(connection, f"({query}) AS t({', '.join(names)})", kinds)
            self._expected[query] = rows, kinds, found
        return self._expected[query]


def first(context: Context, table: str, rows: int) -> Path:
    """A Parquet file with the first rows of one of `data.TABLES`, to be loaded under another name."""
    path = context.scratch / f"{table}-{rows}.parquet"
    if not path.exists():
        duckdb.sql(f"COPY (FROM read_parquet('{data.write(table)}') LIMIT {rows}) TO '{path}'")
    return path


def judged(found: Row, rows: int, expected: list[sums.Sum]) -> Row:
    """The client's report, or an error if the result differs from the source."""
    if "error" in found:
        return found
    received = found.pop("sums")
    if found["rows"] != rows:
        return {"error": f"wrong: {found['rows']} rows, not {rows}"}
    if received is not None and (difference := sums.difference(received, expected)):
        return {"error": f"wrong: {difference}"}
    return {**found, "checked": "rows" if received is None else "values"}


@contextmanager
def started(context: Context, tables: Mapping[str, int | Path], wanted: Sequence[System]) -> Iterator[Databases]:
    """The databases of these systems, with this number of rows of each of these tables (`data.TABLES`), or with those
    of a Parquet file. Each database has read its tables once."""
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(dir=context.scratch))
        # Database servers run as another user.
        Path(name).chmod(0o755)
        namespace = SERVER_SIDE if os.geteuid() == 0 else None
        if namespace:
            stack.enter_context(laboratory.namespaces())
        there = Databases(context, Path(name), list(tables), namespace)
        with duckdb.connect(str(there.file)) as connection:
            for table, rows in tables.items():
                file, limit = (rows, "") if isinstance(rows, Path) else (data.write(table), f"LIMIT {rows}")
                connection.execute(f"CREATE TABLE {table} AS FROM read_parquet('{file}') {limit}")
                connection.execute(f"COPY {table} TO '{there.parquet(table)}'")
        for database in dict.fromkeys(system.database for system in wanted):
            kind, _, detail = database.partition(":")
            context.say(f"starting {database} …")
            try:
                with laboratory.within(namespace) if namespace else nullcontext():
                    there.started[database] = stack.enter_context(STARTERS[kind](there, detail))
            except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                # The others can still be measured.
                there.failed[database] = f"{kind} did not start: {error}"[:300]
                context.say(there.failed[database])
        yield there


@contextmanager
def postgres(there: Databases, _: str) -> Iterator[Started]:
    settings = {**postgres_tables.SETTINGS, "listen_addresses": HERE}
    if there.context.size.name == "tiny":
        settings["shared_buffers"] = "128MB"
    with pg.installed() as installation, pg.cluster(installation, settings) as cluster:
        postgres_tables.let_in(cluster)
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        for table, relation in there.relations().items():
            postgres_tables.load(cluster, relation, table)
        yield Started(
            postgres_tables.place(cluster),
            lambda: postgres_tables.cpu(cluster),
            lambda: postgres_tables.without_extension(cluster),
        )


@contextmanager
def mariadb(there: Databases, _: str) -> Iterator[Started]:
    memory = "128M" if there.context.size.name == "tiny" else "2G"
    with sources_tables.maria(there.relations(), memory=memory) as server:
        login = dict.fromkeys(("user", "password", "database"), sources_tables.LOGIN)
        yield Started({"kind": "mariadb", "port": server.port, **login}, lambda: cpu_seconds(server.process.pid))


@contextmanager
def sqlite(there: Databases, _: str) -> Iterator[Started]:
    path = there.directory / "tables.sqlite"
    sources_tables.sqlite_file(path, there.relations())
    yield Started({"kind": "sqlite", "path": str(path)})


@contextmanager
def in_process(there: Databases, _: str) -> Iterator[Started]:
    yield Started({"kind": "duckdb", "path": str(there.file)})


@contextmanager
def serve(there: Databases, _: str) -> Iterator[Started]:
    directory = there.directory / "serve"
    directory.mkdir()
    with laboratory.serving(there.file, directory / "socket", there.namespace) as server:
        user, _, password = laboratory.USER.partition(":")
        yield Started({"kind": "serve", "port": server.port, "user": user, "password": password}, server.cpu)


@contextmanager
def flight(there: Databases, codec: str) -> Iterator[Started]:
    command = [sys.executable, str(BENCH / "flight_server.py"), str(there.file), str(FLIGHT_ROWS), f"grpc://{HERE}:0"]
    with program([*command, *([codec] if codec != "none" else [])]) as (port, process):
        yield Started({"kind": "flight", "port": port}, lambda: cpu_seconds(process.pid))


@contextmanager
def quack(there: Databases, _: str) -> Iterator[Started]:
    command = [there.context.peers, str(BENCH / "quack_server.py"), HERE, str(pg.free_port())]
    with program([*command, *(str(there.parquet(table)) for table in there.tables)]) as (port, process):
        yield Started({"kind": "quack", "port": port}, lambda: cpu_seconds(process.pid))


@contextmanager
def monetdb(there: Databases, _: str) -> Iterator[Started]:
    """It listens on this machine only."""
    directory = there.directory / "monetdb"
    command = [there.context.peers, str(BENCH / "monetdb_server.py"), str(directory), str(pg.free_port())]
    with program([*command, *(str(there.parquet(table)) for table in there.tables)]) as (port, process):
        place = {"kind": "monetdb", "port": port, "user": "bench", "database": directory.name}
        yield Started(place, lambda: cpu_seconds(process.pid))


@contextmanager
def csv(there: Databases, codec: str) -> Iterator[Started]:
    with duckdb.connect(str(there.file), read_only=True) as connection:
        for table in there.tables:
            if not there.csv(table).exists():
                connection.execute(f"COPY {table} TO '{there.csv(table)}' (HEADER false)")
    files = json.dumps({table: [str(there.csv(table)), there.expected(f"FROM {table}")[0]] for table in there.tables})
    with program([sys.executable, str(BENCH / "csv_server.py"), codec, files]) as (port, process):
        yield Started({"kind": "csv", "port": port, "codec": codec}, lambda: cpu_seconds(process.pid))


@contextmanager
def odbc(there: Databases, name: str) -> Iterator[Started]:
    """A user's database, which already has the tables. Its CPU and the bytes on its wire are unknown."""
    yield Started({"kind": "odbc", "connection": os.environ[f"{systems.ODBC}{name}"]})


@contextmanager
def program(command: Sequence[str]) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server that prints its address when it listens."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{Path(command[1]).name} did not start")
            yield int(line.rpartition(":")[2]), process
        finally:
            process.terminate()


STARTERS: dict[str, Callable[[Databases, str], AbstractContextManager[Started]]] = {
    "postgres": postgres,
    "mariadb": mariadb,
    "sqlite": sqlite,
    "duckdb": in_process,
    "serve": serve,
    "flight": flight,
    "quack": quack,
    "monetdb": monetdb,
    "csv": csv,
    "odbc": odbc,
}
