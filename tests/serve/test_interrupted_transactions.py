"""Interrupts of a statement that reach the BEGIN, COMMIT and ROLLBACK of its transaction.

DuckDB may have done such a statement, or not. A session must know whether its transaction is open in both cases.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import duckdb
import pytest
from colonnade._duckdb.fences import ReadOnlyConnection
from colonnade._duckdb.statement_transaction import StatementTransaction, roll_back

#: How often each outcome must be seen, and the longest time for it.
ROUNDS, SECONDS = 50, 120.0


@contextmanager
def interrupted(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupts the connection again and again. The time between two interrupts is between a microsecond and ten
    milliseconds, so that on any machine some statements are interrupted and others are not."""
    has_ended, drawn = threading.Event(), random.Random(1)

    def interrupt() -> None:
        while not has_ended.wait(10 ** drawn.uniform(-6, -2)):
            connection.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
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
    connection: duckdb.DuckDBPyConnection, attempt: Callable[[], None], after_failure: Callable[[], None] = lambda: None
) -> None:
    """Does it while the connection is interrupted, until it has succeeded and failed often."""
    done = failed = 0
    end = time.monotonic() + SECONDS
    with interrupted(connection):
        while min(done, failed) < ROUNDS:
            assert time.monotonic() < end, f"{done} attempts were done, {failed} were interrupted"
            try:
                attempt()
                done += 1
            except duckdb.InterruptException:
                failed += 1
                after_failure()


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

        def attempt() -> None:
            connection.execute("BEGIN")
            roll_back(connection)

        try_often(connection, attempt, lambda: roll_back(connection))
        assert not is_open(connection)


class InterruptedAtRollback:
    """A connection whose first ROLLBACKs are interrupted, the last of them after it was done."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, interrupts: int, is_done: bool) -> None:
        self._connection, self._left, self._is_done = connection, interrupts, is_done

    def execute(self, sql: str) -> None:
        self._left -= 1
        if self._left > 0:
            raise duckdb.InterruptException
        if self._left == 0 and self._is_done:
            self._connection.execute(sql)
        if self._left == 0:
            raise duckdb.InterruptException
        self._connection.execute(sql)


@pytest.mark.parametrize("is_done", [False, True])
def test_many_interrupts_of_one_rollback(is_done: bool) -> None:
    with connected() as connection:
        connection.execute("BEGIN")
        assert roll_back(cast("duckdb.DuckDBPyConnection", InterruptedAtRollback(connection, 100, is_done)))
        assert not is_open(connection)
