"""`aio.read_sql` and the functions like it: the same results as without asyncio, and cancellation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import colonnade
import pytest
from colonnade import aio

from tests.sources.event_loops import cancelled, within
from tests.sources.every_source import Dialect
from tests.support import sqlite_files


def test_whole_results(aio_place: tuple[str, Dialect]) -> None:
    uri, dialect = aio_place
    sql = dialect.series.format(1000)
    expected = colonnade.read_sql(uri, sql, return_type="arrow")

    async def read(conn: str | aio.Connection) -> None:
        assert (await aio.read_sql(conn, sql, return_type="arrow")).equals(expected)
        frame = await aio.read_sql(conn, sql, index_col="i")
        assert frame.equals(colonnade.read_sql(uri, sql, index_col="i"))
        assert (await aio.read_sql(conn, sql, return_type="polars")).height == 1000
        assert len((await aio.read_sql(conn, sql, return_type="numpy"))["i"]) == 1000
        assert (await aio.read_sql(conn, "select $1 as i", params=[5], return_type="arrow"))["i"][0].as_py() == 5
        twice = await aio.read_sql(conn, [sql, sql], return_type="arrow")
        assert twice.num_rows == 2000
        with pytest.raises(colonnade.Error):
            await aio.read_sql(conn, "select nope")

    async def both() -> None:
        await read(uri)
        async with aio.connect(uri) as connection:
            await read(connection)
            assert connection.is_open

    within(both())


def test_tables(tmp_path: Path) -> None:
    uri = sqlite_files.make(tmp_path / "a.sqlite", "create table t (i INTEGER, n TEXT)", "t", [(1, "a")])

    async def read() -> None:
        table = await aio.read_sql_table("t", uri, columns=["n"], return_type="arrow")
        assert table.to_pydict() == {"n": ["a"]}
        assert (await aio.read_sql_table("t", uri)).to_dict("list") == {"i": [1], "n": ["a"]}
        assert (await aio.tables(uri)).equals(colonnade.tables(uri))
        assert await aio.schema(uri, "t") == colonnade.schema(uri, "t")

    within(read())


@pytest.mark.parametrize("parts", [False, True])
def test_a_cancelled_task_cancels_its_query(aio_place: tuple[str, Dialect], parts: bool) -> None:
    uri, dialect = aio_place
    sql: Any = [dialect.silent, dialect.silent] if parts else dialect.silent

    async def read() -> None:
        await cancelled(aio.read_sql(uri, sql))
        async with aio.connect(uri) as connection:
            await cancelled(aio.read_sql(connection, sql))
            # It waits for the query's end.
            assert (await aio.read_sql(connection, "select 7 as i"))["i"].tolist() == [7]

    within(read())


def test_results_that_are_read_later_are_refused() -> None:
    async def read() -> None:
        for options in ({"return_type": "arrow_stream"}, {"chunksize": 5}, {"return_type": "dask"}):
            with pytest.raises(colonnade.NotSupportedError, match="async for"):
                await aio.read_sql("nowhere:", "select 1", **options)  # pyright: ignore[reportArgumentType,reportCallIssue]
            with pytest.raises(colonnade.NotSupportedError, match="async for"):
                await aio.read_sql_table("t", "nowhere:", **options)  # pyright: ignore[reportArgumentType,reportCallIssue]
        with pytest.raises(TypeError, match="nonsense"):
            await aio.read_sql("duckdb:", "select 1", nonsense=1)  # pyright: ignore[reportCallIssue]

    within(read())
