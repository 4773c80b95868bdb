"""The text forms of dates, times and intervals that a session chooses, as PostgreSQL has them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

DATE_STYLES = [f"{form}, {order}" for form in ("ISO", "SQL", "Postgres", "German") for order in ("MDY", "DMY", "YMD")]
INTERVAL_STYLES = ("postgres", "postgres_verbose", "sql_standard", "iso_8601")
MOMENTS = ("1999-12-31 23:59:59.5", "2024-02-29 00:00:00", "0001-01-01 01:02:03", "0044-03-15 12:00:00 BC", "infinity")
ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York")
INTERVALS = [
    "0",
    "1 year 2 mons",
    "-1 year -2 mons",
    "3 days 04:05:06.7",
    "-3 days -04:05:06.7",
    "1 mon -1 day",
    "1 day -00:00:00.5",
    "00:00:01",
    "-00:00:01.000001",
    "1 year 1 day 01:01:01",
    "100:00:00",
    "-1 mon +2 days",
]


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as session:
        yield session


def text(connection: psycopg.Connection, setting: str, query: str) -> str:
    connection.pgconn.exec_(setting.encode())
    result = connection.pgconn.exec_(query.encode())
    assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message
    return (result.get_value(0, 0) or b"").decode()


@pytest.mark.parametrize("style", DATE_STYLES)
def test_dates(connection: psycopg.Connection, postgres: psycopg.Connection, style: str) -> None:
    # Each value is an item of an array too, in which it may need quotes.
    casts = ("{}::timestamp", "{}::timestamp::date", "array[{}::timestamp]", "{}::timestamp at time zone 'UTC'")
    for zone in ZONES:
        setting = f"set timezone = '{zone}'; set datestyle = '{style}'"
        for moment in MOMENTS:
            for cast in casts:
                if "BC" in moment:
                    # DuckDB writes the era in another form.
                    moment = "0044-03-15 (BC) 12:00:00"
                query = f"select {cast.format(repr(moment))}"
                wanted = query.replace("0044-03-15 (BC) 12:00:00", "0044-03-15 12:00:00 BC")
                assert text(connection, setting, query) == text(postgres, setting, wanted), (zone, query)


@pytest.mark.parametrize("style", INTERVAL_STYLES)
def test_intervals(connection: psycopg.Connection, postgres: psycopg.Connection, style: str) -> None:
    for value in INTERVALS:
        setting, query = f"set intervalstyle = {style}", f"select '{value}'::interval"
        assert text(connection, setting, query) == text(postgres, setting, query), value


def test_the_style_is_reported_and_restored(connection: psycopg.Connection) -> None:
    connection.execute("set datestyle = 'german'")
    assert connection.info.parameter_status("DateStyle") == "German, DMY"
    with connection.transaction(force_rollback=True):
        connection.execute("set datestyle = 'sql'")
        assert connection.info.parameter_status("DateStyle") == "SQL, DMY"
    assert connection.info.parameter_status("DateStyle") == "German, DMY"
    connection.execute("reset datestyle")
    assert connection.info.parameter_status("DateStyle") == "ISO, MDY"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="German, with MDY, DMY or YMD"):
        connection.execute("set datestyle = 'iso, german'")


@pytest.mark.parametrize(("format_", "expected"), [("text", "31/12/1999"), ("csv", "31/12/1999")])
def test_copies_have_the_style(connection: psycopg.Connection, format_: str, expected: str) -> None:
    connection.execute("set datestyle = 'sql, dmy'")
    with connection.cursor().copy(f"copy (select date '1999-12-31') to stdout (format {format_})") as copy:
        assert b"".join(copy).decode().strip() == expected


def test_queries_see_the_style(connection: psycopg.Connection) -> None:
    names = ("DateStyle", "IntervalStyle", "client_encoding")

    def seen() -> list[str]:
        rows = connection.execute("select current_setting(%s), current_setting(%s), current_setting(%s)", names)
        # With SQL_ASCII, psycopg gives bytes.
        return [
            value.decode() if isinstance(value, bytes) else value for (value,) in zip(*rows.fetchall(), strict=True)
        ]

    initial = seen()
    assert initial == ["ISO, MDY", "postgres", "UTF8"]
    connection.execute("set datestyle = german; set intervalstyle = iso_8601; set client_encoding = sql_ascii")
    assert seen() == ["German, DMY", "iso_8601", "SQL_ASCII"]
    with connection.transaction(force_rollback=True):
        connection.execute("set local datestyle = 'iso, ymd'")
        assert seen()[0] == "ISO, YMD"
    assert seen()[0] == "German, DMY"
    connection.execute("discard all")
    assert seen() == initial
