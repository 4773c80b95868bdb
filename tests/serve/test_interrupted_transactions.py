"""Interrupts of a statement that come while its transaction begins or ends.

DuckDB may have done an interrupted COMMIT, or have undone its transaction. So a finished statement could be undone
although its client has heard of its success. None of these interrupts may reach DuckDB.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import duckdb
import psycopg
import pytest
from colonnade_serve._duckdb.read_only_connection import ReadOnlyConnection
from colonnade_serve._duckdb.statement_transaction import StatementTransaction
from colonnade_serve._duckdb.transaction_control import TransactionControl

from tests.support.users import add_user
from tests.testbed.serving import function_options, serve

Transactions = ReadOnlyConnection | StatementTransaction

#: Statements with a cancel request.
ROUNDS = 200
#: How many interrupts come while transactions begin and end, and the longest time for them.
INTERRUPTS, SECONDS = 3000, 120.0


class Observed:
    """A connection of DuckDB that interrupts itself by `interrupt` around each statement of a transaction, and that
    counts the interrupts which reach it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.interrupt_all: Callable[[], None] = lambda: None
        self.reached = 0

    def interrupt(self) -> None:
        self.reached += 1
        self._connection.interrupt()

    def execute(self, statement: Any, *arguments: Any) -> duckdb.DuckDBPyConnection:
        if not isinstance(statement, str):
            self.interrupt_all()
        try:
            return self._connection.execute(statement, *arguments)
        finally:
            if not isinstance(statement, str):
                self.interrupt_all()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@contextmanager
def observed() -> Iterator[tuple[Observed, duckdb.DuckDBPyConnection]]:
    with duckdb.connect() as connection:
        found = Observed(connection)
        yield found, cast("duckdb.DuckDBPyConnection", found)


@contextmanager
def interrupted(interrupt: Callable[[], None]) -> Iterator[Callable[[], int]]:
    """Interrupts again and again, at most a millisecond after the interrupt before. Gives their number so far."""
    has_ended, drawn, count = threading.Event(), random.Random(1), 0

    def repeat() -> None:
        nonlocal count
        while not has_ended.wait(10 ** drawn.uniform(-6, -3)):
            interrupt()
            count += 1

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield lambda: count
    finally:
        has_ended.set()
        thread.join()


def is_open(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("ROLLBACK")
    except duckdb.TransactionException:
        return False
    return True


def begin(own: Transactions) -> None:
    if isinstance(own, ReadOnlyConnection):
        own.open()
    else:
        own.begin()


@pytest.mark.parametrize("kind", [ReadOnlyConnection, StatementTransaction])
def test_no_interrupt_reaches_a_statement_of_a_transaction(
    kind: type[ReadOnlyConnection] | type[StatementTransaction],
) -> None:
    with observed() as (found, connection):
        own = kind(connection)
        found.interrupt_all = own.interrupt
        for end in (own.commit, own.roll_back):
            begin(own)
            end()
            assert own.is_idle
            own.client("BEGIN TRANSACTION")
            own.client("COMMIT" if end == own.commit else "ROLLBACK")
            assert own.is_idle
        assert found.reached == 0
        assert not is_open(connection)
        # Other statements are interrupted.
        own.interrupt()
        assert found.reached == 1


@pytest.mark.parametrize("kind", [ReadOnlyConnection, StatementTransaction])
def test_a_finished_statement_stays_done(kind: type[ReadOnlyConnection] | type[StatementTransaction]) -> None:
    with duckdb.connect() as connection:
        own, number = kind(connection), 0
        end = time.monotonic() + SECONDS
        with interrupted(own.interrupt) as count:
            while count() < INTERRUPTS:
                assert time.monotonic() < end, f"{count()} interrupts in {number} statements"
                begin(own)
                try:
                    connection.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT {number + 1} AS i")
                except duckdb.InterruptException:
                    own.roll_back()
                    continue
                number += 1
                own.commit()
                # An interrupt may reach this query.
                found = None
                while found is None:
                    try:
                        found = connection.execute("SELECT i FROM t").fetchall()
                    except duckdb.InterruptException:
                        continue
                assert found == [(number,)]
        assert number > 0
        assert not is_open(connection)


def test_whether_one_was_open() -> None:
    with duckdb.connect() as connection:
        control = TransactionControl(connection)
        assert not control.roll_back()
        connection.execute("BEGIN")
        assert control.roll_back()
        assert not is_open(connection)


def test_a_read_only_statement_that_ends_its_transaction_closes_the_session() -> None:
    with duckdb.connect() as connection:
        for end in ("commit", "roll_back"):
            own = ReadOnlyConnection(connection.cursor())
            own.execute("ROLLBACK")
            with pytest.raises(Exception, match="ending the read-only transaction of this session"):
                getattr(own, end)()
            with pytest.raises(duckdb.ConnectionException, match="closed"):
                own.execute("SELECT 1")


class FailingAtCommit:
    """A connection whose COMMIT fails, and leaves its transaction open."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def execute(self, statement: Any, *arguments: Any) -> duckdb.DuckDBPyConnection:
        if not isinstance(statement, str) and statement.query == "COMMIT":
            raise duckdb.OutOfMemoryException("no memory")
        return self._connection.execute(statement, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize("kind", [ReadOnlyConnection, StatementTransaction])
def test_a_statement_whose_commit_fails_has_failed(
    kind: type[ReadOnlyConnection] | type[StatementTransaction],
) -> None:
    with duckdb.connect() as connection:
        own = kind(cast("duckdb.DuckDBPyConnection", FailingAtCommit(connection)))
        begin(own)
        connection.execute("CREATE TEMP TABLE t AS SELECT 1 AS i")
        with pytest.raises(duckdb.OutOfMemoryException):
            own.commit()
        assert own.is_idle
        assert not is_open(connection)


@pytest.mark.parametrize("options", [(), function_options()], ids=["plain", "with functions"])
def test_a_reader_keeps_a_table_whose_creation_has_succeeded(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Cancel requests at any moment of a statement: it has either failed, or is done."""
    users, drawn = tmp_path / "users", random.Random(1)
    add_user(users, "reader", "secret", "--read-only")
    with (
        serve("--users", users, *options) as server,
        psycopg.connect(f"{server.dsn} user=reader password=secret", autocommit=True) as connection,
    ):
        # The table of the last statement that has succeeded.
        done = 0
        connection.execute("CREATE TEMP TABLE t AS SELECT 0 AS i")
        for number in range(1, ROUNDS + 1):
            canceller = threading.Timer(drawn.uniform(0, 0.004), connection.cancel)
            canceller.start()
            try:
                connection.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT {number} AS i".encode())
                done = number
            except psycopg.errors.QueryCanceled:
                pass
            finally:
                canceller.join()
            found = None
            while found is None:
                # The request may come this late.
                with contextlib.suppress(psycopg.errors.QueryCanceled):
                    found = connection.execute("SELECT i FROM t").fetchone()
            assert found == (done,)
