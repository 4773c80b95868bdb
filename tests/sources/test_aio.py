"""Reading with asyncio, from sources of every kind."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import colonnade
import pyarrow as pa
import pytest
from colonnade import aio

from tests.sources.every_source import DUCKDB, MYSQL, POSTGRESQL, SQLITE, Dialect
from tests.support.sqlite_files import make


@pytest.fixture(params=["serve", "stock", "extended", "maria", "sqlite", "duckdb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Dialect]:
    """A URI, and its database's SQL."""
    match request.param:
        case "serve":
            return request.getfixturevalue("uri"), DUCKDB
        case "stock" | "extended":
            return request.getfixturevalue(request.param).uri(), POSTGRESQL
        case "maria":
            return request.getfixturevalue("maria").uri(), MYSQL
        case "sqlite":
            return make(tmp_path / "a.sqlite", "create table t (i INTEGER)"), SQLITE
        case _:
            return "duckdb:", DUCKDB


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """The outcome. A test that hangs is an error."""

    async def limited() -> Any:
        async with asyncio.timeout(120):
            return await work

    return asyncio.run(limited())


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


def test_whole_results(place: tuple[str, Dialect]) -> None:
    uri, dialect = place
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


def test_batches(place: tuple[str, Dialect]) -> None:
    uri, dialect = place
    sql = dialect.series.format(100_000)

    async def read() -> pa.Table:
        async with aio.connect(uri) as connection, await connection.query(sql, chunk_rows=10_000) as result:
            return pa.Table.from_batches([batch async for batch in result])

    table = within(read())
    assert table.column("i").to_pylist() == list(range(1, 100_001))
    assert table.column("i").num_chunks >= 10


def test_statements_of_several_tasks_take_turns(place: tuple[str, Dialect]) -> None:
    uri, _ = place

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


def test_many_connections_at_once(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

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


def test_errors_are_those_of_connections(place: tuple[str, Dialect]) -> None:
    uri, dialect = place
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


# --- cancellation -----------------------------------------------------------------------------------------------------


async def stopped(connection: aio.Connection, work: Coroutine[Any, Any, Any]) -> None:
    """Cancels work that does not end by itself. Afterwards the connection is usable."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait([task], timeout=0.3)
    assert not done
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # It waits for the statement's end.
    assert (await (await connection.query("select 7 as i")).arrow())["i"][0].as_py() == 7


@pytest.mark.parametrize("kind", ["silent", "endless"])
def test_cancelling_a_task_ends_its_statement(place: tuple[str, Dialect], kind: str) -> None:
    uri, dialect = place
    sql = getattr(dialect, kind)

    async def read() -> None:
        async with aio.connect(uri) as connection:

            async def whole() -> None:
                await (await connection.query(sql)).arrow()

            async def batches() -> None:
                async for _ in await connection.query(sql):
                    pass

            await stopped(connection, whole())
            await stopped(connection, batches())
            await stopped(connection, connection.execute(sql))

    within(read())


def test_a_timeout(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

    async def read() -> None:
        async with aio.connect(uri) as connection:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await (await connection.query(dialect.silent)).arrow()
            assert (await (await connection.query("select 7 as i")).arrow())["i"][0].as_py() == 7

    within(read())


def test_the_statement_has_ended_on_the_server(stock: Any) -> None:
    async def read() -> list[int]:
        async with aio.connect(stock.uri()) as connection, aio.connect(stock.uri()) as other:
            await stopped(connection, connection.execute("select pg_sleep(600) /* sought */"))
            sql = "select count(*) as n from pg_stat_activity where state = 'active' and query like '%/* sought *%'"
            # This statement finds itself.
            return (await (await other.query(sql)).arrow())["n"].to_pylist()

    assert within(read()) == [1]


def test_nothing_of_a_cancelled_result_is_read_later(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

    async def read() -> None:
        async with aio.connect(uri) as connection:
            result = await connection.query(dialect.endless)
            task = asyncio.create_task(result.arrow())
            await asyncio.wait([task], timeout=0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(colonnade.InterfaceError, match="reading it was cancelled"):
                await result.arrow()

    within(read())


def test_cancelling_at_any_moment(place: tuple[str, Dialect]) -> None:
    uri, _ = place

    async def read() -> None:
        async with aio.connect(uri) as connection:
            for turn in range(60):
                task = asyncio.create_task(connection.query(f"select {turn} as i"))
                for _ in range(turn % 30):
                    await asyncio.sleep(0 if turn < 30 else 0.0001)
                task.cancel()
                result = (await asyncio.gather(task, return_exceptions=True))[0]
                if isinstance(result, aio.Result):
                    assert (await result.arrow())["i"].to_pylist() == [turn]
                else:
                    assert isinstance(result, asyncio.CancelledError)
                assert (await (await connection.query("select 7 as i")).arrow())["i"].to_pylist() == [7]

    within(read())


def test_cancel_and_close_reach_a_task_that_waits(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

    async def read(end: Callable[[aio.Connection], Coroutine[Any, Any, None]]) -> None:
        connection = await aio.connect(uri)
        task = asyncio.create_task(connection.execute(dialect.silent))
        await asyncio.wait([task], timeout=0.3)
        await end(connection)
        with pytest.raises(colonnade.Error):
            await task
        await connection.close()

    within(read(lambda connection: connection.cancel()))
    within(read(lambda connection: connection.close()))


def test_closing_a_result_reaches_a_task_that_reads_it(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

    async def read() -> None:
        async with aio.connect(uri) as connection:
            result = await connection.query(dialect.endless)
            task = asyncio.create_task(result.arrow())
            await asyncio.wait([task], timeout=0.2)
            await result.close()
            with pytest.raises(colonnade.OperationalError):
                await task
            assert (await (await connection.query("select 7 as i")).arrow())["i"].to_pylist() == [7]

    within(read())


def test_a_server_that_does_not_answer() -> None:
    async def read(uri: str) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await aio.connect(uri)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        within(read(f"postgresql://tester@127.0.0.1:{listener.getsockname()[1]}/"))


# --- the event loop ---------------------------------------------------------------------------------------------------


def test_the_event_loop_goes_on(place: tuple[str, Dialect]) -> None:
    uri, dialect = place

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
