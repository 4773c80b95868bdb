"""Function processes for the tests that run DuckDB in this process."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from colonnade_serve import _core

from tests.functions.plans import Caller, caller, pool
from tests.functions.sessions import connected
from tests.testbed.serving import Server


@pytest.fixture(scope="package")
def processes() -> Iterator[_core.FunctionProcesses]:
    with pool() as made:
        yield made


@pytest.fixture(scope="package")
def local() -> Iterator[_core.FunctionProcesses]:
    """Functions in this process."""
    with pool(isolation="none") as made:
        yield made


@pytest.fixture
def session(server: Server) -> Iterator[psycopg.Connection]:
    """A session of the module's `server`."""
    with connected(server) as connection:
        yield connection


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def plans(request: pytest.FixtureRequest, processes: _core.FunctionProcesses) -> Iterator[Caller]:
    """A database with functions."""
    with caller(processes, threads=request.param) as made:
        yield made


@pytest.fixture(params=["process", "none"])
def anywhere(
    request: pytest.FixtureRequest, processes: _core.FunctionProcesses, local: _core.FunctionProcesses
) -> Iterator[Caller]:
    """A database whose functions run in processes of their own, or in this one."""
    with caller(processes if request.param == "process" else local, threads=2) as made:
        yield made
