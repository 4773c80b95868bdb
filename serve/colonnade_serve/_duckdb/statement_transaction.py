"""The transaction of one statement and the table functions that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .transaction_control import TransactionControl

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class StatementTransaction:
    """Begins a transaction for a statement that calls table functions, unless the client has begun one.

    The calls and the statement are several statements of DuckDB's, which must see the same rows.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._control = TransactionControl(connection)
        #: Whether the client's transaction is open.
        self._is_in_clients = False
        self._is_open = False
        #: Interrupts the statement that runs.
        self.interrupt = self._control.interrupt

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
        """Run one of `statement_check.TRANSACTIONS`."""
        if sql == "ROLLBACK":
            self._control.roll_back()
        else:
            if sql == "COMMIT":
                # No transaction is open afterwards, even if it fails.
                self._is_in_clients = False
            self._control.run(sql)
        self._is_in_clients = sql.startswith("BEGIN")

    def begin(self) -> None:
        """Begin a statement with its calls."""
        if not self._is_in_clients:
            self._control.run("BEGIN TRANSACTION")
            self._is_open = True

    def commit(self) -> None:
        """End a statement."""
        if not self._is_open:
            return
        try:
            self._control.run("COMMIT")
            self._is_open = False
        finally:
            self.roll_back()

    def roll_back(self) -> None:
        """End a statement that has failed."""
        if not self._is_open:
            return
        # None is open if COMMIT has failed.
        self._control.roll_back()
        self._is_open = False
