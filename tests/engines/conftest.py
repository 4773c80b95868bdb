"""The table in PostgreSQL with the extension and without, and in `colonnade serve`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from testbed import postgres as pg
from tests.engines.ledger import SETUP, Ledger


@pytest.fixture(scope="session", params=["extension", "stock"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    cluster: pg.Cluster = request.getfixturevalue("extended" if request.param == "extension" else "stock")
    # The cluster ends with the session. A frame that something still refers to has a lock on the table.
    with cluster.connect() as session:
        session.execute(SETUP)
    yield Ledger(cluster.uri(tcp=True), cluster.dsn())


@pytest.fixture(scope="session", autouse=True)
def workers_run_this_python() -> Iterator[None]:
    """Spark's workers are other programs, and find this interpreter and this package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield
