"""BEGIN, COMMIT and ROLLBACK of a session's connection, which no interrupt reaches.

DuckDB may have done an interrupted COMMIT, or have undone its transaction, and does not say which. So a finished
statement would be undone although its client has heard of its success, or would seem to have failed. An interrupt that
comes while a transaction begins or ends is left out. The server repeats interrupts until the statement has ended
(serve/protocol/src/connection/cancel.rs), so a statement that still runs gets the next one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from duckdb import DuckDBPyConnection

#: Statements of transactions that DuckDB has parsed, which takes as long as running them.
_PARSED: dict[str, duckdb.Statement] = {}


class TransactionControl:
    """Begins and ends the transactions of one connection, and interrupts its other statements."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._gate = InterruptGate()

    def run(self, sql: str) -> None:
        """Run one of `statement_check.TRANSACTIONS`."""
        statement = parsed(self._connection, sql)
        with self._gate:
            self._connection.execute(statement)

    def roll_back(self) -> bool:
        """End the open transaction. Gives whether one was open."""
        try:
            self.run("ROLLBACK")
        except duckdb.TransactionException:
            return False
        return True

    def interrupt(self) -> None:
        """Interrupt the statement that runs, from any thread."""
        self._gate.pass_on(self._connection.interrupt)


class InterruptGate:
    """A gate that lets interrupts through, except while its block runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> None:
        # DuckDB forgets an interrupt before this when it begins a statement. With the lock, none is on its way.
        with self._lock:
            self._is_closed = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = False

    def pass_on(self, interrupt: Callable[[], None]) -> None:
        with self._lock:
            if not self._is_closed:
                interrupt()


def parsed(connection: DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """A statement without parameters, for any connection."""
    found = _PARSED.get(sql)
    if found is None:
        (found,) = connection.extract_statements(sql)
        _PARSED[sql] = found
    return found
