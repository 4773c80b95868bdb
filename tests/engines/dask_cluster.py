"""`dask_frame` on a cluster of several processes."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator

import colonnade
import dask
import pandas as pd
import pyarrow as pa
import pytest
from colonnade.distributed import dask_frame
from dask.base import tokenize
from dask.distributed import Client, LocalCluster

from tests.engines.held import plan_of_killed_reader
from tests.engines.ledger import QUERY, ROWS, Ledger, same
from tests.engines.pages import run_examples
from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as opened,
    ):
        yield opened


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def test_each_row_is_there_once_while_rows_move(client: Client, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        frame = dask_frame(ledger.uri, QUERY, **ledger.options)
        same(arrow(frame.compute()), expected)
        # The second reading sees the same state, and other workers may read other parts.
        assert len(frame) == ROWS
        assert frame.id.sum().compute() == ROWS * (ROWS + 1) // 2
        assert (
            frame[frame.flag].label.count().compute() == expected.filter(expected["flag"])["label"].drop_null().length()
        )


def test_a_killed_worker_is_replaced(client: Client, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving(), plan_of_killed_reader(ledger) as plan:
        found = arrow(dask_frame(plan).compute())
    same(found, expected)


def test_the_types_of_the_partitions_are_those_of_the_frame(client: Client, ledger: Ledger) -> None:
    frame = dask_frame(ledger.uri, QUERY, **ledger.options)
    kinds = frame.map_partitions(lambda part: pd.DataFrame({"kinds": [str(list(part.dtypes.items()))]})).compute()
    assert set(kinds["kinds"]) == {str(list(frame.dtypes.items()))}


def test_only_the_needed_columns_are_read(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    read = colonnade.Part.batches

    def recording(part: colonnade.Part, columns: list[str], **options: object) -> pa.RecordBatchReader:
        asked.append(columns)
        return read(part, columns, **options)

    monkeypatch.setattr(colonnade.Part, "batches", recording)
    frame = dask_frame(ledger.uri, QUERY, **ledger.options)
    with dask.config.set(scheduler="synchronous"):
        assert sorted(frame[["label", "id"]].compute()["id"]) == list(range(1, ROWS + 1))
        assert {tuple(columns) for columns in asked} <= {("label", "id"), ("id", "label")}
        asked.clear()
        assert frame["day"].count().compute() == ROWS - ROWS // 5
        assert {tuple(columns) for columns in asked} == {("day",)}


def test_frames_of_one_plan_have_equal_keys(ledger: Ledger) -> None:
    with (
        colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan,
        colonnade.plan(ledger.uri, QUERY, **ledger.options) as other,
    ):
        token = tokenize(dask_frame(plan))
        assert token == tokenize(dask_frame(plan))
        assert token != tokenize(dask_frame(other))
        parts = pickle.loads(pickle.dumps(list(plan.parts)))
        assert tokenize(parts) == tokenize(list(plan.parts))


def test_the_plan_ends_with_the_frame(client: Client, ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        frame = dask_frame(plan)
    with pytest.raises(colonnade.Error) as caught:
        frame.compute()
    assert caught.value.sqlstate == "42704"
    del frame
    gc.collect()
    with pytest.raises(colonnade.InterfaceError, match="closed"):
        dask_frame(plan)


def test_examples_run(client: Client, stock: pg.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples("dask", stock) == 2
    assert "5000" in capsys.readouterr().out.split()
