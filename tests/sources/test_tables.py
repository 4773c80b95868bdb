"""The tables of every source, and their columns."""

from __future__ import annotations

from pathlib import Path

import colonnade
import duckdb
import pyarrow as pa
import pytest

from tests.sources.every_source import ADBC, Source
from tests.support.sqlite_files import make
from tests.testbed import mariadb
from tests.testbed import postgres as pg

COLUMNS = pa.schema(
    [*((name, pa.utf8()) for name in ("catalog", "schema", "name", "type")), ("estimated_rows", "int64")]
)
#: Names that are no names without quotes, or are two with dots for separators.
ODD = ['with "quotes"', "with `ticks`", "with.dot", "Capital", "select"]


@pytest.mark.gap("odbc", error=colonnade.NotSupportedError, match=r"arrow-odbc does not list .*\n.*information_schema")
def test_the_tables_of_a_source_are_listed(source: Source) -> None:
    found = colonnade.tables(source.uri)
    assert found.schema == COLUMNS
    rows = {row["name"]: row for row in found.to_pylist()}
    assert {"every_type", "readings"} <= rows.keys()
    assert rows["readings"]["type"].lower() == "table"
    assert not [name for name in rows if name.startswith(("pg_", "sqlite_"))]
    with source.connect() as connection:
        assert connection.tables() == found
        assert connection.query("select 7 as n").to_arrow()["n"].to_pylist() == [7]


@pytest.mark.gap(*ADBC, "odbc", error=colonnade.NotSupportedError, match="unknown how this source's database quotes")
def test_the_columns_of_a_table_are_those_that_are_read(source: Source) -> None:
    with source.connect() as connection:
        for table in ("readings", "every_type"):
            assert connection.schema(table) == connection.query(f"select * from {table}").to_arrow().schema
        with pytest.raises(colonnade.ProgrammingError, match="no_such_table"):
            connection.schema("no_such_table")
    assert colonnade.schema(source.uri, "readings").names == ["id", "word", "price"]


@pytest.mark.parametrize("name", ["serve", "postgresql", "mysql", "sqlite", "duckdb"])
def test_names_are_quoted_and_not_parsed(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> None:
    with odd_tables(request, tmp_path, name) as connection:
        listed = [row for row in connection.tables().to_pylist() if row["name"] in ODD]
        if name not in ("sqlite", "duckdb"):
            listed = [row for row in listed if row["schema"] == "Odd names"]
        assert sorted(row["name"] for row in listed) == sorted(ODD)
        for row in listed:
            assert connection.schema(row["name"], row["schema"]).names == ["Some column"]
            read = colonnade.read_sql_table(
                row["name"], connection, schema=row["schema"], columns=["Some column"], return_type="arrow"
            )
            assert read.to_pydict() == {"Some column": [7]}
        with pytest.raises(colonnade.DatabaseError):
            connection.schema("with", "dot")


def odd_tables(request: pytest.FixtureRequest, directory: Path, name: str) -> colonnade.Connection:
    """A connection to a database with the tables of ODD."""
    quote = "`" if name == "mysql" else '"'

    def quoted(text: str) -> str:
        return quote + text.replace(quote, 2 * quote) + quote

    made = [f"create table {quoted(table)} ({quoted('Some column')} integer)" for table in ODD]
    made += [f"insert into {quoted(table)} values (7)" for table in ODD]
    match name:
        case "sqlite":
            return colonnade.connect(make(directory / "odd.sqlite", ";".join(made)))
        case "duckdb":
            with duckdb.connect(str(directory / "odd.duckdb")) as filling:
                for statement in made:
                    filling.execute(statement)
            return colonnade.connect(f"duckdb:///{directory}/odd.duckdb")
        case "mysql":
            server: mariadb.Server = request.getfixturevalue("maria")
            connection = colonnade.connect(server.uri())
            schema = quoted("Odd names")
            request.addfinalizer(lambda: server.run(f"drop database {schema}"))
        case _:
            connection = colonnade.connect(
                request.getfixturevalue("stock").uri() if name == "postgresql" else request.getfixturevalue("uri")
            )
            schema = quoted("Odd names")
            request.addfinalizer(lambda: drop(request, name, f"drop schema {schema} cascade"))
    connection.execute(f"create {'database' if name == 'mysql' else 'schema'} {schema}")
    for statement in made:
        connection.execute(
            statement.replace("create table ", f"create table {schema}.").replace(
                "insert into ", f"insert into {schema}."
            )
        )
    return connection


def drop(request: pytest.FixtureRequest, name: str, statement: str) -> None:
    uri = request.getfixturevalue("stock").uri() if name == "postgresql" else request.getfixturevalue("uri")
    with colonnade.connect(uri) as connection:
        connection.execute(statement)


def test_estimated_rows(stock: pg.Cluster, maria: mariadb.Server, tmp_path: Path) -> None:
    def estimate(connection: colonnade.Connection, *statements: str) -> dict[str, object]:
        for statement in statements:
            connection.execute(statement)
        found = {row["name"]: row["estimated_rows"] for row in connection.tables().to_pylist()}
        return {name: rows for name, rows in found.items() if name.startswith("estimated_")}

    many = "select g as n from generate_series(1, 1000) g"
    with colonnade.connect(stock.uri()) as connection:
        try:
            assert estimate(
                connection,
                f"create table estimated_table as {many}",
                "create table estimated_never as select 1 as n",
                "create view estimated_view as select 1 as n",
                "analyze estimated_table",
            ) == {"estimated_table": 1000, "estimated_never": None, "estimated_view": None}
        finally:
            connection.execute("drop view if exists estimated_view")
            connection.execute("drop table if exists estimated_table, estimated_never")
    with colonnade.connect(maria.uri()) as connection:
        try:
            found = estimate(
                connection,
                "create table estimated_table as select seq as n from seq_1_to_1000",
                "create view estimated_view as select 1 as n",
                "analyze table estimated_table",
            )
            assert found == {"estimated_table": 1000, "estimated_view": None}
        finally:
            connection.execute("drop view if exists estimated_view")
            connection.execute("drop table if exists estimated_table")
    with colonnade.connect("duckdb:") as connection:
        made = ("create table estimated_table as from range(1000)", "create temp table estimated_not as select 1")
        assert estimate(connection, *made) == {"estimated_table": 1000}


def test_attached_databases_and_other_schemas() -> None:
    with colonnade.connect("duckdb:") as connection:
        connection.execute("attach ':memory:' as other")
        connection.execute("create table other.main.not_listed (n int)")
        connection.execute("create schema second")
        connection.execute("create table second.t (n int)")
        assert [(row["schema"], row["name"]) for row in connection.tables().to_pylist()] == [("second", "t")]
        assert connection.schema("t", "second") == pa.schema([("n", pa.int32())])
        with pytest.raises(colonnade.ProgrammingError, match="does not exist"):
            connection.schema("t")
