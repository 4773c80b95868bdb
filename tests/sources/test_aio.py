"""Reading with asyncio, from sources of every kind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import colonnade
import pyarrow as pa
import pytest
from colonnade import aio

from tests.sources.event_loops import within
from tests.sources.every_source import DUCKDB, POSTGRESQL, Dialect


@asynccontextmanager
async def ticking() -> AsyncIterator[Callable[[], int]]:
    """How often the event loop has come round."""
    count = 0

    async def tick() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(0)
            count += 1

    ticker = asyncio.create_task(tick())
    try:
        yield lambda: count
    finally:
        ticker.cancel()


# --- reading ----------------------------------------------------------------------------------------------------------


def test_whole_results(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place
    sql = dialect.series.format(1000)
    expected = colonnade.read_sql(uri, sql, return_type="arrow")

    async def read() -> None:
        async with aio.connect(uri) as connection:
            assert (await (await connection.query(sql)).arrow()).equals(expected)
            assert len(await (await connection.query(sql)).pandas()) == 1000
            assert (await (await connection.query(sql)).polars()).height == 1000
            assert len((await (await connection.query(sql)).numpy())["i"]) == 1000
            result = await connection.query(sql)
            assert (result.column_names, result.schema) == (["i", "t"], expected.schema)
            await result.arrow()
            assert (await result.stats()).rows == 1000

    within(read())


def test_batches(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place
    sql = dialect.series.format(100_000)

    async def read() -> pa.Table:
        async with aio.connect(uri) as connection, await connection.query(sql, chunk_rows=10_000) as result:
            return pa.Table.from_batches([batch async for batch in result])

    table = within(read())
    assert table.column("i").to_pylist() == list(range(1, 100_001))
    assert table.column("i").num_chunks >= 10


def test_statements_of_several_tasks_take_turns(aio_place: tuple[str, Dialect]) -> None:
    uri, _ = aio_place

    async def read() -> list[int]:
        connection = await aio.connect(uri)
        lock = asyncio.Lock()

        async def one(number: int) -> int:
            async with lock:
                return (await (await connection.query(f"select {number} as n")).arrow())["n"][0].as_py()

        found = await asyncio.gather(*map(one, range(20)))
        await connection.close()
        return found

    assert within(read()) == list(range(20))


def test_many_connections_at_once(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

    async def one(number: int) -> int:
        async with aio.connect(uri) as connection:
            result = await connection.query(dialect.series.format(1000 + number))
            return sum([batch.num_rows async for batch in result])

    async def all() -> list[int]:
        return await asyncio.gather(*map(one, range(20)))

    assert within(all()) == [1000 + number for number in range(20)]


def test_transactions(stock: Any) -> None:
    async def write() -> list[int]:
        async with aio.connect(stock.uri()) as connection:
            await connection.execute("create temp table written (i int)")
            await connection.execute("begin")
            assert await connection.execute("insert into written values (1), (2)") == 2
            await connection.execute("rollback")
            await connection.execute("begin")
            await connection.execute("insert into written values ($1)", [3])
            await connection.execute("commit")
            return (await (await connection.query("select i from written")).arrow())["i"].to_pylist()

    assert within(write()) == [3]


# --- errors -----------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_connections(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place
    with colonnade.connect(uri) as connection, pytest.raises(colonnade.ProgrammingError) as expected:
        connection.query("select * from no_such_table").to_arrow()

    async def read() -> None:
        async with aio.connect(uri) as connection:
            with pytest.raises(colonnade.ProgrammingError) as caught:
                await (await connection.query("select * from no_such_table")).arrow()
            assert (caught.value.sqlstate, caught.value.message) == (expected.value.sqlstate, expected.value.message)
            async with await connection.query(dialect.endless):
                with pytest.raises(colonnade.InterfaceError, match="still delivers a result"):
                    await connection.query("select 2 as i")
            result = await connection.query("select 1 as i")
            await result.arrow()
            with pytest.raises(colonnade.InterfaceError, match="already read"):
                await result.arrow()
        assert not connection.is_open
        with pytest.raises(colonnade.InterfaceError, match="the connection is closed"):
            await connection.query("select 1")
        with pytest.raises(colonnade.InterfaceError, match="the connection is closed"):
            await connection.execute("select 1")

    within(read())


def test_a_uri_that_is_wrong() -> None:
    with pytest.raises(colonnade.OperationalError, match="refused"):
        within(aio.connect("postgresql://127.0.0.1:1/").__aenter__())
    with pytest.raises(colonnade.InterfaceError, match="not a URI"):
        within(aio.connect("nothing").__aenter__())


# --- the event loop ---------------------------------------------------------------------------------------------------


def test_the_event_loop_goes_on(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

    async def read() -> None:
        async with ticking() as ticks:
            for step in ("connect", "query", "read", "cancel", "close"):
                before = ticks()
                match step:
                    case "connect":
                        connection = await aio.connect(uri)
                    case "query":
                        result = await connection.query(dialect.series.format(200_000))
                    case "read":
                        await result.arrow()
                    case "cancel":
                        with pytest.raises(TimeoutError):
                            async with asyncio.timeout(0.2):
                                await connection.execute(dialect.silent)
                        await connection.query("select 1 as i")
                    case "close":
                        await connection.close()
                assert ticks() - before >= 2, step

    within(read())


def test_a_slow_reader_holds_little_memory(uri: str) -> None:
    """The server is held up: of an endless result, only what fits into buffers is received."""

    async def read() -> int:
        async with aio.connect(uri) as connection, await connection.query(DUCKDB.endless) as result:
            await anext(result)
            await asyncio.sleep(1)
            first = (await result.stats()).wire_bytes
            await asyncio.sleep(1)
            assert (await result.stats()).wire_bytes - first < 1 << 20
            return first

    assert within(read()) < 64 << 20


def test_an_abandoned_result_frees_its_connection(uri: str) -> None:
    async def read() -> None:
        async with aio.connect(uri) as connection:
            for _ in range(3):
                async for _ in await connection.query(DUCKDB.endless):
                    break
                assert (await (await connection.query("select 7 as i")).arrow())["i"].to_pylist() == [7]

    within(read())


def test_no_thread_is_left(uri: str) -> None:
    def threads() -> Iterator[threading.Thread]:
        return (thread for thread in threading.enumerate() if thread.name.startswith("colonnade-"))

    before = set(threads())

    async def read() -> None:
        async with aio.connect(uri) as connection:
            await (await connection.query("select 1 as i")).arrow()
        await (await (await aio.connect(uri)).query("select 1 as i")).arrow()

    within(read())
    for thread in set(threads()) - before:
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("source", ["serve", "stock", "duckdb"])
def test_the_interpreter_exits_with_an_open_stream(request: pytest.FixtureRequest, source: str) -> None:
    uri = {"serve": lambda: request.getfixturevalue("uri"), "stock": lambda: request.getfixturevalue("stock").uri()}
    code = f"""
import asyncio
from colonnade import aio

async def main():
    global connection, result, task
    connection = await aio.connect({uri.get(source, lambda: "duckdb:")()!r})
    result = await connection.query({(POSTGRESQL if source == "stock" else DUCKDB).endless!r})
    await anext(result)
    other = await aio.connect({uri.get(source, lambda: "duckdb:")()!r})
    task = asyncio.create_task(other.execute({(POSTGRESQL if source == "stock" else DUCKDB).silent!r}))
    await asyncio.sleep(0.3)
    print("read")

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")


def test_tables_and_their_columns(uri: str) -> None:
    async def listed() -> None:
        async with aio.connect(uri) as connection:
            await connection.execute("create table listed_by_a_task (n int, t text)")
            try:
                assert "listed_by_a_task" in (await connection.tables()).column("name").to_pylist()
                assert (await connection.schema("listed_by_a_task")).names == ["n", "t"]
            finally:
                await connection.execute("drop table listed_by_a_task")

    within(listed())
