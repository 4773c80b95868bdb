"""Times that functions return as objects of Python, pandas and NumPy: each value is exact, or an error."""

from __future__ import annotations

import psycopg
import pytest

from tests.functions.sessions import rows, server_of, value

server = server_of(())

NANOSECONDS = "2025-01-01 00:00:00.123456789"
MOMENT = f"pandas.Timestamp('{NANOSECONDS}')"
YEAR_20000 = "pandas.Timestamp(numpy.datetime64('20000-01-01', 's'))"
POLARS = f"polars.Series(['{NANOSECONDS}']).str.to_datetime('%F %T%.9f', time_unit='ns')"
ARROW_INTERVALS = "pyarrow.array([(1, 2, 3000)], pyarrow.month_day_nano_interval())"
ZONED = "datetime.datetime(2025, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))"


def returned(session: psycopg.Connection, type_: str, expression: str) -> object:
    """What a function returns for one row, as a text."""
    with session.transaction(force_rollback=True):
        body = f"import datetime, pandas, polars, pyarrow\nreturn {expression}"
        session.execute(f"CREATE FUNCTION one(i BIGINT) RETURNS {type_} LANGUAGE PYTHON_MAP AS $$\n{body}\n$$".encode())
        return value(session, "SELECT one(1)::VARCHAR")


@pytest.mark.parametrize(
    ("type_", "expression", "expected"),
    [
        ("TIMESTAMP_NS", f"[{MOMENT}]", NANOSECONDS),
        ("TIMESTAMP_NS", MOMENT, NANOSECONDS),
        ("TIMESTAMP_NS[]", f"[[{MOMENT}]]", f"['{NANOSECONDS}']"),
        ("TIMESTAMP", f"[{YEAR_20000}]", "20000-01-01 00:00:00"),
        ("TIMESTAMPTZ", f"[{YEAR_20000}.tz_localize('UTC')]", "20000-01-01 00:00:00+00"),
        (
            "TIMESTAMPTZ",
            "pandas.Series([pandas.Timestamp('2025-06-01 12:00', tz='Europe/Berlin')])",
            "2025-06-01 10:00:00+00",
        ),
        ("TIMESTAMPTZ", f"[{ZONED}]", "2025-01-01 10:00:00+00"),
        ("INTERVAL", "[pandas.Timedelta(1, 'us')]", "00:00:00.000001"),
        # numpy makes 30.436875 days of a month.
        ("INTERVAL", "numpy.array([14], 'm8[M]')", "1 year 2 months"),
        ("INTERVAL", "[numpy.timedelta64(2, 'Y')]", "2 years"),
        ("INTERVAL", "[(1, numpy.int8(2), 3)]", "1 month 2 days 00:00:00.000003"),
        ("INTERVAL", f"{ARROW_INTERVALS}.to_pylist()", "1 month 2 days 00:00:00.000003"),
        ("INTERVAL", ARROW_INTERVALS, "1 month 2 days 00:00:00.000003"),
        ("INTERVAL[]", f"[{ARROW_INTERVALS}.to_pylist()]", "['1 month 2 days 00:00:00.000003']"),
        ("TIMESTAMP_NS", f"{POLARS}", NANOSECONDS),
        ("TIMESTAMP_NS[]", f"{POLARS}.implode()", f"['{NANOSECONDS}']"),
        ("TIMESTAMPTZ", f"{POLARS}.dt.round('1s').dt.replace_time_zone('Europe/Berlin')", "2024-12-31 23:00:00+00"),
        ("TIME", f"{POLARS}.dt.round('1us').dt.time()", "00:00:00.123457"),
        ("INTERVAL", f"{POLARS}.dt.round('1us') - {POLARS}.dt.round('1s')", "00:00:00.123457"),
        ("TIME", "[pandas.Timedelta(1, 'h')]", "01:00:00"),
        ("DATE", "[pandas.NaT]", None),
        # numpy makes one array of both by wrapping the first one around.
        (
            "TIMESTAMP[]",
            f"[[numpy.datetime64('0001-01-01'), numpy.datetime64('2025-01-01', 'ns'), {YEAR_20000}, None]]",
            "['0001-01-01 00:00:00', '2025-01-01 00:00:00', '20000-01-01 00:00:00', NULL]",
        ),
    ],
)
def test_times_are_exact(session: psycopg.Connection, type_: str, expression: str, expected: str | None) -> None:
    assert returned(session, type_, expression) == expected


@pytest.mark.parametrize(
    ("type_", "expression", "sqlstate"),
    [
        ("TIMESTAMP", f"[{MOMENT}]", "22008"),
        ("TIMESTAMPTZ", f"pandas.Series([{MOMENT}]).dt.tz_localize('UTC')", "22008"),
        ("TIMESTAMP_NS", f"[{YEAR_20000}]", "22008"),
        ("INTERVAL", "[pandas.Timedelta(1, 'ns')]", "22008"),
        ("INTERVAL", "[(1.5, 2, 3)]", "39000"),
        ("INTERVAL", "[('1', 2, 3)]", "39000"),
        ("INTERVAL", "[(2**31, 0, 0)]", "22008"),
        ("INTERVAL", "[numpy.timedelta64(2**62, 'Y')]", "22008"),
        (
            "INTERVAL",
            "numpy.array([(2**31, 0, 0)], [('months', 'i8'), ('days', 'i8'), ('micros', 'i8')])",
            "22008",
        ),
        (
            "INTERVAL",
            "numpy.array([(1, 0.5, 0)], [('months', 'i4'), ('days', 'f8'), ('micros', 'i8')])",
            "22008",
        ),
        ("INTERVAL", f"{ARROW_INTERVALS.replace('3000', '3001')}.to_pylist()", "22008"),
        ("TIME", "[pandas.Timedelta(1, 'ns')]", "22008"),
        ("TIMESTAMP", POLARS, "22008"),
        ("TIME", f"{POLARS}.dt.time()", "22008"),
        ("INTERVAL", f"{POLARS} - {POLARS}.dt.round('1s')", "22008"),
        ("TIMESTAMP", f"{POLARS}.dt.round('1s').dt.replace_time_zone('Europe/Berlin')", "39000"),
        # Whose time of day it would be is not said: that of the zone, or that of UTC.
        ("TIMESTAMP", f"[{ZONED}]", "39000"),
        ("TIMESTAMP", "pandas.Series([pandas.Timestamp('2025-06-01', tz='Europe/Berlin')])", "39000"),
        ("DATE", f"[{ZONED}]", "39000"),
        ("TIME", f"[{ZONED}.timetz()]", "39000"),
    ],
)
def test_others_are_refused(session: psycopg.Connection, type_: str, expression: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error, match="row 1") as caught:
        returned(session, type_, expression)
    assert caught.value.sqlstate == sqlstate


def test_an_interval_is_refused_with_its_row(session: psycopg.Connection) -> None:
    session.execute(
        "CREATE FUNCTION lengths_of(x INTEGER) RETURNS INTERVAL LANGUAGE PYTHON_MAP AS $$\n"
        "import numpy; return [numpy.timedelta64(1 if at == 2 else 1000, 'ns') for at in range(len(x))]\n$$"
    )
    with pytest.raises(psycopg.Error, match="row 3: 1 nanoseconds does not fit into INTERVAL"):
        session.execute("SELECT lengths_of(i::INTEGER) FROM range(5) t(i)")


def test_some_times_with_a_zone(session: psycopg.Connection) -> None:
    session.execute(
        "CREATE FUNCTION mixed() RETURNS TABLE(*) LANGUAGE PYTHON AS $$\n"
        f"import datetime; return {{'a': [{ZONED}, datetime.datetime(2025, 1, 1, 12)]}}\n$$"
    )
    with pytest.raises(psycopg.Error, match='column "a": some times have a time zone') as caught:
        session.execute("FROM mixed()")
    assert caught.value.sqlstate == "39000"


def test_intervals_of_pyarrow_in_a_table(session: psycopg.Connection) -> None:
    session.execute(
        "CREATE FUNCTION lengths() RETURNS TABLE(*) LANGUAGE PYTHON AS $$\n"
        f"import pyarrow; return {{'a': {ARROW_INTERVALS}.to_pylist()}}\n$$"
    )
    assert rows(session, "SELECT typeof(a), a::VARCHAR FROM lengths()") == [
        ("INTERVAL", "1 month 2 days 00:00:00.000003")
    ]
