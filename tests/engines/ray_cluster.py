"""`ray_dataset` on a local cluster."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import pyarrow as pa
import pytest
import ray
from colonnade.distributed import ray_dataset

from tests.engines.held import plan_of_killed_reader
from tests.engines.ledger import QUERY, ROWS, Ledger, same
from tests.engines.pages import run_examples
from tests.testbed import postgres as pg


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=400_000_000)
    yield
    ray.shutdown()


def arrow(dataset: ray.data.Dataset) -> pa.Table:
    return pa.concat_tables(ray.get(dataset.to_arrow_refs()))


def test_each_row_is_there_once_while_rows_move(ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        dataset = ray_dataset(ledger.uri, QUERY, **ledger.options)
        assert dataset.schema().names == expected.column_names
        same(arrow(dataset), expected)
        assert dataset.count() == ROWS
        assert dataset.sum("id") == ROWS * (ROWS + 1) // 2


def test_a_killed_worker_is_replaced(ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving(), plan_of_killed_reader(ledger) as plan:
        found = arrow(ray_dataset(plan).materialize())
    same(found, expected)


def test_rows_are_in_one_order_whatever_the_attempt(ledger: Ledger) -> None:
    """A part of a key is read in the order in which the table has its rows now."""
    options = {**ledger.options, "partition_on": "id", "parts": 2}
    with colonnade.plan(ledger.uri, QUERY, **options) as plan:
        tasks = ray_dataset(plan)._logical_plan.dag.datasource.get_read_tasks(1)
        with ledger.moving():
            attempts = [[block for task in tasks for block in task()] for _ in range(3)]
        assert attempts[0] == attempts[1] == attempts[2]
        assert sum(block.num_rows for block in attempts[0]) == ROWS


def test_columns_and_limits(ledger: Ledger) -> None:
    dataset = ray_dataset(ledger.uri, QUERY, **ledger.options)
    chosen = dataset.select_columns(["label", "id"])
    assert chosen.schema().names == ["label", "id"]
    assert sorted(arrow(chosen)["id"].to_pylist()) == list(range(1, ROWS + 1))
    assert dataset.select_columns([]).count() == ROWS
    assert arrow(dataset.limit(10)).num_rows == 10
    assert len({row["id"] for row in dataset.take(1000)}) == 1000
    assert dataset.filter(expr=ray.data.expressions.col("id") > ROWS - 5).count() == 5


def test_the_size_is_known_before_reading(ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        source = ray_dataset(plan)._logical_plan.dag.datasource
        assert source.estimate_inmemory_data_size() == plan.bytes
        assert plan.bytes is not None and plan.bytes > ROWS * 40


def test_a_plan_that_has_ended_is_named(ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        dataset = ray_dataset(plan)
    with pytest.raises(colonnade.Error, match="42704"):
        dataset.materialize()


def test_examples_run(stock: pg.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples("ray", stock) == 2
    assert "5000" in capsys.readouterr().out.split()
