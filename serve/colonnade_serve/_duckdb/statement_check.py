"""Checks each statement of a client before it runs.

`_core.Fence` reads a statement's tokens and returns the kinds that it may have. DuckDB's own kind of the statement must
be one of these.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb

from colonnade_serve._core import Fence

from .hidden_files import NO_FILES
from .macro_errors import macro_error
from .refusal import refuse
from .result_width import check_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

    from .read_only_connection import ReadOnlyConnection


def fence_for(root: DuckDBPyConnection, max_bytes: int) -> Fence:
    """The fence for this version of DuckDB. It refuses DuckDB's functions that are not in its lists."""
    query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE database_name = 'system'"
    names = root.execute(query)
    return Fence([name for (name,) in names.fetchall()], max_bytes)


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
class StatementCheck:
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
            if (told := macro_error(str(error))) is not None:
                raise told from None
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
