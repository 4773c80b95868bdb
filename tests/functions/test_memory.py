"""What functions keep in the server's process is limited: for a session by --udf-memory, and for all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.functions.engines import client, engine
from tests.functions.plans import pool
from tests.functions.sessions import connected, rows, serving, value
from tests.testbed.serving import Server

MEMORY = 64 << 20
#: A call with a million rows collects 8 MB of them, and its result is as large.
CALL = "SELECT j FROM same((SELECT i FROM range(1000000) t(i)))"
FUNCTIONS = (
    "CREATE FUNCTION same(i BIGINT) RETURNS TABLE(j BIGINT) LANGUAGE PYTHON AS $$ return [i] $$",
    "CREATE FUNCTION parts(i BIGINT) RETURNS TABLE(j BIGINT) LANGUAGE PYTHON_MAP AS $$ return [i] $$",
    "CREATE FUNCTION named(*) RETURNS TABLE(*) LANGUAGE PYTHON PARAMETER STYLE ARROW AS "
    "$$ return {f'c{n}': _columns['i'] for n in range(1300)} $$",
    "CREATE AGGREGATE total(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS $$ return numpy.bincount(aggr_group, x) $$",
    "CREATE FUNCTION plus(i BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP AS $$ return i + 1 $$",
    "CREATE FUNCTION long(i BIGINT) RETURNS VARCHAR LANGUAGE PYTHON_MAP IMMUTABLE AS "
    "$$ return ['x' * 10000] * len(i) $$",
    "CREATE FUNCTION items(l BOOLEAN[]) RETURNS BIGINT LANGUAGE PYTHON_MAP AS $$ return [len(x) for x in l] $$",
    "CREATE FUNCTION overlapping(i BIGINT) RETURNS TABLE("
    + ", ".join(f"c{n} BOOLEAN" for n in range(100))
    + """) LANGUAGE PYTHON AS $$
import sys
ring = sys.modules['colonnade_udf.ring'].Ring
finish = ring.finish
def lie(self, rows, nodes):
    ring.finish = finish
    size = 1 << 20
    place = self.reserve(size)
    finish(self, size, [size, 0, place, size, place, 0] * 100)
ring.finish = lie
return {f'c{n}': [True] for n in range(100)}
$$""",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--udf-memory", str(MEMORY), "--threads", "2") as made:
        with connected(made) as connection:
            for statement in FUNCTIONS:
                connection.execute(statement.encode())
        yield made


def refused(session: psycopg.Connection, query: str, *texts: str) -> None:
    """The query needs more memory than the session may have, and nothing else is harmed."""
    with pytest.raises(psycopg.errors.OutOfMemory) as caught:
        session.execute(query.encode())
    for text in (f"--udf-memory={MEMORY} bytes", *texts):
        assert text in str(caught.value)


def several(call: str, count: int) -> str:
    return f"SELECT count(*) FROM ({' UNION ALL '.join([call] * count)})"


def test_all_calls_of_a_statement_share_the_memory(server: Server, session: psycopg.Connection) -> None:
    with connected(server) as other:
        refused(session, several(CALL, 20), "main.same")
        assert value(other, several(CALL, 2)) == 2_000_000
    # All of it was released.
    for _ in range(5):
        assert value(session, several(CALL, 4)) == 4_000_000


def test_batches_and_their_results_share_it(session: psycopg.Connection) -> None:
    refused(session, several(CALL.replace("same", "parts"), 20), "main.parts")
    with session.transaction():
        # The batches wait for the calls.
        session.execute("CREATE TABLE changed AS SELECT 1")
        refused(session, several(CALL.replace("same", "parts"), 20), "main.parts")
    session.execute("DROP TABLE IF EXISTS changed")
    assert value(session, several(CALL.replace("same", "parts"), 3)) == 3_000_000


def test_an_argument_with_many_names_is_there_once(server: Server, session: psycopg.Connection) -> None:
    """1,300 copies would be 5 GB."""
    before = server.memory("VmHWM")
    query = "SELECT count(*), sum(c7), sum(c1299) FROM named((SELECT i FROM range(500000) t(i)))"
    total = 500_000 * 499_999 // 2
    assert rows(session, query) == [(500_000, total, total)]
    assert server.memory("VmHWM") - before < 200 << 20


def test_buffers_that_overlap_are_refused(server: Server, session: psycopg.Connection) -> None:
    before = server.memory("VmHWM")
    with pytest.raises(psycopg.Error, match="not separate") as caught:
        session.execute("SELECT count(c1) FROM overlapping((SELECT 1::BIGINT))")
    assert caught.value.sqlstate == "39000"
    assert server.memory("VmHWM") - before < 50 << 20
    assert value(session, "SELECT plus(1)") == 2


def test_aggregates_of_a_statement_share_it(session: psycopg.Connection) -> None:
    one = "SELECT total(i + {}) FROM range(3000000) t(i)"
    assert value(session, one.format(1)) == 3_000_000 * 2_999_999 / 2 + 3_000_000
    many = ", ".join(f"total(i + {n})" for n in range(5))
    refused(session, f"SELECT {many} FROM range(3000000) t(i)", "main.total")
    assert value(session, one.format(0)) == 3_000_000 * 2_999_999 / 2


def test_results_beside_the_plan_are_limited(session: psycopg.Connection) -> None:
    refused(session, "SELECT long(i) FROM range(20000) t(i)", "main.long")
    assert len(rows(session, "SELECT long(i) FROM range(2000) t(i)")) == 2000


def test_items_of_lists_are_not_numbered(server: Server, session: psycopg.Connection) -> None:
    """Numbers of all items would be 16 times as large as the list."""
    flags = "list(i % 2 = 0)) FROM range(10000000) t(i)"
    assert value(session, f"SELECT len({flags}") == 10_000_000
    before = server.memory("VmHWM")
    assert value(session, f"SELECT items({flags}") == 10_000_000
    assert server.memory("VmHWM") - before < 200 << 20


def test_null_arrays_of_an_aggregate_are_limited(session: psycopg.Connection) -> None:
    session.execute(
        "CREATE OR REPLACE AGGREGATE counted(x DOUBLE[10000]) RETURNS BIGINT LANGUAGE PYTHON "
        "AS $$ return numpy.bincount(aggr_group) $$"
    )
    refused(session, "SELECT counted(NULL::DOUBLE[10000]) FROM range(2000)", "main.counted")
    assert value(session, "SELECT counted(NULL::DOUBLE[10000]) FROM range(10)") == 10


def test_all_sessions_share_a_limit() -> None:
    with (
        # That is twice --udf-memory, because a quarter of --memory is less.
        serving("--udf-memory", str(48 << 20), "--memory", "256MB", "--threads", "1") as server,
        ExitStack() as stack,
    ):
        first, second, third = (stack.enter_context(connected(server)) for _ in range(3))
        made = "AS $$ return [numpy.arange(4500000)] $$"
        first.execute(f"CREATE FUNCTION made(i BIGINT) RETURNS TABLE(j BIGINT) LANGUAGE PYTHON {made}".encode())
        held = "SELECT j FROM made((SELECT 1::BIGINT))"
        count = f"SELECT count(*) FROM ({held})"
        for session in (first, second):
            session.autocommit = False
            session.execute(f"DECLARE held CURSOR FOR {held}".encode())
            assert rows(session, "FETCH 1 FROM held") == [(0,)]
        with pytest.raises(psycopg.errors.OutOfMemory, match=r"main.made.*all sessions.*try again later"):
            third.execute(count.encode())
        first.rollback()
        assert value(third, count) == 4_500_000
        assert rows(second, "FETCH 1 FROM held") == [(1,)]


def test_everything_is_released() -> None:
    with pool(memory=MEMORY) as processes, engine(processes) as made, client(made) as session:
        session.define("plus", {"i": "BIGINT"}, "BIGINT", "return i + 1")
        session.define("total", {"x": "DOUBLE"}, "DOUBLE", "return numpy.bincount(aggr_group, x)", kind="aggregate")
        assert session.rows("SELECT plus(sum(plus(i))::BIGINT), total(i) FROM range(1000000) t(i)")
        assert session.rows("SELECT i % 3 AS g, total(i) OVER (PARTITION BY i % 3) FROM range(1000) t(i)")
        assert len(session.table("SELECT plus(i) FROM range(300000) t(i)")) == 300_000
        assert processes.used_memory == 0
