"""Statements about the session's role, which pools send, and others that change nothing in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.support.users import add_user
from tests.testbed.serving import Server, connected, serve

connection = pytest.fixture(connected)

#: What Npgsql sends before it gives a session with prepared statements to another client.
NPGSQL = (
    "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); "
    "DISCARD SEQUENCES; DISCARD TEMP"
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    users: Path = tmp_path_factory.mktemp("roles") / "users"
    for name in ("alice", "Bob"):
        add_user(users, name, "secret")
    with serve("--users", users) as server:
        yield server


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(
    "statement",
    [
        "SET SESSION AUTHORIZATION DEFAULT",
        "RESET SESSION AUTHORIZATION",
        "SET SESSION AUTHORIZATION {}",
        "SET LOCAL SESSION AUTHORIZATION DEFAULT",
        "SET session_authorization TO DEFAULT",
        "SET ROLE NONE",
        "SET SESSION ROLE NONE",
        "SET ROLE {}",
        "SET role = {}",
        "RESET ROLE",
    ],
)
@pytest.mark.parametrize("user", ["alice", "Bob"])
def test_the_clients_own_role_can_be_set(guarded: Server, user: str, statement: str, prepare: bool) -> None:
    uri = f"postgresql://{user}:secret@{guarded.host}:{guarded.port}/"
    with psycopg.connect(uri, autocommit=True) as client:
        written = statement.format(f'"{user}"')
        client.execute("BEGIN")
        cursor = client.execute(written.encode(), prepare=prepare)
        assert cursor.statusmessage == statement.split()[0]
        names = client.execute("SELECT current_user, session_user, current_role").fetchone()
        assert names == (user, user, user)
        assert client.execute("SHOW SESSION AUTHORIZATION").fetchone() == (user,)
        is_named = "role" in statement.lower() and "{" in statement
        assert client.execute("SHOW ROLE").fetchone() == (user if is_named else "none",)
        client.execute("ROLLBACK")
        assert client.execute("SHOW ROLE").fetchone() == ("none",)
        assert client.info.parameter_status("session_authorization") == user


@pytest.mark.parametrize(
    "statement", ['SET ROLE "Bob"', "SET ROLE 'nobody'", "SET role TO bob", 'SET SESSION AUTHORIZATION "Bob"']
)
def test_another_role_is_refused(guarded: Server, statement: str) -> None:
    uri = f"postgresql://alice:secret@{guarded.host}:{guarded.port}/"
    with psycopg.connect(uri, autocommit=True) as client:
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied to set") as refused:
            client.execute(statement.encode())
        assert "Connect as the other one" in (refused.value.diag.message_hint or "")
        assert client.execute("SELECT current_user").fetchone() == ("alice",)
        assert client.execute("SHOW ROLE").fetchone() == ("none",)


def test_a_pools_reset(connection: psycopg.Connection) -> None:
    connection.execute("SET application_name = 'one'")
    connection.execute("CREATE TEMP TABLE mine AS SELECT 1 AS i")
    connection.execute(NPGSQL)
    assert connection.execute("SHOW application_name").fetchone() == ("",)
    with pytest.raises(errors.UndefinedTable):
        connection.execute("FROM mine")


@pytest.mark.parametrize("prepare", [False, True])
def test_deallocate_all_includes_statements_of_prepare(connection: psycopg.Connection, prepare: bool) -> None:
    connection.execute("PREPARE one AS SELECT 1")
    connection.execute('PREPARE "All" AS SELECT 2')
    connection.execute("SELECT 1", prepare=True)
    assert connection.execute("DEALLOCATE ALL", prepare=prepare).statusmessage == "DEALLOCATE ALL"
    for name in ("one", '"All"'):
        with pytest.raises(psycopg.Error, match="does not exist"):
            connection.execute(f"EXECUTE {name}".encode())
    connection.execute("PREPARE one AS SELECT 3")
    connection.execute("DEALLOCATE one")


def test_constraints_are_always_immediate(connection: psycopg.Connection) -> None:
    notices: list[str | None] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    assert connection.execute("SET CONSTRAINTS ALL IMMEDIATE").statusmessage == "SET CONSTRAINTS"
    assert notices == ["SET CONSTRAINTS can only be used in transaction blocks"]
    with connection.transaction():
        connection.execute("SET CONSTRAINTS ALL DEFERRED", prepare=True)
    assert len(notices) == 1
    with pytest.raises(errors.FeatureNotSupported, match="the name of a constraint"):
        connection.execute("SET CONSTRAINTS some_key DEFERRED")


@pytest.mark.parametrize("clause", ["UPDATE", "UPDATE OF t NOWAIT", "NO KEY UPDATE", "share skip locked", "KEY SHARE"])
@pytest.mark.parametrize("prepare", [False, True])
def test_row_locks_are_refused_and_say_why(connection: psycopg.Connection, clause: str, prepare: bool) -> None:
    query = f"SELECT t.i FROM (VALUES ('for update')) t(i) FOR {clause}"
    with pytest.raises(errors.FeatureNotSupported, match="row locks") as refused:
        connection.execute(query.encode(), prepare=prepare)
    assert "40001" in (refused.value.diag.message_hint or "")
    assert refused.value.diag.statement_position == str(query.index("FOR ") + 1)
    with pytest.raises(errors.SyntaxError, match="at or near"):
        connection.execute("SELECT 'for update' FOR sale")
