"""Transactions that begin with a statement, as PEP 249 asks: SQL for the sources of the extension module, which report
their state. DuckDB, ADBC and ODBC have `begin` and `end`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from colonnade._core import Connection as CoreConnection
from colonnade._errors import Error, InterfaceError, NotSupportedError, class_by_sqlstate

if TYPE_CHECKING:
    from colonnade._core import Source
    from colonnade._sources.arrow import ArrowSource


class Transactions:
    """The transactions of one connection."""

    def __init__(self, source: Source, *, autocommit: bool) -> None:
        self._source = source
        self._autocommit = autocommit
        self._begun = False
        #: Whether a statement of the transaction failed.
        self._failed = False
        self._has_transactions = True

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if value and self.is_open:
            raise InterfaceError("a transaction is open: commit it or roll it back before autocommit begins")
        self._autocommit = bool(value)

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open, as the source reports it, or as far as this object knows."""
        reported = self._reported()
        return self._begun if reported is None else reported != "none"

    def begin(self) -> None:
        """Begins a transaction, unless one is open or autocommit is on."""
        if self._autocommit or not self._has_transactions or self.is_open:
            return
        self._failed = False
        try:
            if isinstance(self._source, CoreConnection):
                self._source.execute("start transaction" if "mysql" in self._source.dialect else "begin")
            else:
                cast("ArrowSource", self._source).begin()
        except NotSupportedError:
            self._has_transactions = False
            return
        self._begun = True

    def fail(self) -> None:
        """Notes that a statement failed."""
        self._failed = True

    def commit(self) -> None:
        if self._reported() is None and isinstance(self._source, CoreConnection):
            # A result that was closed is still being cancelled. In PostgreSQL, that makes the transaction fail.
            with suppress(Error):
                self._source.execute("select 1")
        # PostgreSQL answers COMMIT of such a transaction with ROLLBACK and without an error. Its drivers do not tell.
        if self._reported() == "failed" or (self._failed and not self._tells_failures()):
            self.rollback()
            message = "the transaction was rolled back, because one of its statements had failed"
            raise class_by_sqlstate("25P02")(message, sqlstate="25P02", source=self._source.name)
        if self.is_open:
            self._end("commit")

    def rollback(self) -> None:
        if not self._has_transactions:
            raise NotSupportedError("the source has no transactions", source=self._source.name)
        if self.is_open:
            self._end("rollback")

    def _end(self, how: str) -> None:
        if isinstance(self._source, CoreConnection):
            self._source.execute(how)
        else:
            cast("ArrowSource", self._source).end(commit=how == "commit")
        self._begun = self._failed = False

    def _tells_failures(self) -> bool:
        """Whether the source refuses to commit a transaction that has failed, or reports its state."""
        return isinstance(self._source, CoreConnection) or cast("ArrowSource", self._source).tells_failures

    def _reported(self) -> str | None:
        """None if a result is still being read."""
        if isinstance(self._source, CoreConnection):
            return self._source.transaction
        return "open" if cast("ArrowSource", self._source).has_begun else "none"
