"""Parts of results that `colonnade serve` has run once and keeps."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import colonnade
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from tests.plans.elsewhere import Reader
from tests.support.fronts import colonnade_uri
from tests.support.metrics import base, numbers
from tests.support.proxy import Proxy
from tests.support.raw_client import wait_until
from tests.support.spools import part_bytes
from tests.testbed.serving import Server, serve

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
    assert part.read("polars", columns=["sort", "id"]).equals(whole.select("sort", "id"))
    assert part.read("polars", limit=100_000).equals(whole.head(100_000))
    assert part.read("polars", where=where, limit=3).equals(whole.filter(where).head(3))
    assert part.read("arrow", limit=0) == part.schema.empty_table()
    assert part.read("arrow", columns=[]).num_rows == part.rows
    assert part.read("arrow", columns=[], limit=7).num_rows == 7
    assert sum(batch.num_rows for batch in part.batches(["id"], limit=9)) == 9


def test_the_server_sends_only_the_chosen_columns_and_rows(server: Server, uri: str) -> None:
    proxy = Proxy(server)
    query = "select hash(i) as a, hash(-i) as b, hash(i * 7) as c, hash(i * 9) as d from range(100000) r(i)"
    try:
        with colonnade.plan(uri, query, 1) as plan:

            def received(**choice: Any) -> int:
                table = plan.parts[0].read("arrow", uri=proxy.uri, **choice)
                assert table.equals(whole.slice(0, table.num_rows).select(table.column_names))
                return proxy.passed

            whole = plan.parts[0].read("arrow")
            all_bytes = received()
            assert all_bytes > 3_200_000
            assert received(columns=["c"]) < 0.3 * all_bytes
            assert received(columns=["d", "a"]) < 0.6 * all_bytes
            assert received(where=pl.col("b") >= 0, columns=["a"]) < 0.6 * all_bytes
            assert received(limit=1000) < 0.02 * all_bytes
    finally:
        proxy.close()


@pytest.mark.parametrize(("rows", "parts", "expected"), [(1_000_000, 8, 8), (10_000, 8, 8), (3_000, 8, 3), (0, 8, 1)])
def test_small_results_have_as_many_parts_as_wanted(uri: str, rows: int, parts: int, expected: int) -> None:
    """A part has 1,024 rows at least, or 16 KiB, unless the whole result has less."""
    with colonnade.plan(uri, f"select i::int as id from range({rows}) r(i)", parts) as plan:
        assert len(plan) == expected
        assert plan.rows == rows == sum(part.read("arrow").num_rows for part in plan.parts)
        sizes = [part.rows or 0 for part in plan.parts]
        if rows >= 1_000_000:
            assert max(sizes) < 1.6 * min(sizes), sizes


def test_a_plan_of_no_rows_and_many_columns_has_its_schema(uri: str) -> None:
    columns = ", ".join(f"{at} as c{at}" for at in range(300))
    with colonnade.plan(uri, f"select {columns} where false") as plan:
        assert plan.schema.names == [f"c{at}" for at in range(300)]
        assert plan.parts[0].read("arrow") == plan.schema.empty_table()


def test_rows_are_kept_in_the_compression_of_the_plan(server: Server, uri: str) -> None:
    query = "select i // 3 as i from range(200000) r(i)"
    proxy = Proxy(server)
    received = {}
    try:
        for compression in ("plain", "light", "light+zstd-3"):
            with colonnade.plan(uri, query, 1, compression=compression) as plan:
                (part,) = plan.parts
                table = part.read("arrow", uri=proxy.uri)
                received[compression] = proxy.passed
                assert table["i"].to_pylist() == [i // 3 for i in range(200_000)]
                with psycopg.connect(server.dsn, autocommit=True) as session:
                    ticket = part.ticket[27:59].decode()
                    kept = part_bytes(session, ticket, 1, f"FORMAT colonnade, compression '{compression}'")
                    assert kept == part_bytes(session, ticket, 1), "as it is kept"
    finally:
        proxy.close()
    assert received["plain"] > 1_600_000 > received["light"] > received["light+zstd-3"]


def test_the_planner_receives_no_rows(server: Server) -> None:
    """The server tells the columns without the rows of a part."""
    proxy = Proxy(server)
    try:
        with colonnade.plan(proxy.uri, "select hash(i) as h from range(1000000) r(i)", 2) as plan:
            assert plan.rows == 1_000_000 and plan.bytes == 8_000_000
            assert proxy.passed < 100_000
    finally:
        proxy.close()


def gone(read: Callable[[], Any]) -> None:
    with pytest.raises(colonnade.InterfaceError, match="no such part any more") as error:
        read()
    assert error.value.sqlstate == "42704" and error.value.hint is not None


def test_a_released_or_forged_ticket_is_refused(server: Server, uri: str, elsewhere: Reader) -> None:
    with colonnade.plan(uri, "select 42 as answer, random() as luck", 8) as plan:
        (part,) = plan.parts
        assert part.read("arrow") == part.read("arrow"), "the query ran once"
        gone(lambda: part.read(uri=uri.replace("tester@", "stranger@")))
        forged = replace(part, ticket=part.ticket.replace(part.ticket[27:59], b"0" * 32), _plan=None)
        gone(lambda: forged.read(uri=uri))
        gone(lambda: replace(part, ticket=part.ticket[:-8] + struct.pack("<II", 2, 3)).read(uri=uri))
    gone(lambda: part.read(uri=uri))
    gone(lambda: part.read("arrow", columns=["luck"]))
    gone(lambda: part.batches(limit=1))
    gone(lambda: elsewhere.ask([part]))


def test_a_part_is_gone_after_its_time() -> None:
    with serve("--spool-ttl", "1", "--metrics", "127.0.0.1:0") as brief:
        url = base(brief)
        (part,) = colonnade.plan(colonnade_uri(brief), "select 1 as one").parts
        assert part.read("arrow").num_rows == 1
        wait_until(lambda: numbers(url)["spool_tickets"] == 0)
        gone(lambda: part.read("arrow"))


def test_a_restarted_server_has_no_parts(tmp_path: Path) -> None:
    socket = tmp_path / ".s.PGSQL.5432"
    with serve("--unix", socket):
        plan = colonnade.plan(f"postgresql://tester@/test?host={socket}", "select 1 as one")
        (part,) = plan.parts
    with pytest.raises(colonnade.OperationalError):
        part.read("arrow")
    with serve("--unix", socket):
        gone(lambda: part.read("arrow"))
        with pytest.raises(colonnade.OperationalError):
            plan.close()
    assert not plan.is_open


def test_what_a_spool_cannot_do_is_refused(uri: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="as_text"):
        colonnade.plan(uri, "select 1 as one", as_text=["one"])
    with pytest.raises(colonnade.NotSupportedError, match="only of a result that it keeps"):
        colonnade.plan(uri, "select 1 as one", spool=False)
