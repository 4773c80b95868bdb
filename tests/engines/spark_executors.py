"""`spark` in Spark's local-cluster mode: the executors are processes of their own, with Python workers of theirs."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import psutil
import pytest
from colonnade.distributed import spark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.engines.held import plan_of_killed_reader
from tests.engines.ledger import QUERY, ROWS, Ledger, same
from tests.engines.spark_sessions import spark_session


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    # Two executors with a core and 1,024 MiB each.
    with spark_session("local-cluster[2,1,1024]", {"spark.executor.memory": "512m"}) as opened:
        yield opened


def executors() -> int:
    """The executors among this process's descendants."""
    found = psutil.Process().children(recursive=True)
    return sum("CoarseGrainedExecutorBackend" in " ".join(process.cmdline()) for process in found)


def test_each_row_is_there_once_while_rows_move(session: SparkSession, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        frame = spark(session, ledger.uri, QUERY, **ledger.options)
        same(frame.toArrow(), expected)
        assert frame.agg(f.sum("id")).first()[0] == ROWS * (ROWS + 1) // 2
    assert executors() == 2


def test_a_killed_worker_is_replaced(session: SparkSession, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving(), plan_of_killed_reader(ledger) as plan:
        found = spark(session, plan).toArrow()
    same(found, expected)


def test_a_plan_that_has_ended_is_named(session: SparkSession, ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        frame = spark(session, plan)
    with pytest.raises(PySparkException, match="42704"):
        frame.count()
