"""Limits what clients of the server may do with DuckDB. Every statement is checked before it runs.

`_core.Fence` reads a statement's tokens and returns the kinds that it may have. DuckDB's own kind of the statement must
be one of these. DuckDB's switches (no access to files, locked configuration, read-only transactions) are a second
barrier. They are not enough, because they allow clients to open the files of the database itself.
"""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import duckdb
from colonnade._sources.duckdb_types.exact import literal, quoted

from colonnade_serve._core import Fence, Refused

from .result_width import check_width
from .transaction_control import TransactionControl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

#: The longest statement by default. Long values cost little; serve/duckdb/src/fence/depth.rs limits the tokens.
MAX_STATEMENT_BYTES = 16_000_000
#: The most columns of a result by default, and the most fields within them. `bench/limits.py` measures what they take.
MAX_COLUMNS = 5000


@dataclass(frozen=True)
class Fences:
    """The resources of the machine that clients may use. None is DuckDB's default."""

    #: Whether statements may read and write files, with the permissions of the server's process.
    files: bool = False
    #: In DuckDB's notation, such as `4GB`.
    memory: str | None = None
    threads: int | None = None
    #: The directory for data that does not fit into the memory, and the largest size of that data.
    temp_directory: str | None = None
    temp_size: str | None = None
    max_statement_bytes: int = MAX_STATEMENT_BYTES
    max_columns: int = MAX_COLUMNS


#: The settings that a client may change, because they affect only its session. Some of DuckDB's session settings affect
#: other sessions too (default_order, default_null_order and default_collation). Drivers use the first ones.
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
    """Configure the database and lock the configuration, except for the settings of a session."""
    settings: dict[str, object] = {
        # Queries must not read Python variables of this process.
        "python_enable_replacements": False,
        # The server reports this zone to clients, and the text of times with a zone depends on it.
        "TimeZone": "UTC",
        "memory_limit": fences.memory,
        "threads": fences.threads,
        "temp_directory": fences.temp_directory,
        "max_temp_directory_size": fences.temp_size,
        # Extensions are code, which would run with the rights of the server's process.
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
        # Not `[…]`, which calls a macro with the name list_value, if the database has one.
        return f"system.main.list_value({', '.join(map(in_sql, value))})"
    return str(value).lower() if isinstance(value, (bool, int)) else literal(str(value))


def fence_for(root: DuckDBPyConnection, max_bytes: int) -> Fence:
    """The fence for this version of DuckDB. It refuses DuckDB's functions that are not in its lists."""
    query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE database_name = 'system'"
    names = root.execute(query)
    return Fence([name for (name,) in names.fetchall()], max_bytes)


#: The name of a table that does not exist.
NO_FILES = "files, which are not allowed"


def hide_files(connection: DuckDBPyConnection, fence: Fence, schema: str) -> None:
    """Create macros that fail, with the names of the functions that open files, in a schema of the catalog.

    If the name of a table looks like a file's name, DuckDB calls such a function by its name. It finds the macros
    first, because their schema is on the search path of every session, and DuckDB's own schema comes last.
    """
    connection.execute(f"CREATE TABLE {schema}.{quoted(NO_FILES)} (i INT)")
    names = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
    for (name,) in connection.execute(names).fetchall():
        if fence.decision("functions", name) == "files":
            body = f"AS TABLE SELECT * FROM {schema}.{quoted(NO_FILES)}"
            connection.execute(f"CREATE MACRO {schema}.{quoted(name)}(name) {body}")
    connection.execute(f"DROP TABLE {schema}.{quoted(NO_FILES)}")


#: The transaction statements that the server writes. It never passes on those of clients.
TRANSACTIONS = frozenset(("BEGIN", "BEGIN TRANSACTION", "BEGIN TRANSACTION READ ONLY", "COMMIT", "ROLLBACK"))


@dataclass(frozen=True)
class Statement:
    """A statement that may run, as DuckDB has bound it."""

    #: DuckDB's name of its kind.
    kind: str
    columns: list[str]
    types: list[Any]
    #: Their names and types.
    parameters: list[tuple[str, Any]]
    #: `query_result`, `changed_rows` or `nothing`.
    gives: str
    #: Whether the columns are unknown until parameters have values, or until it runs.
    is_late: bool
    #: Whether it changes a database, including sequences, and including changes within a query.
    changes: bool

    @property
    def is_query(self) -> bool:
        """Whether it returns rows, other than those in which DuckDB reports a statement's success."""
        return self.gives == "query_result"


@dataclass(frozen=True)
class Gate:
    """Checks each statement of a session before it runs."""

    fence: Fence
    files: bool
    read_only: bool
    #: The most columns of a result, and the most fields of its types.
    max_columns: int

    #: A longer INSERT is not bound before it runs, because binding takes as long as running it.
    LONG_INSERT: ClassVar = 65_536

    def check(
        self,
        connection: DuckDBPyConnection | ReadOnlyConnection,
        sql: str,
        values: dict[str, object] | None,
        columns: int = sys.maxsize,
    ) -> Statement | None:
        """The statement, or None for an empty text. Raises the error of a statement that may not or cannot run.
        `columns` is the most that the form of its result has."""
        kinds, inner, has_returning = self.fence.check(sql, not self.read_only, self.files)
        if not kinds:
            return None
        if kinds == ["transaction"]:
            if sql not in TRANSACTIONS:
                # The server keeps track of transactions, and has not recognized this statement.
                refuse("a transaction statement in this form")
            return Statement("transaction", [], [], [], "nothing", False, False)
        if len(sql) > self.LONG_INSERT and kinds == ["insert"] and not has_returning:
            return Statement("insert", [], [], [], "changed_rows", False, True)
        try:
            if inner is not None:
                self._check_kind(inner[1], connection._bind(inner[0], with_type=True)[5])
            # The overload with values needs `with_writes`. The fence has decided whether the client may write.
            bound = connection._bind(sql, with_type=True, with_writes=True, values=values)
        except duckdb.Error as error:
            if f"name {NO_FILES} " in str(error):
                # The error of a macro of `hide_files`.
                refuse("a file in place of a table")
            if (said := said_of_macro(str(error))) is not None:
                raise said from None
            raise
        names, types, parameters, gives, is_late, kind, changes = bound
        self._check_kind(kinds, kind)
        self.check_width(names, types, columns)
        if kinds[0] == "alter":
            # Of an ALTER that it runs as several statements, DuckDB knows neither what it gives nor what it changes.
            return Statement("alter", [], [], parameters, "nothing", False, True)
        return Statement(kind, names, types, parameters, gives, is_late, changes)

    def check_width(self, names: Sequence[str], types: Sequence[DuckDBPyType], columns: int) -> None:
        """Refuse a result that is too wide, before anything is done for each of its columns."""
        check_width(names, types, columns, self.max_columns)

    def inner(self, sql: str) -> str:
        """The statement within EXPLAIN or PREPARE."""
        _, inner, _ = self.fence.check(sql, not self.read_only, self.files)
        return "" if inner is None else inner[0]

    def check_insert(self, sql: str) -> None:
        """Check that the statement which the server wrote for a client's COPY is an INSERT that the client may run."""
        kinds, _, _ = self.fence.check(sql, not self.read_only, self.files)
        self._check_kind(kinds, "insert")

    @staticmethod
    def _check_kind(kinds: Iterable[str], kind: str) -> None:
        if kind not in kinds:
            refuse(f"a statement that DuckDB reads as {kind.upper().replace('_', ' ')}")


#: What DuckDB says of macros and of what they call, and what a client is told: it has called a function. A message, an
#: SQLSTATE and a hint. Functions in Python are macros.
SAID_OF_MACROS = {
    r'Invalid Input Error: Function "(.*)" is a Macro Function\.': (
        'DISTINCT, ORDER BY or FILTER specified, but there is no aggregate "{}" with these arguments',
        "42809",
        None,
    ),
    r"Binder Error: Window function macro bodies must contain exactly one aggregate function": (
        "OVER specified, but the function is neither a window function nor an aggregate",
        "42809",
        None,
    ),
    r"Catalog Error: (?:Table )?Macro Function with name (.*) does not exist!": (
        'function "{}" does not exist',
        "42883",
        None,
    ),
    # The database has functions, and the server has not.
    r"Catalog Error: Scalar Function with name colonnade_\w+ does not exist!": (
        "functions in Python are not enabled on this server",
        "0A000",
        "Start the server with --udf.",
    ),
}


def said_of_macro(error: str) -> Refused | None:
    """What a client is told instead of an error of DuckDB's that speaks of a macro."""
    for pattern, (message, code, hint) in SAID_OF_MACROS.items():
        if found := re.match(pattern, error):
            return Refused(message.format(*found.groups()), code, None, None, hint)
    return None


def refuse(what: str) -> NoReturn:
    raise Refused(f"{what}: not allowed for clients of this server", "42501", None)


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
