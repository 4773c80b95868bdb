"""The table in PostgreSQL with the extension and without, and in `colonnade serve`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import psycopg
import pytest

from tests.engines.ledger import POSTGRES, SERVE, SETUP, Ledger
from tests.testbed import postgres as pg
from tests.testbed.serving import serve


@pytest.fixture(scope="session", params=["extension", "stock", "serve"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    # The servers end with the session. A frame that something still refers to has a lock on the table.
    if request.param == "serve":
        with serve() as server:
            with psycopg.connect(server.dsn, autocommit=True) as session:
                session.execute(SETUP)
                session.execute("create type pair as struct(a integer, b varchar)")
            uri = f"postgresql://tester@{server.host}:{server.port}/test"
            yield Ledger(uri, server.dsn, SERVE)
        return
    cluster: pg.Cluster = request.getfixturevalue("extended" if request.param == "extension" else "stock")
    with cluster.connect() as session:
        session.execute(SETUP)
        session.execute("create type pair as (a integer, b varchar)")
    yield Ledger(cluster.uri(tcp=True), cluster.dsn(), POSTGRES)


@pytest.fixture(scope="session", autouse=True)
def workers_run_this_python() -> Iterator[None]:
    """Spark's workers are other programs, and find this interpreter and this package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield
