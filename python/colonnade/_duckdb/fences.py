"""What a client of the server may do with DuckDB: the lists of what is allowed, put before every statement.

`_core.Fence` reads a statement's tokens and says what it may be; DuckDB's own kind of it must be one of those. DuckDB's
switches (no access to files, locked configuration, read-only transactions) stand behind that, and do not replace it:
with the switches alone clients could open the files of the database itself.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import duckdb

from colonnade._core import Fence, Refused

from .exact import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection

#: The longest statement. Long values are cheap; many are not, and are counted (duckdb/src/fence/depth.rs).
MAX_STATEMENT_BYTES = 16_000_000


@dataclass(frozen=True)
class Fences:
    """What the operator lets clients have of the machine; None is DuckDB's default."""

    #: Whether statements may read and write the files that the server's user may.
    files: bool = False
    #: In DuckDB's words, such as `4GB`.
    memory: str | None = None
    threads: int | None = None
    #: Where DuckDB puts what does not fit into the memory, and how much of that there may be.
    temp_directory: str | None = None
    temp_size: str | None = None
    max_statement_bytes: int = MAX_STATEMENT_BYTES


#: What a client may set: it concerns its own session only, which not all of DuckDB's session settings do
#: (default_order, default_null_order and default_collation reach the others). Drivers set the first ones.
OWN_SETTINGS = (
    "TimeZone",
    "schema",
    "search_path",
    "Calendar",
    "enable_progress_bar",
    "ieee_floating_point_ops",
    "integer_division",
    "order_by_non_integer_literal",
    "scalar_subquery_error_on_multiple_rows",
)


def configure(root: DuckDBPyConnection, fences: Fences) -> None:
    """Configure the database, for good: no later statement changes what is not a session's own."""
    settings: dict[str, object] = {
        # A query must not read this process's Python variables.
        "python_enable_replacements": False,
        # What the server announces; text forms of times with a zone depend on it.
        "TimeZone": "UTC",
        "memory_limit": fences.memory,
        "threads": fences.threads,
        "temp_directory": fences.temp_directory,
        "max_temp_directory_size": fences.temp_size,
        # Extensions are code: the operator's user would run it.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "allowed_configs": list(OWN_SETTINGS),
    }
    for name, value in settings.items():
        if value is not None:
            root.execute(f"SET GLOBAL {name} = {in_sql(value)}")
    if not fences.files:
        root.execute("SET GLOBAL enable_external_access = false")
    root.execute("SET GLOBAL lock_configuration = true")


def in_sql(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(in_sql, value))}]"
    return str(value).lower() if isinstance(value, (bool, int)) else literal(str(value))


def fence_for(root: DuckDBPyConnection, max_bytes: int) -> Fence:
    """The lists for the engine that runs: what it has and they have not is refused."""
    names = root.execute("SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'system'")
    return Fence([name for (name,) in names.fetchall()], max_bytes)


#: A table that is not there.
NO_FILES = "files, which are not allowed"


def hide_files(root: DuckDBPyConnection, fence: Fence, catalog: str) -> None:
    """Put macros that fail in front of the functions that open files.

    DuckDB reads a table whose name looks like a file's by calling such a function by its name. It finds the macros
    first: they are in a schema on every session's search path, and DuckDB's own schema comes last.
    """
    root.execute(f"CREATE TABLE {catalog}.main.{quoted(NO_FILES)} (i INT)")
    names = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
    for (name,) in root.execute(names).fetchall():
        if fence.decision("functions", name) == "files":
            body = f"AS TABLE SELECT * FROM {catalog}.main.{quoted(NO_FILES)}"
            root.execute(f"CREATE MACRO {catalog}.main.{quoted(name)}(name) {body}")
    root.execute(f"DROP TABLE {catalog}.main.{quoted(NO_FILES)}")


#: How the server itself writes transaction statements. It reads those of clients and writes them anew.
TRANSACTIONS = frozenset(("BEGIN", "BEGIN TRANSACTION", "BEGIN TRANSACTION READ ONLY", "COMMIT", "ROLLBACK"))


@dataclass(frozen=True)
class Statement:
    """A statement that may run, as DuckDB understood it without running it."""

    #: DuckDB's name of its kind.
    kind: str
    columns: list[str]
    types: list[Any]
    #: Names and types.
    parameters: list[tuple[str, Any]]
    #: `query_result`, `changed_rows` or `nothing`.
    gives: str
    #: Whether the columns are known only with values, or once it has run.
    is_late: bool
    #: Whether it changes a database: sequences, too, and within a query.
    changes: bool

    @property
    def is_query(self) -> bool:
        """Whether it gives rows of its own, and not DuckDB's word that it is done."""
        return self.gives == "query_result"


@dataclass(frozen=True)
class Gate:
    """Checks each statement of a session before it runs."""

    fence: Fence
    files: bool
    read_only: bool

    #: An INSERT that is longer is not bound beforehand: that would double the work.
    LONG: ClassVar = 65_536

    def check(
        self, connection: DuckDBPyConnection | ReadOnlyConnection, sql: str, values: dict[str, object] | None
    ) -> Statement | None:
        """The statement, if there is one; raises what keeps it from running."""
        kinds, inner, has_returning = self.fence.check(sql, not self.read_only, self.files)
        if not kinds:
            return None
        if kinds == ["transaction"]:
            if sql not in TRANSACTIONS:
                # The server would have read it as one, and does not know of it.
                refuse("a transaction statement in this form")
            return Statement("transaction", [], [], [], "nothing", False, False)
        if len(sql) > self.LONG and kinds == ["insert"] and not has_returning:
            return Statement("insert", [], [], [], "changed_rows", False, True)
        try:
            if inner is not None:
                self._agree(inner[1], connection._bind(inner[0], with_type=True)[5])
            # The overload that takes values needs `with_writes`. That a write stays in its role is decided otherwise.
            bound = connection._bind(sql, with_type=True, with_writes=True, values=values)
        except duckdb.CatalogException as error:
            if f"name {NO_FILES} " not in str(error):
                raise
            # A macro of `hide_files`.
            refuse("a file in the place of a table")
        names, types, parameters, gives, is_late, kind, changes = bound
        self._agree(kinds, kind)
        return Statement(kind, names, types, parameters, gives, is_late, changes)

    def check_insert(self, sql: str) -> None:
        """See that a statement of the server's own for a client's rows is an INSERT that the client may send."""
        kinds, _, _ = self.fence.check(sql, not self.read_only, self.files)
        self._agree(kinds, "insert")

    @staticmethod
    def _agree(kinds: Iterable[str], kind: str) -> None:
        if kind not in kinds:
            refuse(f"a statement that DuckDB takes for {kind.upper().replace('_', ' ')}")


def refuse(what: str) -> NoReturn:
    raise Refused(f"{what}: not allowed for clients of this server", "42501", None)


class ReadOnlyConnection:
    """A connection on which everything happens in read-only transactions: DuckDB refuses every
    write in them. A statement outside of a transaction of the client's has one of its own.

    Only this class begins and ends transactions. That none has ended otherwise is asked of DuckDB.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        #: Whether this class has begun a transaction for one statement.
        self._ours = False
        #: DuckDB's number of the transaction that the client has begun.
        self._theirs: int | None = None

    def transaction(self, sql: str) -> DuckDBPyConnection:
        """Run one of `TRANSACTIONS`."""
        self.finish()
        if sql.startswith("BEGIN"):
            done = self._connection.execute("BEGIN TRANSACTION READ ONLY")
            self._theirs = self._number()
            return done
        # Whether it succeeds or not, no transaction is left.
        self._theirs = None
        return self._connection.execute(sql)

    def check(self) -> None:
        """See that the client's transaction is the one that was begun; otherwise the session is over."""
        if self._theirs is None:
            return
        try:
            number = self._number()
        except duckdb.TransactionException:
            # It has failed, so it is there, and nothing can be done in it.
            return
        if number != self._theirs:
            self._broken()

    def _number(self) -> int:
        ((number,),) = self._connection.execute("SELECT system.main.current_transaction_id()").fetchall()
        return number

    def _broken(self) -> NoReturn:
        self._connection.close()
        refuse("to end the read-only transaction of this session, which is closed now,")

    def open(self) -> DuckDBPyConnection:
        """The connection, within a transaction."""
        if self._theirs is None and not self._ours:
            # It fails if a transaction is open.
            self._connection.execute("BEGIN TRANSACTION READ ONLY")
            self._ours = True
        return self._connection

    def finish(self) -> None:
        """End the transaction of a statement that is done."""
        if not self._ours:
            return
        try:
            # Temporary tables stay.
            self._connection.execute("COMMIT")
        except duckdb.Error:
            try:
                self._connection.execute("ROLLBACK")
            except duckdb.TransactionException:
                # It was not there any more.
                self._broken()
        # If memory was short for that, too, the transaction is there, and the next statement ends it first.
        self._ours = False

    def execute(self, sql: str, *arguments: Any) -> DuckDBPyConnection:
        return self.open().execute(sql, *arguments)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        with contextlib.suppress(duckdb.Error):
            self._connection.close()

    def __getattr__(self, name: str) -> Any:
        # Whatever else there is happens inside of a transaction, too.
        return getattr(self.open(), name)
