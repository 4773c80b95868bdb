"""Comments of macros that a user who can write has made, or a database file from elsewhere: whatever they say, the
server starts, others call their functions, and nothing is signed unseen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from colonnade._sources.duckdb_types.exact import literal
from colonnade_serve._duckdb.function_entry import Definition, Entry, Kind, Macro, Parameter
from colonnade_serve._duckdb.function_trust import has_plain_texts

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


@pytest.mark.parametrize(
    "type_", ["INTEGER) AS 1; SELECT 1; --", 'INTEGER) AS "q" --', "INTEGER, y INTEGER", "INTEGER)"]
)
@pytest.mark.parametrize("where", ["type", "result", "default"])
def test_a_type_that_is_none_is_not_signed(tmp_path: Path, type_: str, where: str) -> None:
    texts = {"type": "DECIMAL(9,2)[]", "result": "STRUCT(a INTEGER)", "default": "'x'"} | {where: type_}
    parameters = (Parameter("x", texts["type"], texts["default"]), Parameter("y", "VARCHAR", "NULL"))
    results = (("", texts["result"]),)
    found = Definition(
        "main", "h", "scalar", "python_map", parameters, results, "i", strict=False, parallel="s", source="return x"
    )
    assert not has_plain_texts(found)
    right = replace(found, parameters=(Parameter("x", "DECIMAL(9,2)[]", "[1.5]"),), results=(("", "TIME"),))
    assert has_plain_texts(right)
    database = tmp_path / "shop.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE MACRO h() AS 1")
        write_comment(connection, "MACRO h", Macro((Entry(found, "x", "y"),)).to_comment())
    done = trust(database, "--yes")
    assert done.returncode == 1 and "a type or a default that is none" in done.stderr
    assert f"x DEFAULT {texts['default']}" in done.stdout
    with duckdb.connect(str(database)) as connection:
        assert '"mac":""' in str(
            connection.execute("SELECT comment FROM duckdb_functions() WHERE comment LIKE '{%'").fetchall()
        )


#: What a user who can write puts in place of a type, so that it becomes SQL in the session of another user.
INJECTED = "INTEGER) AS 1; CREATE TABLE injected AS SELECT * FROM duckdb_secrets(); --"


@dataclass(frozen=True)
class Injection:
    """A function whose type, default and result are SQL. Its name is `h` and its kind."""

    kind: Kind
    #: A macro that its comment is on.
    macro: str
    #: A call that the server replaces.
    call: str | None = None

    @property
    def name(self) -> str:
        return f"h{self.kind}"

    @property
    def what(self) -> str:
        return f"{'AGGREGATE' if self.kind == 'aggregate' else 'FUNCTION'} {self.name}(BIGINT)"

    @property
    def on(self) -> str:
        return f"MACRO {'TABLE ' if self.kind == 'table' else ''}{self.name}"

    def functions(self) -> Macro:
        parameters = (Parameter("x", INJECTED), Parameter("y", "INTEGER", "(SELECT count(*) FROM duckdb_secrets())"))
        results = (("a", "INTEGER) AS b, (SELECT count(*) FROM duckdb_secrets()) AS q, CAST(NULL AS INTEGER"),)
        found = Definition(
            "main", self.name, self.kind, "python", parameters, results, "i", strict=False, parallel="s", source="1"
        )
        return Macro((Entry(found, "x", "y", "0" * 64),))

    def create(self) -> bytes:
        returns = "TABLE(j INTEGER)" if self.kind == "table" else "INTEGER"
        return f"CREATE {self.what} RETURNS {returns} LANGUAGE PYTHON AS $$ return a $$".replace("(B", "(a B").encode()

    def forge(self, session: psycopg.Connection, beside: Sequence[object] = ()) -> None:
        """Make the macro, and the function of its comment beside others."""
        session.execute(f"CREATE {self.macro % {'name': self.name, 'digest': self.functions().digest}}".encode())
        found = json.loads(self.functions().to_comment())
        found["colonnade_functions"] = [*beside, *found["colonnade_functions"]]
        write_comment(session, self.on, found)


INJECTIONS = (
    Injection("scalar", "MACRO %(name)s(x) AS x"),
    Injection("aggregate", "MACRO %(name)s(x) AS sum(x)", "SELECT haggregate(DISTINCT i) FROM range(3) r(i)"),
    Injection("table", 'MACRO %(name)s() AS TABLE SELECT 1 AS "%(digest)s"', "SELECT * FROM htable((SELECT 1))"),
)


def test_texts_of_a_forged_definition_do_not_become_sql(tmp_path: Path, users: Path) -> None:
    """Not when another function gets the name or loses it, nor in calls. A server that starts knows the names of
    aggregates and table functions, whoever has made them."""
    database = tmp_path / "shop.duckdb"
    with serving("--users", users, "--create", database) as server, connected(server, "bob", "secret") as bob:
        for injection in INJECTIONS:
            injection.forge(bob)
    with (
        serving("--users", users, database) as server,
        connected(server, "alice", "secret") as alice,
        connected(server, "bob", "secret") as bob,
    ):

        def refuses(session: psycopg.Connection, statement: bytes) -> None:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not created by this server"):
                session.execute(statement)

        for injection in INJECTIONS:
            if injection.call is not None:
                for caller in (alice, bob):
                    refuses(caller, injection.call.encode())
                    refuses(caller, f"EXPLAIN {injection.call}".encode())
            refuses(alice, injection.create())
            alice.execute(f"DROP {injection.on}".encode())
            alice.execute(injection.create())
            # Beside a function of the server.
            own = stored(bob, injection.name)["colonnade_functions"]
            bob.execute(f"DROP {injection.on}".encode())
            injection.forge(bob, own)
            refuses(alice, f"DROP {injection.what}".encode())
        assert not alice.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'injected'").fetchall()
