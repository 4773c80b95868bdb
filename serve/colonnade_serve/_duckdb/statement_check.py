"""Checks each statement of a client before it runs.

The fence (`serve/duckdb/src/fence.rs`) has read its tokens before it comes here, and found the kinds that it may have.
DuckDB's own kind of the statement must be one of these.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import duckdb

from colonnade_serve._core import Fence

from .hidden_files import NO_FILES
from .library import Bound
from .macro_errors import macro_error
from .refusal import refuse
from .result_width import check_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

    from colonnade_serve._core import AllowedStatement

    from .library import Library


def fence_for(root: DuckDBPyConnection, max_bytes: int) -> Fence:
    """The fence for this version of DuckDB. It refuses DuckDB's functions that are not in its lists."""
    query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE database_name = 'system'"
    names = root.execute(query)
    return Fence([name for (name,) in names.fetchall()], max_bytes)


#: The transaction statements that the server writes. It never passes on those of clients.
TRANSACTIONS = frozenset(("BEGIN", "BEGIN TRANSACTION", "BEGIN TRANSACTION READ ONLY", "COMMIT", "ROLLBACK"))


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
        library: Library,
        statement: AllowedStatement,
        values: dict[str, object] | None,
        columns: int = sys.maxsize,
    ) -> Bound | None:
        """The statement as DuckDB binds it, or None for an empty text. Raises the error of a statement that may not or
        cannot run. `columns` is the most that the form of its result has."""
        sql, kinds, inner = statement.sql, statement.kinds, statement.inner
        if not kinds:
            return None
        if kinds == ["transaction"]:
            if sql not in TRANSACTIONS:
                # The server keeps track of transactions, and has not recognized this statement.
                refuse("a transaction statement in this form")
            return Bound(sql, "transaction")
        if len(sql) > self.LONG_INSERT and kinds == ["insert"] and not statement.has_returning:
            return Bound(sql, "insert", gives="changed_rows", changes=True)
        try:
            if inner is not None:
                self._check_kind(inner[1], library.bind(inner[0]).kind)
            bound = library.bind(sql, values)
        except duckdb.Error as error:
            if f"name {NO_FILES} " in str(error):
                # The error of a macro of `hide_files`.
                refuse("a file in place of a table")
            if (told := macro_error(str(error))) is not None:
                raise told from None
            raise
        self._check_kind(kinds, bound.kind)
        self.check_width(bound.columns, bound.types, columns)
        if kinds[0] == "alter":
            # Of an ALTER that it runs as several statements, DuckDB knows neither what it gives nor what it changes.
            return Bound(sql, "alter", parameters=bound.parameters, changes=True)
        return bound if inner is None else replace(bound, inner=inner[0])

    def check_width(self, names: Sequence[str], types: Sequence[DuckDBPyType], columns: int) -> None:
        """Refuse a result that is too wide, before anything is done for each of its columns."""
        check_width(names, types, columns, self.max_columns)

    def allowed(self, sql: str) -> AllowedStatement:
        """A statement that this package has written with parts of a client's, if the client may send it."""
        return self.fence.check(sql, not self.read_only, self.files)

    def check_insert(self, statement: AllowedStatement) -> None:
        """Check that the statement which the server wrote for a client's COPY is an INSERT."""
        self._check_kind(statement.kinds, "insert")

    @staticmethod
    def _check_kind(kinds: Iterable[str], kind: str) -> None:
        if kind not in kinds:
            refuse(f"a statement that DuckDB reads as {kind.upper().replace('_', ' ')}")
