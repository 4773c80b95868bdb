"""Prepared statements whose columns have changed, and statements whose rows cannot be sent: an error, no changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest

from tests.support.extended_client import Raw
from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture
def raw(server: Server) -> Iterator[Raw]:
    with contextlib.closing(Raw(server)) as raw:
        yield raw


def made(connection: psycopg.Connection) -> None:
    connection.execute("CREATE OR REPLACE TABLE changed (a integer, b integer); INSERT INTO changed VALUES (1, 2)")


#: Each leaves the number and the types of the columns, or changes them.
CHANGES = [
    "ALTER TABLE changed DROP a; ALTER TABLE changed ADD a integer DEFAULT 7",
    "ALTER TABLE changed RENAME a TO c",
    "CREATE OR REPLACE TABLE changed AS SELECT 2 AS b, 1 AS a",
    "ALTER TABLE changed ALTER a TYPE bigint",
    "ALTER TABLE changed ADD c integer",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("where", ["", " WHERE $1::integer IS NOT NULL"])
def test_columns_that_change_their_places_are_not_misread(
    connection: psycopg.Connection, raw: Raw, change: str, where: str
) -> None:
    made(connection)
    values = [b"1"] if where else []
    raw.parse("SELECT * FROM changed" + where, "s").bind("", "s", *values).execute()
    assert raw.add(b"S").kinds() == b"12DCZ"
    connection.execute(change)
    (_, (kind, error), _) = raw.bind("", "s", *values).execute().add(b"S").answers()
    assert kind == b"E"
    assert b"C0A000\0Mcached plan must not change result type\0" in error
    assert b"RRevalidateCachedQuery\0" in error


def test_names_with_a_parameter_in_them_do_not_count(connection: psycopg.Connection, raw: Raw) -> None:
    # DuckDB's own names, which have the casts that the server adds.
    made(connection)
    raw.parse("SELECT * FROM (SELECT 1 + $1::integer) s, changed", "s").add(b"D", b"Ss\0").bind("", "s", b"4").execute()
    assert raw.add(b"S").kinds() == b"1tT2DCZ"


CHANGING = [
    "INSERT INTO changed SELECT 3, 4 RETURNING *",
    "UPDATE changed SET b = 5 RETURNING *",
    "DELETE FROM changed RETURNING *",
    "WITH x AS (SELECT 1) INSERT INTO changed SELECT 3, 4 FROM x RETURNING *",
]


@pytest.mark.parametrize("statement", CHANGING)
def test_a_statement_with_other_columns_changes_nothing(
    connection: psycopg.Connection, raw: Raw, statement: str
) -> None:
    made(connection)
    raw.parse(statement, "s").add(b"S").kinds()
    connection.execute("ALTER TABLE changed ADD c integer DEFAULT 9")
    assert raw.bind("", "s").execute().add(b"S").kinds() == b"2EZ"
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2, 9)]


#: Rows that a client cannot get: a type without a form in PostgreSQL's protocol, a value without one in binary.
UNSENDABLE = [
    ("union_value(n := 3)", False),
    ("1::variant", False),
    ("[[1], [2, 3]]", True),
    ("'2024-01-01 00:00:00.123456789'::timestamp_ns", True),
]


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(("value", "is_binary"), UNSENDABLE)
def test_a_statement_whose_rows_cannot_be_sent_changes_nothing(
    connection: psycopg.Connection, value: str, is_binary: bool, prepare: bool
) -> None:
    made(connection)
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute(f"DELETE FROM changed RETURNING {value} AS x", binary=is_binary, prepare=prepare)
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2)]
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_simple_query_whose_rows_cannot_be_sent_changes_nothing(connection: psycopg.Connection, raw: Raw) -> None:
    made(connection)
    for statement in (
        "DELETE FROM changed RETURNING 1::variant",
        "PREPARE p AS DELETE FROM changed RETURNING 1::variant",
    ):
        raw.query(statement).kinds()
    assert b"E" in raw.query("EXECUTE p").kinds()
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2)]
    # Without an error, it is committed.
    assert raw.query("DELETE FROM changed RETURNING a").kinds() == b"TDCZ"
    assert connection.execute("SELECT * FROM changed").fetchall() == []


def test_a_copy_whose_rows_cannot_be_sent_changes_nothing(connection: psycopg.Connection) -> None:
    made(connection)
    value = UNSENDABLE[-1][0]
    copying = f"COPY (DELETE FROM changed RETURNING {value}) TO STDOUT (FORMAT binary)"
    refused = pytest.raises(psycopg.errors.FeatureNotSupported)
    with refused, connection.cursor() as cursor, cursor.copy(copying) as copy:
        list(copy)
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2)]


def test_drivers_prepare_the_statement_again(server: Server, connection: psycopg.Connection) -> None:
    made(connection)

    async def session() -> list[asyncpg.Record]:
        other = await asyncpg.connect(host=server.host, port=server.port, user="tester", database="test", timeout=60)
        try:
            await other.fetch("SELECT * FROM changed")
            connection.execute(CHANGES[0])
            return await other.fetch("SELECT * FROM changed")
        finally:
            await other.close()

    assert [dict(row) for row in asyncio.run(session())] == [{"a": 7, "b": 2}]


@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        # Statements after COMMIT are one transaction again.
        (
            "BEGIN; INSERT INTO changed VALUES (3, 3); COMMIT; INSERT INTO changed VALUES (4, 4); SELECT error('x')",
            [1, 3],
        ),
        # Statements before BEGIN are a part of its transaction.
        ("INSERT INTO changed VALUES (3, 3); BEGIN; INSERT INTO changed VALUES (4, 4); ROLLBACK", [1]),
        ("INSERT INTO changed VALUES (3, 3); BEGIN; INSERT INTO changed VALUES (4, 4); COMMIT", [1, 3, 4]),
        # COMMIT and ROLLBACK without BEGIN end the transaction of the string.
        ("INSERT INTO changed VALUES (3, 3); COMMIT; INSERT INTO changed VALUES (4, 4); SELECT error('x')", [1, 3]),
        ("INSERT INTO changed VALUES (3, 3); ROLLBACK; INSERT INTO changed VALUES (4, 4)", [1, 4]),
        ("INSERT INTO changed VALUES (3, 3); SELECT error('x'); COMMIT", [1]),
        ("BEGIN; INSERT INTO changed VALUES (3, 3); SELECT error('x'); COMMIT", [1]),
    ],
)
def test_transactions_of_a_query_string_are_postgresqls(
    connection: psycopg.Connection, server: Server, statements: str, rows: list[int]
) -> None:
    made(connection)
    with connected_again(server) as other, contextlib.suppress(psycopg.Error):
        other.execute(statements)
    assert connection.execute("SELECT a FROM changed ORDER BY a").fetchall() == [(a,) for a in rows]


def connected_again(server: Server) -> psycopg.Connection:
    return psycopg.connect(server.dsn, autocommit=True)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("READ ONLY", "must be the first statement"),
        ("ISOLATION LEVEL SERIALIZABLE", "serializable transactions are not"),
    ],
)
def test_a_mode_is_not_ignored(connection: psycopg.Connection, mode: str, words: str) -> None:
    made(connection)
    with pytest.raises(psycopg.Error, match=words):
        connection.execute(f"SELECT 1; BEGIN {mode}; DELETE FROM changed; COMMIT")
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2)]


def test_a_mode_may_stand_after_settings(connection: psycopg.Connection) -> None:
    made(connection)
    with pytest.raises(psycopg.Error, match="read-only"):
        connection.execute("SET application_name = 'x'; BEGIN READ ONLY; DELETE FROM changed; COMMIT")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT * FROM changed").fetchall() == [(1, 2)]
