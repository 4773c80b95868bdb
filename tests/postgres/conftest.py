"""A cluster, a connection and a session for the tests of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.testbed import postgres as pg


@pytest.fixture(scope="session")
def postgres(extended: pg.Cluster) -> pg.Cluster:
    """The cluster that a module's tests are about; another one in modules that say so."""
    return extended


@pytest.fixture(scope="session")
def preloaded(installation: pg.Installation) -> Iterator[pg.Cluster]:
    """A cluster in which each session has the library. Tests share it likewise: one schema each."""
    with pg.cluster(installation, {"session_preload_libraries": "colonnade"}) as running:
        yield running


@pytest.fixture
def in_own_schema(preloaded: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session with the library in a schema of its own."""
    with preloaded.connect() as opened:
        opened.execute("create schema own; set search_path to own, public")
        yield opened
        opened.execute("rollback")
        opened.execute("set client_min_messages to warning; drop schema own cascade")


@pytest.fixture
def database(postgres: pg.Cluster) -> Iterator[colonnade.Connection]:
    """A connection to PostgreSQL."""
    with colonnade.connect(postgres.uri()) as opened:
        yield opened


@pytest.fixture
def session(postgres: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session of psycopg's in addition to it."""
    with postgres.connect() as opened:
        yield opened
