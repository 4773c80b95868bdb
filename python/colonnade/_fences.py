"""What a client of the server may not do with DuckDB, whatever it asks for.

DuckDB itself is told to keep off files, the network, extensions and its configuration, and read-only users are inside
of read-only transactions, so that nothing depends on understanding a statement. What is looked at by its kind besides
is what DuckDB has no switch for, and what deserves an error of the right class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb
from duckdb import StatementType

from ._exact import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement


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


def put_up(root: DuckDBPyConnection, fences: Fences) -> None:
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


#: Kinds that reach into what all clients share, or out of the database.
OUTSIDE = {StatementType.LOAD: "INSTALL and LOAD"}
FILES = {
    StatementType.ATTACH: "ATTACH",
    StatementType.DETACH: "DETACH",
    StatementType.EXPORT: "EXPORT DATABASE",
    StatementType.COPY_DATABASE: "COPY FROM DATABASE",
}
#: Not writes to DuckDB, but of no business to those who only read: they stop others or cost them time.
MAINTENANCE = {StatementType.VACUUM: "VACUUM and ANALYZE", StatementType.CALL: "CALL and CHECKPOINT"}
#: Likewise what has no kind of its own; DuckDB refuses it as well, in words of its own.
OUTSIDE_WORDS = re.compile(
    r"\s*(?:(?P<secrets>(?:create|drop)\s+(?:or\s+replace\s+)?(?:(?:persistent|temp|temporary)\s+)?secret\b)"
    r"|(?P<extensions>update\s+extensions\b)|(?P<logs>call\s+(?:enable|disable|truncate)_\w*log))",
    re.IGNORECASE,
)
FILE_WORDS = re.compile(r"\s*(?P<databases>import\s+database\b|copy\s+from\s+database\b)", re.IGNORECASE)
GLOBAL = re.compile(r"\bglobal\b", re.IGNORECASE)


def check_words(sql: str, *, files: bool) -> None:
    """Refuse a statement for the words that it begins with, before DuckDB takes it apart."""
    found = OUTSIDE_WORDS.match(sql) or (None if files else FILE_WORDS.match(sql))
    if found is not None:
        refuse(f"{found.lastgroup} of the server")


def check(statement: Statement, *, files: bool, read_only: bool) -> None:
    """Refuse a statement for its kind."""
    refused = OUTSIDE.get(statement.type)
    if refused is None and not files:
        refused = FILES.get(statement.type)
    if refused is None and read_only:
        refused = MAINTENANCE.get(statement.type)
    if refused is None and statement.type == StatementType.SET and GLOBAL.search(statement.query):
        # A value of that name is refused, too; better than to tell the two apart and be wrong.
        refused = "SET GLOBAL"
    if refused is not None:
        refuse(refused)


def refuse(what: str) -> NoReturn:
    raise duckdb.PermissionException(f"Permission Error: {what}: not allowed for clients of this server")


class ReadOnlyConnection:
    """A connection on which everything happens in read-only transactions: DuckDB refuses to write in them, however a
    write is dressed. A statement outside of a transaction of the client's has one of its own."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        #: Whether the client has begun a transaction, or this class has.
        self._theirs = self._ours = False

    def execute(self, statement: Statement | str, *arguments: Any) -> DuckDBPyConnection:
        if isinstance(statement, str):
            statements = self._connection.extract_statements(statement)
            transactional = any(one.type == StatementType.TRANSACTION for one in statements)
            if transactional and len(statements) > 1:
                refuse("transaction statements among others")
        else:
            transactional = statement.type == StatementType.TRANSACTION
        if transactional:
            return self._transaction(statement if isinstance(statement, str) else statement.query)
        self._open()
        return self._connection.execute(statement, *arguments)

    def _transaction(self, sql: str) -> DuckDBPyConnection:
        if re.match(r"\s*(begin|start)\b", sql, re.IGNORECASE):
            self.finish()
            done = self._connection.execute("BEGIN TRANSACTION READ ONLY")
            self._theirs = True
            return done
        self.finish()
        # Whether it succeeds or not, no transaction is left.
        self._theirs = False
        return self._connection.execute(sql)

    def _open(self) -> None:
        if not self._theirs:
            self.finish()
            self._connection.execute("BEGIN TRANSACTION READ ONLY")
            self._ours = True

    def finish(self) -> None:
        """End the transaction of a statement that is done."""
        if self._ours:
            self._ours = False
            try:
                # Temporary tables stay.
                self._connection.execute("COMMIT")
            except duckdb.Error:
                self._connection.execute("ROLLBACK")

    def extract_statements(self, sql: str) -> list[Statement]:
        return self._connection.extract_statements(sql)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        # Whatever else there is happens inside of a transaction, too.
        self._open()
        return getattr(self._connection, name)
