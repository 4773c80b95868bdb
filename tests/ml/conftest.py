"""A server with labelled rows, and a session."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # Imported here, because the tests of this folder are skipped where scikit-learn is not installed.
    from tests.ml.labelled import labelled_server

    with labelled_server() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    """A session that commits each statement."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection
