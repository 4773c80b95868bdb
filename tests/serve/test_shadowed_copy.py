"""COPY … FROM STDIN and literals in a database with macros that have the names of the server's functions."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Iterator
from pathlib import Path

import colonnade
import duckdb
import psycopg
import pyarrow as pa
import pytest
from colonnade._sources.duckdb_types.exact import quoted

from tests.testbed.serving import Server, serve

ROWS = [(uuid.UUID(int=7), 2**127, decimal.Decimal("1.50"))]
TABLE = "CREATE TABLE {} (u UUID, h UHUGEINT, d DECIMAL(9, 2))"


def make(database: Path, *but: str) -> None:
    """Make a database with macros that have the names of all functions of DuckDB's, but for some."""
    with duckdb.connect(database) as connection:
        query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'system'"
        for (name,) in connection.execute(query).fetchall():
            if name not in but:
                connection.execute(f"CREATE MACRO {quoted(name)}() AS 'another function'")
                connection.execute(f"CREATE MACRO {quoted(name)}() AS TABLE SELECT 99 AS c0, 99 AS c1, 99 AS c2")
        connection.execute(TABLE.format("stored"))
        connection.execute("CREATE TABLE keyed (i INTEGER PRIMARY KEY, s VARCHAR)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = tmp_path_factory.mktemp("shadowed") / "shadowed.duckdb"
    make(database, "python_arrow_scan")
    with serve(database) as server:
        yield server


def uri(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/shadowed"


def test_rows_are_copied_and_checked(server: Server) -> None:
    table = pa.table({"i": pa.array([1, 2], pa.int32()), "s": ["x", "x"]})
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for how in ("", "(FORMAT csv)"):
            with connection.cursor().copy(f"COPY stored FROM STDIN {how}".encode()) as copy:
                copy.write(("," if how else "\t").join(map(str, ROWS[0])) + "\n")
        assert connection.execute("FROM stored").fetchall() == ROWS * 2
        with pytest.raises(psycopg.Error) as refused, connection.cursor().copy("COPY stored FROM STDIN") as copy:
            copy.write("no uuid\t1\t1\n")
        assert "another function" not in str(refused.value)
    # The client's own statements.
    for method, count in (("append", 2), ("upsert", 2), ("replace", 2)):
        key = {"key": ["i"]} if method == "upsert" else {}
        colonnade.write_sql(table, uri(server), "keyed", if_exists=method, **key)
        found = colonnade.read_sql("SELECT i, s FROM keyed ORDER BY i", uri(server))
        assert len(found) == count
    assert "keyed" in colonnade.tables(uri(server)).column("name").to_pylist()


def test_literals_of_postgresql(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        query = r"SELECT '\x00ff'::bytea, '{1,NULL}'::int4[], '{}'::text[], '{{a},{b}}'::text[]"
        assert connection.execute(query.encode()).fetchall() == [(b"\0\xff", [1, None], [], [["a"], ["b"]])]


@pytest.mark.parametrize("parameters", ["", "a, b, c"])
def test_no_macro_gives_the_rows_of_a_copy(tmp_path: Path, parameters: str) -> None:
    database = tmp_path / "database.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE stored (i INTEGER)")
        connection.execute(f"CREATE MACRO python_arrow_scan({parameters}) AS TABLE SELECT 99 AS c0")
    with serve(database) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        for _ in range(2):
            with (
                pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="python_arrow_scan") as refused,
                connection.cursor().copy("COPY stored FROM STDIN") as copy,
            ):
                copy.write("1\n")
        assert refused.value.diag.message_hint == "Rename or drop it: DROP MACRO TABLE python_arrow_scan."
        assert connection.execute("FROM stored").fetchall() == []
        # Clients make no such macro.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE MACRO main.python_arrow_scan() AS TABLE SELECT 98 AS c0")
        connection.execute("DROP MACRO TABLE python_arrow_scan")
        with connection.cursor().copy("COPY stored FROM STDIN") as copy:
            copy.write("1\n")
        assert connection.execute("FROM stored").fetchall() == [(1,)]


def test_no_macro_gives_the_rows_of_a_write(tmp_path: Path) -> None:
    database = tmp_path / "database.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE stored (i INTEGER)")
        connection.execute("CREATE MACRO python_arrow_scan() AS TABLE SELECT 99 AS i")
    rows = pa.table({"i": pa.array([1], pa.int32())})
    with pytest.raises(colonnade.ProgrammingError, match="python_arrow_scan"):
        colonnade.write_sql(rows, f"duckdb:///{database}", "stored", if_exists="append")
    assert colonnade.read_sql("SELECT count(*) AS n FROM stored", f"duckdb:///{database}")["n"].tolist() == [0]
