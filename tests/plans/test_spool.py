"""Parts of results that `colonnade serve` has run once and keeps."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace

import colonnade
import polars as pl
import pyarrow as pa
import pytest

from testbed.serving import Server
from tests.plans.elsewhere import Reader

#: Wide enough that the result has several of the server's parts.
QUERY = "select i::int as id, repeat('x', 100) as filler, i % 7 as sort from range(400000) r(i)"


@pytest.fixture(scope="module")
def plan(uri: str) -> Iterator[colonnade.Plan]:
    with colonnade.plan(uri, QUERY, 3) as made:
        yield made


def test_parts_have_each_row_once_and_their_sizes_are_exact(plan: colonnade.Plan, elsewhere: Reader) -> None:
    assert plan.exact and plan.rows == 400_000 and plan.bytes is not None and plan.bytes > 40_000_000
    assert 1 < len(plan) <= 3 and plan.parts[0].kind == "spool"
    tables = elsewhere.ask(plan.parts)
    assert [table.num_rows for table in tables] == [part.rows for part in plan.parts]
    assert pa.concat_tables(tables)["id"].to_pylist() == list(range(400_000))
    assert plan.parts[0].read("arrow") == tables[0]
    assert tables[0].schema == plan.schema


def test_columns_rows_and_a_limit_are_chosen_by_the_reader(plan: colonnade.Plan) -> None:
    part = pickle.loads(pickle.dumps(plan.parts[-1]))
    whole = part.read("polars")
    where = (pl.col("sort") == 3) & (pl.col("id") > 1000)
    found = part.read("polars", columns=["id"], where=where)
    assert found.equals(whole.filter(where).select("id"))
    assert part.read("arrow", columns=["sort"], limit=5).to_pydict() == {"sort": whole["sort"].head(5).to_list()}
    assert part.read("arrow", columns=[]).num_rows == part.rows


def test_a_released_or_forged_ticket_is_refused(server: Server, uri: str) -> None:
    with colonnade.plan(uri, "select 42 as answer, random() as luck", 8) as plan:
        (part,) = plan.parts
        assert part.read("arrow") == part.read("arrow"), "the query ran once"
        stranger = uri.replace("tester@", "stranger@")
        for other in (
            lambda: part.read(uri=stranger),
            lambda: replace(part, ticket=part.ticket.replace(part.ticket[27:59], b"0" * 32), _plan=None).read(uri=uri),
        ):
            with pytest.raises(colonnade.Error) as error:
                other()
            assert error.value.sqlstate == "42704"
    with pytest.raises(colonnade.Error) as error:
        part.read(uri=uri)
    assert error.value.sqlstate == "42704"


def test_what_a_spool_cannot_do_is_refused(uri: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="as_text"):
        colonnade.plan(uri, "select 1 as one", as_text=["one"])
    with pytest.raises(colonnade.NotSupportedError, match="only of a result that it keeps"):
        colonnade.plan(uri, "select 1 as one", spool=False)
