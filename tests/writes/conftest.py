"""The databases that are written to, each with a schema or a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote

import colonnade
import duckdb
import psycopg
import pytest

from tests.support.sqlite_files import make, uri
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server
from tests.writes.places import Place

_numbers = count()


def in_database(maria: mariadb.Server, name: str) -> Place:
    """A new database of a server."""
    maria.run(f"create database {name} character set utf8mb4")
    return Place(maria.uri().replace(f"/{mariadb.DATABASE}", f"/{name}"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of PostgreSQL alone run on both kinds, to which rows go in different forms."""
    if "cluster" in metafunc.fixturenames and "place" not in metafunc.fixturenames:
        metafunc.parametrize("cluster", ["stock", "extended"], indirect=True)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> pg.Cluster:
    """PostgreSQL as it is, or with the extension."""
    return request.getfixturevalue(getattr(request, "param", "stock"))


@pytest.fixture
def session(cluster: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session of psycopg's in addition to the writer, which commits by itself."""
    with cluster.connect() as opened:
        opened.autocommit = True
        yield opened


def with_schema(cluster: pg.Cluster, session: psycopg.Connection) -> Place:
    schema = f"writes_{next(_numbers)}"
    session.execute(f"create schema {schema}")
    session.execute(f"set search_path to {schema}")
    return Place(cluster.uri(options=f"-c search_path={schema}"))


@pytest.fixture
def in_postgres(cluster: pg.Cluster, session: psycopg.Connection) -> Place:
    """PostgreSQL, with a new schema at the beginning of the search path."""
    return with_schema(cluster, session)


@pytest.fixture
def in_extended(extended: pg.Cluster) -> Place:
    """The same with the extension."""
    with extended.connect() as opened:
        return with_schema(extended, opened)


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Place:
    """An empty SQLite file."""
    return Place(make(tmp_path / "a b.db", ""))


@pytest.fixture
def in_serve(server: Server, uri: str) -> Place:
    """`colonnade serve`, with a new schema on the search path."""
    schema = f"writes_{next(_numbers)}"
    with psycopg.connect(server.dsn, autocommit=True) as opened:
        opened.execute(f"create schema {schema}")
    return Place(f"{uri}?options=-c%20search_path%3D{schema}", is_serve=True)


@pytest.fixture
def in_mariadb(maria: mariadb.Server) -> Place:
    """MariaDB, with a new database."""
    return in_database(maria, f"writes_{next(_numbers)}")


@pytest.fixture
def in_duckdb(tmp_path: Path) -> Place:
    """An empty DuckDB file."""
    return duckdb_file(tmp_path / "a b.duckdb")


def duckdb_file(path: Path) -> Place:
    duckdb.connect(str(path)).close()
    return Place(f"duckdb:///{quote(str(path))}")


@pytest.fixture(params=["postgres", "extended", "sqlite", "mariadb", "duckdb", "serve"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each database that can be written to."""
    return request.getfixturevalue(f"in_{request.param}")


@pytest.fixture(scope="module")
def postgres_place(stock: pg.Cluster) -> Place:
    """PostgreSQL for tests with many examples, which replace one table."""
    with stock.connect() as opened:
        opened.execute("create schema if not exists examples")
    return Place(stock.uri(options="-c search_path=examples"))


@pytest.fixture(scope="module")
def extended_place(extended: pg.Cluster) -> Place:
    """The same with the extension."""
    with extended.connect() as opened:
        opened.execute("create schema if not exists examples")
    return Place(extended.uri(options="-c search_path=examples"))


@pytest.fixture(scope="module")
def serve_place(server: Server, uri: str) -> Place:
    """`colonnade serve` for the same."""
    with psycopg.connect(server.dsn, autocommit=True) as opened:
        opened.execute("create schema if not exists examples")
    return Place(f"{uri}?options=-c%20search_path%3Dexamples", is_serve=True)


@pytest.fixture(scope="module")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An SQLite file for the same."""
    path = tmp_path_factory.mktemp("writes") / "examples.db"
    make(path, "")
    return Place(uri(path))


@pytest.fixture(scope="module")
def mariadb_place(maria: mariadb.Server, request: pytest.FixtureRequest) -> Place:
    """MariaDB for the same."""
    return in_database(maria, f"examples_{request.module.__name__.rpartition('.')[2]}")


@pytest.fixture(scope="session")
def cautious_maria() -> Iterator[mariadb.Server]:
    """A MariaDB that asks no client for files."""
    with mariadb.server(["--local-infile=0"]) as running:
        yield running


@pytest.fixture(scope="module")
def mariadb_insert_place(cautious_maria: mariadb.Server, request: pytest.FixtureRequest) -> Place:
    """The same with INSERT in place of LOAD DATA."""
    return in_database(cautious_maria, f"examples_{request.module.__name__.rpartition('.')[2]}")


@pytest.fixture(scope="module")
def duckdb_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A DuckDB file for the same. It is kept open, because DuckDB takes half a second to open one."""
    place = duckdb_file(tmp_path_factory.mktemp("writes") / "examples.duckdb")
    with colonnade.connect(place.uri):
        yield place


@pytest.fixture(params=["load", "insert"])
def either_mariadb(request: pytest.FixtureRequest) -> Place:
    """A new database of a server that takes LOAD DATA LOCAL, and of one that does not."""
    if request.param == "load":
        return request.getfixturevalue("in_mariadb")
    return in_database(request.getfixturevalue("cautious_maria"), f"writes_{next(_numbers)}")
