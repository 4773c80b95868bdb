"""The databases of `writes.py`: each has an empty table with lineitem's columns, and files from which it can be filled.

with PLACES["MariaDB"](source) as target:
    target.empty()
    …
    wrong = difference(target, source)
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import sums
from postgres_tables import SETTINGS, cpu, load, pg, place, postgres_type, without_extension
from process import cpu_seconds
from sources_tables import LOGIN, columns, maria
from turns import reading

from tests.testbed import serving

HERE = Path(__file__).parent
TABLE = "written"
#: The table from which the files are made.
FILLED = "filled"
#: As a server is installed: rows go to the WAL as well.
REPLICA = {**SETTINGS, "wal_level": "replica"}


@dataclass(frozen=True)
class Source:
    """The rows that are written: the first ones of a Parquet file."""

    file: Path
    rows: int
    kinds: list[str]
    #: See `sums.py`.
    expected: list[sums.Sum]

    @staticmethod
    def of(file: Path, rows: int | None = None) -> Source:
        with duckdb.connect() as connection:
            limit = "" if rows is None else f" LIMIT {rows}"
            relation = connection.sql(f"FROM read_parquet('{file}'){limit}")
            kinds = [sums.kind(str(type_)) for type_ in relation.types]
            named = ", ".join(f"c{number}" for number in range(len(kinds)))
            [(count,)] = connection.sql(f"SELECT count(*) FROM ({relation.sql_query()})").fetchall()
            found = sums.of(connection, f"({relation.sql_query()}) AS t({named})", kinds)
        return Source(file, count, kinds, found)

    @property
    def relation(self) -> str:
        """From which DuckDB reads the rows."""
        return f"(FROM read_parquet('{self.file}') LIMIT {self.rows})"


@dataclass(frozen=True)
class Target:
    """A database with the table."""

    #: For `write.py` (`Place`).
    place: dict[str, Any]
    #: Makes the table new.
    empty: Callable[[], None]
    #: CPU seconds of the server so far.
    cpu: Callable[[], float] = lambda: 0.0
    #: Files with all rows, by the names that contenders use in their options: `{binary}`.
    files: dict[str, Path] = field(default_factory=dict)
    #: PostgreSQL without our extension during a block.
    without_extension: Callable[[], AbstractContextManager[None]] = nullcontext
    #: One of `readers.READERS`.
    reader: str = "colonnade"


def difference(target: Target, source: Source, rows: int, summed: bool) -> str | None:
    """What the table has that the source has not, as text. The sums of all values are compared if `summed`."""
    asked: dict[str, Any] = {"reader": target.reader, "place": target.place, "table": TABLE}
    if not summed:
        asked["query"] = f"SELECT count(*) AS n FROM {TABLE}"
        asked["kinds"] = ["number"]
    else:
        asked["kinds"] = source.kinds
    found = reading([sys.executable, str(HERE / "read.py"), json.dumps(asked)])
    if "error" in found:
        return f"cannot be read: {found['error']}"
    count = found["rows"] if summed else int(found["sums"][0][1])
    if count != rows:
        return f"the table has {count} rows, not {rows}"
    return sums.difference(found["sums"], source.expected) if summed else None


@contextmanager
def postgres(source: Source, *, has_extension: bool = True) -> Iterator[Target]:
    """A private PostgreSQL on TCP, in memory (no fsync), with a WAL."""
    with (
        pg.installed() if has_extension else nullcontext(pg.stock()) as installation,
        pg.cluster(installation, REPLICA) as cluster,
    ):
        yield postgres_target(cluster, source, "127.0.0.1", has_extension=has_extension)


def postgres_target(cluster: pg.Cluster, source: Source, host: str, *, has_extension: bool) -> Target:
    """The table in a running cluster, and the files next to the cluster's data."""
    with cluster.connect() as session:
        if has_extension:
            session.execute("CREATE EXTENSION colonnade")
    load(cluster, source.relation, FILLED)
    files = {form: cluster.directory / f"{TABLE}.{form}" for form in ("binary", "text")}
    with cluster.connect() as session:
        for form, file in files.items():
            session.execute(f"COPY {FILLED} TO '{file}' (FORMAT {form})")
        session.execute(f"DROP TABLE {FILLED}")

    def empty() -> None:
        with cluster.connect() as session:
            session.execute(f"DROP TABLE IF EXISTS {TABLE}")
            session.execute(f"CREATE TABLE {TABLE} ({', '.join(columns_of(source, postgres_type))})")
            # The pages and the WAL of the table before are not part of the next measurement.
            session.execute("CHECKPOINT")

    without = (lambda: without_extension(cluster)) if has_extension else nullcontext
    return Target(place(cluster, host), empty, lambda: cpu(cluster), files, without)


def columns_of(source: Source, named: Callable[[str], str]) -> list[str]:
    with duckdb.connect() as connection:
        relation = connection.sql(f"FROM {source.relation}")
        return [f'"{name}" {named(str(type_))}' for name, type_ in zip(relation.columns, relation.types, strict=True)]


@contextmanager
def mariadb(source: Source) -> Iterator[Target]:
    """A private MariaDB on TCP, whose buffer pool holds the table."""
    with maria({}) as server, tempfile.TemporaryDirectory(dir="/tmp") as directory, duckdb.connect() as connection:
        # The server's own user reads the file.
        Path(directory).chmod(0o755)
        relation = connection.sql(f"FROM {source.relation}")
        file = Path(directory) / f"{TABLE}.csv"
        relation.write_csv(str(file), header=False, na_rep="NULL")
        file.chmod(0o644)
        made = ", ".join(columns("MariaDB", relation, None))

        def empty() -> None:
            server.run(f"DROP TABLE IF EXISTS {LOGIN}.{TABLE}; CREATE TABLE {LOGIN}.{TABLE} ({made})")

        login = dict.fromkeys(("user", "password", "database"), LOGIN)
        where = {"kind": "mariadb", "port": server.port, **login}
        yield Target(where, empty, lambda: cpu_seconds(server.process.pid), {"csv": file})


@contextmanager
def sqlite(source: Source) -> Iterator[Target]:
    """A file with a rollback journal, which is SQLite's default."""
    import sqlite3
    from contextlib import closing

    with tempfile.TemporaryDirectory(dir="/tmp") as directory, duckdb.connect() as connection:
        path = Path(directory) / "written.sqlite"
        made = ", ".join(columns("SQLite", connection.sql(f"FROM {source.relation}"), None))

        def empty() -> None:
            for file in Path(directory).iterdir():
                file.unlink()
            with closing(sqlite3.connect(path)) as made_by:
                made_by.execute(f"CREATE TABLE {TABLE} ({made})")

        yield Target({"kind": "sqlite", "path": str(path)}, empty)


@contextmanager
def in_process(source: Source) -> Iterator[Target]:
    """A file of DuckDB's, which no server has open."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / "written.duckdb"

        def empty() -> None:
            for file in Path(directory).iterdir():
                file.unlink()
            with duckdb.connect(path) as connection:
                connection.execute(f"CREATE TABLE {TABLE} ({', '.join(columns_of(source, str))})")

        yield Target({"kind": "duckdb", "path": str(path)}, empty, reader="duckdb")


@contextmanager
def serve(source: Source) -> Iterator[Target]:
    """`colonnade serve` on TCP, over a file."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / "served.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE {FILLED} AS FROM {source.relation}")
        with serving.serve(path) as server:
            assert server.port is not None
            files = {form: Path(directory) / f"{TABLE}.{form}" for form in ("binary", "text")}
            with psycopg.connect(server.dsn, autocommit=True) as session, session.cursor() as cursor:
                for form, file in files.items():
                    with cursor.copy(f"COPY {FILLED} TO STDOUT (FORMAT {form})") as copy, file.open("wb") as out:
                        for part in copy:
                            out.write(part)
                session.execute(f"DROP TABLE {FILLED}")

            def empty() -> None:
                with psycopg.connect(server.dsn, autocommit=True) as session:
                    session.execute(f"DROP TABLE IF EXISTS {TABLE}")
                    session.execute(f"CREATE TABLE {TABLE} ({', '.join(columns_of(source, str))})")
                    session.execute("CHECKPOINT")

            where = {"kind": "serve", "port": server.port, "user": "tester"}
            yield Target(where, empty, lambda: cpu_seconds(server.process.pid), files)


Places = Callable[[Source], AbstractContextManager[Target]]
PLACES: dict[str, Places] = {
    "PostgreSQL": postgres,
    "SQLite": sqlite,
    "MariaDB": mariadb,
    "colonnade serve": serve,
    "DuckDB": in_process,
}
