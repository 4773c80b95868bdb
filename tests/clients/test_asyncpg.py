"""asyncpg against `colonnade serve`: everything is binary, and each statement's types are what the server infers."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import ipaddress
import uuid
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from tests.testbed.serving import Server


def run(server: Server, work: Callable[[asyncpg.Connection], Awaitable[None]]) -> None:
    async def session() -> None:
        connection = await asyncpg.connect(
            host=server.host, port=server.port, user="tester", database="test", timeout=60
        )
        try:
            await work(connection)
        finally:
            await connection.close()

    asyncio.run(session())


def test_values_come_back(server: Server) -> None:
    values = [
        ("boolean", True),
        ("smallint", -7),
        ("integer", 2**31 - 1),
        ("bigint", -(2**63)),
        ("double", 0.1),
        ("decimal(9, 3)", decimal.Decimal("-1.500")),
        ("varchar", "é"),
        ("blob", b"\x00\xff"),
        ("date", datetime.date(2024, 2, 29)),
        ("time", datetime.time(1, 2, 3, 4)),
        ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
        ("timestamptz", datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC)),
        ("interval", datetime.timedelta(days=-1, microseconds=5)),
        ("uuid", uuid.UUID(int=7)),
        ("json", '{"a": [1]}'),
        ("integer[]", [1, None, 3]),
        ("varchar[]", ["a", 'b,"c', None]),
        ("timestamptz[]", [datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)]),
        ("int4range", asyncpg.Range(1, 5)),
        ("daterange", asyncpg.Range(datetime.date(2024, 2, 28), datetime.date(2024, 3, 1))),
        ("int8range[]", [asyncpg.Range(1, 5), None, asyncpg.Range(empty=True)]),
        ("int4multirange", [asyncpg.Range(1, 5), asyncpg.Range(7, 9)]),
        ("inet", ipaddress.ip_interface("10.1.2.3/8")),
        ("cidr[]", [ipaddress.ip_network("10.0.0.0/8")]),
    ]

    async def work(connection: asyncpg.Connection) -> None:
        for type_name, value in values:
            for given in (value, None):
                assert await connection.fetchval(f"SELECT $1::{type_name}", given) == given, type_name

    run(server, work)


def test_composite_types_are_found(server: Server) -> None:
    async def work(connection: asyncpg.Connection) -> None:
        await connection.execute("""
            CREATE TYPE mood AS ENUM ('sad', 'ok');
            CREATE TYPE item AS (a integer, b text, m mood, r int4range);
            CREATE TYPE whole AS (item item, items item[]);
            CREATE TABLE wholes (w whole, all_ whole[])
        """)
        try:
            item = (1, 'b "c",', "ok", asyncpg.Range(1, 5))
            whole = (item, [item, None, (None, "", None, None)])
            await connection.execute("INSERT INTO wholes VALUES ($1, $2)", whole, [whole, None])
            assert await connection.copy_records_to_table("wholes", records=[(whole, [whole, None])]) == "COPY 1"
            assert await connection.fetch("SELECT * FROM wholes") == [(whole, [whole, None])] * 2
            found = await connection.fetchval("SELECT w FROM wholes WHERE w = $1 LIMIT 1", whole)
            assert found["item"]["b"] == item[1]
        finally:
            await connection.execute("DROP TABLE wholes; DROP TYPE whole; DROP TYPE item; DROP TYPE mood")

    run(server, work)


def test_tables_are_written_read_and_copied_into(server: Server) -> None:
    async def work(connection: asyncpg.Connection) -> None:
        await connection.execute("CREATE TEMP TABLE kept (i integer, s varchar, d decimal(9, 2))")
        assert (
            await connection.execute("INSERT INTO kept VALUES ($1, $2, $3)", 1, "x", decimal.Decimal("1.25"))
            == "INSERT 0 1"
        )
        await connection.executemany("INSERT INTO kept (i) VALUES ($1)", [(i,) for i in range(2, 100)])
        assert await connection.copy_records_to_table("kept", records=[(100, "y", None)]) == "COPY 1"
        assert await connection.fetchrow("SELECT count(*) AS n, sum(i) AS s FROM kept WHERE i > $1", 0) == (100, 5050)
        row = await connection.fetchrow("DELETE FROM kept WHERE i = $1 RETURNING *", 1)
        assert dict(row or {}) == {"i": 1, "s": "x", "d": decimal.Decimal("1.25")}

    run(server, work)


def test_a_cursor_reads_in_parts_while_the_session_does_other_things(server: Server) -> None:
    async def work(connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            seen = []
            async for (i,) in connection.cursor("SELECT i FROM range($1::bigint) t(i)", 5000, prefetch=100):
                if i % 1000 == 500:
                    assert await connection.fetchval("SELECT 1 + $1::int", i) == i + 1
                seen.append(i)
        assert seen == list(range(5000))

    run(server, work)


def test_errors_have_their_classes_and_the_session_goes_on(server: Server) -> None:
    async def work(connection: asyncpg.Connection) -> None:
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nope WHERE i = $1", 1)
        with pytest.raises(asyncpg.InvalidTextRepresentationError):
            await connection.fetch("SELECT $1::varchar::int", "x")
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("CREATE TEMP TABLE u (i int PRIMARY KEY); INSERT INTO u VALUES (1), (1)")
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch("SELECT count(*) FROM range(10_000_000) a, range(1_000_000) b", timeout=0.5)
        assert await connection.fetchval("SELECT 1") == 1

    run(server, work)
