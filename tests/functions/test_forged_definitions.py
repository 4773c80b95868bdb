"""Comments of macros that a user who can write has made, or a database file from elsewhere: whatever they say, the
server starts, others call their functions, and nothing is signed unseen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from colonnade._duckdb.exact import literal
from colonnade._duckdb.function_entry import Definition, Entry, Macro

from tests.functions.sessions import connected, serving, value
from tests.support.users import add_user

PLAIN = "CREATE FUNCTION g(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$"
TABLE = "CREATE FUNCTION t(x INTEGER) RETURNS TABLE(i INTEGER, j INTEGER) LANGUAGE PYTHON AS $$ return [x, x + 1] $$"


def definition(name: str, source: str = "return 1") -> Definition:
    results = (("", "INTEGER"),)
    return Definition("main", name, "scalar", "python_map", (), results, "i", strict=False, parallel="s", source=source)


def comment(name: str, mac: str = "", source: str = "return 1", by: str = "x") -> dict[str, Any]:
    return json.loads(Macro((Entry(definition(name, source), by, "y", mac),)).to_comment())


def with_text(found: dict[str, Any], text: str) -> dict[str, Any]:
    return found | {"comment": text}


#: Comments of a macro `h`.
HOSTILE: dict[str, object] = {
    "a signature that is not ASCII": comment("h", mac="é" * 64),
    "a signature that has no UTF-8": comment("h", mac="\ud800"),
    "a body that has no UTF-8": comment("h", source="\ud800"),
    "a comment that has no UTF-8": with_text(comment("h"), "\ud800"),
    "a text": {"colonnade_functions": ["x"]},
    "no object": {"colonnade_functions": [None]},
    "an object in place of a list": {"colonnade_functions": {"a": 1}},
    "a number in place of a list": {"colonnade_functions": 1},
    "no functions": {"colonnade_functions": [], "comment": None},
    "lists within lists": {"colonnade_functions": json.loads("[" * 900 + "]" * 900)},
}


def write_comment(session: psycopg.Connection | duckdb.DuckDBPyConnection, macro: str, found: object) -> None:
    text = found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))
    session.execute(f"COMMENT ON {macro} IS {literal(text)}")  # pyright: ignore[reportArgumentType, reportCallIssue]


def stored(session: psycopg.Connection, name: str) -> dict[str, Any]:
    """The comment that the server has written."""
    query = f"SELECT DISTINCT comment FROM duckdb_functions() WHERE function_name = '{name}' AND comment IS NOT NULL"
    return json.loads(str(value(session, query)))


@pytest.fixture
def users(tmp_path: Path) -> Path:
    users = tmp_path / "users"
    add_user(users, "alice", "secret", "--functions")
    add_user(users, "bob", "secret")
    return users


def test_no_comment_keeps_a_server_from_starting(tmp_path: Path, users: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with (
        serving("--users", users, "--create", database) as server,
        connected(server, "alice", "secret") as alice,
        connected(server, "bob", "secret") as bob,
    ):
        alice.execute(PLAIN)
        alice.execute(TABLE)
        for number, (what, found) in enumerate(HOSTILE.items()):
            bob.execute(f"CREATE SCHEMA s{number}".encode())
            bob.execute(f"CREATE MACRO s{number}.h() AS 1".encode())
            write_comment(bob, f"MACRO s{number}.h", found)
            with pytest.raises(psycopg.Error) as refused:
                alice.execute(f"DROP FUNCTION s{number}.h(INTEGER)".encode())
            assert refused.value.sqlstate in ("42883", "42601"), (what, refused.value)
        # A signed definition of another kind beside one of no signature.
        bob.execute("CREATE MACRO h() AS 1")
        forged = comment("t")
        forged["colonnade_functions"] += stored(bob, "t")["colonnade_functions"]
        bob.execute("DROP MACRO TABLE t")
        bob.execute("CREATE MACRO t() AS 1")
        write_comment(bob, "MACRO t", forged)
        for statement in ("SELECT t()", "SELECT name FROM colonnade_functions", "SELECT count(*) FROM pg_proc"):
            alice.execute(statement.encode())
    with serving("--users", users, database) as server, connected(server, "alice", "secret") as alice:
        assert value(alice, "SELECT g(1)") == 2
        assert value(alice, "SELECT t()") == 1
        alice.execute(PLAIN.replace("CREATE", "CREATE OR REPLACE"))
    done = trust(database, "--yes")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_signature_withdraws_no_function_of_another_session(users: Path) -> None:
    """Whoever calls a table function first has it remembered for all."""
    with serving("--users", users) as server, connected(server, "alice", "secret") as alice:
        alice.execute(TABLE)
        call = "SELECT j FROM t((SELECT 1))"
        with connected(server, "bob", "secret") as bob:
            found = stored(bob, "t")
            found["colonnade_functions"][0]["mac"] = "0" * 64
            bob.execute("BEGIN")
            write_comment(bob, "MACRO TABLE t", found)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not created by this server"):
                bob.execute(call.encode())
            bob.execute("ROLLBACK")
        assert value(alice, call) == 2


def trust(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "udf", "trust", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_what_is_signed_does_not_control_the_terminal(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE MACRO h() AS 1")
        write_comment(
            connection, "MACRO h", comment("h", source="return 1 # \x1b[2J\n# \u202e", by="a\r\x1b[1Ab\nc\td")
        )
    done = trust(database, "--source", "--yes")
    assert done.returncode == 0, done.stderr
    first, *source, last = done.stdout.split("\n")[:-1]
    assert first.startswith("main.h()\tscalar\t") and first.count("\t") == 3
    assert len(source) == 2 and last == "signed 1"
    assert not any(mark in done.stdout for mark in "\x1b\r\u202e")
