"""`colonnade serve --source` in front of databases that read a backslash as an escape: what a driver of PostgreSQL's
writes into a statement is read as it was meant, and no statement changes how the next one is read."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import colonnade
import psycopg
import psycopg2
import pytest
from psycopg2.extensions import cursor as Cursor

from tests.support import fronts
from tests.testbed import mariadb
from tests.testbed import postgres as pg

#: Values that end a literal early where a backslash escapes, and one that does where it does not.
INJECTIONS = [
    "\\' or 1=1 -- ",
    "\\",
    "'; drop table canary; -- ",
    "\\'; drop table canary; -- ",
    "\\\\'' or 1=1 -- ",
    "x' or 'x'='x",
]


@pytest.fixture(scope="module")
def legacy(stock: pg.Cluster) -> Iterator[fronts.Front]:
    """In front of a PostgreSQL whose database and role have the settings of PostgreSQL 8."""
    with stock.connect() as session:
        session.execute("create database legacy")
        session.execute("create role legacy login superuser")
        session.execute("alter database legacy set backslash_quote = on")
        for name, value in (
            ("standard_conforming_strings", "off"),
            ("escape_string_warning", "off"),
            ("client_encoding", "LATIN1"),
            ("DateStyle", "German, DMY"),
            ("IntervalStyle", "sql_standard"),
            ("bytea_output", "escape"),
            ("extra_float_digits", "-15"),
        ):
            session.execute(f"alter database legacy set {name} = '{value}'")
            session.execute(f"alter role legacy set {name} = '{value}'")
    try:
        with fronts.front(f"postgresql://legacy@127.0.0.1:{stock.port}/legacy") as running:
            yield running
    finally:
        with stock.connect() as session:
            session.execute("drop database legacy with (force)")
            session.execute("drop role legacy")


@contextmanager
def psycopg2_session(front: fronts.Front) -> Iterator[Cursor]:
    """A session of a driver that writes values into the statement, after the settings that it was told of."""
    connection = psycopg2.connect(front.server.dsn)
    connection.autocommit = True
    try:
        yield connection.cursor()
    finally:
        connection.close()


@contextmanager
def refused(front: fronts.Front, **options: bool) -> Iterator[psycopg.Connection]:
    """A session that the block's statement ends, with an error that says why."""
    client = fronts.connect(front.server, **options)
    try:
        with pytest.raises(psycopg.Error, match="how statements are read") as caught:
            yield client
        assert caught.value.sqlstate == "55P02"
        with pytest.raises(psycopg.OperationalError):
            client.execute("select 1")
        assert client.closed
    finally:
        client.close()


def stored_by(front: fronts.Front, values: list[str]) -> None:
    """Each way of a client to pass a value: it selects its own row only, and a canary is left alone."""
    with psycopg2_session(front) as cursor:
        cursor.execute("create table canary (i int)")
        cursor.execute("create table secrets (k varchar(80), v varchar(80))")
    try:
        with psycopg2_session(front) as cursor:
            for value in ["public", *values]:
                cursor.execute("insert into secrets values (%s, %s)", (value, "of " + value))
            for value in values:
                cursor.execute("select k, v from secrets where k = %s", (value,))
                assert cursor.fetchall() == [(value, "of " + value)]
        with fronts.connect(front.server) as client:
            for value in values:
                for factory in (psycopg.Cursor, psycopg.ClientCursor):
                    try:
                        found = factory(client).execute("select k from secrets where k = %s", [value]).fetchall()
                    except psycopg.Error:
                        # E'…' is PostgreSQL's alone: a clear error elsewhere.
                        assert factory is psycopg.ClientCursor and "\\" in value and "mysql" in front.uri
                    else:
                        assert found == [(value,)]
        with colonnade.connect(front.own_uri) as own:
            for value in values:
                assert own.query("select k from secrets where k = $1", [value]).to_arrow().to_pylist() == [{"k": value}]
    finally:
        with psycopg2_session(front) as cursor:
            cursor.execute("drop table secrets")
            # Whoever has dropped it before makes this fail.
            cursor.execute("drop table canary")


@pytest.mark.parametrize("fixture", ["legacy", "in_postgres", "in_maria"])
def test_literals_of_drivers_are_read_as_they_were_meant(request: pytest.FixtureRequest, fixture: str) -> None:
    stored_by(request.getfixturevalue(fixture), INJECTIONS)


def test_a_bound_value_behind_a_literal_with_a_backslash(legacy: fronts.Front, in_maria: fronts.Front) -> None:
    for front in (legacy, in_maria):
        with fronts.connect(front.server) as client:
            rows = client.execute("select '\\', %s", ["; select 'injected' --"]).fetchall()
            assert rows == [("\\", "; select 'injected' --")]


CHANGES = [
    "select set_config('standard_conforming_strings', 'off', false)",
    "select pg_catalog.set_config('standard' || '_conforming_strings', 'off', false)",
    "update pg_settings set setting = 'off' where name = 'standard_conforming_strings'",
    "do $$ begin set standard_conforming_strings = off; end $$",
    "do $$ begin execute 'set client_enc' || 'oding = SJIS'; end $$",
    "select set_config('client_encoding', 'LATIN1', false)",
    "select set_config('DateStyle', 'German', false)",
    "select set_config('IntervalStyle', 'iso_8601', false)",
]


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("autocommit", [True, False])
def test_what_changes_how_literals_are_read_ends_the_session(
    legacy: fronts.Front, statement: str, autocommit: bool
) -> None:
    with refused(legacy, autocommit=autocommit) as client:
        client.execute(statement)


def test_in_front_of_a_postgresql_with_the_extension(extended: pg.Cluster) -> None:
    """There queries go by COPY, and what has values by Bind."""
    with fronts.front(extended.uri()) as front:
        with fronts.connect(front.server) as client:
            assert client.execute("select '\\', %s", ["\\'"]).fetchall() == [("\\", "\\'")]
            assert client.execute("select '\\'").fetchall() == [("\\",)]
        for statement in CHANGES[:3]:
            with refused(front) as client:
                client.execute(statement)


def message(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def simple(query: str) -> bytes:
    return message(b"Q", query.encode(), b"\0")


def extended(query: str) -> bytes:
    """Parse, Bind and Execute, without Sync."""
    parse = message(b"P", b"\0", query.encode(), b"\0\0\0")
    return parse + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0")


@pytest.mark.parametrize("send", [simple, extended])
def test_nothing_that_was_sent_ahead_runs_after_the_change(
    legacy: fronts.Front, stock: pg.Cluster, send: Callable[[str], bytes]
) -> None:
    """A client that does not wait for answers: what it wrote for the announced settings is not read by others."""
    with stock.connect("legacy") as session:
        session.execute("create table ahead (t text)")
        queries = [
            "select set_config('standard_conforming_strings', 'off', false)",
            "insert into ahead values ('late')",
        ]
        with fronts.connect(legacy.server) as client, socket.socket(fileno=os.dup(client.fileno())) as wire:
            wire.setblocking(True)
            # All at once, before the first answer.
            wire.sendall(b"".join(map(send, queries)) + (message(b"S") if send is extended else b""))
            received = b""
            while chunk := wire.recv(65536):
                received += chunk
        assert b"55P02" in received and b"INSERT" not in received
        assert session.execute("select * from ahead").fetchall() == []
        session.execute("drop table ahead")


def test_what_brings_settings_back_keeps_the_known_ones(legacy: fronts.Front) -> None:
    for statement in (
        "reset all",
        "discard all",
        "reset standard_conforming_strings",
        "set session authorization default",
    ):
        with fronts.connect(legacy.server) as client:
            client.execute(statement)
            assert client.execute("select '\\', date '2024-02-01'::text").fetchall() == [("\\", "2024-02-01")]
    with fronts.connect(legacy.server) as client:
        client.execute(
            "create or replace function pg_temp.f() returns text language sql "
            "set standard_conforming_strings = off as 'select 1'"
        )
        assert client.execute("select pg_temp.f()").fetchall() == [("1",)]
        assert client.execute("select '\\'").fetchall() == [("\\",)]


def test_values_look_as_the_server_says(legacy: fronts.Front) -> None:
    with fronts.connect(legacy.server) as client:
        sql = "select '\\x00ff'::bytea::text, (0.1::float8 + 0.2)::text, interval '-1 day 02:03'::text"
        assert client.execute(sql).fetchall() == [("\\x00ff", "0.30000000000000004", "-1 days +02:03:00")]


def test_refused_by_name_where_the_server_understands(legacy: fronts.Front) -> None:
    with fronts.connect(legacy.server) as client:
        for setting in (
            "standard_conforming_strings = off",
            "DateStyle = 'German'",
            "DateStyle = 'ISO, DMY'",
            "IntervalStyle = 'iso_8601'",
        ):
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                client.execute(f"set {setting}")
        assert client.execute("select '\\'").fetchall() == [("\\",)]
        client.execute("set DateStyle = 'ISO'; set IntervalStyle = 'postgres'")


def test_no_encoding_of_the_client_hides_a_quote(legacy: fronts.Front) -> None:
    for encoding in ("sjis", "big5", "gbk", "uhc", "gb18030", "euc_jp", "latin1"):
        with fronts.connect(legacy.server) as client:
            client.execute(f"set client_encoding = {encoding}")
            # A driver that doubles quotes byte by byte writes this for the value of two bytes.
            result = client.pgconn.exec_(b"select '\x83''; select 2 --'")
            if encoding == "latin1":
                assert result.get_value(0, 0) == b"\x83'; select 2 --"
            else:
                assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) in (b"22021", b"22P05"), encoding
            backslash = "\u30bd" if encoding == "sjis" else "x\\"
            assert client.execute(f"select '{backslash}'").fetchall() == [(backslash,)]


def test_the_time_zone_that_is_announced_is_the_sources(in_postgres: fronts.Front, in_maria: fronts.Front) -> None:
    with fronts.connect(in_postgres.server) as client:
        shown = client.execute("show timezone").fetchall()
        assert [(client.info.parameter_status("TimeZone"),)] == shown
        for statement in (
            "set timezone = 'Asia/Tokyo'",
            "select set_config('TimeZone', 'Europe/Berlin', false)",
            "reset all",
        ):
            client.execute(statement)
            shown = client.execute("show timezone").fetchall()
            assert [(client.info.parameter_status("TimeZone"),)] == shown
    with fronts.connect(in_maria.server) as client:
        assert client.info.parameter_status("TimeZone") == "UTC"
        client.execute("set time_zone = '+05:30'")
        assert client.info.parameter_status("TimeZone") == "<+05:30>-05:30"


MYSQL_CHANGES = [
    "set sql_mode = ''",
    "set session sql_mode = 'ANSI_QUOTES'",
    "set sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "/*! set names gbk */",
    "/*M! set names latin1 */",
    "set character_set_client = sjis",
    "set collation_connection = latin1_swedish_ci",
    "set character_set_results = latin1",
    "set @@session.sql_mode = default",
    "set statement max_statement_time = 5 for set @@session.sql_mode = ''",
    "execute immediate concat('set sql_', 'mode = ''''')",
    "set session_track_system_variables = '', sql_mode = ''",
]


@pytest.mark.parametrize("statement", MYSQL_CHANGES)
def test_what_changes_how_mysql_reads_ends_the_session(in_maria: fronts.Front, statement: str) -> None:
    with refused(in_maria) as client:
        client.execute(statement)


def test_modes_of_mysql_beside_the_known_ones_can_be_set(in_maria: fronts.Front, maria: mariadb.Server) -> None:
    maria.run("create procedure shop.sneaky() set session sql_mode = ''")
    try:
        with fronts.connect(in_maria.server) as client:
            client.execute("set sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')")
            assert client.execute("select '\\', 1 as \"a b\"").fetchall() == [("\\", 1)]
            client.execute("xa start 'a'")
            client.execute("xa end 'a'")
            client.execute("xa rollback 'a'")
            # A routine's own mode ends with it.
            client.execute("call sneaky()")
            assert client.execute("select '\\'").fetchall() == [("\\",)]
    finally:
        maria.run("drop procedure shop.sneaky")


@pytest.mark.parametrize("fixture", ["in_adbc", "in_odbc"])
def test_sources_whose_quotes_are_not_known_get_no_backslashes(request: pytest.FixtureRequest, fixture: str) -> None:
    front = request.getfixturevalue(fixture)
    with psycopg2_session(front) as cursor:
        cursor.execute("select %s", ("it's",))
        assert cursor.fetchall() == [("it's",)]
        with pytest.raises(psycopg2.errors.FeatureNotSupported, match="backslash"):
            cursor.execute("select %s", ("\\' or 1=1 -- ",))
    with fronts.connect(front.server) as session:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="backslash"):
            session.execute("select '\\'")
        with (
            pytest.raises(psycopg.errors.FeatureNotSupported, match="backslash"),
            session.cursor().copy("copy (select '\\') to stdout") as copy,
        ):
            list(copy)


def test_sqlite_is_not_moved_by_a_pragma(in_sqlite: fronts.Front) -> None:
    with fronts.connect(in_sqlite.server) as client:
        for value in INJECTIONS:
            assert client.execute("select %s", [value]).fetchall() == [(value,)]


def test_a_string_of_postgresqls_is_no_column(in_maria: fronts.Front, in_sqlite: fronts.Front) -> None:
    for front in (in_maria, in_sqlite):
        with fronts.connect(front.server) as client:
            # libpq writes E'…' as soon as there is a backslash.
            for sql in ("select %s from (select 'secret' as e) x", "select %s from (select 1 as i) x"):
                with pytest.raises(psycopg.errors.FeatureNotSupported, match="E'…' is a string of PostgreSQL"):
                    psycopg.ClientCursor(client).execute(sql, ["a\\b"])
                assert client.execute(sql, ["a\\b"]).fetchall() == [("a\\b",)]
