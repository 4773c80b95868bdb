"""`daft_frame`."""

from __future__ import annotations

import colonnade
import daft
import pyarrow as pa
import pytest
from colonnade.distributed import daft_frame
from daft import col

from tests.engines.ledger import QUERY, ROWS, Ledger, same
from tests.engines.pages import run_examples
from tests.testbed import postgres as pg


def test_each_row_is_there_once_while_rows_move(ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        frame = daft_frame(ledger.uri, QUERY, **ledger.options)
        same(frame.to_arrow(), expected)
        assert frame.count_rows() == ROWS
        assert frame.sum("id").to_pydict() == {"id": [ROWS * (ROWS + 1) // 2]}


def test_columns_filters_and_limits(ledger: Ledger) -> None:
    frame = daft_frame(ledger.uri, QUERY, **ledger.options)
    expected = ledger.direct()
    assert sorted(frame.select("id").to_pydict()["id"]) == list(range(1, ROWS + 1))
    assert frame.select("label", "id").column_names == ["label", "id"]
    assert sorted(frame.where(col("id") > ROWS - 3).select("label").to_pydict()["label"], key=str) == sorted(
        expected["label"].to_pylist()[-3:], key=str
    )
    # A limit of the rows that the filter leaves, and a filter of the rows that the limit leaves.
    assert len(frame.where(col("id") > ROWS - 30).limit(7).collect()) == 7
    assert len(set(frame.limit(1000).to_pydict()["id"])) == 1000
    assert frame.limit(1000).where(col("id") > 0).count_rows() == 1000
    assert len(frame.offset(ROWS - 5).limit(100).collect()) == 5
    assert frame.where(col("flag")).count_rows() == ROWS // 3


def test_a_plan_that_has_ended_is_named(ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        frame = daft_frame(plan)
    with pytest.raises(daft.exceptions.DaftCoreException, match="42704"):
        frame.collect()


@pytest.mark.parametrize(
    "expression",
    ["array[1, null, 3]", "'\\x00ff'::bytea", "'12:34:56.789'::time", "row(1, 'x')::pair", "interval '1 month 2 days'"],
)
def test_values(ledger: Ledger, expression: str) -> None:
    query = f"select id, {expression} as v from ledger where id <= 20"
    with colonnade.plan(ledger.uri, query, parts=2) as plan:
        found = daft_frame(plan).to_arrow()
    same(found, colonnade.read_sql(ledger.uri, query, return_type="arrow").sort_by("id"))


def test_enumerated_columns_are_strings(ledger: Ledger) -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    query = "select id, 'w' || id % 3 as w from ledger where id <= 100"
    with colonnade.plan(ledger.uri, query, parts=2, dtype={"w": kind}) as plan:
        frame = daft_frame(plan)
        assert set(frame.to_pydict()["w"]) == {"w0", "w1", "w2"}


@pytest.mark.parametrize(
    ("expression", "options", "message"),
    [
        ("id", {"numeric": None, "dtype": {"v": "decimal256(50, 2)"}}, "'v' has the type decimal256"),
        ("'24:00'::time", {}, "24:00:00"),
    ],
)
def test_what_daft_lacks_is_refused(ledger: Ledger, expression: str, options: dict, message: str) -> None:
    query = f"select id, {expression} as v from ledger"
    with colonnade.plan(ledger.uri, query, parts=2, **options) as plan, pytest.raises(Exception, match=message):
        daft_frame(plan).collect()


def test_examples_run(stock: pg.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples("daft", stock) == 2
    assert "5000" in capsys.readouterr().out.split()
