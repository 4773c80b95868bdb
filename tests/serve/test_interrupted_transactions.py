"""Interrupts of a statement that reach the BEGIN, COMMIT and ROLLBACK of its transaction.

DuckDB may have done such a statement, or not. A session must know whether its transaction is open in both cases.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb
import pytest
from colonnade._duckdb.fences import ReadOnlyConnection
from colonnade._duckdb.statement_transaction import StatementTransaction, roll_back

SECONDS = 2.0


@contextmanager
def interrupted(connection: duckdb.DuckDBPyConnection) -> Iterator[Callable[[], bool]]:
    """Interrupts the connection all the time. Gives a function that says whether there is time for another round."""
    end, has_ended = time.monotonic() + SECONDS, threading.Event()

    def interrupt() -> None:
        while not has_ended.is_set():
            connection.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield lambda: time.monotonic() < end
    finally:
        has_ended.set()
        thread.join()


def is_open(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("ROLLBACK")
    except duckdb.TransactionException:
        return False
    return True


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def test_read_only_statements() -> None:
    done = failed = 0
    with connected() as connection:
        own = ReadOnlyConnection(connection)
        with interrupted(connection) as has_time:
            while has_time():
                try:
                    own.open()
                    own.commit()
                    done += 1
                except duckdb.InterruptException:
                    failed += 1
        own.commit()
        assert own.execute("SELECT 42").fetchall() == [(42,)]
        own.commit()
        assert not is_open(connection)
    assert done and failed, "both outcomes were tried"


def test_statements_with_calls() -> None:
    done = failed = 0
    with connected() as connection:
        own = StatementTransaction(connection)
        with interrupted(connection) as has_time:
            while has_time():
                try:
                    own.begin()
                    own.commit()
                    done += 1
                except duckdb.InterruptException:
                    failed += 1
        own.roll_back()
        assert own.is_idle
        assert not is_open(connection)
    assert done and failed, "both outcomes were tried"


@pytest.mark.parametrize("kind", [ReadOnlyConnection, StatementTransaction])
def test_transactions_of_clients(kind: type[ReadOnlyConnection] | type[StatementTransaction]) -> None:
    """The server sends ROLLBACK after a BEGIN or COMMIT that has failed."""
    done = failed = 0
    with connected() as connection:
        own = kind(connection)
        with interrupted(connection) as has_time:
            while has_time():
                try:
                    own.client("BEGIN TRANSACTION")
                    own.client("COMMIT")
                    done += 1
                except duckdb.InterruptException:
                    own.client("ROLLBACK")
                    failed += 1
                assert own.is_idle
        assert not is_open(connection)
    assert done and failed, "both outcomes were tried"


def test_whether_one_was_open() -> None:
    with connected() as connection:
        assert not roll_back(connection)
        connection.execute("BEGIN")
        assert roll_back(connection)
        with interrupted(connection) as has_time:
            while has_time():
                with contextlib.suppress(duckdb.InterruptException):
                    connection.execute("BEGIN")
                roll_back(connection)
        assert not is_open(connection)
