"""The transaction of one statement and the table functions that it calls."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


#: How often ROLLBACK is tried while interrupts reach it. If it fails, the next statement ends the transaction.
ROLLBACK_ATTEMPTS = 10


#: Statements of transactions that DuckDB has parsed, which takes as long as running them.
_PARSED: dict[str, duckdb.Statement] = {}


def parsed(connection: DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """A statement without parameters, for any connection."""
    found = _PARSED.get(sql)
    if found is None:
        (found,) = connection.extract_statements(sql)
        _PARSED[sql] = found
    return found


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
        self._connection.execute(sql)
        self._is_in_clients = sql.startswith("BEGIN")

    def begin(self) -> None:
        """Begin a statement with its calls."""
        if not self._is_in_clients:
            self._connection.execute(parsed(self._connection, "BEGIN TRANSACTION"))
            self._is_open = True

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
        for _ in range(ROLLBACK_ATTEMPTS):
            if not self._is_open:
                return
            # None is open if COMMIT has failed. The interrupt of the statement may reach ROLLBACK too.
            with contextlib.suppress(duckdb.InterruptException):
                with contextlib.suppress(duckdb.TransactionException):
                    self._connection.execute("ROLLBACK")
                self._is_open = False
