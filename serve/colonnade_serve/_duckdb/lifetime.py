"""When the statements of a session begin and end, with their transactions and the calls of table functions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade_serve._core import FunctionSession

    from .catalog_epoch import SessionEpoch
    from .read_only_connection import ReadOnlyConnection
    from .statement_transaction import StatementTransaction
    from .table_functions import TableFunctions

P = ParamSpec("P")
T = TypeVar("T")


class StatementLifetime:
    """The statement of one session, of which at most one runs at a time."""

    def __init__(self, transactions: ReadOnlyConnection | StatementTransaction) -> None:
        self.transactions = transactions
        #: What the session has for functions in Python; None without `--udf`.
        self._functions: tuple[SessionEpoch, FunctionSession, TableFunctions] | None = None
        #: Whether the statement has calls of table functions, until it is finished.
        self._is_calling = False
        #: Whether table functions of the next statement have run.
        self._has_called = False
        #: Whether the transaction of the statement that runs is older than it.
        self.is_begun = False
        #: For `known_functions.py`: how many transactions have begun, and how many calls run that may bind a statement.
        self.transactions_begun = 0
        self.binding_calls = 0

    def include(self, epoch: SessionEpoch, processes: FunctionSession, tables: TableFunctions) -> None:
        """Begin and end statements for these too."""
        self._functions = (epoch, processes, tables)

    @property
    def may_bind_in_transaction(self) -> bool:
        """Whether a statement may still be bound in the transaction that has begun last."""
        return self.binding_calls > 0 or self._has_called or self.transactions.is_in_clients

    def begin(self) -> None:
        """End the previous statement, and forget what its functions have left."""
        self.is_begun, self._has_called = self._has_called, False
        if self.is_begun:
            # By its table functions.
            return
        self.finish()
        if not self.transactions.is_in_clients:
            self.transactions_begun += 1
        if self._functions is not None:
            self._functions[1].begin_statement()

    def begin_calls(self) -> None:
        """Begin a statement with the calls of its table functions, in a transaction in which it then runs."""
        assert self._functions is not None
        self._has_called = False
        self.begin()
        self._functions[0].begin_statement()
        self._is_calling = True
        self.transactions.begin()
        self._has_called = True

    def abandon_calls(self) -> None:
        """End the calls of a statement that does not run."""
        self._has_called = False
        self.abandon()

    def finish(self) -> None:
        """End a statement that has run, and whose rows have been read or dropped. An error has undone it."""
        self._end(self.transactions.commit)

    def abandon(self) -> None:
        """End a statement that has failed."""
        self._end(self.transactions.roll_back)

    def _end(self, end_transaction: Callable[[], None]) -> None:
        if self._functions is None:
            end_transaction()
            return
        epoch, _, tables = self._functions
        if self._is_calling:
            tables.release()
        try:
            end_transaction()
        finally:
            epoch.end_write()
            if self._is_calling:
                epoch.end_statement()
                self._is_calling = False


class HasLifetime(Protocol):
    """A session."""

    @property
    def lifetime(self) -> StatementLifetime: ...


S = TypeVar("S", bound=HasLifetime)


def binding(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """While this method runs, the session may bind a statement."""

    @functools.wraps(method)
    def counted(self: S, *arguments: P.args, **named: P.kwargs) -> T:
        self.lifetime.binding_calls += 1
        try:
            return method(self, *arguments, **named)
        finally:
            self.lifetime.binding_calls -= 1

    return counted
