"""A project with functions, in a directory of its own, and a server that has them."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from colonnade._cli.main import main

from tests.testbed.serving import Server, function_options, serve


@dataclass(frozen=True)
class Done:
    """What a command has written, and its status."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class Project:
    """A directory and the URI of its database."""

    root: Path
    uri: str

    def udf(self, *arguments: object) -> Done:
        """`colonnade udf` in the project, in this process."""
        out, err = io.StringIO(), io.StringIO()
        before = Path.cwd()
        os.environ["COLONNADE_URI"] = self.uri
        os.chdir(self.root)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = main(["udf", *map(str, arguments)])
        finally:
            os.chdir(before)
            del os.environ["COLONNADE_URI"]
        return Done(code, out.getvalue(), err.getvalue())

    def command(self, *arguments: object) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment of `colonnade udf` as a process."""
        command = [sys.executable, "-m", "colonnade", "udf", *map(str, arguments)]
        return command, os.environ | {"COLONNADE_URI": self.uri}

    def done(self, *arguments: object) -> str:
        """What a command writes that must succeed."""
        done = self.udf(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def failed(self, *arguments: object) -> str:
        """What a command writes that must fail."""
        done = self.udf(*arguments)
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stdout + done.stderr

    def states(self) -> dict[str, str]:
        """The state of each function by its name."""
        return {found["name"]: found["state"] for found in json.loads(self.done("list", "--json"))}

    def file(self, name: str) -> Path:
        return self.root / "udf" / "public" / name


def project_of(server: Server, root: Path) -> Project:
    return Project(root, f"postgresql://tester@{server.host}:{server.port}/")


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """A server with functions."""
    with serve(*function_options(), *arguments) as server:
        yield server


@contextmanager
def connected(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """A session that commits each statement."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def rows(connection: psycopg.Connection[Any], statement: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return connection.execute(statement.encode(), values).fetchall()


def buggy(connection: psycopg.Connection[Any], project: Project) -> Path:
    """Create a function whose second line fails, and pull it. Returns its file."""
    body = "\n    doubled = i * 2\n    return values[doubled]\n"
    connection.execute(f"CREATE FUNCTION buggy(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $${body}$$".encode())
    project.done("pull")
    return project.file("buggy.py")
