"""Settings that are times, as PostgreSQL reads and shows them."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.testbed import postgres as pg
from tests.testbed.serving import Server

TIMES = (
    *("150", "150.0", " 150 ", "1.5s", "1e3", "1e3us", "1e3 s", "2.5", "3.5", ".5 min", "1.", "+7", "-0", "-0.4"),
    *("0x1F", "010", "010.5s", "24d", "2147483647", "2147483647.4", "0", "0.4", "0s", "1h", "60min", "86400s"),
    *("90 min", "1499us", "500us", "0.0015s", "1.0005s", "1e-1s", "\t7\n", "7\v"),
    *("", " ", " .5", "-.5", "-1", "x", "5 S", "5 s x", "1e", "08", "1e400", "inf", "nan", "2147483648", "25d", "."),
    *("99999999999999999999", "1 000", "1_0", "0x", "1,5s", "é", "- 1", "1ms1", "1 M", "1Min", "0b1"),
)
NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout")


def shown(connection: psycopg.Connection, name: str, text: str) -> str | None:
    """What SHOW gives after SET; None if it is refused."""
    value = psycopg.sql.Literal(text).as_string(connection)
    try:
        # In one message, because the session must not be idle with a short time.
        cursor = connection.execute(f"SET {name} = {value}; SHOW {name}; SET {name} = 0".encode())
    except psycopg.errors.InvalidParameterValue:
        return None
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("name", NAMES)
def test_times_are_read_as_in_postgresql(server: Server, stock: pg.Cluster, name: str) -> None:
    with (
        psycopg.connect(server.dsn, autocommit=True) as ours,
        psycopg.connect(stock.uri(), autocommit=True) as theirs,
    ):
        expected = {text: shown(theirs, name, text) for text in TIMES}
        assert len(set(expected.values())) > 15
        assert {text: shown(ours, name, text) for text in TIMES} == expected


def test_numbers_without_quotes_are_times(server: Server, stock: pg.Cluster) -> None:
    with (
        psycopg.connect(server.dsn, autocommit=True) as ours,
        psycopg.connect(stock.uri(), autocommit=True) as theirs,
    ):
        for written in ("1500", "1500.0", "1.5e3", "0", "+5", "'2s'", '"3s"', "DEFAULT"):
            found = []
            for connection in (ours, theirs):
                connection.execute(f"SET statement_timeout TO {written}".encode())
                found.append(connection.execute("SHOW statement_timeout").fetchone())
                connection.execute("SET statement_timeout = 0")
            assert found[0] == found[1], written


def test_generated_times_are_read_as_in_postgresql(server: Server, stock: pg.Cluster) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as ours, psycopg.connect(stock.uri(), autocommit=True) as theirs:

        @settings(max_examples=500, deadline=None)
        @given(st.from_regex(r"\A\s?[-+]?[0-9]{0,4}(\.[0-9]{0,4})?(e-?[0-9])?\s?(us|ms|s|min|h|d|x)?\s?\Z"))
        def compare(text: str) -> None:
            assert shown(ours, "statement_timeout", text) == shown(theirs, "statement_timeout", text)

        compare()
