"""Connections of users who may only read.

The fence (`serve/duckdb/src/fence.rs`) refuses kinds of statements, functions and settings. DuckDB's read-only
transactions refuse all changes of the database, so that INSERT and CREATE reach only temporary tables.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb

from .refusal import refuse
from .transaction_control import TransactionControl

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


class ReadOnlyConnection:
    """A connection that runs every statement in a read-only transaction, in which DuckDB refuses writes. A statement
    outside a transaction of the client gets its own transaction.

    Only this class begins and ends transactions. It asks DuckDB whether one has ended in another way.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._control = TransactionControl(connection)
        #: Interrupts the statement that runs.
        self.interrupt = self._control.interrupt
        #: Whether a transaction for one statement is open.
        self._has_own_transaction = False
        #: DuckDB's number of the client's transaction, if one is open.
        self._client_transaction: int | None = None
        #: Whether the check of a statement waits until its rows have been read or dropped.
        self._must_check = False

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open, so that an error of DuckDB aborts none."""
        return self._client_transaction is None and not self._has_own_transaction

    @property
    def is_known(self) -> bool:
        """Whether the open transaction, if there is one, is the client's."""
        return not self._has_own_transaction

    @property
    def is_in_clients(self) -> bool:
        """Whether the client has begun a transaction that has not ended."""
        return self._client_transaction is not None

    def client(self, sql: str) -> None:
        """Run one of `TRANSACTIONS`."""
        self.commit()
        if sql.startswith("BEGIN"):
            self._control.run("BEGIN TRANSACTION READ ONLY")
            try:
                self._client_transaction = self._number()
            except BaseException:
                self._control.roll_back()
                raise
            return
        # No transaction is open afterwards, even if the statement fails.
        self._client_transaction = None
        if sql == "ROLLBACK":
            self._control.roll_back()
        else:
            self._control.run(sql)

    def begin(self) -> None:
        """Begin a statement with its table functions. Each statement has a transaction anyway."""

    def roll_back(self) -> None:
        """End the transaction of a statement that has failed."""
        if not self._has_own_transaction:
            return
        # If it raises for lack of memory, the transaction is open, and the next statement ends it.
        was_open = self._control.roll_back()
        self._has_own_transaction = False
        if not was_open:
            # The statement has ended it.
            self._close_and_refuse()

    def check(self, *, rows_are_open: bool = False) -> None:
        """Check that the client's transaction is still the same. If not, the session is closed. While the rows of a
        statement are open, DuckDB answers no query, so it is done when the statement ends."""
        self._must_check = rows_are_open
        if rows_are_open or self._client_transaction is None:
            return
        try:
            number = self._number()
        except duckdb.TransactionException:
            # The transaction has failed. It is still open, but nothing can run in it.
            return
        if number != self._client_transaction:
            self._close_and_refuse()

    def _number(self) -> int:
        ((number,),) = self._connection.execute("SELECT system.main.current_transaction_id()").fetchall()
        return number

    def _close_and_refuse(self) -> NoReturn:
        self._connection.close()
        refuse("ending the read-only transaction of this session, which is now closed")

    def open(self) -> DuckDBPyConnection:
        """The connection, in a transaction."""
        if self._client_transaction is None and not self._has_own_transaction:
            # This fails if a transaction is open.
            self._control.run("BEGIN TRANSACTION READ ONLY")
            self._has_own_transaction = True
        return self._connection

    def commit(self) -> None:
        """End the transaction of a finished statement, and keep the temporary tables that it has created. An error has
        undone the statement."""
        if self._must_check:
            self.check()
        if not self._has_own_transaction:
            return
        try:
            self._control.run("COMMIT")
        except BaseException:
            self.roll_back()
            raise
        self._has_own_transaction = False

    def execute(self, sql: str, *arguments: Any) -> DuckDBPyConnection:
        return self.open().execute(sql, *arguments)

    def from_arrow(self, table: object) -> DuckDBPyRelation:
        return self.open().from_arrow(table)

    def close(self) -> None:
        with contextlib.suppress(duckdb.Error):
            self._connection.close()

    def __getattr__(self, name: str) -> Any:
        # All other methods run in a transaction too.
        return getattr(self.open(), name)
