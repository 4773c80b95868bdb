"""The functions in Python of a database: the key that signs them, and the registry from which DuckDB calls them."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade_serve._core import FunctionSession

from .function_entry import macros
from .function_failure import refused
from .function_key import server_key
from .known_functions import KnownFunctions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import FunctionProcesses, Refused

    from .function_entry import Definition, Entry, Macro
    from .lifetime import StatementLifetime


#: Seconds after which a function process that nobody has used ends, and those between two searches for such processes.
IDLE_TIME = 60
IDLE_CHECK = 15

#: How many names of table functions are remembered.
MAX_TABLES = 1000


@dataclass(frozen=True)
class TableMacro:
    """The table functions of a name, and one of them that this server has not signed, if there is any."""

    macro: Macro
    untrusted: Entry | None


class FunctionStore:
    """The functions of one database, which all sessions share."""

    def __init__(self, database: str | None, processes: FunctionProcesses) -> None:
        #: The database's file; None in memory.
        self.database = database
        self._processes = processes
        self._lock = threading.Lock()
        self._key = server_key(database, make=False)
        #: The sessions that are open, by their numbers in Python.
        self._sessions: dict[int, FunctionSession] = {}
        #: Table functions that were called, by their digest.
        self._tables: dict[str, TableMacro] = {}
        #: What the dispatchers know.
        self.known = KnownFunctions()
        threading.Thread(target=self._end_idle, daemon=True).start()

    def key(self) -> bytes:
        """The key, which is made at first need."""
        with self._lock:
            if self._key is None:
                self._key = server_key(self.database, make=True)
            assert self._key is not None
            return self._key

    def is_trusted(self, entry: Entry) -> bool:
        """Whether this server has signed the function."""
        return self._key is not None and entry.is_trusted(self._key)

    def must_trust(self, entries: Iterable[Entry]) -> None:
        """Refuse functions that this server has not signed, before any of their texts becomes SQL: a user who can write
        can put any texts in place of types and defaults."""
        for entry in entries:
            if not self.is_trusted(entry):
                raise self.untrusted(entry)

    def untrusted(self, entry: Entry) -> Refused:
        """The error of a function that this server has not signed."""
        hint = f"If you trust its source, stop the server and sign it: colonnade udf trust {self.database or 'FILE'}"
        return refused(f"function {entry.definition.signature} was not created by this server", "42501", hint)

    def watch(self, session: StatementLifetime) -> None:
        """Take account of a session's transactions."""
        self.known.watch(session)

    def session(self, connection: DuckDBPyConnection) -> FunctionSession:
        """The function processes of a connection."""
        ((token,),) = connection.execute("SELECT system.main.colonnade_session()").fetchall()
        session = FunctionSession(self._processes, token)
        self._sessions[id(session)] = session
        return session

    def sibling(self, caller: FunctionSession, connection: DuckDBPyConnection) -> FunctionSession:
        """The function processes of another session, for a connection that runs the queries of its functions."""
        ((token,),) = connection.execute("SELECT system.main.colonnade_session()").fetchall()
        return caller.sibling(token)

    def close(self, session: FunctionSession) -> None:
        """End the function processes of a session."""
        self._sessions.pop(id(session), None)
        session.close()

    def _end_idle(self) -> None:
        """End the function processes that have been idle for `IDLE_TIME`, until this process ends."""
        while True:
            time.sleep(IDLE_CHECK)
            for session in list(self._sessions.values()):
                session.end_idle(IDLE_TIME)

    def define(self, definition: Definition) -> None:
        """Make a function known to DuckDB. NotImplementedError if one of its types cannot be passed to Python."""
        self.known.define(definition)

    def load(self, connection: DuckDBPyConnection) -> tuple[list[str], list[str]]:
        """Make all functions known that this server has signed. The others cannot be called. Returns the names of all
        aggregates, and of all functions that get whole columns."""
        aggregates, tables = [], []
        for macro in macros(connection):
            first = macro.entries[0].definition
            if first.kind == "aggregate":
                aggregates.append(first.name)
            if first.kind == "table" or first.takes_columns:
                tables.append(first.name)
                # They become known with their calls.
                continue
            for entry in macro.entries:
                if self.is_trusted(entry):
                    # One with a type of another version cannot be called.
                    with contextlib.suppress(NotImplementedError):
                        self.define(entry.definition)
        return aggregates, tables

    def known_table(self, digest: str) -> TableMacro | None:
        """The table functions that have this digest, if a session has called them."""
        return self._tables.get(digest)

    def remember_table(self, macro: Macro) -> TableMacro:
        """Remember table functions for later calls of all sessions, if this server has signed them."""
        untrusted = next((entry for entry in macro.entries if not self.is_trusted(entry)), None)
        found = TableMacro(macro, untrusted)
        if untrusted is not None:
            # Another macro may have the same digest with the right signatures.
            return found
        with self._lock:
            if len(self._tables) >= MAX_TABLES:
                self._tables.clear()
            self._tables[macro.digest] = found
        return found

    def find(self, connection: DuckDBPyConnection, identity: str) -> Entry | None:
        """The function with this id, trusted or not."""
        for macro in macros(connection):
            for entry in macro.entries:
                if entry.definition.id == identity:
                    return entry
        return None
