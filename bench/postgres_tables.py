"""The tables of data.py in a PostgreSQL, loaded into memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.testbed import postgres as pg

#: Analytical queries on tables that fit into memory, so that nothing waits for a disk.
SETTINGS = {
    "shared_buffers": "3GB",
    "max_wal_size": "8GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_workers": "8",
    "max_worker_processes": "8",
    "jit": "off",
}
#: PostgreSQL's names of DuckDB's types in these tables, if they differ.
TYPES = {
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "TINYINT": "smallint",
    "INTEGER": "int",
    "TIMESTAMP_NS": "timestamp",
}


def postgres_type(name: str) -> str:
    return TYPES.get(name, name.replace("DECIMAL", "numeric").lower())


def load(cluster: pg.Cluster, source: str, table: str, rows: int | None = None) -> list[str]:
    """Creates `table` from what DuckDB reads from `source`, such as a Parquet file; returns the names of its
    columns."""
    limit = "" if rows is None else f" LIMIT {rows}"
    with duckdb.connect() as duck, tempfile.TemporaryDirectory(dir="/tmp") as directory, cluster.connect() as session:
        relation = duck.sql(f"FROM {source}{limit}")
        columns = [
            f'"{name}" {postgres_type(str(type_))}'
            for name, type_ in zip(relation.columns, relation.types, strict=True)
        ]
        file = f"{directory}/{table}.csv"
        relation.write_csv(file, header=False)
        # PostgreSQL's own user reads it.
        Path(directory).chmod(0o755)
        Path(file).chmod(0o644)
        # The table is created in the same transaction, so that its rows need no WAL and are frozen.
        with session.transaction():
            session.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            session.execute(f"COPY {table} FROM '{file}' (FORMAT csv, FREEZE)")
        session.execute(f"VACUUM ANALYZE {table}")
        warm(cluster, table)
        return relation.columns


def warm(cluster: pg.Cluster, table: str) -> None:
    with cluster.connect() as session:
        session.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        session.execute(f"SELECT pg_prewarm('{table}')")
        session.execute(f"SELECT count(*) FROM {table}")


def cpu(cluster: pg.Cluster) -> float:
    """CPU seconds of the postmaster, its running children and those that ended."""
    total = 0
    ticks = os.sysconf("SC_CLK_TCK")
    parent = str(cluster.process.pid)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It ended after it was listed; its parent's time includes it.
        if entry.name == parent:
            total += sum(map(int, fields[11:15]))
        elif fields[1] == parent:
            total += sum(map(int, fields[11:13]))
    return total / ticks


@contextmanager
def without_extension(cluster: pg.Cluster) -> Iterator[None]:
    """PostgreSQL without the extension, during the block."""
    with cluster.connect() as session:
        session.execute("DROP EXTENSION colonnade")
        try:
            yield
        finally:
            session.execute("CREATE EXTENSION colonnade")


def let_in(cluster: pg.Cluster) -> None:
    """Accepts TCP connections from every address: the cluster listens on 127.0.0.1 only."""
    with (cluster.directory / "data/pg_hba.conf").open("a") as rules:
        rules.write("host all all all trust\n")
    with cluster.connect() as session:
        session.execute("SELECT pg_reload_conf()")


def place(cluster: pg.Cluster, host: str = "127.0.0.1") -> dict[str, Any]:
    """The place for `read.py`."""
    where = {"kind": "postgres", "host": host, "port": cluster.port, "directory": str(cluster.directory)}
    return {**where, "user": pg.SUPERUSER, "database": "postgres"}
