from __future__ import annotations

from collections.abc import Iterator

import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import DUCKDB, MARIADB, POSTGRESQL, Database
from tests.testbed import mariadb
from tests.testbed import postgres as pg


@pytest.fixture(scope="session")
def postgresql(stock: pg.Cluster) -> Database:
    return Database(stock.uri(), **POSTGRESQL)


@pytest.fixture(scope="session")
def extension(extended: pg.Cluster) -> Database:
    return Database(extended.uri(), **POSTGRESQL)


@pytest.fixture(scope="session")
def served(uri: str) -> Database:
    return Database(uri, **DUCKDB)


@pytest.fixture(scope="session")
def mariadb_server(maria: mariadb.Server) -> Database:
    return Database(maria.uri(), **MARIADB)


@pytest.fixture(params=["postgresql", "extension", "served", "mariadb_server"])
def database(request: pytest.FixtureRequest) -> Database:
    """Each database that the driver can write to."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def connection(database: Database) -> Iterator[dbapi.Connection]:
    """A connection with a table `adbc_t`, which is empty, and without autocommit."""
    with database.cursor() as cursor:
        cursor.execute("create table adbc_t (i int primary key, s varchar(20))")
    try:
        with database.connect(autocommit=False) as opened:
            yield opened
    finally:
        with database.cursor() as cursor:
            cursor.execute("drop table adbc_t")
