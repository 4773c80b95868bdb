"""What tools ask a server about itself: psql's backslash commands, and the catalog's relations and functions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import psycopg.types
import pytest
from serving import Server, serve


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE shop (i integer PRIMARY KEY, s varchar NOT NULL, d decimal(9, 2) DEFAULT 1, a integer[])"
            )
            connection.execute("CREATE VIEW stock AS SELECT i FROM shop")
            connection.execute("CREATE SCHEMA other")
            connection.execute("CREATE TABLE other.elsewhere (x timestamptz)")
        yield server


def psql(server: Server, command: str) -> list[str]:
    arguments = ["psql", "--no-psqlrc", "--no-align", "--tuples-only", "--command", command, server.dsn]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_psql_describes(server: Server) -> None:
    assert psql(server, r"\dt") == ["main|shop|table|duckdb"]
    assert psql(server, r"\dt *.*") == ["main|shop|table|duckdb", "other|elsewhere|table|duckdb"]
    assert psql(server, r"\d") == ["main|shop|table|duckdb", "main|stock|view|duckdb"]
    assert psql(server, r"\dv") == ["main|stock|view|duckdb"]
    assert psql(server, r"\dn") == ["main|duckdb", "other|duckdb"]
    assert psql(server, r"\df") == []
    assert [line.split("|")[0] for line in psql(server, r"\l")] == ["memory"]
    assert psql(server, r"\d shop") == [
        "i|integer||not null|",
        "s|character varying||not null|",
        "d|numeric(9,2)|||1",
        "a|integer[]|||",
    ]
    assert psql(server, r"\d+ stock")[0].startswith("i|integer|")
    assert psql(server, r"\d other.elsewhere") == ["x|timestamp with time zone|||"]


def test_names_of_the_catalog_are_found_with_and_without_their_schema(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for query in ("SELECT version()", "SELECT pg_catalog.version()"):
            ((version,),) = connection.execute(query).fetchall()
            assert version.startswith("PostgreSQL 15.0 (Colonnade")
        for schema in ("", "pg_catalog."):
            query = f"SELECT oid FROM {schema}pg_type WHERE typname OPERATOR(pg_catalog.~) %s"
            assert connection.execute(query, ["^int4$"]).fetchall() == [(23,)]
        info = psycopg.types.TypeInfo.fetch(connection, "uuid")
        assert info is not None
        assert (info.oid, info.array_oid) == (2950, 2951)
        connection.execute("USE other")
        assert connection.execute("SELECT current_schema(), version() LIKE 'PostgreSQL%%'").fetchone() == (
            "other",
            True,
        )
        assert connection.execute("SELECT 'pg_catalog.x'").fetchone() == ("pg_catalog.x",)


def test_a_database_that_is_only_read_has_a_catalog_too(tmp_path: Path) -> None:
    path = tmp_path / "odd name.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE kept AS SELECT 1 AS i")
    with serve(path, "--read-only") as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        assert connection.execute("SELECT relname FROM pg_catalog.pg_class").fetchall() == [("kept",)]
        assert connection.execute("SELECT i FROM kept WHERE i = %s", [1]).fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE never (i integer)")
