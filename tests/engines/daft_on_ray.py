"""`daft_frame` with Daft's Ray runner: the tasks run in the processes of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator

import daft
import pytest
import ray
from colonnade.distributed import daft_frame

from tests.engines.held import plan_of_killed_reader
from tests.engines.ledger import QUERY, ROWS, Ledger, same


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=400_000_000)
    daft.set_runner_ray(noop_if_initialized=True)
    yield
    ray.shutdown()


def test_each_row_is_there_once_while_rows_move(ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        frame = daft_frame(ledger.uri, QUERY, **ledger.options)
        same(frame.to_arrow(), expected)
        assert frame.count_rows() == ROWS
        assert sorted(frame.select("id").to_pydict()["id"]) == list(range(1, ROWS + 1))
        assert len(set(frame.limit(1000).to_pydict()["id"])) == 1000


def test_a_killed_worker_is_replaced(ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving(), plan_of_killed_reader(ledger) as plan:
        found = daft_frame(plan).to_arrow()
    same(found, expected)
