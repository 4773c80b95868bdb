"""ALTER TABLE … ADD COLUMN with constraints and defaults for which DuckDB runs several statements."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.support.raw_client import wait_until
from tests.support.users import add_user
from tests.testbed.serving import serve

SETUP = b"CREATE SEQUENCE numbers; CREATE TABLE t AS SELECT range::INTEGER AS i FROM range(1000)"
ADDED = {
    "a": "DOUBLE DEFAULT random()",
    "b": "TIMESTAMPTZ DEFAULT now()",
    "c": "UUID DEFAULT gen_random_uuid()",
    "d": "BIGINT DEFAULT nextval('numbers')",
    "e": "INTEGER NOT NULL DEFAULT 3",
    "f": "INTEGER UNIQUE",
}
#: Those that fail when some of their statements have run.
FAILING = {
    "h": ("INTEGER NOT NULL", errors.NotNullViolation),
    "j": ("INTEGER UNIQUE DEFAULT 5", errors.UniqueViolation),
    # DuckDB cannot do this to a table that has rows.
    "k": ("TIMESTAMP NOT NULL DEFAULT now()", errors.InvalidTransactionState),
}


def columns(client: psycopg.Connection) -> list[tuple[object, ...]]:
    query = b"SELECT column_name FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"
    return client.execute(query).fetchall()


def test_columns_are_added_whole_or_not_at_all_and_outlive_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "added.duckdb"
    with serve(path, "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute(SETUP)
            for prepare, (name, text) in enumerate(ADDED.items()):
                statement = f"ALTER TABLE t ADD COLUMN {name} {text}".encode()
                assert client.execute(statement, prepare=bool(prepare % 2)).statusmessage == "ALTER TABLE"
            before = columns(client)
            assert before == [("i",), *((name,) for name in ADDED)]
            for name, (text, error) in FAILING.items():
                statement = f"ALTER TABLE t ADD COLUMN {name} {text}".encode()
                with pytest.raises(error):
                    client.execute(statement)
                assert columns(client) == before
                with pytest.raises(error), client.transaction():
                    client.execute(b"INSERT INTO t (i) VALUES (7)")
                    client.execute(statement)
                assert columns(client) == before
            with client.transaction(force_rollback=True):
                client.execute(b"ALTER TABLE t ADD COLUMN l DOUBLE DEFAULT random()")
            assert columns(client) == before
            client.execute(b"INSERT INTO t (i, c) VALUES (1000, NULL)")
            assert client.execute(b"SELECT d > 1000, e FROM t WHERE i = 1000").fetchall() == [(True, 3)]
            assert client.execute(b"SELECT count(DISTINCT a) > 900, count(DISTINCT c) FROM t").fetchall() == [
                (True, 1000)
            ]
            rows = client.execute(b"FROM t ORDER BY i").fetchall()
            worker = server.worker
            os.kill(server.process.pid, signal.SIGKILL)
            os.kill(worker, signal.SIGKILL)
        wait_until(
            lambda: not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes()
        )
    with serve(path) as server, psycopg.connect(server.dsn, autocommit=True) as client:
        # The log of the database has the values, and not the functions that made them.
        assert client.execute(b"FROM t ORDER BY i").fetchall() == rows


def test_a_reader_adds_columns_to_temporary_tables_only(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "writer", "secret")
    add_user(users, "reader", "secret", "--read-only")
    with serve("--users", users) as server:
        uri = f"postgresql://{{}}:secret@{server.host}:{server.port}/"
        with psycopg.connect(uri.format("writer"), autocommit=True) as writer:
            writer.execute(SETUP)
            with psycopg.connect(uri.format("reader"), autocommit=True) as reader:
                reader.execute(b"CREATE TEMP TABLE mine AS SELECT 1 AS i")
                for text in (*ADDED.values(), *(text for text, _ in FAILING.values())):
                    with pytest.raises(errors.ReadOnlySqlTransaction):
                        reader.execute(f"ALTER TABLE t ADD COLUMN x {text}".encode())
                reader.execute(b"ALTER TABLE mine ADD COLUMN x DOUBLE DEFAULT random()")
                assert reader.execute(b"SELECT x < 1 FROM mine").fetchall() == [(True,)]
            assert columns(writer) == [("i",)]
