"""Database files whose log DuckDB does not replay by itself: it has not loaded its functions when it opens a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import colonnade
import duckdb
import psycopg
import pytest

from tests.support.raw_client import comes_in, wait_until
from tests.testbed.serving import serve

SETUP = """
CREATE TYPE size AS ENUM ('S', 'L');
CREATE TABLE rounded (x DOUBLE);
CREATE MACRO half(x) AS round(x / 2);
CREATE TABLE own (s VARCHAR, x DOUBLE, CHECK (s::size::VARCHAR IS NOT NULL), CHECK (half(x) < 10));
CREATE TABLE checked (x DOUBLE PRIMARY KEY, s VARCHAR, CHECK (abs(x) < 10));
CREATE TABLE child (x DOUBLE REFERENCES checked (x));
CREATE TABLE generated (x VARCHAR, y BOOLEAN GENERATED ALWAYS AS (json_valid(x)));
INSERT INTO rounded VALUES (1.5);
INSERT INTO checked VALUES (2, 'S');
INSERT INTO own VALUES ('L', 1);
INSERT INTO generated (x) VALUES ('{}');
"""
CHANGES = """
ALTER TABLE rounded ALTER x TYPE INTEGER USING round(x);
ALTER TABLE checked ADD COLUMN w INTEGER DEFAULT 7;
ALTER TABLE own ADD COLUMN w INTEGER;
COMMENT ON COLUMN checked.x IS 'a number';
DROP TABLE child;
ALTER TABLE generated ADD COLUMN z DATE;
INSERT INTO rounded VALUES (3);
"""
ROWS = {
    "rounded": [(2,), (3,)],
    "checked": [(2.0, "S", 7)],
    "own": [("L", 1.0, None)],
    "generated": [("{}", True, None)],
}
#: Runs statements in a database file, with a function in Python that no other process knows, and crashes.
CRASH = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.create_function("here", lambda x: x, ["DOUBLE"], "DOUBLE")
connection.execute(sys.argv[2])
os._exit(9)
"""
UNKNOWN = "CREATE TABLE t (x DOUBLE, CHECK (here(x) > 0)); ALTER TABLE t ADD COLUMN y INTEGER"


def crashed(path: Path, statements: str = SETUP + CHANGES) -> dict[str, bytes]:
    """Make a database with a log that DuckDB does not replay. Returns all files."""
    done = subprocess.run([sys.executable, "-c", CRASH, path, statements], timeout=60, check=False)
    assert done.returncode == 9
    with pytest.raises(duckdb.Error, match="replaying WAL"):
        duckdb.connect(str(path))
    return contents(path.parent)


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def rows_of(connection: colonnade.Connection, table: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in connection.query(f"FROM {table}").to_arrow().to_pylist()]


def test_a_served_database_opens_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "served.duckdb"
    with serve(path, "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute((SETUP + CHANGES).encode())
            os.kill(server.worker, signal.SIGKILL)
        # The supervisor starts another worker.
        wait_until(lambda: comes_in(server))
        with psycopg.connect(server.dsn, autocommit=True) as client:
            assert {table: client.execute(f"FROM {table}".encode()).fetchall() for table in ROWS} == ROWS


def test_changes_that_call_functions_of_the_catalog_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "served.duckdb"
    setup = """
        CREATE TABLE dated (x VARCHAR);
        INSERT INTO dated VALUES ('31.01.2024');
        ALTER TABLE dated ALTER x TYPE DATE USING to_date(x, 'DD.MM.YYYY');
        CREATE TABLE spans (x VARCHAR);
        INSERT INTO spans VALUES ('3');
        ALTER TABLE spans ALTER x TYPE INTERVAL USING make_interval(days => x::integer);
        CREATE TABLE documents (x VARCHAR);
        INSERT INTO documents VALUES ('{}');
        ALTER TABLE documents ALTER x TYPE JSON USING x::jsonb;
        CREATE MACRO bare(x) AS btrim(x);
        CREATE TABLE checked (x VARCHAR, CHECK (quote_literal(bare(x)) <> ''));
        INSERT INTO checked VALUES ('a');
        ALTER TABLE checked ADD COLUMN y INTEGER DEFAULT 7
    """
    rows = {"dated": date(2024, 1, 31), "spans": timedelta(days=3), "documents": {}, "checked": "a"}
    with serve(path, "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute(setup)
            os.kill(server.worker, signal.SIGKILL)
        wait_until(lambda: comes_in(server))
        with psycopg.connect(server.dsn, autocommit=True) as client:
            found = {table: client.execute(f"SELECT x FROM {table}".encode()).fetchall() for table in rows}
            assert found == {table: [(value,)] for table, value in rows.items()}
    assert list(contents(tmp_path)) == ["served.duckdb"]


# DuckDB calls `memory.duckdb` as it calls a database in memory.
@pytest.mark.parametrize("name", ["a.duckdb", "memory.duckdb", "it's here"])
def test_a_file_opens_after_a_crash(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    crashed(path)
    with colonnade.connect(f"duckdb:///{path}") as connection:
        for table, rows in ROWS.items():
            assert rows_of(connection, table) == rows
    assert list(contents(tmp_path)) == [name]


def test_expressions_may_have_the_name_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "named.duckdb"
    crashed(
        path,
        "CREATE MACRO twice(x) AS round(2 * x);"
        "CREATE TABLE t (x DOUBLE, CHECK (named.main.twice(x) > 0));"
        "INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN y INTEGER",
    )
    with colonnade.connect(f"duckdb:///{path}") as connection:
        assert rows_of(connection, "t") == [(1.0, None)]


def test_a_file_that_is_only_read_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    before = crashed(path)
    with pytest.raises(colonnade.OperationalError, match="replaying WAL") as found:
        colonnade.connect(f"duckdb:///{path}?access_mode=read_only")
    assert found.value.hint is not None
    assert "for writing" in found.value.hint
    command = [sys.executable, "-m", "colonnade", "serve", path, "--read-only", "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "open it once for writing" in done.stderr
    assert contents(tmp_path) == before


def test_a_log_with_unknown_functions_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    before = crashed(path, UNKNOWN)
    with pytest.raises(colonnade.OperationalError, match="replaying WAL") as found:
        colonnade.connect(f"duckdb:///{path}")
    assert found.value.hint is not None
    assert "here does not exist" in found.value.hint
    assert contents(tmp_path) == before
