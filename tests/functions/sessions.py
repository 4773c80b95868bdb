"""Servers with functions, and what clients say to them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.testbed.serving import Server, function_options, serve


@contextmanager
def serving(*arguments: str | os.PathLike[str]) -> Iterator[Server]:
    """A server with functions."""
    with serve(*function_options(), *arguments) as server:
        yield server


@contextmanager
def connected(server: Server, user: str = "tester", password: str = "") -> Iterator[psycopg.Connection]:
    """A session that commits each statement."""
    dsn = f"host={server.host} port={server.port} user={user} password={password}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def psql(server: Server, *commands: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Each command in a session of psql's."""
    arguments = ["psql", "--no-psqlrc", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", server.dsn]
    for command in commands:
        arguments += ["--command", command]
    return subprocess.run(arguments, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def value(connection: psycopg.Connection, query: str) -> object:
    """The one value of a query."""
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def functions(connection: psycopg.Connection) -> list[str]:
    """The functions that the catalog shows, with the types of their parameters."""
    query = "SELECT oid::regprocedure::text FROM pg_proc WHERE prolang <> 14 ORDER BY 1"
    return [name for (name,) in connection.execute(query).fetchall()]


def key_file(database: Path) -> Path:
    """The key of a database file."""
    return database.with_name(database.name + ".udf-key")


@contextmanager
def serving_with(statements: Iterable[str]) -> Iterator[Server]:
    """A server with functions in which these statements have run."""
    with serving() as server:
        with connected(server) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        yield server


def server_of(statements: Iterable[str]) -> Any:
    """`serving_with` as the fixture `server` of a module: `server = server_of(STATEMENTS)`."""

    def server() -> Iterator[Server]:
        with serving_with(statements) as made:
            yield made

    return pytest.fixture(server, scope="module")


def rows(session: psycopg.Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return session.execute(query.encode(), values or None).fetchall()
