"""The catalog functions of psqlODBC, Debian's: what they say of `colonnade serve` is what they say of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients import odbc_catalog
from tests.clients.odbc_catalog import Catalog, Row
from tests.support import fronts
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

SCHEMA = "odbc_shop"
TABLES = f"""
    create schema {SCHEMA};
    create table {SCHEMA}.makers (country varchar, number integer, name varchar unique, primary key (number, country));
    create table {SCHEMA}.goods (
        id integer primary key, "Maker" integer, country varchar, price decimal(9, 2),
        foreign key ("Maker", country) references {SCHEMA}.makers (number, country)
    );
    create index goods_price on {SCHEMA}.goods (price);
    create unique index goods_both on {SCHEMA}.goods (country, price);
    create table {SCHEMA}.plain (i integer);
"""
NAMES = ("makers", "goods", "plain")


def served_by(server: Server) -> str:
    parts = {"Driver": "{PostgreSQL Unicode}", "Server": server.host, "Port": server.port}
    parts |= {"Database": "memory", "UID": "tester", "PWD": "x"}
    return ";".join(f"{key}={value}" for key, value in parts.items())


@pytest.fixture(scope="module")
def catalogs(stock: pg.Cluster) -> Iterator[tuple[Catalog, Catalog]]:
    """The server's and PostgreSQL's."""
    with (
        serve() as server,
        psycopg.connect(server.dsn, autocommit=True) as client,
        stock.prepared(TABLES, f"drop schema {SCHEMA} cascade"),
    ):
        for statement in TABLES.split(";")[:-1]:
            client.execute(statement.encode())
        yardstick = fronts.odbc(stock).removeprefix("odbc:")
        with odbc_catalog.connected(served_by(server)) as ours, odbc_catalog.connected(yardstick) as theirs:
            yield ours, theirs


def without(rows: list[Row], *columns: int) -> list[Row]:
    """Rows without the columns that name the database, and constraints, whose names are DuckDB's."""
    return sorted((tuple(value for at, value in enumerate(row) if at not in columns) for row in rows), key=repr)


@pytest.mark.parametrize("table", NAMES)
def test_primary_keys(catalogs: tuple[Catalog, Catalog], table: str) -> None:
    ours, theirs = (without(catalog.primary_keys(SCHEMA, table), 0, 5) for catalog in catalogs)
    assert ours == theirs
    assert len(ours) == {"makers": 2, "goods": 1, "plain": 0}[table]


@pytest.mark.parametrize("table", NAMES)
def test_foreign_keys(catalogs: tuple[Catalog, Catalog], table: str) -> None:
    ours, theirs = (without(catalog.foreign_keys(SCHEMA, table), 0, 4, 11, 12) for catalog in catalogs)
    assert ours == theirs
    assert len(ours) == {"makers": 0, "goods": 2, "plain": 0}[table]
    ours, theirs = (without(catalog.referring_keys(SCHEMA, table), 0, 4, 11, 12) for catalog in catalogs)
    assert ours == theirs


@pytest.mark.parametrize("table", NAMES)
def test_statistics(catalogs: tuple[Catalog, Catalog], table: str) -> None:
    # Also without how many rows and pages there are.
    ours, theirs = (without(catalog.statistics(SCHEMA, table), 0, 4, 5, 10, 11) for catalog in catalogs)
    assert ours == theirs
    assert len(ours) >= {"makers": 3, "goods": 4, "plain": 0}[table]
