"""How the client finds out what a PostgreSQL can do: one query, one call, and clear words where there is nothing."""

from __future__ import annotations

import datetime
import decimal
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import colonnade
import psycopg
import pytest

from tests.support.proxy import READY, SSL_REQUEST, WELCOME, message
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

#: The newest one may be a release candidate, such as 19rc1.
NAME = re.compile(rf"PostgreSQL {pg.version()}\D")
STOCK_WELCOME = WELCOME.replace(message(b"S", b"colonnade\x001\0"), b"")


@contextmanager
def imitation(welcome: bytes, answer: Callable[[bytes], bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """The URI of a server that greets with `welcome` and answers each query with `answer`, and the queries it got."""
    listener = socket.create_server(("127.0.0.1", 0))
    queries: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            client, _ = listener.accept()
            with client:
                if client.recv(65536) == SSL_REQUEST:
                    client.sendall(b"N")
                    client.recv(65536)
                client.sendall(welcome)
                while (query := client.recv(65536)) and query[:1] == b"Q":
                    queries.append(query[5:-1])
                    client.sendall(answer(query))

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"postgresql://tester@127.0.0.1:{listener.getsockname()[1]}/test", queries
    finally:
        listener.close()


@pytest.fixture(scope="module")
def other(postgres: pg.Cluster) -> Iterator[str]:
    """A database without the extension."""
    with postgres.connect() as session:
        session.execute("create database other")
        yield "other"
        session.execute("drop database other with (force)")


def test_a_stock_server_is_read_as_it_is_and_logs_nothing(stock: pg.Cluster) -> None:
    before = stock.log.read_text()
    for tcp in (False, True):
        with colonnade.connect(stock.uri(tcp=tcp)) as connection:
            assert NAME.match(connection.server)
            assert "colonnade" not in connection.server
            assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]
    assert stock.log.read_text() == before


def test_a_database_without_the_extension_is_read_as_it_is(postgres: pg.Cluster, other: str) -> None:
    with colonnade.connect(postgres.uri(other)) as connection:
        assert "colonnade" not in connection.server
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_a_server_that_only_imitates_postgres_is_asked_once() -> None:
    unknown = message(b"E", b"SERROR\0C42P01\0Mwhat is pg_extension?\0\0") + READY
    with imitation(STOCK_WELCOME, lambda _: unknown) as (uri, queries):
        with colonnade.connect(uri) as connection:
            assert "colonnade" not in connection.server
        assert len(queries) == 1


def test_an_announcement_saves_the_question() -> None:
    for name, software in [(b"colonnade", "15.0 (test)"), (b"colonnade.version", "PostgreSQL 15.0 with colonnade 1")]:
        welcome = WELCOME.replace(message(b"S", b"colonnade\x001\0"), message(b"S", name + b"\x001\0"))
        with imitation(welcome, lambda _: READY) as (uri, queries):
            with colonnade.connect(uri) as connection:
                assert connection.server == software
            assert queries == []


def test_the_extension_is_found_and_the_result_says_so(postgres: pg.Cluster, database: colonnade.Connection) -> None:
    result = database.query("select 1 as one")
    assert result.to_arrow().to_pylist() == [{"one": 1}]
    assert NAME.match(result.stats.server)
    assert result.stats.server.endswith(" with colonnade 1")
    assert result.stats.source == database.name
    assert result.stats.codecs
    with colonnade.connect(postgres.uri(tcp=True)) as connection:
        assert connection.query("select 2 as two").to_arrow().to_pylist() == [{"two": 2}]


def test_the_extension_may_live_in_any_schema(postgres: pg.Cluster, other: str) -> None:
    with postgres.connect(other) as session:
        session.execute('create schema "Odd ""schema"')
        session.execute('create extension colonnade schema "Odd ""schema"')
        with colonnade.connect(postgres.uri(other)) as connection:
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
        session.execute('create role outsider login; grant usage on schema "Odd ""schema" to outsider')
        with colonnade.connect(postgres.uri(other, user="outsider")) as connection:
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
        session.execute('revoke usage on schema "Odd ""schema" from outsider')
        with colonnade.connect(postgres.uri(other, user="outsider")) as connection:
            for statement in (connection.query, connection.execute):
                with pytest.raises(colonnade.ProgrammingError, match="cannot be loaded: permission denied") as caught:
                    statement("select 1 as one")
                assert "USAGE" in (caught.value.hint or "")
        session.execute("drop extension colonnade; drop role outsider")


def test_a_library_that_is_not_there_is_an_error_that_says_so(postgres: pg.Cluster, other: str) -> None:
    with postgres.connect(other) as session:
        session.execute("create extension colonnade")
        session.execute("update pg_proc set probin = '$libdir/gone' where proname = 'colonnade_version'")
        with (
            colonnade.connect(postgres.uri(other)) as connection,
            pytest.raises(colonnade.OperationalError, match="cannot be loaded: could not access file"),
        ):
            connection.query("select 1 as one")
        session.execute("drop extension colonnade")


@pytest.mark.parametrize("values", [None, [1]])
def test_a_cancelled_question_is_a_cancelled_query(installation: pg.Installation, values: list[int] | None) -> None:
    """The server may have the extension nevertheless, and the statement does not run."""
    caught: list[colonnade.Error] = []

    def query(connection: colonnade.Connection) -> None:
        try:
            connection.query(f"select {'$1' if values else '1'}::int as one", values).to_arrow()
        except colonnade.Error as error:
            caught.append(error)

    # This process knows nothing of a new server.
    with pg.cluster(installation) as cluster, cluster.connect() as session:
        session.execute("create extension colonnade")
        with colonnade.connect(cluster.uri()) as connection:
            with session.transaction():
                session.execute("lock table pg_catalog.pg_extension in access exclusive mode")
                thread = threading.Thread(target=query, args=(connection,))
                thread.start()
                waiting = "select count(*) from pg_locks where not granted"
                wait_until(lambda: session.execute(waiting).fetchall() == [(1,)])
                connection.cancel()
                thread.join()
            (error,) = caught
            assert (type(error), error.sqlstate) == (colonnade.OperationalError, "57014")
            assert error.message == "canceling statement due to user request"
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
            assert connection.server.endswith(" with colonnade 1")


@pytest.mark.parametrize("how", ["shared_preload_libraries", "session_preload_libraries"])
def test_a_preloaded_library_announces_itself(installation: pg.Installation, how: str) -> None:
    """Without CREATE EXTENSION in the database, and without a query."""
    with pg.cluster(installation, {how: "colonnade", "log_statement": "all"}) as preloaded:
        with colonnade.connect(preloaded.uri()) as connection:
            assert "statement:" not in preloaded.log.read_text()
            assert connection.server.endswith(" with colonnade 1")
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
        with preloaded.connect() as session:
            assert session.pgconn.parameter_status(b"colonnade.version") == b"1"
            with pytest.raises(psycopg.errors.CantChangeRuntimeParam):
                session.execute("set colonnade.version = 2")


# --- parameters -------------------------------------------------------------------------------------------------------

VALUES = [
    (None, "null", "text"),
    (True, "True", "boolean"),
    (-(2**31), str(-(2**31)), "integer"),
    (2**31, str(2**31), "bigint"),
    (-(2**63), str(-(2**63)), "bigint"),
    (2**63, str(2**63), "numeric"),
    (0.1, "0.1", "double precision"),
    (float("-inf"), "-inf", "double precision"),
    (decimal.Decimal("-1.10"), "-1.10", "numeric"),
    ("it's \\' $1 -- 漢", "it's \\' $1 -- 漢", "text"),
    (b"\x00'\\\xff", 'b"\\x00\'\\\\\\xff"', "bytea"),
    (datetime.date(987, 6, 5), "0987-06-05", "date"),
    (datetime.time(1, 2, 3, 4), "01:02:03.000004", "time without time zone"),
    (datetime.datetime(2024, 2, 29, 1, 2, 3), "2024-02-29 01:02:03", "timestamp without time zone"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005", "uuid"),
    ([1, None], "[1, None]", "integer[]"),
    (["a'", "\\"], "[\"a'\", '\\\\']", "text[]"),
]
SETTINGS = [
    "",
    # PostgreSQL 19 has no other strings than the standard's.
    *(["-c standard_conforming_strings=off"] if pg.version() < 19 else []),
    "-c datestyle=sql,dmy -c intervalstyle=sql_standard",
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("value", "shown", "type_"), VALUES, ids=[f"{type_}-{shown[:12]}" for _, shown, type_ in VALUES]
)
def test_parameters_mean_the_same_whatever_the_settings(
    postgres: pg.Cluster, value: object, shown: str, type_: str, settings: str
) -> None:
    with colonnade.connect(postgres.uri(options=settings)) as connection:
        query = "select $1 as v, pg_typeof($1)::text as t"
        if value is None:
            query = "select $1::text as v, 'text' as t"
        elif isinstance(value, str):
            query = "select $1 as v, pg_typeof($1::text)::text as t"
        [row] = connection.query(query, [value]).to_arrow().to_pylist()
        assert row["t"] == type_
        assert ("null" if row["v"] is None else str(row["v"])) == shown


def test_a_timedelta_keeps_its_signs(postgres: pg.Cluster) -> None:
    for settings in SETTINGS:
        with colonnade.connect(postgres.uri(options=settings)) as connection:
            query = "select extract(epoch from $1::interval)::float8 as s"
            [row] = connection.query(query, [datetime.timedelta(days=-1, seconds=5)]).to_arrow().to_pylist()
            assert row["s"] == -86395.0


def test_read_sql_takes_the_options(postgres: pg.Cluster) -> None:
    query = "select 1.5::numeric as n, '{{1}}'::int[] as a"
    frame = colonnade.read_sql(
        postgres.uri(), query, return_type="arrow", numeric=(10, 2), as_text=["a"], parallel="off"
    )
    assert str(frame.column("n").type) == "decimal128(10, 2)"
    assert frame.column("a").to_pylist() == ["{{1}}"]
    for odd in ({"numeric": (5, 6)}, {"numeric": (77, 0)}, {"parallel": "sideways"}):
        with pytest.raises(colonnade.InterfaceError):
            colonnade.read_sql(postgres.uri(), query, **odd)


def test_other_sources_refuse_the_options(uri: str) -> None:
    for source in (uri, "duckdb:///:memory:"):
        with pytest.raises(colonnade.Error, match="numeric"):
            colonnade.read_sql(source, "select 1", return_type="arrow", numeric=(10, 2))
