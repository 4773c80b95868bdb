"""What names and arguments of calls of table functions mean.

A statement with a call is several statements of DuckDB's, and DuckDB binds each of them. A statement that is repeated
need not look up its names again, nor have the arguments bound to know their columns, while the session sees the same
catalog: for a call with one row, that takes longer than the call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.failures import is_passing

from colonnade_serve._core import Refused

from .function_failure import refused
from .snapshot_cache import SnapshotCache
from .table_arguments import UNKNOWN, BoundArgument, Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .catalog_epoch import SessionEpoch
    from .function_entry import Definition, Entry
    from .function_store import TableMacro
    from .functions import SessionFunctions
    from .library import Bound, Library
    from .read_only_connection import ReadOnlyConnection
    from .statement_check import StatementCheck
    from .statement_transaction import StatementTransaction

#: How many names and arguments a session remembers, and the longest argument.
MAX_KNOWN = 64
MAX_CHARACTERS = 4096

INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")} | {
    "INTEGER",
    "UINTEGER",
}


@dataclass(frozen=True)
class ArgumentColumns:
    """What is known of an argument: its columns, unless they depend on values."""

    columns: list[tuple[str, str]] | None
    #: Whether that is known.
    is_decided: bool


class TableLookup:
    """The names and arguments of one session."""

    def __init__(
        self,
        functions: SessionFunctions,
        library: Library,
        statement_check: StatementCheck,
        transactions: StatementTransaction | ReadOnlyConnection,
        epoch: SessionEpoch,
    ) -> None:
        self.functions = functions
        self.library = library
        self.connection = library.connection
        self.statement_check = statement_check
        self.transactions = transactions
        self.epoch = epoch
        self._names: SnapshotCache[tuple[str | None, TableMacro | None]] = SnapshotCache(epoch, MAX_KNOWN)
        self._arguments: SnapshotCache[ArgumentColumns] = SnapshotCache(epoch, MAX_KNOWN)
        self._casts: SnapshotCache[bool] = SnapshotCache(epoch, MAX_KNOWN)
        self._linear: SnapshotCache[bool] = SnapshotCache(epoch, MAX_KNOWN)

    def named(self, schema: str | None, name: str) -> tuple[str | None, TableMacro | None]:
        """What a name means: `table` or `column` with the functions, or nothing."""
        snapshot, known = self.epoch.now, self._names.find((schema, name))
        if known is None:
            known = self._looked_up(schema, name)
            self._names.keep((schema, name), known, snapshot)
        return known

    def _looked_up(self, schema: str | None, name: str) -> tuple[str | None, TableMacro | None]:
        for use, find in (("table", self.functions.find_table), ("column", self.functions.find_column)):
            found = find(schema, name)
            if found is not None:
                return use, found
        return None, None

    def bind(self, given: Input, values: dict[str, object] | None) -> BoundArgument:
        """The columns of an argument. The query only reads."""
        known = self._arguments.find(given.key)
        if known is not None and known.columns is not None:
            return BoundArgument(given, known.columns)
        used = None if values is None else {number: values[number] for number in given.parameters}
        statement = self.statement_check.check(self.library, self.statement_check.allowed(given.query), used or None)
        if statement is None or not statement.is_query or statement.is_late:
            raise refused(
                "an argument of a table function is no query whose columns are known", "0A000", "Write SELECT."
            )
        if statement.changes:
            hint = "Write its rows into a table first, and read them from there."
            raise refused("a query of a table function that changes the database", "0A000", hint)
        return BoundArgument(given, columns_of(statement))

    def learn(self, given: Input) -> None:
        """Find the columns of an argument that comes once more, if they depend on no values. An error of that is
        reported when the statement runs: so this is done outside of transactions."""
        snapshot, known = self.epoch.now, self._arguments.find(given.key)
        if snapshot is None or not self.transactions.is_idle or len(given.sql) > MAX_CHARACTERS:
            return
        if known is None:
            self._arguments.keep(given.key, ArgumentColumns(None, False), snapshot)
        if known is None or known.is_decided:
            return
        columns = None
        try:
            statement = self.statement_check.check(self.library, self.statement_check.allowed(given.query), None)
            if statement is not None and statement.is_query and not statement.is_late and not statement.changes:
                columns = columns_of(statement)
        except (duckdb.Error, Refused) as error:
            if is_passing(error):
                raise
        finally:
            # It was only bound.
            self.transactions.roll_back()
        if columns is not None and any(type_ == "UNKNOWN" for _, type_ in columns):
            columns = None
        self._arguments.keep(given.key, ArgumentColumns(columns, True), snapshot)

    def keeps_order(self, sql: str, values: dict[str, object]) -> bool:
        """Whether one thread numbers the rows of a query and passes them on in this order, by DuckDB's plan. Several
        threads do if the query is a join, for example. Whatever this says, the numbers are checked when rows arrive."""
        snapshot = self.epoch.now
        if self._linear.find(sql):
            return True
        ((_, plan),) = self.connection.execute(f"EXPLAIN (FORMAT json) {sql}", values or None).fetchall()
        (root,) = json.loads(plan)
        window = next((node for node in chain(root) if "WINDOW" in str(node.get("name"))), None)
        if window is None or window["name"] != "STREAMING_WINDOW":
            return False
        if len(sql) <= MAX_CHARACTERS and not chain(window)[-1].get("children"):
            # Without a join below it, no other data changes that.
            self._linear.keep(sql, True, snapshot)
        return True

    def choose(self, name: str, entries: Sequence[Entry], columns: list[tuple[str, bool]]) -> Entry:
        """The function that takes arguments with these types, each of a query or a value."""
        fitting = []
        for entry in entries:
            score = self._score(entry.definition, columns)
            if score is not None:
                fitting.append((score, entry))
        best = [entry for score, entry in fitting if score == max(score for score, _ in fitting)]
        if len(best) == 1:
            return best[0]
        signature = f"{name}({', '.join(type_ for type_, _ in columns)})"
        if best:
            hint = "Cast the columns of the query to the types of the parameters."
            raise refused(f"function {signature} is not unique", "42725", hint)
        candidates = ", ".join(entry.definition.signature for entry in entries)
        hint = f"Cast the columns of the query to the types of the parameters. There is: {candidates}."
        raise refused(f"function {signature} does not exist", "42883", hint)

    def _score(self, definition: Definition, columns: list[tuple[str, bool]]) -> int | None:
        """How many types are those of the parameters; None if the columns do not fit."""
        if definition.is_variadic:
            return 0
        parameters = definition.parameters
        if len(columns) > len(parameters) or any(parameter.default is None for parameter in parameters[len(columns) :]):
            return None
        score = 0
        for (type_, is_query), parameter in zip(columns, parameters, strict=False):
            if type_ == parameter.type:
                score += 1
            elif type_ in UNKNOWN or (not is_query and {type_, parameter.type} <= INTEGERS):
                continue
            elif not self._is_implicit(type_, parameter.type):
                return None
        return score

    def _is_implicit(self, source: str, target: str) -> bool:
        """Whether DuckDB casts values of a type to another one by itself."""
        snapshot, known = self.epoch.now, self._casts.find((source, target))
        if known is not None:
            return known
        query = f"SELECT system.main.can_cast_implicitly(CAST(NULL AS {source}), CAST(NULL AS {target}))"
        ((found,),) = self.connection.execute(query).fetchall()
        self._casts.keep((source, target), found, snapshot)
        return found


def columns_of(statement: Bound) -> list[tuple[str, str]]:
    return list(zip(statement.columns, map(str, statement.types), strict=True))


def chain(node: dict[str, Any]) -> list[dict[str, Any]]:
    """A node of a plan and its descendants, as long as each has one child."""
    found = [node]
    while len(children := found[-1].get("children") or []) == 1:
        found.append(children[0])
    return found
