"""Who may create functions, and which functions of a database file run: those that this server has signed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.functions.sessions import connected, functions, key_file, serving, value
from tests.support.users import add_user, user_command

CREATE = "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$"

TABLE = "CREATE FUNCTION t(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [x + 1] $$"
COLUMN = "CREATE FUNCTION c(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x + 1 $$"


def trust(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "udf", "trust", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_only_users_with_the_flag_create_functions(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "alice", "secret", "--functions")
    add_user(users, "bob", "secret")
    add_user(users, "carol", "secret", "--read-only")
    with (
        serving("--users", users) as server,
        connected(server, "alice", "secret") as alice,
        connected(server, "bob", "secret") as bob,
        connected(server, "carol", "secret") as carol,
    ):
        for other in (bob, carol):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="create or drop") as refused:
                other.execute(CREATE)
            assert "--functions" in (refused.value.diag.message_hint or "")
        alice.execute(CREATE)
        alice.execute(TABLE)
        alice.execute(COLUMN)
        for other in (alice, bob, carol):
            assert value(other, "SELECT f(1)") == 2
            # Readers too, in a transaction of their own and of the statement's.
            assert value(other, "SELECT sum(j) FROM t((SELECT i::INTEGER FROM range(3) r(i)))") == 6
            with other.transaction():
                assert value(other, "SELECT max(j) FROM t((SELECT 4))") == 5
                assert value(other, "SELECT max(c) FROM (SELECT c(i::INTEGER) AS c FROM range(3) r(i))") == 3
        for statement in ("DROP FUNCTION f", "DROP FUNCTION f(int)", CREATE.replace("CREATE", "CREATE OR REPLACE")):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                bob.execute(statement)
        # Macros in SQL need no flag.
        bob.execute("CREATE FUNCTION twice(x) AS x * 2")
        bob.execute("DROP FUNCTION twice")
        bob.execute("COMMENT ON FUNCTION f IS 'of alice'")
        with pytest.raises(psycopg.Error):
            carol.execute("COMMENT ON FUNCTION f IS 'of carol'")
        row = alice.execute("SELECT created_by, comment FROM colonnade_functions WHERE name = 'f'").fetchone()
        assert row == ("alice", "of alice")


def test_a_search_path_gives_no_right(tmp_path: Path) -> None:
    """DuckDB searches `main` behind each path, also for what it drops."""
    users = tmp_path / "users"
    add_user(users, "alice", "secret", "--functions")
    add_user(users, "bob", "secret")
    with (
        serving("--users", users) as server,
        connected(server, "alice", "secret") as alice,
        connected(server, "bob", "secret") as bob,
    ):
        alice.execute(CREATE)
        alice.execute("CREATE AGGREGATE a(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x.sum() $$")
        alice.execute("CREATE SCHEMA other")
        for user in (bob, alice):
            user.execute("SET search_path TO other")
            assert value(user, "SELECT f(1)") == 2
            assert value(user, "SELECT a(DISTINCT i) FROM (VALUES (1), (1)) v(i)") == 1
            user.execute("COMMENT ON FUNCTION f IS 'mine'")
        for statement in ("DROP FUNCTION f", "DROP FUNCTION f(int)", "DROP FUNCTION IF EXISTS f"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                bob.execute(statement)
        # A macro in SQL of a schema before.
        bob.execute("CREATE FUNCTION f(x) AS x * 10")
        assert value(bob, "SELECT f(1)") == 10
        bob.execute("DROP FUNCTION f")
        assert value(bob, "SELECT f(1)") == 2
        alice.execute("DROP FUNCTION f(int)")
        assert functions(alice) == ["public.a(integer)"]


def test_the_flag_is_not_for_readers(tmp_path: Path) -> None:
    done = user_command("add", "x", "--users", tmp_path / "users", "--read-only", "--functions", password="secret")
    assert done.returncode != 0
    assert "read-only" in done.stderr


def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with serving("--create", database) as server, connected(server) as one:
        assert not key_file(database).exists()
        one.execute(CREATE)
        assert stat.S_IMODE(key_file(database).stat().st_mode) == 0o600
    key_file(database).chmod(0o644)
    with pytest.raises(RuntimeError, match="protect it: chmod 600"), serving(database):
        pass


def forge(connection: psycopg.Connection, body: str) -> None:
    """Write a function's definition as any user may who can write: with another body."""
    ((comment,),) = connection.execute(
        "SELECT DISTINCT comment FROM duckdb_functions() WHERE comment LIKE '{\"colonnade_functions\"%'"
    ).fetchall()
    found = json.loads(comment)
    found["colonnade_functions"][0]["source"] = body
    connection.execute("DROP MACRO f")
    connection.execute("CREATE MACRO f(x) AS x")
    text = json.dumps(found, separators=(",", ":")).replace("'", "''")
    connection.execute(f"COMMENT ON MACRO main.f IS '{text}'".encode())


def test_a_forged_definition_does_not_run(tmp_path: Path) -> None:
    users, database = tmp_path / "users", tmp_path / "shop.duckdb"
    add_user(users, "alice", "secret", "--functions")
    add_user(users, "bob", "secret")
    with (
        serving("--users", users, "--create", database) as server,
        connected(server, "alice", "secret") as alice,
        connected(server, "bob", "secret") as bob,
    ):
        alice.execute(CREATE)
        forge(bob, " return x + 666 ")
        assert value(bob, "SELECT f(1)") == 1
    with serving("--users", users, database) as server, connected(server, "bob", "secret") as bob:
        # Neither its macro nor its signature is that of the definition.
        assert value(bob, "SELECT f(1)") == 1
        assert functions(bob) == []


def test_a_database_file_from_elsewhere_brings_no_running_code(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    theirs, database = tmp_path / "other" / "shop.duckdb", tmp_path / "mine" / "shop.duckdb"
    with serving("--create", theirs) as server, connected(server) as one:
        one.execute(CREATE)
        one.execute(TABLE)
        one.execute(COLUMN)
        one.execute("CREATE VIEW v AS SELECT f(1) AS x")
    shutil.copy(theirs, database)
    with serving(database) as server, connected(server) as one:
        assert functions(one) == ["c(integer)", "f(integer)", "t(integer)"]
        for query in ("SELECT f(1)", "SELECT * FROM v", "SELECT * FROM t((SELECT 1))", "SELECT c(1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not created by this server") as refused:
                one.execute(query)
            assert f"colonnade udf trust {database}" in (refused.value.diag.message_hint or "")
        # The database is in use.
        assert trust(database, "--yes").returncode == 1
    refused = trust(database)
    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    shown = trust(database, "--yes", "--source")
    assert shown.returncode == 0
    assert "main.f(INTEGER)" in shown.stdout
    assert "return x + 1" in shown.stdout
    with serving(database) as server, connected(server) as one:
        assert value(one, "SELECT x FROM v") == 2
        assert value(one, "SELECT j FROM t((SELECT 1))") == 2
        assert value(one, "SELECT c(1)") == 2
    assert trust(database).stdout == "all functions are signed\n"


def test_clients_reach_no_dispatcher_of_others(tmp_path: Path) -> None:
    with serving() as server, connected(server) as one:
        for query in (
            "SELECT colonnade_map('0000000000000000', 'x', 1)",
            "SELECT colonnade_aggregate('0000000000000000', colonnade_session(), 1)",
            "CREATE MACRO g(x) AS colonnade_map('0000000000000000', colonnade_session(), x)",
            "SELECT * FROM colonnade_rows('0')",
            "SELECT colonnade_collect('0', '1', 1::BIGINT, 1)",
        ):
            with pytest.raises(psycopg.Error):
                one.execute(query)


def test_a_key_is_no_link_and_no_other_file(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    duckdb.connect(str(database)).close()
    (tmp_path / "elsewhere").write_text("00" * 32)
    (tmp_path / "elsewhere").chmod(0o600)
    key_file(database).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RuntimeError), serving(database):
        pass
    key_file(database).unlink()
    descriptor = os.open(key_file(database), os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(descriptor, b"short")
    os.close(descriptor)
    with pytest.raises(RuntimeError, match="is no key"), serving(database):
        pass
