"""Cancelling reads with asyncio: by tasks, timeouts and `cancel`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import colonnade
import pytest
from colonnade import aio

from tests.sources.event_loops import cancelled, within
from tests.sources.every_source import Dialect


async def stopped(connection: aio.Connection, work: Coroutine[Any, Any, Any]) -> None:
    """Cancels work that does not end by itself. Afterwards the connection is usable."""
    await cancelled(work)
    # It waits for the statement's end.
    assert (await (await connection.query("select 7 as i")).arrow())["i"][0].as_py() == 7


@pytest.mark.parametrize("kind", ["silent", "endless"])
def test_cancelling_a_task_ends_its_statement(aio_place: tuple[str, Dialect], kind: str) -> None:
    uri, dialect = aio_place
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


def test_a_timeout(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

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


def test_nothing_of_a_cancelled_result_is_read_later(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

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


def test_cancelling_at_any_moment(aio_place: tuple[str, Dialect]) -> None:
    uri, _ = aio_place

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


def test_cancel_and_close_reach_a_task_that_waits(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

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


def test_closing_a_result_reaches_a_task_that_reads_it(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place

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
