"""Where the programs run: an empty database of `colonnade serve`, and one of PostgreSQL.

PostgreSQL shows that a program itself is right. The programs find either by libpq's variables (PGHOST and so on), over
TCP. Each `place` is a database that nobody else uses, so that programs can use the same names for their tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.testbed import postgres
from tests.testbed.postgres import Cluster
from tests.testbed.serving import serve

WHICH = ("serve", "postgresql")
USER = "tester"
DATABASE = "shop"

_numbers = count(1)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """A stock PostgreSQL for `place`."""
    with postgres.cluster(postgres.stock()) as cluster:
        yield cluster


@contextmanager
def place(which: str, directory: Path, postgresql: Cluster) -> Iterator[dict[str, str]]:
    """The environment of one of the two: a new server over a new file in the directory, or a new database."""
    if which == "serve":
        with serve("--create", directory / f"{DATABASE}.duckdb") as server:
            yield environment(str(server.host), server.port, DATABASE)
    else:
        database = f"{DATABASE}{next(_numbers)}"
        with postgresql.connect() as session:
            session.execute(f"CREATE DATABASE {database}")
        yield environment("127.0.0.1", postgresql.port, database)


@contextmanager
def places(directory: Path, postgresql: Cluster) -> Iterator[dict[str, dict[str, str]]]:
    """The environments of both, by their names."""
    with place("serve", directory, postgresql) as served, place("postgresql", directory, postgresql) as stock:
        yield {"serve": served, "postgresql": stock}


def environment(host: str, port: int | None, database: str) -> dict[str, str]:
    return {"PGHOST": host, "PGPORT": str(port), "PGUSER": USER, "PGDATABASE": database, "PGSSLMODE": "disable"}
