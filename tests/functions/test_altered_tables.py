"""Changes of tables whose expressions call functions. DuckDB makes them again from its log when it opens a database
after a crash, and has no functions in Python then."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from tests.functions.sessions import connected, serving
from tests.support.raw_client import wait_until

SETUP = """
CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$;
CREATE TABLE plain (x INTEGER, y INTEGER);
CREATE TABLE checked (x INTEGER PRIMARY KEY, y INTEGER, CHECK (f(x) > 0));
CREATE TABLE child (x INTEGER REFERENCES checked (x));
CREATE TABLE generated (x INTEGER, y INTEGER, z INTEGER GENERATED ALWAYS AS (f(x)));
CREATE MACRO twice(x) AS f(f(x));
INSERT INTO plain VALUES (1, 2);
INSERT INTO checked VALUES (1, 2);
INSERT INTO generated (x, y) VALUES (1, 2);
"""
#: With some of these in its log, the database did not open again.
REFUSED = (
    "ALTER TABLE plain ALTER x TYPE BIGINT USING f(x)",
    "ALTER TABLE plain ALTER x TYPE BIGINT USING twice(x)",
    "ALTER TABLE checked ADD COLUMN w INTEGER",
    # DuckDB runs these as several statements.
    "ALTER TABLE generated ADD COLUMN w INTEGER NOT NULL DEFAULT 3",
    "ALTER TABLE plain ADD COLUMN w INTEGER DEFAULT f(1)",
    "ALTER TABLE generated RENAME y TO w",
    "COMMENT ON COLUMN checked.x IS 'one'",
    "DROP TABLE child",
)
TABLES = ("plain", "checked", "generated", "child")


def rows(session: psycopg.Connection) -> list[list[tuple[object, ...]]]:
    return [session.execute(f"FROM {table}".encode(), prepare=False).fetchall() for table in TABLES]


def test_a_database_opens_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "altered.duckdb"
    with serving(path, "--create") as server:
        with connected(server) as session:
            session.execute(SETUP.encode())
            for statement in REFUSED:
                with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"main\.f"):
                    session.execute(statement.encode())
                with pytest.raises(psycopg.errors.FeatureNotSupported), session.transaction():
                    session.execute(b"INSERT INTO plain VALUES (3, 4)")
                    session.execute(statement.encode())
            # These bind no expressions of tables that call functions.
            session.execute(b"ALTER TABLE generated RENAME TO other")
            session.execute(b"ALTER TABLE other RENAME TO generated")
            session.execute(b"ALTER TABLE plain ALTER y TYPE BIGINT USING y + 1")
            session.execute(b"COMMENT ON TABLE checked IS 'two'")
            before = rows(session)
            assert before[0] == [(1, 3)]
            worker = server.worker
            os.kill(server.process.pid, signal.SIGKILL)
            os.kill(worker, signal.SIGKILL)
        wait_until(
            lambda: not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes()
        )
    assert path.with_name("altered.duckdb.wal").stat().st_size > 0
    with serving(path) as server, connected(server) as session:
        assert rows(session) == before
