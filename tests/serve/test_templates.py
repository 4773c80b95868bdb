"""PostgreSQL's templates for dates and times: what they give is what PostgreSQL gives, or an error."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[Connection]:
    with stock.connect() as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        yield connection


MOMENTS = ("timestamp '2020-01-02 03:04:05.678901'", "date '1999-12-31'", "timestamptz '2024-02-29 13:00:00.5+00'")
TEMPLATES = (
    "YYYY-MM-DD HH24:MI:SS",
    "yyyy-mm-dd hh24:mi:ss.us",
    "YYYYMMDDHH24MISS",
    "DD/MM/YY HH12:MI AM",
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"',
    "DDD IYYY-IW",
    "FMDay, DD FMMonth YYYY",
    "Dy Mon DD",
    "MI",
)


@pytest.mark.parametrize("template", TEMPLATES)
def test_moments_are_written_as_postgresql_writes_them(
    connection: Connection, postgres: Connection, template: str
) -> None:
    for moment in MOMENTS:
        query = f"SELECT to_char({moment}, '{template}')".encode()
        found, expected = connection.execute(query).fetchone(), postgres.execute(query).fetchone()
        assert (found or [None])[0] == (expected or [None])[0], query


READ = (
    ("2020-01-02 03:04:05.678901", "YYYY-MM-DD HH24:MI:SS.US"),
    ("20240229", "YYYYMMDD"),
    ("05 Dec 2000", "DD Mon YYYY"),
    ("2024-02-29T23:59:58", 'YYYY-MM-DD"T"HH24:MI:SS'),
    ("11:30 PM 31/12/1999", "HH12:MI AM DD/MM/YYYY"),
)


@pytest.mark.parametrize(("text", "template"), READ)
def test_moments_are_read_as_postgresql_reads_them(
    connection: Connection, postgres: Connection, text: str, template: str
) -> None:
    for function in ("to_timestamp", "to_date"):
        query = f"SELECT {function}('{text}', '{template}')".encode()
        assert connection.execute(query).fetchall() == postgres.execute(query).fetchall(), query


@pytest.mark.parametrize(
    "template", ["Month", "Day", "Q", "TZ", "YYYY-MON", "HH24h", "FMDD", "%Y", 'YYYY"Y"', 'YYYY "']
)
def test_other_templates_are_refused(connection: Connection, template: str) -> None:
    for call in (f"to_char(date '2020-01-01', '{template}')", f"to_timestamp('2020', '{template}')"):
        with pytest.raises(psycopg.errors.DataException, match="know no template"):
            connection.execute(f"SELECT {call}".encode())


def test_seconds_are_still_read(connection: Connection) -> None:
    query = b"SELECT to_timestamp(1.5) = timestamptz '1970-01-01 00:00:01.5+00'"
    assert connection.execute(query).fetchall() == [(True,)]
