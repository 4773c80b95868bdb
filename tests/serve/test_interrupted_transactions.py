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


def try_often(
    connection: duckdb.DuckDBPyConnection, attempt: Callable[[], None], after_failure: Callable[[], None] | None = None
) -> None:
    """Does it again and again while the connection is interrupted. It must succeed and fail."""
    done = failed = 0
    with interrupted(connection) as has_time:
        while has_time():
            try:
                attempt()
                done += 1
            except duckdb.InterruptException:
                failed += 1
                if after_failure is not None:
                    after_failure()
    assert done and failed, "both outcomes were tried"


def test_read_only_statements() -> None:
    with connected() as connection:
        own = ReadOnlyConnection(connection)

        def attempt() -> None:
            own.open()
            own.commit()

        try_often(connection, attempt)
        own.commit()
        assert own.execute("SELECT 42").fetchall() == [(42,)]
        own.commit()
        assert not is_open(connection)


def test_statements_with_calls() -> None:
    with connected() as connection:
        own = StatementTransaction(connection)

        def attempt() -> None:
            own.begin()
            own.commit()

        try_often(connection, attempt)
        own.roll_back()
        assert own.is_idle
        assert not is_open(connection)


@pytest.mark.parametrize("kind", [ReadOnlyConnection, StatementTransaction])
def test_transactions_of_clients(kind: type[ReadOnlyConnection] | type[StatementTransaction]) -> None:
    """The server sends ROLLBACK after a BEGIN or COMMIT that has failed."""
    with connected() as connection:
        own = kind(connection)

        def attempt() -> None:
            own.client("BEGIN TRANSACTION")
            own.client("COMMIT")
            assert own.is_idle

        def after_failure() -> None:
            own.client("ROLLBACK")
            assert own.is_idle

        try_often(connection, attempt, after_failure)
        assert not is_open(connection)


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
