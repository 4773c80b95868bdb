"""`_conn.execute`: queries that functions run while they are called."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from tests.functions.loopback import ENDLESS, SOON, define, failure, prepared
from tests.functions.sessions import connected, value
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with prepared(2) as server:
        yield server


@pytest.fixture(scope="module", params=[1, 2, 4], ids=["one thread", "two threads", "four threads"])
def plans(request: pytest.FixtureRequest, server: Server) -> Iterator[Server]:
    """For queries of several threads within a plan."""
    if request.param == 2:
        yield server
    else:
        with prepared(request.param) as other:
            yield other


def shown(connection: psycopg.Connection, body: str) -> object:
    """What a body returns as a text."""
    define(connection, "shown", body, returns="VARCHAR")
    return value(connection, "SELECT shown(1)")


def test_queries_within_plans(plans: Server) -> None:
    with connected(plans) as connection:
        assert value(connection, "SELECT plus_rows(1)") == 100_001
        assert value(connection, "SELECT sum(plus_rows(i)) FROM t") == Decimal(14_999_950_000)
        assert value(connection, "SELECT count(*) FROM t WHERE plus_rows(i) % 2 = 0") == 50_000
        connection.execute("CREATE TEMP TABLE kept AS SELECT plus_rows(i) AS x FROM t")
        assert connection.execute("INSERT INTO kept SELECT plus_rows(i) FROM t").rowcount == 100_000
        assert connection.execute("UPDATE kept SET x = plus_rows(5) WHERE x < 100010").rowcount == 20
        connection.execute("CREATE TEMP TABLE checked (x INTEGER, y BIGINT DEFAULT plus_rows(3))")
        connection.execute("INSERT INTO checked (x) SELECT i FROM t")
        assert value(connection, "SELECT min(y) FROM checked") == 100_003


def test_queries_of_immutable_functions_when_a_statement_is_bound(server: Server) -> None:
    with connected(server) as connection:
        define(connection, "constant", "return x + _conn.execute('SELECT 41 AS n')['n'][0]", more="IMMUTABLE")
        assert connection.execute("SELECT constant(1), i FROM t WHERE i < constant(-40) ORDER BY i").fetchall() == [
            (42, 0)
        ]


def test_queries_of_aggregates(plans: Server) -> None:
    with connected(plans) as connection:
        connection.execute(
            "CREATE OR REPLACE AGGREGATE share(x INTEGER) RETURNS DOUBLE LANGUAGE PYTHON AS "
            "$$ return numpy.bincount(aggr_group) / _conn.execute('SELECT count(*) AS n FROM t')['n'][0] $$"
        )
        rows = connection.execute("SELECT i % 4, share(i) FROM t GROUP BY 1 ORDER BY 1").fetchall()
        assert rows == [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]
        assert value(connection, "SELECT count(*) FROM (SELECT share(i) FROM t GROUP BY i % 5000) WHERE true") == 5000
        assert value(connection, "SELECT sum(s) FROM (SELECT share(i) OVER (ORDER BY i) AS s FROM t WHERE i < 3)") > 0  # type: ignore[operator]


def test_queries_call_functions_with_queries(plans: Server) -> None:
    with connected(plans) as connection:
        define(connection, "outer_one", "return x + int(_conn.execute('SELECT max(plus_rows(i)) AS n FROM t')['n'][0])")
        assert value(connection, "SELECT outer_one(1)") == 200_000
        define(connection, "endless", "return _conn.execute('SELECT endless(1) AS n')['n']")
        failed = failure(connection, "SELECT endless(1)")
        assert failed.sqlstate == "54001"
        assert (failed.context or "").count('function "main.endless"') > 5
        assert value(connection, "SELECT plus_rows(1)") == 100_001


def test_types_are_those_of_arguments(server: Server) -> None:
    query = (
        "SELECT true AS b, 1::TINYINT AS i8, 2::UBIGINT AS u64, -170141183460469231731687303715884105728 AS huge, "
        "340282366920938463463374607431768211455::UHUGEINT AS uhuge, 1.5::REAL AS f, 12.345::DECIMAL(9,3) AS d, "
        "'ñ' AS t, '\\x00\\xff'::BLOB AS bytes, 'ffffffff-ffff-ffff-ffff-fffffffffff0'::UUID AS u, "
        "DATE '2025-01-31' AS day, TIME '01:02:03.000004' AS clock, TIMESTAMP '2025-01-31 01:02:03' AS at, "
        "INTERVAL '1 month 2 days 3 us' AS span, [1, NULL] AS l, [1, 2]::INTEGER[2] AS a, {'k': 1, 'v': ['x']} AS s, "
        "MAP {'a': 1} AS m, 'x'::ENUM('x', 'y') AS e, '101'::BIT AS bits, NULL AS nothing, "
        "current_user AS me, [1::HUGEINT] AS lh"
    )
    body = f"return ' '.join(f'{{k}}={{v.dtype}}:{{v[0]!r}}' for k, v in _conn.execute({query!r}).items())"
    expected = {
        "b=bool:np.True_",
        "i8=int8:np.int8(1)",
        "u64=uint64:np.uint64(2)",
        "huge=object:-170141183460469231731687303715884105728",
        "uhuge=object:340282366920938463463374607431768211455",
        "f=float32:np.float32(1.5)",
        "d=object:Decimal('12.345')",
        "t=object:'ñ'",
        r"bytes=object:b'\x00\xff'",
        "u=object:UUID('ffffffff-ffff-ffff-ffff-fffffffffff0')",
        "day=datetime64[D]:np.datetime64('2025-01-31')",
        "clock=timedelta64[us]:np.timedelta64(3723000004,'us')",
        "at=datetime64[us]:np.datetime64('2025-01-31T01:02:03.000000')",
        "s=object:{'k': 1, 'v': array(['x'], dtype=object)}",
        "m=object:{'a': 1}",
        "e=object:'x'",
        "bits=object:'101'",
        "me=object:'tester'",
        "a=int32:array([1, 2], dtype=int32)",
        "lh=object:array([1], dtype=object)",
    }
    with connected(server) as connection:
        found = str(shown(connection, body))
        assert [text for text in expected if text not in found] == [], found


def test_rows_come_in_parts_and_belong_to_the_function(plans: Server) -> None:
    query = (
        "SELECT i, CASE WHEN i % 1000 = 0 THEN NULL ELSE 'x' || i END AS t, [i, i + 1]::INTEGER[2] AS a, "
        "CASE WHEN i = 399999 THEN NULL ELSE [i]::INTEGER[1] END AS n FROM range(400000) r(i) ORDER BY i"
    )
    body = f"""
global kept
if x[0] == 1:
    kept = _conn.execute({query!r})
    _conn.execute('SELECT repeat(chr(65), 1000000) AS noise')
r = kept
r['i'][0] += 0
return (f"{{r['i'].sum()}} {{len(r['t'])}} {{r['t'].mask.sum()}} {{r['t'][399999]}} {{r['a'].shape}} "
        f"{{r['a'][399999]}} {{r['n'].mask.sum()}} {{r['n'][7]}}")
"""
    with connected(plans) as connection:
        expected = "79999800000 400000 400 x399999 (400000, 2) [399999 400000] 1 [7]"
        define(connection, "parts", body, returns="VARCHAR")
        assert value(connection, "SELECT parts(1)") == expected
        if value(connection, "SELECT current_setting('threads')::INT") == 1:
            # The same process again: the arrays are not overwritten.
            assert value(connection, "SELECT parts(2)") == expected
        assert shown(connection, "r = _conn.execute('SELECT i FROM t WHERE false'); return f'{r}'") == (
            "{'i': array([], dtype=int32)}"
        )


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("CREATE TABLE x (i INT)", "25006"),
        ("CREATE TEMP TABLE x (i INT)", "25006"),
        ("INSERT INTO t VALUES (1)", "25006"),
        ("INSERT INTO t VALUES (1) RETURNING i", "25006"),
        ("WITH w AS (INSERT INTO t VALUES (1) RETURNING i) SELECT * FROM w", "25006"),
        ("EXPLAIN ANALYZE DELETE FROM t", "25006"),
        ("SELECT nextval('numbers')", "25006"),
        ("SET TimeZone = 'UTC'", "25006"),
        ("SET VARIABLE v = 1", "25006"),
        ("BEGIN", "25006"),
        ("COMMIT", "25006"),
        ("PREPARE p AS SELECT 1", "25006"),
        ("CHECKPOINT", None),
        ("SELECT * FROM read_csv('/etc/passwd')", "42501"),
        ("FROM '/etc/passwd'", None),
        ("COPY t TO '/tmp/x.csv'", None),
        ("ATTACH ':memory:' AS other", None),
        ("SELECT 1; DROP TABLE t", "42601"),
        ("", "42601"),
        ("-- nothing", "42601"),
        ("SELECT", "42601"),
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT 1 AS a, 2 AS a", "42701"),
        ("SELECT $1", None),
        ("SELECT 'x'::INT", "22P02"),
    ],
)
def test_what_is_refused(server: Server, query: str, code: str | None) -> None:
    with connected(server) as connection:
        connection.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
        define(connection, "refused", f"_conn.execute({query!r})\nreturn x")
        failed = failure(connection, "SELECT refused(1)")
        assert failed.sqlstate not in ("38000", "XX000")
        assert code is None or failed.sqlstate == code
        assert failed.context == f'SQL statement "{query}"\nfunction "main.refused", line 2'
        assert value(connection, "SELECT count(*) FROM t") == 100_000
        assert value(connection, "SELECT nextval('numbers') > 0") is True


def test_a_function_can_catch_an_error(server: Server) -> None:
    body = """
try:
    _conn.execute('SELECT * FROM nowhere')
except _conn.Error as error:
    first = error.sqlstate
return f"{first} {_conn.execute('SELECT 1 AS n')['n'][0]}"
"""
    with connected(server) as connection:
        assert shown(connection, body) == "42P01 1"
        # An SQLSTATE that no query had is not the function's to choose.
        forged = "error = _conn.Error('57P02', 'forged', '', '', '', '')\nraise error"
        define(connection, "forged", forged)
        assert failure(connection, "SELECT forged(1)").sqlstate == "38000"
        for call in ("5", "b'SELECT 1'", "'SELECT 1' * 1000000", r"'\ud800'"):
            define(connection, "misused", f"_conn.execute({call})\nreturn x")
            assert failure(connection, "SELECT misused(1)").sqlstate == "38000"
        define(connection, "nul", r"return _conn.execute('SELECT 1 AS n\0')['n']")
        assert failure(connection, "SELECT nul(1)").sqlstate == "22021"
        body = """
import threading
caught = []
def run():
    try:
        _conn.execute('SELECT 1')
    except RuntimeError as error:
        caught.append(str(error))
thread = threading.Thread(target=run); thread.start(); thread.join()
return caught[0]
"""
        assert "by the thread that runs it" in str(shown(connection, body))


def test_an_error_within_a_query_shows_all_calls(server: Server) -> None:
    with connected(server) as connection:
        define(connection, "inner_one", "raise ValueError('deep')")
        define(connection, "outer_two", "y = x\nreturn _conn.execute('SELECT inner_one(1) AS n')['n']")
        failed = failure(connection, "SELECT outer_two(1)")
        assert (failed.sqlstate, failed.message_primary) == ("38000", "ValueError: deep")
        assert failed.context == (
            'function "main.inner_one", line 2\nSQL statement "SELECT inner_one(1) AS n"\n'
            'function "main.outer_two", line 3'
        )


def test_a_query_ends_with_its_statement(plans: Server) -> None:
    with connected(plans) as connection:
        define(connection, "waits", f"return _conn.execute({ENDLESS!r})['n']")
        define(connection, "waits_below", "return _conn.execute('SELECT max(waits(i)) AS n FROM t')['n']")
        for query in ("SELECT waits(1)", "SELECT max(waits(i)) FROM t", "SELECT waits_below(1)"):
            canceller = threading.Timer(0.3, connection.cancel)
            canceller.start()
            begun = time.monotonic()
            assert failure(connection, query).sqlstate == "57014"
            assert time.monotonic() - begun < SOON
            canceller.join()
            connection.execute("SET statement_timeout = '200ms'")
            assert failure(connection, query).sqlstate == "57014"
            connection.execute("SET statement_timeout = 0")
        assert value(connection, "SELECT plus_rows(1)") == 100_001
