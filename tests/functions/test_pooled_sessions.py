"""Clients that share a session of a pool. PgBouncer sends DISCARD ALL between two of them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.functions.sessions import connected, serving, value
from tests.support.poolers import needs_pgbouncer, pooled
from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, children

#: Functions of each kind: they run in the same process. With a text they leave it there, and in a module; without
#: one they only show what is there.
BODY = """
import builtins, math
for found in TEXTS:
    if found:
        builtins.left = math.left = found
shown = f"{getattr(builtins, 'left', None)} {getattr(math, 'left', None)}"
"""
FUNCTIONS = (
    (
        "FUNCTION mapped(t VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP",
        "t",
        "return numpy.array([shown] * len(t), 'O')",
    ),
    ("FUNCTION whole(t VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON", "t", "return numpy.array([shown] * len(t), 'O')"),
    ("AGGREGATE grouped(t VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP", "t", "return shown"),
    ("FUNCTION listed(t VARCHAR) RETURNS TABLE (shown VARCHAR) LANGUAGE PYTHON", "[t]", "return {'shown': [shown]}"),
)
CALLS = (
    "SELECT mapped({}) FROM range(1)",
    "SELECT whole({}) FROM range(1)",
    "SELECT grouped({}) FROM range(1)",
    "SELECT shown FROM listed({})",
)
LEFT = (
    *(call.format("'secret'") for call in CALLS),
    "CREATE TEMP TABLE own AS SELECT 'secret' AS t",
    "CREATE TEMP MACRO shown() AS 'secret'",
    "SET VARIABLE own = 'secret'",
    "PREPARE own AS SELECT 'secret'",
    "SET integer_division = true",
    "SET TimeZone = 'Asia/Tokyo'",
    "SET application_name = 'secret'",
    "SET statement_timeout = '1h'",
)
STATE = (
    *(call.format("''") for call in CALLS),
    "SELECT table_name FROM duckdb_tables() WHERE temporary",
    "SELECT function_name FROM duckdb_functions() WHERE database_name = 'temp' AND NOT internal",
    "SELECT name, value FROM duckdb_variables() WHERE name <> 'colonnade_process'",
    "SELECT name FROM duckdb_prepared_statements()",
    "SELECT 1 / 2",
    "SHOW TimeZone",
    "SHOW application_name",
    "SHOW statement_timeout",
    "SELECT current_user",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--threads", "1") as server:
        with connected(server) as connection:
            for head, texts, last in FUNCTIONS:
                body = BODY.replace("TEXTS", texts) + last
                connection.execute(f"CREATE {head} AS $$ {body} $$".encode())
        yield server


def state(client: psycopg.Connection) -> list[list[tuple[object, ...]]]:
    return [client.execute(query.encode()).fetchall() for query in STATE]


def leave(client: psycopg.Connection) -> None:
    for statement in LEFT:
        client.execute(statement.encode())


@needs_pgbouncer
def test_a_client_of_a_pool_finds_nothing_of_the_one_before(server: Server) -> None:
    def client(uri: str) -> psycopg.Connection:
        return psycopg.connect(uri, autocommit=True, prepare_threshold=None)

    settings = {"default_pool_size": 1, "server_reset_query": "DISCARD ALL"}
    with pooled(f"host={server.host} port={server.port}", "session", **settings) as uri:
        with client(uri) as first:
            session, new = value(first, "SELECT pg_backend_pid()"), state(first)
            leave(first)
            shown = dict(zip(STATE, zip(new, state(first), strict=True), strict=True))
            assert [query for query, (before, now) in shown.items() if now == before] == ["SELECT current_user"]
            before = children(server.template)
        with client(uri) as second:
            assert value(second, "SELECT pg_backend_pid()") == session
            assert state(second) == new
            assert not set(before) & set(children(server.template))
            # What stops a statement reaches the present client's.
            second.execute("SET statement_timeout = '100ms'")
            with pytest.raises(errors.QueryCanceled):
                second.execute("SELECT count(*) FROM range(1000000000) a, range(1000000000) b")


def test_discard_all_ends_processes_at_once(server: Server) -> None:
    wait_until(lambda: not children(server.template))
    with connected(server) as client:
        new = state(client)
        leave(client)
        assert len(children(server.template)) > 0
        client.execute("DISCARD ALL")
        wait_until(lambda: not children(server.template))
        assert state(client) == new


def test_options_of_the_start_stay(server: Server) -> None:
    options = "-c integer_division=true -c TimeZone=Europe/Berlin -c statement_timeout=1h"
    with psycopg.connect(server.dsn, autocommit=True, options=options) as client:
        new = state(client)
        assert ("Europe/Berlin",) in [row for rows in new for row in rows]
        for reset in ("RESET ALL", "DISCARD ALL"):
            client.execute("SET integer_division = false; SET TimeZone = 'Asia/Tokyo'; SET statement_timeout = 0")
            assert state(client) != new
            client.execute(reset.encode())
            assert state(client) == new
            assert client.info.parameter_status("TimeZone") == "Europe/Berlin"


def test_a_random_number_does_not_follow_from_the_seed_of_another_client(server: Server) -> None:
    with connected(server) as client:
        client.execute("SELECT setseed(0.25)")
        following = value(client, "SELECT random()")
        client.execute("SELECT setseed(0.25)")
        client.execute("DISCARD ALL")
        assert value(client, "SELECT random()") != following


def test_discard_all_undoes_nothing_of_its_pipeline(server: Server) -> None:
    """It is refused after another statement in a pipeline, which is one transaction."""
    with connected(server) as client:
        client.execute("CREATE TABLE written (i INTEGER)")
        with pytest.raises(errors.ActiveSqlTransaction), client.pipeline():
            client.execute("INSERT INTO written VALUES (1)")
            client.execute("DISCARD ALL")
        client.execute("DISCARD ALL")
        assert client.execute("FROM written").fetchall() == []
        client.execute("DROP TABLE written")
