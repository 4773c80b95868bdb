"""A server for the tests of a module, and a project for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.devudf.projects import Project, connected, project_of, serving
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """A session. Its functions are dropped at the end."""
    with connected(server) as connection:
        yield connection
        query = "SELECT oid::regprocedure::text, prokind FROM pg_proc WHERE prolang <> 14"
        for name, kind in connection.execute(query).fetchall():
            connection.execute(f"DROP {'AGGREGATE' if kind == 'a' else 'FUNCTION'} {name}".encode())


@pytest.fixture(scope="module")
def session(server: Server, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    """A session that has run the STATEMENTS of the tests' module."""
    with connected(server) as session:
        for statement in request.module.STATEMENTS:
            session.execute(statement.encode())
        yield session


@pytest.fixture
def project(server: Server, tmp_path: Path) -> Project:
    return project_of(server, tmp_path)


@pytest.fixture
def pulled(session: psycopg.Connection[Any], project: Project) -> Project:
    """A project with the functions of `session`."""
    project.done("pull")
    return project
