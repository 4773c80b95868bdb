"""`_conn.execute`: what queries see of the session, how they end, their limits and rights."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.functions.loopback import ENDLESS, SOON, define, failure, prepared
from tests.functions.sessions import connected, psql, serving, value
from tests.support.users import add_user
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with prepared(2) as server:
        yield server


def test_queries_see_what_is_committed(server: Server) -> None:
    with connected(server) as connection:
        define(connection, "seen", "return int(_conn.execute('SELECT count(*) AS n FROM changing')['n'][0])")
        connection.execute("CREATE OR REPLACE TABLE changing AS SELECT 1 AS i")
        with connection.transaction():
            connection.execute("INSERT INTO changing VALUES (2)")
            assert value(connection, "SELECT seen(1)") == 1
        assert value(connection, "SELECT seen(1)") == 2


def test_settings_are_the_callers(server: Server) -> None:
    with connected(server) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS other")
        connection.execute("CREATE OR REPLACE TABLE other.only_here AS SELECT 7 AS i")
        query = "SELECT i, current_setting('TimeZone') AS zone FROM only_here"
        define(
            connection,
            "where_am_i",
            f"r = _conn.execute({query!r})\nreturn f\"{{r['i'][0]}} {{r['zone'][0]}}\"",
            returns="VARCHAR",
        )
        assert failure(connection, "SELECT where_am_i(1)").sqlstate == "42P01"
        connection.execute("SET search_path = other, main")
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        assert value(connection, "SELECT where_am_i(1)") == "7 Asia/Tokyo"
        connection.execute("RESET search_path")
        assert failure(connection, "SELECT main.where_am_i(1)").sqlstate == "42P01"


def test_a_query_ends_with_its_call() -> None:
    with serving("--threads", "2", "--udf-timeout", "0.5") as server, connected(server) as connection:
        define(connection, "waits", f"return _conn.execute({ENDLESS!r})['n']")
        define(connection, "sleeps", "import time; time.sleep(60)\nreturn x")
        define(connection, "again", "while True:\n    _conn.execute('SELECT 1')")
        define(connection, "below", "return _conn.execute('SELECT sleeps(1) AS n')['n']")
        for name in ("waits", "again", "below"):
            begun = time.monotonic()
            failed = failure(connection, f"SELECT {name}(1)")
            assert failed.sqlstate == "57014"
            assert "--udf-timeout" in (failed.message_primary or "")
            assert time.monotonic() - begun < SOON
        define(connection, "works", "return x + _conn.execute('SELECT 1 AS n')['n'][0]")
        for _ in range(3):
            assert value(connection, "SELECT works(1)") == 2


def test_table_functions_see_their_transaction(server: Server) -> None:
    with connected(server) as connection:
        connection.execute("CREATE OR REPLACE TABLE weights AS SELECT 5 AS w")
        body = "return {'i': i, 'w': _conn.execute('SELECT sum(w)::INT AS w FROM weights')['w'][0]}"
        for name, language in (("weighted", "PYTHON"), ("weighted_map", "PYTHON_MAP")):
            text = (
                f"CREATE OR REPLACE FUNCTION {name}(i INTEGER) RETURNS TABLE (i INTEGER, w INTEGER) "
                f"LANGUAGE {language} AS $f$ {body} $f$"
            )
            connection.execute(text.encode())
        totals = {name: f"SELECT sum(w)::INT FROM {name}((SELECT i FROM t))" for name in ("weighted", "weighted_map")}
        assert [value(connection, query) for query in totals.values()] == [500_000, 500_000]
        with connection.transaction():
            connection.execute("INSERT INTO weights VALUES (6)")
            assert [value(connection, query) for query in totals.values()] == [1_100_000, 1_100_000]
            # Of more rows than one batch has.
            many = "SELECT sum(w)::BIGINT FROM weighted_map((SELECT i::INTEGER FROM range(300000) r(i)))"
            assert value(connection, many) == 3_300_000
            raise psycopg.Rollback
        assert [value(connection, query) for query in totals.values()] == [500_000, 500_000]
        with connection.transaction():
            # A change of the catalog is one too.
            connection.execute("ALTER TABLE weights RENAME TO others")
            connection.execute("CREATE TABLE weights AS SELECT 2 AS w")
            assert [value(connection, query) for query in totals.values()] == [200_000, 200_000]
            raise psycopg.Rollback
        with connected(server) as other, other.transaction():
            # A transaction that only reads: the calls run while the input is read, on connections of their own.
            assert value(other, "SELECT count(*) FROM weights") == 1
            connection.execute("INSERT INTO weights VALUES (6)")
            assert value(other, totals["weighted"]) == 500_000
            assert value(other, totals["weighted_map"]) == 1_100_000


def test_rows_of_a_changed_transaction_have_a_limit() -> None:
    """They wait until all of them are there."""
    with serving("--udf-memory", "64MiB") as server, connected(server) as connection:
        connection.execute(
            "CREATE FUNCTION counted(i BIGINT) RETURNS TABLE(n BIGINT) LANGUAGE PYTHON_MAP AS $$ return [[len(i)]] $$"
        )
        query = "SELECT sum(n)::BIGINT, count(*) FROM counted((SELECT i FROM range({}) r(i)))"
        with connection.transaction():
            connection.execute("CREATE TABLE changed AS SELECT 1 AS one")
            assert connection.execute(query.format(1_000_000).encode()).fetchone() == (1_000_000, 9)
        with pytest.raises(psycopg.Error, match="--udf-memory") as refused, connection.transaction():
            connection.execute("DROP TABLE changed")
            connection.execute(query.format(20_000_000).encode())
        assert refused.value.sqlstate == "53200"
        assert value(connection, "SELECT one FROM changed") == 1
        # Otherwise they are passed on meanwhile.
        assert connection.execute(query.format(20_000_000).encode()).fetchone() == (20_000_000, 163)


def test_queries_of_table_functions(server: Server) -> None:
    def table(name: str, body: str) -> None:
        text = (
            f"CREATE OR REPLACE FUNCTION {name}(i INTEGER) RETURNS TABLE (n BIGINT) LANGUAGE PYTHON AS $f$\n{body}\n$f$"
        )
        connection.execute(text.encode())

    with connected(server) as connection:
        table("counts", "return {'n': _conn.execute('SELECT max(plus_rows(i)) AS n FROM t')['n']}")
        assert value(connection, "SELECT n FROM counts((SELECT 1))") == 199_999
        define(connection, "counted", "return _conn.execute('SELECT * FROM counts((SELECT 1))')['n'][0] + x")
        assert value(connection, "SELECT counted(1)") == 200_000
        table("nested", "return {'n': _conn.execute('SELECT * FROM counts((SELECT 1))')['n']}")
        assert failure(connection, "SELECT * FROM nested((SELECT 1))").sqlstate == "0A000"
        table("writes", "return {'n': _conn.execute('DELETE FROM t')}")
        failed = failure(connection, "SELECT * FROM writes((SELECT 1))")
        assert failed.sqlstate == "25006"
        assert failed.context == 'SQL statement "DELETE FROM t"\nfunction "main.writes", line 2'
        table("waits_between", f"return {{'n': _conn.execute({ENDLESS!r})['n']}}")
        canceller = threading.Timer(0.3, connection.cancel)
        canceller.start()
        begun = time.monotonic()
        assert failure(connection, "SELECT * FROM waits_between((SELECT 1))").sqlstate == "57014"
        assert time.monotonic() - begun < SOON
        assert value(connection, "SELECT n FROM counts((SELECT 1))") == 199_999


def test_memory_has_a_limit() -> None:
    with serving("--threads", "2", "--udf-memory", "64MB") as server, connected(server) as connection:
        many = "SELECT i, i AS j, 'a text of some bytes' || i AS t FROM range(5000000) r(i)"
        define(connection, "many", f"return len(_conn.execute({many!r})['i'])")
        define(connection, "wide", "return len(_conn.execute(\"SELECT repeat('x', 100000000) AS t\")['t'])")
        for name in ("many", "wide"):
            failed = failure(connection, f"SELECT {name}(1)")
            assert failed.sqlstate == "53200", failed.message_primary
        define(
            connection,
            "few",
            "return x + sum(len(_conn.execute('SELECT i FROM range(1000000) r(i)')['i']) for _ in range(20))",
        )
        assert value(connection, "SELECT few(1)") == 20_000_001


def test_rights_are_those_of_the_caller(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "maker", "secret", "--functions")
    add_user(users, "reader", "secret", "--read-only")
    with serving("--users", users) as server:
        with connected(server, "maker", "secret") as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS i")
            body = "return str(_conn.execute('SELECT current_user AS u, i FROM t')['u'][0])"
            define(connection, "whoami", body, returns="VARCHAR")
            assert value(connection, "SELECT whoami(1)") == "maker"
        with connected(server, "reader", "secret") as connection:
            assert value(connection, "SELECT whoami(1)") == "reader"
            with connection.transaction():
                assert value(connection, "SELECT whoami(1)") == "reader"


def test_psql_shows_the_context(server: Server) -> None:
    with connected(server) as connection:
        define(connection, "told", "return _conn.execute('SELECT * FROM nowhere')['n']")
    told = psql(server, "SELECT told(1)").stderr
    assert 'CONTEXT:  SQL statement "SELECT * FROM nowhere"\nfunction "main.told", line 2' in told
