"""Functions are a part of transactions, survive restarts, and change for statements that begin later."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.functions.sessions import connected, functions, serving, value
from tests.support.raw_client import comes_in, wait_until
from tests.testbed.serving import Server

CREATE_TWO = "CREATE OR REPLACE FUNCTION plus(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 2 $$"
CREATE = "CREATE FUNCTION {name}(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + {step} $$"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def create(connection: psycopg.Connection, name: str, step: int, replaces: bool = False) -> None:
    statement = CREATE.format(name=name, step=step)
    text = statement.replace("CREATE", "CREATE OR REPLACE") if replaces else statement
    connection.execute(text.encode())


def test_a_function_is_called_in_its_own_transaction_and_rolled_back(server: Server) -> None:
    with connected(server) as one, connected(server) as other:
        one.execute("BEGIN")
        create(one, "rolled", 1)
        assert value(one, "SELECT rolled(1)") == 2
        assert functions(other) == []
        with pytest.raises(psycopg.errors.UndefinedFunction):
            other.execute("SELECT rolled(1)")
        one.execute("ROLLBACK")
        assert functions(one) == []
        with pytest.raises(psycopg.errors.UndefinedFunction):
            one.execute("SELECT rolled(1)")


def test_dropping_is_rolled_back(server: Server) -> None:
    with connected(server) as one:
        create(one, "kept", 1)
        one.execute("BEGIN")
        one.execute("DROP FUNCTION kept")
        assert functions(one) == []
        one.execute("ROLLBACK")
        assert value(one, "SELECT kept(1)") == 2
        one.execute("DROP FUNCTION kept")


def test_two_sessions_see_a_function_after_its_commit(server: Server) -> None:
    with connected(server) as one, connected(server) as other:
        other.execute("SELECT 1")
        one.execute("BEGIN")
        create(one, "shared", 1)
        one.execute("COMMIT")
        assert value(other, "SELECT shared(1)") == 2
        create(other, "shared", 5, replaces=True)
        assert value(one, "SELECT shared(1)") == 6
        one.execute("DROP FUNCTION shared")


def test_a_running_query_keeps_its_function(server: Server) -> None:
    with connected(server) as one, connected(server) as other:
        create(one, "steady", 1)
        one.execute("BEGIN")
        one.execute("DECLARE c CURSOR FOR SELECT steady(i::INTEGER) - i FROM range(1000000) t(i)")
        first = one.execute("FETCH 1000 FROM c").fetchall()
        create(other, "steady", 7, replaces=True)
        rest = one.execute("FETCH ALL FROM c").fetchall()
        assert len(rest) == 999_000
        assert {*first, *rest} == {(1,)}
        one.execute("COMMIT")
        assert value(one, "SELECT steady(1)") == 8
        one.execute("DROP FUNCTION steady")


def test_views_and_defaults_use_functions(server: Server) -> None:
    with connected(server) as one:
        create(one, "plus", 1)
        one.execute("CREATE TABLE numbers (i INTEGER, j INTEGER DEFAULT plus(10))")
        one.execute("CREATE VIEW seen AS SELECT plus(i) AS k, j FROM numbers WHERE plus(i) > 1")
        one.execute("INSERT INTO numbers (i) VALUES (0), (1)")
        assert one.execute("SELECT * FROM seen").fetchall() == [(2, 11)]
        # DuckDB's CASCADE would drop the table with its rows.
        for statement in ("DROP FUNCTION plus", "DROP FUNCTION plus(INTEGER) CASCADE", CREATE_TWO):
            with pytest.raises(psycopg.errors.DependentObjectsStillExist) as refused:
                one.execute(statement.encode())
            assert refused.value.diag.message_detail == 'table "numbers" depends on function "plus".'
            assert "DROP DEFAULT" in str(refused.value.diag.message_hint)
        assert value(one, "SELECT count(*) FROM numbers") == 2
        one.execute("ALTER TABLE numbers ALTER j DROP DEFAULT")
        create(one, "plus", 3, replaces=True)
        one.execute("DROP TABLE numbers")
        one.execute("CREATE TABLE numbers (i INTEGER, j INTEGER)")
        one.execute("INSERT INTO numbers VALUES (1, 2)")
        assert one.execute("SELECT * FROM seen").fetchall() == [(4, 2)]
        one.execute("DROP VIEW seen")
        one.execute("DROP FUNCTION plus")


def test_functions_survive_a_restart(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with serving("--create", database) as server, connected(server) as one:
        create(one, "lasting", 4)
        one.execute("CREATE VIEW v AS SELECT lasting(1) AS x")
    with serving(database) as server, connected(server) as one:
        assert value(one, "SELECT x FROM v") == 5
        assert functions(one) == ["lasting(integer)"]
        create(one, "lasting", 5, replaces=True)
    with serving("--read-only", database) as server, connected(server) as one:
        assert value(one, "SELECT x FROM v") == 6
        with pytest.raises(psycopg.Error):
            create(one, "another", 1)


def test_tables_with_functions_survive_a_killed_server(tmp_path: Path) -> None:
    """DuckDB reads the log of the last changes before a session exists whose functions could be called."""
    with serving("--create", tmp_path / "a.duckdb") as server:
        with connected(server) as one:
            one.execute("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x % 10 $$")
            one.execute("CREATE TABLE checked(x INT CHECK (f(x) = 3), y INT DEFAULT f(17))")
            one.execute("CREATE TABLE generated(x INT, z INT GENERATED ALWAYS AS (f(x)))")
            one.execute("INSERT INTO checked(x) VALUES (13)")
            one.execute("INSERT INTO generated VALUES (14)")
            with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
                one.execute("CREATE INDEX i ON checked (f(x))")
            assert "colonnade" not in str(refused.value)
        first = server.worker
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: is_another(server, first))
        with connected(server) as one:
            assert one.execute("FROM checked").fetchall() == [(13, 7)]
            assert one.execute("FROM generated").fetchall() == [(14, 4)]
            one.execute("INSERT INTO checked(x) VALUES (23)")
            with pytest.raises(psycopg.errors.CheckViolation):
                one.execute("INSERT INTO checked(x) VALUES (24)")


def is_another(server: Server, worker: int) -> bool:
    with contextlib.suppress(ValueError, FileNotFoundError):
        return server.worker != worker and comes_in(server)
    return False
