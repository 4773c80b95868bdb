"""Every type of every source into every destination: Arrow's value, or an error that names the column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import colonnade
import exactness
import exactness_values as values
import mariadb
import postgres as pg
import pytest
from exactness import DESTINATIONS
from serving import serve

#: DuckDB and PostgreSQL have no empty names.
NAMES = ["Success", "Count", "count", "indkey", "proargtypes", 'a "b" c', "ünï", "V"]


@pytest.fixture(scope="module")
def in_postgres(stock: pg.Cluster) -> Iterator[colonnade.Connection]:
    with stock.connect() as session:
        session.execute("create database exactness")
    with colonnade.connect(stock.uri("exactness")) as connection:
        for statement in values.POSTGRES_TYPES:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def in_extension(extended: pg.Cluster) -> Iterator[colonnade.Connection]:
    with extended.connect() as session:
        session.execute("create database exactness")
    with extended.connect("exactness") as session:
        session.execute("create extension colonnade")
    with colonnade.connect(extended.uri("exactness")) as connection:
        for statement in values.POSTGRES_TYPES:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def in_serve() -> Iterator[colonnade.Connection]:
    with serve() as server, colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/test") as connection:
        yield connection


@pytest.fixture(scope="module")
def in_duckdb() -> Iterator[colonnade.Connection]:
    with colonnade.connect("duckdb:///:memory:") as connection:
        yield connection


@pytest.fixture(scope="module")
def in_mysql(maria: mariadb.Server) -> Iterator[colonnade.Connection]:
    maria.run(values.mysql_tables(), "--default-character-set=utf8mb4", mariadb.DATABASE)
    with colonnade.connect(maria.uri()) as connection:
        yield connection


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[colonnade.Connection]:
    path = tmp_path_factory.mktemp("exactness") / "a.sqlite"
    values.sqlite_tables(path)
    with colonnade.connect(f"sqlite:///{path}") as connection:
        yield connection


SOURCES: dict[str, list[values.Case]] = {
    "in_postgres": values.POSTGRES,
    "in_extension": values.POSTGRES,
    "in_serve": values.DUCKDB,
    "in_duckdb": values.DUCKDB,
    "in_mysql": values.MYSQL,
    "in_sqlite": values.SQLITE,
}


def refused(error: colonnade.Error, name: str) -> bool:
    """Whether an error says which column it is about."""
    return f'column "{name}' in error.message or f"column {name!r}" in error.message


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_value_is_arrows_or_refused(
    request: pytest.FixtureRequest, source: str, destination: str, tmp_path: Path
) -> None:
    connection: colonnade.Connection = request.getfixturevalue(source)
    wrong: list[Any] = []
    kept = 0
    for case in SOURCES[source]:
        sql = case.query("odd")
        try:
            field, values_of_arrow = exactness.arrow(connection, sql)
        except colonnade.Error as error:
            if not (case.is_refused and refused(error, "odd")):
                wrong.append((case, "arrow", error))
            continue
        if case.is_refused:
            wrong.append((case, "arrow", values_of_arrow))
        expected = [exactness.expected(destination, field, value) for value in values_of_arrow]
        try:
            found = DESTINATIONS[destination](connection, sql, tmp_path)
        except colonnade.Error as error:
            if not refused(error, "odd"):
                wrong.append((case.text, field.type, error))
            continue
        except BaseException as error:
            wrong.append((case.text, field.type, repr(error)))
            continue
        kept += 1
        if found != expected:
            wrong.append((case.text, field.type, found, expected))
    assert wrong == []
    assert kept > len(SOURCES[source]) / 3
