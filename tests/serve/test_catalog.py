"""What tools ask a server about itself: psql's backslash commands, and the catalog's relations and functions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import psycopg.types
import pytest

from tests.testbed.serving import Server, serve


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE shop (i integer PRIMARY KEY, s varchar NOT NULL, d decimal(9, 2) DEFAULT 1, a integer[])"
            )
            connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
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
    assert psql(server, r"\dt") == ["public|shop|table|tester"]
    of_all = [line for line in psql(server, r"\dt *.*") if not line.startswith("pg_catalog|")]
    assert of_all == ["other|elsewhere|table|tester", "public|shop|table|tester"]
    assert psql(server, r"\d") == ["public|shop|table|tester", "public|stock|view|tester"]
    assert psql(server, r"\dv") == ["public|stock|view|tester"]
    assert psql(server, r"\dn") == ["other|tester", "public|tester"]
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
    assert psql(server, r"\di") == ["public|shop_pkey|index|tester|shop"]
    assert psql(server, r"\dT") == ["public|mood|"]


def test_psql_shows_keys_checks_and_indexes() -> None:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE parents (a integer, b integer, PRIMARY KEY (a, b))")
            connection.execute(
                """CREATE TABLE children (x integer UNIQUE CHECK (x > 0), y integer, "order" integer,
                FOREIGN KEY (x, y) REFERENCES parents (a, b))"""
            )
            connection.execute('CREATE INDEX ordered ON children ("order", (x + 1))')

        def described(table: str) -> list[str]:
            command = ["psql", "--no-psqlrc", "--command", rf"\d {table}", server.dsn]
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert result.stderr == ""
            return [
                line.strip() for line in result.stdout.splitlines() if line.startswith(("  ", "\t")) and "|" not in line
            ]

        assert described("children")[1:] == [
            '"children_x_key" UNIQUE CONSTRAINT, btree (x)',
            '"ordered" btree ("order", (x + 1))',
            '"children_x_check" CHECK ((x > 0))',
            '"children_x_y_fkey" FOREIGN KEY (x, y) REFERENCES parents(a, b)',
        ]
        assert described("parents")[1:] == [
            '"parents_pkey" PRIMARY KEY, btree (a, b)',
            'TABLE "children" CONSTRAINT "children_x_y_fkey" FOREIGN KEY (x, y) REFERENCES parents(a, b)',
        ]


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
        with connection.transaction(force_rollback=True):
            connection.execute("CREATE TYPE json AS ENUM ('b'); CREATE TYPE name AS INT")
            query = "SELECT typeof('1'::pg_catalog.json), typeof(CAST('1' AS pg_catalog.json)), 'x'::pg_catalog.name"
            assert connection.execute(query.encode()).fetchall() == [("JSON", "JSON", "x")]
            query = (
                "SELECT '1'::pg_catalog.int4, 'c'::pg_catalog.\"char\", 1::pg_catalog.numeric(4, 1)::pg_catalog.text"
            )
            assert connection.execute(query.encode()).fetchall() == [(1, "c", "1.0")]
            connection.execute("CREATE TABLE made (j pg_catalog.json, i pg_catalog.int8)")
            ((sql,),) = connection.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 'made'").fetchall()
            assert sql == "CREATE TABLE made(j JSON, i BIGINT);"
        for query in (
            "SELECT 'a'::pg_catalog.mood",
            "SELECT CAST('a' AS pg_catalog.mood)",
            "CREATE TABLE t(m pg_catalog.mood)",
        ):
            with pytest.raises(psycopg.errors.UndefinedObject, match="mood"):
                connection.execute(query.encode())
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
        query = "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace <> 'pg_catalog'::regnamespace"
        assert connection.execute(query).fetchall() == [("kept",)]
        assert connection.execute("SELECT i FROM kept WHERE i = %s", [1]).fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE never (i integer)")


def test_numbers_of_things_have_names(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:

        def one(query: str, *values: object) -> object:
            ((value,),) = connection.execute(query, values).fetchall()
            return value

        number = one("SELECT oid FROM pg_class WHERE relname = 'shop'")
        for query in (
            "SELECT 'shop'::regclass::oid",
            "SELECT CAST('main.shop' AS regclass)",
            "SELECT to_regclass('shop')",
        ):
            assert one(query) == number
        assert one("SELECT %s::regclass", "Shop") == number
        assert one("SELECT 'pg_catalog.pg_class'::regclass::oid") == 1259
        assert one("SELECT relname FROM pg_class WHERE oid = 'shop'::regclass") == "shop"
        assert one("SELECT oid::regclass::text FROM pg_class WHERE relname = 'elsewhere'") == "other.elsewhere"
        assert one("SELECT 'shop'::regclass::text") == "shop"
        assert one("SELECT 'integer'::regtype::oid") == 23
        assert one("SELECT atttypid::regtype FROM pg_attribute WHERE attname = 'a'") == "integer[]"
        assert one("SELECT 'other'::regnamespace = relnamespace FROM pg_class WHERE relname = 'elsewhere'") is True
        with pytest.raises(psycopg.errors.UndefinedTable, match='relation "nope" does not exist'):
            connection.execute("SELECT 'nope'::regclass")


def test_the_information_schema_is_of_the_current_database(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        query = "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL"
        assert connection.execute(query).fetchall() == [
            ("other", "elsewhere", "BASE TABLE"),
            ("public", "shop", "BASE TABLE"),
            ("public", "stock", "VIEW"),
        ]
        query = """
            SELECT column_name, data_type, udt_name, is_nullable, column_default
            FROM information_schema.columns c WHERE c.table_name = %s ORDER BY ordinal_position
        """
        assert connection.execute(query, ["shop"]).fetchall() == [
            ("i", "integer", "int4", "NO", None),
            ("s", "character varying", "varchar", "NO", None),
            ("d", "numeric", "numeric", "YES", "1"),
            ("a", "ARRAY", "_int4", "YES", None),
        ]
        query = "SELECT constraint_type FROM information_schema.table_constraints WHERE table_name = 'shop' ORDER BY 1"
        assert ("PRIMARY KEY",) in connection.execute(query).fetchall()
        assert connection.execute("SELECT schema_name FROM information_schema.schemata ORDER BY 1").fetchall() == [
            ("other",),
            ("public",),
        ]
        assert connection.execute("SELECT current_setting('server_version_num')").fetchone() == ("150000",)
        assert connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname !~ '^pg_' ORDER BY 1"
        ).fetchall() == [
            ("elsewhere",),
            ("shop",),
        ]
