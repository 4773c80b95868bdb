"""The transaction of one statement and the table functions that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


#: Statements of transactions that DuckDB has parsed, which takes as long as running them.
_PARSED: dict[str, duckdb.Statement] = {}


def parsed(connection: DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """A statement without parameters, for any connection."""
    found = _PARSED.get(sql)
    if found is None:
        (found,) = connection.extract_statements(sql)
        _PARSED[sql] = found
    return found


def roll_back(connection: DuckDBPyConnection) -> bool:
    """End the open transaction, also if interrupts of its statement reach ROLLBACK. Gives whether one was open; an
    interrupted ROLLBACK may have ended it."""
    was_interrupted = False
    # Each interrupt is one request of a client to cancel, so this ends when the client sends no more of them.
    while True:
        try:
            connection.execute("ROLLBACK")
        except duckdb.InterruptException:
            was_interrupted = True
        except duckdb.TransactionException:
            return was_interrupted
        else:
            return True


class StatementTransaction:
    """Begins a transaction for a statement that calls table functions, unless the client has begun one.

    The calls and the statement are several statements of DuckDB's, which must see the same rows.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        #: Whether the client's transaction is open.
        self._is_in_clients = False
        self._is_open = False

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open, so that an error of DuckDB aborts none."""
        return not self._is_in_clients and not self._is_open

    @property
    def is_known(self) -> bool:
        """Whether the open transaction, if there is one, is the client's."""
        return not self._is_open

    @property
    def is_in_clients(self) -> bool:
        """Whether the client has begun a transaction that has not ended."""
        return self._is_in_clients

    def client(self, sql: str) -> None:
        """Run one of `fences.TRANSACTIONS`."""
        if sql == "COMMIT":
            # No transaction is open afterwards, even if it fails.
            self._is_in_clients = False
        if sql == "ROLLBACK":
            roll_back(self._connection)
        else:
            self._connection.execute(sql)
        self._is_in_clients = sql.startswith("BEGIN")

    def begin(self) -> None:
        """Begin a statement with its calls."""
        if not self._is_in_clients:
            # An interrupted BEGIN may have begun it.
            self._is_open = True
            try:
                self._connection.execute(parsed(self._connection, "BEGIN TRANSACTION"))
            except BaseException:
                self.roll_back()
                raise

    def commit(self) -> None:
        """End a statement."""
        if not self._is_open:
            return
        try:
            self._connection.execute(parsed(self._connection, "COMMIT"))
            self._is_open = False
        finally:
            self.roll_back()

    def roll_back(self) -> None:
        """End a statement that has failed."""
        if not self._is_open:
            return
        # None is open if COMMIT has failed.
        roll_back(self._connection)
        self._is_open = False
