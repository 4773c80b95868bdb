"""The session's time zone: text of a timestamptz is written and read as by a PostgreSQL, which is asked the same."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.testbed import postgres
from tests.testbed.serving import Server

#: Offsets of hours, of minutes and of half an hour in summer; one of seconds until 1972.
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Africa/Monrovia", "Australia/Lord_Howe"]
#: Winters and summers, hours that come twice, and local time from before there were zones.
INSTANTS = [
    "2026-01-01 11:00:00+00",
    "2026-07-01 11:00:00.5+00",
    "2026-10-25 00:30:00+00",
    "2026-10-25 01:30:00+00",
    "1969-12-31 23:59:59.999999+00",
    "1800-01-01 00:00:00+00",
    "0001-01-01 00:00:00+00",
    "12024-07-01 00:00:00+00",
]
#: Local times; those of 02:30 come twice or never in Berlin.
LOCAL = [
    "2026-01-01 12:00",
    "2026-03-29 02:30:00",
    "2026-10-25 02:30:00",
    "1890-01-01 00:00:00",
    "2026-07-01T12:00:00.25",
]


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def texts(connection: psycopg.Connection, query: str, *parameters: str) -> list[bytes | None]:
    """The first column, as it came."""
    result = connection.pgconn.exec_params(query.encode(), [text.encode() for text in parameters])
    assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message
    return [result.get_value(row, 0) for row in range(result.ntuples)]


@pytest.mark.parametrize("zone", ZONES)
def test_times_are_written_and_read_as_postgresql_does(
    connection: psycopg.Connection, stock: postgres.Cluster, zone: str
) -> None:
    values = ", ".join(f"(timestamptz '{instant}')" for instant in INSTANTS)
    with closing(stock.connect()) as other:
        for each in (connection, other):
            each.execute(f"SET TimeZone = '{zone}'")
        for query in (
            f"SELECT t FROM (VALUES {values}, ('infinity'), (NULL)) v(t) ORDER BY t",
            f"SELECT ARRAY[t, NULL] FROM (VALUES {values}) v(t) ORDER BY t",
        ):
            assert texts(connection, query) == texts(other, query)
        for form in ("text", "csv, FORCE_QUOTE *"):
            rows = []
            for each in (connection, other):
                with each.cursor().copy(
                    f"COPY (SELECT t FROM (VALUES {values}) v(t) ORDER BY t) TO STDOUT (FORMAT {form})"
                ) as copy:
                    rows.append(b"".join(bytes(part) for part in copy))
            assert rows[0] == rows[1]
        for local in LOCAL:
            for text in (local, f"{local}+05:30"):
                query = "SELECT extract(epoch FROM $1::timestamptz)::float8::numeric(20, 3)::text"
                assert texts(connection, query, text) == texts(other, query, text), text


def test_copied_times_are_read_in_the_sessions_zone(connection: psycopg.Connection) -> None:
    connection.execute("SET TIME ZONE 'Asia/Kolkata'")
    connection.execute("CREATE TEMP TABLE times (t timestamptz)")
    for form in ("text", "csv"):
        with connection.cursor().copy(f"COPY times FROM STDIN (FORMAT {form})") as copy:
            copy.write(b"2026-01-01 12:00:00\n2026-01-01 12:00:00+00\n")
    connection.execute("SET TIME ZONE 'UTC'")
    found = texts(connection, "SELECT DISTINCT t FROM times ORDER BY t")
    assert found == [b"2026-01-01 06:30:00+00", b"2026-01-01 12:00:00+00"]


def test_the_zone_may_come_with_the_connection(server: Server) -> None:
    command = ["psql", "-XAt", server.dsn, "-c", "SELECT timestamptz '2026-01-01 11:00:00+00'", "-c", "SHOW TimeZone"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env={"PGTZ": "europe/berlin"})
    assert shown.stdout == "2026-01-01 12:00:00+01\nEurope/Berlin\n"
    with psycopg.connect(server.dsn, options="-c TimeZone=America/Lima") as connection:
        assert connection.info.parameter_status("TimeZone") == "America/Lima"
        found = connection.execute("SELECT timestamptz '2026-01-01 12:00:00'").fetchone()
        assert found is not None and found[0].isoformat() == "2026-01-01T12:00:00-05:00"
        # Binary has no zone.
        (instant,) = connection.execute("SELECT timestamptz '2026-01-01 12:00:00'", binary=True).fetchone() or ()
        assert instant == found[0]


@pytest.mark.parametrize("hours", ["2", "-3", "+14", "0", "'5'"])
def test_whole_hours_are_zones(connection: psycopg.Connection, stock: postgres.Cluster, hours: str) -> None:
    with closing(stock.connect()) as other:
        for each in (connection, other):
            each.execute(f"SET TIME ZONE {hours}")
        query = "SELECT t FROM (VALUES (timestamptz '2026-01-01 11:00:00+00'), ('1800-07-01 00:00:00+00')) v(t)"
        assert texts(connection, query) == texts(other, query)


def test_an_unknown_zone_is_refused(server: Server, connection: psycopg.Connection) -> None:
    for statement in (
        "SET TimeZone = 'Nowhere'",
        "SET TIME ZONE 'Europe/Nowhere'",
        "SET LOCAL TimeZone TO ''",
        "SET TIME ZONE 5.5",
    ):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="the name of a time zone"):
            connection.execute(statement)
    with pytest.raises(psycopg.OperationalError, match="the name of a time zone"):
        psycopg.connect(server.dsn, options="-c TimeZone=Nowhere")
    connection.execute("SET TIME ZONE 'Asia/Tokyo'")
    connection.execute("SET TIME ZONE LOCAL")
    assert connection.execute("SHOW TIME ZONE").fetchone() == ("UTC",)
