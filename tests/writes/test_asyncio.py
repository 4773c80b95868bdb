"""`colonnade.aio`: writes of tasks, which may be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import colonnade
import psycopg
import pyarrow as pa
import pytest
from colonnade import aio

from tests.writes.places import Place

BATCH = pa.record_batch({"a": pa.array(range(10_000), pa.int64())})


def test_write_sql(place: Place) -> None:
    async def write() -> colonnade.WriteStats:
        await aio.write_sql(BATCH, place.uri, "t")
        async with aio.connect(place.uri) as connection:
            await aio.write_sql(iter([BATCH, BATCH]), connection, "t", if_exists="append")
            return await connection.write(BATCH, "t", if_exists="append")

    assert asyncio.run(write()).rows == 10_000 and place.table().num_rows == 40_000


def test_from_one_database_to_another(in_postgres: Place, in_sqlite: Place) -> None:
    async def copy() -> colonnade.WriteStats:
        async with aio.connect(in_postgres.uri) as source:
            return await aio.write_sql(await source.query("select * from t order by a"), in_sqlite.uri, "t")

    colonnade.write_sql(BATCH, in_postgres.uri, "t")
    assert asyncio.run(copy()).rows == 10_000 and in_sqlite.table().equals(in_postgres.table().sort_by("a"))


def test_append(place: Place) -> None:
    async def write(error: BaseException | None) -> int:
        async with aio.connect(place.uri) as connection:
            async with connection.append("t", if_exists="create_append") as rows:
                for _ in range(10):
                    await rows.write(BATCH)
                if error is not None:
                    raise error
            return rows.stats.rows

    with pytest.raises(ZeroDivisionError):
        asyncio.run(write(ZeroDivisionError()))
    assert not place.exists()
    assert asyncio.run(write(None)) == 100_000 and place.table().num_rows == 100_000


def endless() -> Iterator[pa.RecordBatch]:
    # Not without an end: a cancellation that is lost must not fill the disk.
    for _ in range(20_000):
        yield BATCH


def test_a_cancelled_task_writes_nothing(place: Place) -> None:
    async def write() -> None:
        async with aio.connect(place.uri) as connection:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await connection.write(endless(), "t")
            await connection.write(BATCH, "u")

    asyncio.run(write())
    assert not place.exists() and place.table("u").num_rows == 10_000


def test_a_cancelled_append_writes_nothing(in_postgres: Place, session: psycopg.Connection) -> None:
    async def write() -> None:
        async with aio.connect(in_postgres.uri) as connection:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5), connection.append("t") as rows:
                    # They wait for the lock.
                    for batch in endless():
                        await rows.write(batch)
            await connection.write(BATCH, "u")

    session.execute("create table t (a bigint)")
    with session.transaction():
        session.execute("lock table t in access exclusive mode")
        asyncio.run(write())
    assert in_postgres.rows() == [] and in_postgres.table("u").num_rows == 10_000


def test_a_task_that_is_cancelled_at_the_end_of_its_block_leaves_the_connection_free(place: Place) -> None:
    async def append(connection: aio.Connection) -> None:
        async with connection.append("t", if_exists="create_append") as rows:
            await rows.write(BATCH)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()

    async def write() -> None:
        async with aio.connect(place.uri) as connection:
            for number in range(10):
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.create_task(append(connection))
                assert (await connection.write(BATCH, f"u{number}")).rows == 10_000

    asyncio.run(write())
    # Whether the end of a block begins before its task is cancelled depends on the thread that works.
    assert not place.exists() or place.table().num_rows % 10_000 == 0


def test_a_temporary_table_needs_a_connection(in_sqlite: Place) -> None:
    with pytest.raises(colonnade.InterfaceError, match="open"):
        asyncio.run(aio.write_sql(BATCH, in_sqlite.uri, "t", temporary=True))
