"""What drivers set, show and discard; transactions with options."""

from __future__ import annotations

import select
from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True, application_name="mine") as connection:
        yield connection


def show(connection: psycopg.Connection, name: str, *, prepare: bool = False) -> str:
    (value,) = connection.execute(f"SHOW {name}", prepare=prepare).fetchone() or ()
    return value


def simple(connection: psycopg.Connection, query: str) -> psycopg.Cursor:
    """Through the simple protocol, whatever psycopg would choose."""
    return psycopg.ClientCursor(connection).execute(query)


@pytest.mark.parametrize("prepare", [False, True])
def test_settings_are_set_shown_and_reset(connection: psycopg.Connection, prepare: bool) -> None:
    for statement, name, value in [
        ("SET extra_float_digits = 3", "extra_float_digits", "3"),
        ("SET SESSION application_name TO 'other'", "application_name", "other"),
        ("SET client_encoding TO 'utf-8'", "client_encoding", "UTF8"),
        ("SET DateStyle = ISO", "datestyle", "ISO, MDY"),
        ("SET TIME ZONE 'Europe/Berlin'", "timezone", "Europe/Berlin"),
        ("SET standard_conforming_strings = on", "standard_conforming_strings", "on"),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "transaction isolation level",
            "read committed",
        ),
    ]:
        assert connection.execute(statement, prepare=prepare).statusmessage == "SET"
        assert show(connection, name, prepare=prepare) == value
    assert connection.info.parameter_status("application_name") == "other"
    assert connection.info.parameter_status("TimeZone") == "Europe/Berlin"
    assert simple(connection, "SHOW extra_float_digits").fetchone() == ("3",)
    assert connection.execute("RESET application_name", prepare=prepare).statusmessage == "RESET"
    assert show(connection, "application_name") == "mine"
    assert connection.execute("DISCARD ALL", prepare=prepare).statusmessage == "DISCARD ALL"
    assert show(connection, "TimeZone") == "UTC"
    assert connection.info.parameter_status("TimeZone") == "UTC"
    settings = {row[0]: row[1] for row in connection.execute("SHOW ALL")}
    assert settings["server_version_num"] == "150000"
    assert show(connection, "threads") != ""
    assert connection.execute("DISCARD PLANS").statusmessage == "DISCARD PLANS"


def test_they_are_the_same_in_every_protocol(server: Server, connection: psycopg.Connection) -> None:
    for query in ("SHOW ALL", "SHOW TimeZone", "show search_path"):
        connection.execute("SET application_name TO 'colonnade'")
        cursor = simple(connection, query)
        names, rows = [column.name for column in cursor.description or []], cursor.fetchall()
        prepared = connection.execute(query.encode(), prepare=True)
        assert [column.name for column in prepared.description or []] == names
        assert prepared.fetchall() == rows
        with connection.cursor() as reader, reader.copy(f"COPY ({query}) TO STDOUT".encode()) as copy:
            copied = [tuple(value or "" for value in row) for row in copy.rows()]
        assert copied == rows
        with colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/") as other:
            table = other.query(query).to_arrow()
        assert table.column_names == names
        assert [tuple(row.values()) for row in table.to_pylist()] == rows


def test_values_that_would_change_the_answers_are_refused(connection: psycopg.Connection) -> None:
    for statement in ("SET standard_conforming_strings = off",):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="cannot be"):
            connection.execute(statement)
    with pytest.raises(psycopg.errors.CantChangeRuntimeParam):
        connection.execute("SET server_version = '16'")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="serializable"):
        connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
    notices: list[str | None] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("SET lock_timeout = 1000")
    assert notices == ["lock_timeout has no effect; the server's own limits apply"]


SPANS = "SELECT i::interval FROM (VALUES ('14 months 3 days 04:05:06.7'), ('0 s'), ('-1 day'), ('-01:01:00.5')) t(i)"


def texts(connection: psycopg.Connection, query: str) -> list[bytes | None]:
    """The first column as the server sends it: psycopg refuses to read intervals of another style."""
    result = connection.pgconn.exec_(query.encode())
    assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message
    return [result.get_value(row, 0) for row in range(result.ntuples)]


def copied(connection: psycopg.Connection, options: str) -> bytes:
    with connection.cursor().copy(f"COPY ({SPANS}) TO STDOUT ({options})") as copy:
        return b"".join(copy)


def test_intervals_follow_their_style(connection: psycopg.Connection, stock: pg.Cluster) -> None:
    with stock.connect() as postgres:
        for style in ("iso_8601", "POSTGRES", "iso_8601"):
            for each in (connection, postgres):
                each.execute(f"SET IntervalStyle = {style}".encode())
                assert each.pgconn.parameter_status(b"IntervalStyle") == style.lower().encode()
            assert show(connection, "intervalstyle") == style.lower()
            assert texts(connection, SPANS) == texts(postgres, SPANS)
            for options in ("FORMAT text", "FORMAT csv"):
                assert copied(connection, options) == copied(postgres, options)
    with connection.transaction():
        connection.execute("SET LOCAL IntervalStyle = postgres")
        assert texts(connection, SPANS)[2] == b"-1 days"
    assert texts(connection, SPANS)[2] == b"P-1D"
    connection.execute("RESET IntervalStyle")
    assert texts(connection, SPANS)[2] == b"-1 days"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="sql_standard or iso_8601"):
        connection.execute("SET IntervalStyle = iso")


@pytest.mark.parametrize("text", ["P1Y2M3DT4H5M6.7S", "P-1Y2M-3DT-0.5S", "P2W", "P1.5D", "PT36H", "-1 days +01:00:00"])
def test_intervals_of_both_styles_are_read(connection: psycopg.Connection, stock: pg.Cluster, text: str) -> None:
    with stock.connect() as postgres:
        query = "SELECT %s::interval"
        assert connection.execute(query, [text]).fetchall() == postgres.execute(query, [text]).fetchall()


def test_a_session_shortens_its_times(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="a time, such as"):
        connection.execute("SET statement_timeout = 'soon'")
    connection.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        connection.execute("SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b")
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    connection.execute("SET idle_in_transaction_session_timeout = 300")
    connection.execute("BEGIN")
    # The server says so unasked, and that is all that is awaited.
    select.select([connection.fileno()], [], [], 30)
    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        connection.execute("SELECT 1")


def test_local_settings_end_with_their_transaction(connection: psycopg.Connection) -> None:
    for end in ("COMMIT", "ROLLBACK"):
        connection.execute("BEGIN")
        connection.execute("SET LOCAL application_name = 'local'")
        connection.execute("SET LOCAL TimeZone = 'Asia/Tokyo'")
        assert show(connection, "application_name") == "local"
        connection.execute(end)
        assert (show(connection, "application_name"), show(connection, "TimeZone")) == ("mine", "UTC")
        assert connection.info.parameter_status("application_name") == "mine"


def test_what_was_set_is_undone_by_a_rollback(connection: psycopg.Connection) -> None:
    def values() -> tuple[str, ...]:
        shown = tuple(show(connection, name) for name in ("application_name", "TimeZone", "statement_timeout"))
        assert connection.info.parameter_status("application_name") == shown[0]
        assert connection.execute("SELECT system.main.current_setting('TimeZone')").fetchone() == (shown[1],)
        return shown

    def set_all(name: str, zone: str, time: str, kind: str = "SET") -> None:
        connection.execute(f"{kind} application_name = '{name}'")
        connection.execute(f"{kind} TimeZone = '{zone}'")
        connection.execute(f"{kind} statement_timeout = '{time}'")

    before = values()
    connection.execute("BEGIN")
    set_all("a", "Asia/Tokyo", "1h")
    assert values() == ("a", "Asia/Tokyo", "1h")
    connection.execute("ROLLBACK")
    assert values() == before

    # A failed one, whose COMMIT rolls back.
    connection.execute("BEGIN")
    set_all("a", "Asia/Tokyo", "1h")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM nope")
    assert connection.execute("COMMIT").statusmessage == "ROLLBACK"
    assert values() == before

    connection.execute("BEGIN")
    set_all("a", "Asia/Tokyo", "1h")
    connection.execute("SAVEPOINT s")
    set_all("b", "America/Lima", "2h")
    connection.execute("SAVEPOINT t")
    set_all("c", "Africa/Lagos", "3h", "SET LOCAL")
    connection.execute("RELEASE t")
    connection.execute("RESET application_name")
    connection.execute("ROLLBACK TO s")
    assert values() == ("a", "Asia/Tokyo", "1h")
    set_all("d", "Africa/Lagos", "3h", "SET LOCAL")
    assert values() == ("d", "Africa/Lagos", "3h")
    connection.execute("COMMIT")
    assert values() == ("a", "Asia/Tokyo", "1h")
    connection.execute("RESET ALL")
    assert values() == before


def test_what_was_set_is_undone_with_what_failed_beside_it(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        simple(connection, "SET application_name = 'a'; CREATE TEMP TABLE undone (i integer); SELECT * FROM nope")
    assert show(connection, "application_name") == "mine"
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM undone")
    with pytest.raises(psycopg.errors.UndefinedTable), connection.pipeline() as pipeline:
        connection.execute("SET application_name = 'b'")
        connection.execute("SELECT * FROM nope")
        pipeline.sync()
    assert show(connection, "application_name") == "mine"
    with connection.pipeline():
        connection.execute("SET application_name = 'c'")
        connection.execute("SELECT 1")
    assert show(connection, "application_name") == "c"
    simple(connection, "SET application_name = 'd'; BEGIN; SET application_name = 'e'; ROLLBACK")
    assert show(connection, "application_name") == "c"


def test_a_local_setting_needs_a_transaction(connection: psycopg.Connection) -> None:
    notices: list[str | None] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("SET LOCAL application_name = 'a'")
    assert (show(connection, "application_name"), notices) == (
        "mine",
        ["SET LOCAL can only be used in transaction blocks"],
    )
    cursor = simple(connection, "SET LOCAL application_name = 'b'; SHOW application_name")
    assert cursor.nextset() and cursor.fetchone() == ("b",)
    assert (show(connection, "application_name"), len(notices)) == ("mine", 1)


def test_transactions_with_options(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE kept (i integer)")
    connection.execute("START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE, NOT DEFERRABLE")
    connection.execute("INSERT INTO kept VALUES (1)")
    connection.execute("COMMIT AND NO CHAIN")
    connection.execute("BEGIN WORK")
    connection.execute("INSERT INTO kept VALUES (2)")
    connection.execute("SAVEPOINT s")
    connection.execute("SELECT i FROM kept")
    connection.execute("ROLLBACK TO SAVEPOINT s")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM nope")
    connection.execute("ROLLBACK TO s")
    connection.execute("INSERT INTO kept VALUES (3)")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="after a write"):
        connection.execute("ROLLBACK TO s")
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    connection.execute("ROLLBACK WORK")
    assert connection.execute("SELECT i FROM kept").fetchall() == [(1,)]
    connection.execute("BEGIN READ ONLY")
    with pytest.raises(psycopg.Error, match=r"(?i)read.only"):
        connection.execute("CREATE TABLE never (i integer)")
    connection.execute("ROLLBACK")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction), connection.transaction():
        connection.execute("DISCARD ALL")


def test_set_config_says_what_it_does_not_do(connection: psycopg.Connection) -> None:
    def set_config(name: str, value: str, prepare: bool = False) -> None:
        query = "SELECT pg_catalog.set_config(%s, %s, false)"
        assert connection.execute(query, (name, value), prepare=prepare).fetchone() == (value,)

    connection.execute("SET TimeZone = 'Europe/Berlin'")
    connection.execute("CREATE SCHEMA IF NOT EXISTS aside")
    for name, value in [
        ("timezone", "Europe/Berlin"),
        ("bytea_output", "hex"),
        ("DateStyle", "ISO"),
        ("client_encoding", "utf8"),
        ("application_name", "another"),
        ("search_path", ""),
        ("search_path", '"$user", public'),
        ("search_path", "pg_catalog, public"),
    ]:
        set_config(name, value)
    for name, value in [
        ("TimeZone", "UTC"),
        ("statement_timeout", "100"),
        ("search_path", "aside"),
        ("search_path", "public, aside"),
        ("bytea_output", "escape"),
        ("role", "another"),
        ("threads", "1"),
    ]:
        for prepare in (False, True):
            with pytest.raises(psycopg.Error, match=f"write SET {name.lower()} ="):
                set_config(name, value, prepare)
    connection.execute("SET search_path = aside")
    set_config("search_path", "aside")
    with pytest.raises(psycopg.Error, match="write SET search_path ="):
        set_config("search_path", "public")


def test_what_is_set_by_connecting_holds_from_the_start(server: Server) -> None:
    options = r"-c statement_timeout=300 -c TimeZone=Europe/Berlin --application-name=its\ own"
    # What stands by itself is meant as well.
    dsn = f"{server.dsn} client_encoding=utf8"
    with psycopg.connect(dsn, autocommit=True, options=options) as connection:
        assert connection.info.parameter_status("TimeZone") == "Europe/Berlin"
        assert connection.execute("SELECT current_setting('TimeZone')").fetchone() == ("Europe/Berlin",)
        assert show(connection, "application_name") == "its own"
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT count(*) FROM range(100000000000000) t(i) WHERE i % 7 = 3")
        connection.execute("SET statement_timeout = 0; SET TimeZone = 'UTC'")
        connection.execute("RESET ALL")
        assert (show(connection, "statement_timeout"), show(connection, "TimeZone")) == ("300ms", "Europe/Berlin")
    for wrong, words in [
        ("DateStyle=Martian", '"DateStyle" cannot be "Martian"'),
        ("default_transaction_read_only=maybe", 'cannot be "maybe"; it must be on or off'),
        ("TimeZone=Nowhere", "Nowhere"),
        ("server_version=9", "cannot be changed"),
    ]:
        with pytest.raises(psycopg.OperationalError, match=words):
            psycopg.connect(server.dsn, options=f"-c {wrong}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-c nonsense=1", "nonsense"),
        ("-c datestyle=Martian", "DateStyle"),
        ("-c statement_timeout", "invalid command-line argument"),
        ("-d 5", "invalid command-line argument"),
    ],
)
def test_options_that_cannot_be_end_the_connection(server: Server, options: str, words: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=words):
        psycopg.connect(server.dsn, options=options)


def test_databases_are_shown_without_the_catalogs(connection: psycopg.Connection) -> None:
    for prepare in (False, True):
        assert connection.execute("show  Databases", prepare=prepare).fetchall() == [("memory",)]


@pytest.mark.parametrize("prepare", [False, True])
def test_a_call_of_set_config_sets(connection: psycopg.Connection, prepare: bool) -> None:
    def set_config(value: str, is_local: bool) -> object:
        query = f"select set_config('TimeZone', %s, {str(is_local).lower()})"
        done = connection.execute(query, [value], prepare=prepare)
        assert [column.name for column in done.description or ()] == ["set_config"]
        assert done.statusmessage == "SELECT 1"
        return done.fetchall()

    assert set_config("Europe/Rome", False) == [("Europe/Rome",)]
    assert show(connection, "timezone") == "Europe/Rome"
    with connection.transaction():
        assert set_config("Asia/Tokyo", True) == [("Asia/Tokyo",)]
        assert connection.execute("select '2000-01-01 00:00+00'::timestamptz::text").fetchall() == [
            ("2000-01-01 09:00:00+09",)
        ]
    assert show(connection, "timezone") == "Europe/Rome"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="Nowhere"):
        set_config("Nowhere", False)
    connection.execute("reset timezone")
