"""Which functions of a database the dispatchers know, and when they forget one.

Each CREATE OR REPLACE makes another definition. The one before is still called by statements whose transaction is older
than the change, so it stays until there is none. A function that is in nobody's catalog any more is forgotten.

A session may see an older catalog while it has a transaction of its client, or while a call runs that may bind. So the
dispatchers know all that any transaction can call. They look for others after each 256 new definitions, because listing
all functions takes milliseconds. A bound call keeps its definition.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from colonnade_serve._core import define_function, forget_function

from .function_entry import macros

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .function_entry import Definition
    from .lifetime import StatementLifetime

#: How many functions become known before those are looked for that can be forgotten. Listing all functions takes some
#: milliseconds.
CHECK_AFTER = 256

#: The sessions that may still call a function, each with its number of transactions then.
Waiting = dict["weakref.ref[StatementLifetime]", int]


class KnownFunctions:
    """The functions of one database that the dispatchers know."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: weakref.WeakSet[StatementLifetime] = weakref.WeakSet()
        #: By id: None for a function that is in the catalog, or may come there.
        self._waiting: dict[str, Waiting | None] = {}
        self._checked = 0

    def watch(self, session: StatementLifetime) -> None:
        """Take account of the transactions of a session."""
        with self._lock:
            self._sessions.add(session)

    def __len__(self) -> int:
        return len(self._waiting)

    def define(self, definition: Definition) -> None:
        """Make a function known. NotImplementedError if one of its types cannot be passed to Python."""
        with self._lock:
            if definition.id in self._waiting:
                self._waiting[definition.id] = None
                return
            kind = "scalar"
            if definition.kind == "aggregate":
                kind = "aggregate_per_group" if definition.language == "python_map" else "aggregate"
            ((_, result),) = definition.results
            define_function(
                definition.id,
                f"{definition.schema}.{definition.name}",
                kind,
                None
                if definition.is_variadic
                else [(parameter.name, parameter.type, parameter.scalar) for parameter in definition.parameters],
                result,
                definition.source,
                strict=definition.strict,
                volatility=definition.volatility,
                arrow=definition.style == "arrow",
            )
            self._waiting[definition.id] = None

    def forget_unused(self, connection: DuckDBPyConnection) -> None:
        """Forget the functions that no transaction can call any more, if many have become known since the last time.
        `connection` sees what is committed."""
        with self._lock:
            if len(self._waiting) < self._checked + CHECK_AFTER:
                return
            listed = {entry.definition.id for macro in macros(connection) for entry in macro.entries}
            # A transaction that begins from now on sees this catalog or a later one.
            for identity, waiting in list(self._waiting.items()):
                if identity in listed:
                    self._waiting[identity] = None
                elif waiting is None:
                    # Also one that has just been created and is not committed: its session is in a transaction.
                    self._waiting[identity] = self._within()
                elif not (waiting := still_waiting(waiting)):
                    forget_function(identity)
                    del self._waiting[identity]
                else:
                    self._waiting[identity] = waiting
            self._checked = len(self._waiting)

    def _within(self) -> Waiting:
        """The sessions in whose transactions statements may still be bound."""
        sessions = list(self._sessions)
        return {weakref.ref(one): one.transactions_begun for one in sessions if one.may_bind_in_transaction}


def still_waiting(waiting: Waiting) -> Waiting:
    """Those sessions whose transaction is the same."""
    return {
        reference: number
        for reference, number in waiting.items()
        if (session := reference()) is not None
        and session.transactions_begun == number
        and session.may_bind_in_transaction
    }
