"""DuckDB as the server's engine: one database, and the sessions of its clients (`session.py`).

`serve/bridge/src/serve.rs` calls these modules and reads the streams without the interpreter lock.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from colonnade._sources.duckdb_types.exact import literal, quoted
from colonnade._sources.duckdb_types.opening import NO_EXTENSIONS, opened

from colonnade_serve._core import register_functions

from .catalog import catalog_names, keep_catalog
from .catalog_epoch import CatalogEpoch, SessionEpoch
from .catalog_file import PUBLIC, attach_catalog, register_for_sessions
from .deferred_calls import DeferredCalls
from .function_store import FunctionStore
from .functions import SessionFunctions
from .kept_rows import KeptRows
from .named_types import Definitions
from .overloads import Overloads
from .remembered import MAX_STATEMENTS
from .resource_limits import ResourceLimits, configure
from .session import Session
from .snapshot_cache import SnapshotCache
from .statement_check import StatementCheck, fence_for
from .table_functions import TableFunctions
from .table_lookup import TableLookup
from .vector_rows import StatementGathering, can_gather

if TYPE_CHECKING:
    from colonnade_serve._core import FunctionProcesses


class Engine:
    """One database, which all sessions share."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        limits: ResourceLimits | None = None,
        scratch: Path | None = None,
        processes: FunctionProcesses | None = None,
    ) -> None:
        self._limits = limits or ResourceLimits()
        if processes is not None:
            register_functions()
        register_for_sessions()
        self._can_gather = can_gather()
        self._root = opened(path, NO_EXTENSIONS | ({"access_mode": "read_only"} if read_only else {}))
        ((self._database,),) = self._root.execute("SELECT system.main.current_database()").fetchall()
        query = "SELECT schema_name FROM system.main.duckdb_schemas() WHERE database_name = $1"
        has_public = (PUBLIC,) in self._root.execute(query, [self._database]).fetchall()
        self.version = f"DuckDB {duckdb.__version__}"
        #: The name that clients must use for the database; None for a database in memory, which accepts any name.
        self.database = None if path == ":memory:" else self._database
        #: The name of the database, and whether it has a schema `public`. If not, clients see `main` as `public`.
        self.served = (self._database, has_public)
        self._lock = threading.Lock()
        self._overloads = Overloads(self._root.cursor())
        #: Whether clients may use files.
        self.files = self._limits.files
        self.fence = fence_for(self._root, self._limits.max_statement_bytes)
        self._main_name = main_name = "main" if has_public else PUBLIC
        attach_catalog(self._root, main_name, None if self._limits.files else self.fence, scratch)
        #: What clients may name with the schema `pg_catalog`.
        self.catalog_names = catalog_names(self._root)
        configure(self._root, self._limits)
        #: Whether sessions have functions in Python: whether there are `processes`, which run them.
        self.has_functions = processes is not None
        self._store = None if processes is None else FunctionStore(None if path == ":memory:" else path, processes)
        self._epoch = CatalogEpoch()
        self._definitions = Definitions()
        #: The names of aggregates in Python, and of table functions.
        self.aggregates: list[str] = []
        self.table_functions: list[str] = []
        if self._store is not None:
            self.aggregates, self.table_functions = self._store.load(self._root)
        ((self._threads,),) = self._root.execute("SELECT system.main.current_setting('threads')").fetchall()

    def session(self, user: str = "duckdb", read_only: bool = False) -> Session:
        """A new connection for a user, who may write unless `read_only` is set."""
        return self._open(user, read_only, None)

    def sibling(self, caller: Session) -> Session:
        """A connection on which the caller's functions run their queries: read-only, for the same user, with the same
        function processes."""
        session = self._open(caller.user, True, caller)
        session.follow(caller)
        return session

    def _open(self, user: str, read_only: bool, caller: Session | None) -> Session:
        with self._lock:
            connection, parser = self._root.cursor(), self._root.cursor()
        connection.execute(f"USE {quoted(self._database)}")
        keep_catalog(connection)
        # The value of current_user. No permission depends on it.
        connection.execute(f"SET VARIABLE colonnade_user = {literal(user)}")
        epoch = SessionEpoch(self._epoch)
        session = Session(
            connection,
            parser,
            StatementCheck(self.fence, self._limits.files, read_only, self._limits.max_columns),
            user,
            self._overloads,
            self._definitions,
            epoch,
        )
        if self._can_gather:
            session.gather(StatementGathering(session.library))
        if self._store is not None:
            if caller is not None and caller.functions is not None:
                processes = self._store.sibling(caller.functions.processes, connection)
            else:
                processes = self._store.session(connection)
            own, lifetime = session._connection, session.lifetime
            names = (user, self._database, self._main_name)
            self._store.watch(lifetime)
            library, check = session.library, session.statement_check
            functions = SessionFunctions(self._store, processes, library, check, epoch, *names)
            lookup = TableLookup(functions, library, check, lifetime.transactions, epoch)
            functions.tables = TableFunctions(functions, own, lookup, self._threads)
            session.include(
                functions,
                functions.tables,
                DeferredCalls(library, processes, epoch),
                reads=SnapshotCache(epoch, MAX_STATEMENTS),
                kept=KeptRows(own, parser, epoch, self._database),
            )
        return session

    def close(self) -> None:
        self._root.close()


def resources(memory: str | None, threads: int | None) -> tuple[str, int]:
    """The memory in DuckDB's notation, and the threads. For None, these are DuckDB's defaults on this machine."""
    with duckdb.connect() as connection:
        if memory is not None:
            connection.execute(f"SET memory_limit = {literal(memory)}")
        query = "SELECT system.main.current_setting('memory_limit'), system.main.current_setting('threads')"
        ((found_memory, found_threads),) = connection.execute(query).fetchall()
    return found_memory, threads or found_threads
