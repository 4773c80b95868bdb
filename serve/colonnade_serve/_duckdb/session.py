"""A client's session: it runs statements and returns Arrow streams."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
from colonnade._sources.duckdb_types import arrow_scan
from colonnade._sources.duckdb_types.exact import exact, quoted
from colonnade._sources.duckdb_types.failures import is_serious

from colonnade_serve._core import Refused

from .answers import Answer, Description, ReleasableTable
from .batch_rows import Limits, reader
from .catalog import CatalogColumns
from .column_names import column_names
from .column_origins import ColumnOrigins
from .discard import removals
from .inputs import FunctionInputs, NamedFunction
from .kept_rows import Keeping
from .library import Bound, Library
from .lifetime import StatementLifetime, binding
from .open_types import OpenTypes
from .read_only_connection import ReadOnlyConnection
from .result_width import check_converted
from .runner import NO_ROWS, StatementRunner
from .session_settings import SessionSettings
from .statement_check import StatementCheck
from .statement_transaction import StatementTransaction
from .table_constraints import Constraint, constraints

if TYPE_CHECKING:
    from colonnade._core import ArrowStream
    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import AllowedStatement

    from .catalog_epoch import CatalogSnapshot, RowSnapshot, SessionEpoch
    from .deferred_calls import DeferredCalls
    from .functions import SessionFunctions
    from .kept_rows import KeptRows
    from .named_types import Definitions
    from .overloads import Overloads
    from .snapshot_cache import SnapshotCache
    from .table_functions import TableFunctions
    from .vector_rows import StatementGathering


class Session:
    """One client's connection. While a statement runs, only `interrupt` may be called."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        parser: DuckDBPyConnection,
        statement_check: StatementCheck,
        user: str,
        overloads: Overloads,
        definitions: Definitions,
        epoch: SessionEpoch,
    ) -> None:
        self.user = user
        transactions = ReadOnlyConnection(connection) if statement_check.read_only else StatementTransaction(connection)
        #: When its statements begin and end.
        self.lifetime = StatementLifetime(transactions)
        self._connection = transactions if isinstance(transactions, ReadOnlyConnection) else connection
        self.library = Library(self._connection, parser, definitions)
        self.statement_check = statement_check
        self._open_types = OpenTypes(self.library, overloads)
        self._origins = ColumnOrigins(self.library, epoch)
        self._settings = SessionSettings(connection)
        self._runner = StatementRunner(self.library, statement_check, self._settings, self.lifetime, epoch)
        #: The statement that `preview` accepted last, until it runs. Its transaction is open until then.
        self._checked: Bound | None = None
        #: The functions in Python, for `serve/bridge/src/serve/functions.rs`; None without `--udf`.
        self.functions: SessionFunctions | None = None
        #: The table functions in Python, for `serve/bridge/src/serve/tables.rs`.
        self.tables: TableFunctions | None = None
        #: The queries of functions that DuckDB has bound as queries that only read.
        self.reads: SnapshotCache[bool] | None = None
        #: The rows of such queries.
        self.kept: KeptRows | None = None
        #: What `serve/bridge/src/serve.rs` calls to end a statement whose rows have been read or dropped.
        self.finish = self.lifetime.finish
        #: What `serve/bridge/src/serve/tables.rs` calls before and, if the statement does not run, after its calls.
        self.begin_calls, self.abandon_calls = self.lifetime.begin_calls, self.lifetime.abandon_calls
        #: Interrupts the query that `read` runs, but not the statement whose function has it run.
        self.interrupt_query = transactions.interrupt

    @property
    def deferred_calls(self) -> DeferredCalls | None:
        """Functions that run beside the plan; None without `--udf`."""
        return self._runner.deferred_calls

    def gather(self, gathering: StatementGathering) -> None:
        """Have queries gathered."""
        self._runner.gathering = gathering

    def include(
        self,
        functions: SessionFunctions,
        tables: TableFunctions,
        deferred_calls: DeferredCalls,
        reads: SnapshotCache[bool],
        kept: KeptRows,
    ) -> None:
        """Have functions in Python."""
        self.functions, self.tables, self.reads, self.kept = functions, tables, reads, kept
        self._runner.deferred_calls = deferred_calls
        self.lifetime.include(deferred_calls.epoch, functions.processes, tables)

    @binding
    def execute(
        self,
        statement: AllowedStatement,
        batch_rows: int,
        batch_bytes: int,
        parameters: dict[str, object] | None,
        gives_rows: bool = False,
        max_columns: int = sys.maxsize,
        may_be_encoded: bool = False,
        has_origins: bool = False,
    ) -> Answer:
        """Run one statement. Rows are streamed in batches within both limits, while DuckDB computes further rows.

        Parameters are texts that the statement casts, bytes, lists of these, or None. With `gives_rows`, a statement
        that returns no rows is refused and does not run. `max_columns` is the most that the form of a result has.
        `may_be_encoded`, `has_origins`: as in `Limits`.
        """
        try:
            limits = Limits(batch_rows, batch_bytes, max_columns, may_be_encoded, has_origins)
            return self._execute(statement, limits, parameters, gives_rows)
        except BaseException:
            self.lifetime.abandon()
            raise

    def _execute(
        self, statement: AllowedStatement, limits: Limits, parameters: dict[str, object] | None, gives_rows: bool
    ) -> Answer:
        bound, self._checked = self._checked, None
        origins = self._origins.find(statement) if limits.has_origins else ()
        if bound is None or bound.sql != statement.sql or parameters is not None:
            self.lifetime.begin()
            if origins is not None:
                answer = self._runner.run_remembered(statement.sql, limits, parameters)
                if answer is not None:
                    answer.origins = origins
                    return answer
            bound = self._runner.bound(statement, parameters, limits.columns)
        if gives_rows and (bound is None or not bound.is_query):
            raise Refused("COPY and DECLARE need a query that gives rows; nothing has run", "0A000", None)
        if bound is None:
            self.lifetime.finish()
            return Answer()
        if origins is None:
            origins = self._origins.of(statement, bound)
        answer = self._runner.run_noted(bound, limits, parameters)
        answer.origins = origins
        if isinstance(self._connection, ReadOnlyConnection) and bound.kind != "select":
            self._connection.check(rows_are_open=answer.stream is not None)
        return answer

    @binding
    def discard(self, what: str) -> None:
        """Remove a part of what the session has, as `discard.py` says. Each statement runs as one of the client's, so
        that all that a session remembers follows."""
        try:
            self.lifetime.begin()
            statements = removals(self._connection, what, self._settings)
            self.lifetime.finish()
            for statement in statements:
                self._execute(self.statement_check.allowed(statement), NO_ROWS, None, False)
        except BaseException:
            self.lifetime.abandon()
            raise

    @binding
    def read(self, allowed: AllowedStatement, batch_rows: int, batch_bytes: int) -> Answer:
        """Run a query of a function in Python. DuckDB's binder decides whether it only reads; anything else is refused
        and does not run. While the session sees the same catalog, it need not decide again."""
        limits, reads, snapshot = Limits(batch_rows, batch_bytes), self.reads, self._snapshot()
        sql, before = allowed.sql, None
        if self.kept is not None and snapshot is not None:
            if (kept := self.kept.results.find(sql)) is not None:
                return kept
            before = self.kept.snapshot(sql)
        known = self._runner.remembered.find(sql)
        if reads is not None and reads.find(sql) and known is not None and known.proof is None:
            answer = self._runner.run_remembered(sql, limits, None)
            if answer is not None and self.deferred_calls is not None and self.deferred_calls.epoch.now == snapshot:
                return self._keeping(sql, answer, before)
            # It was bound while the catalog changed. Nothing has been read of it.
            answer = None
        statement = self.statement_check.check(self.library, allowed, None)
        if statement is None:
            raise Refused("_conn.execute() needs a query, and this text has none", "42601", None)
        if statement.kind != "select" or statement.changes:
            what = "this query writes" if statement.kind == "select" else f"this is {statement.kind.upper()}"
            raise Refused(f"_conn.execute() runs queries that only read, and {what}", "25006", None)
        answer = self._runner.run(statement, limits, None)
        if reads is not None:
            reads.keep(sql, True, snapshot)
        return self._keeping(sql, answer, before)

    def _keeping(self, sql: str, answer: Answer, before: RowSnapshot | None) -> Answer:
        """The answer, whose rows are kept if all of them are read. `before`: what the session saw before it ran, if the
        query is one whose rows can be kept."""
        if self.kept is None or before is None:
            return answer
        return replace(answer, keep=Keeping(self.kept, sql, answer, before))

    def _snapshot(self) -> CatalogSnapshot | None:
        """What the session sees of the catalog. A transaction that this session does not know of is older."""
        calls = self.deferred_calls
        if calls is None or not (self.lifetime.transactions.is_known or calls.epoch.in_statement):
            return None
        return calls.epoch.now

    @binding
    def preview(self, statement: AllowedStatement, max_columns: int) -> Answer | None:
        """The columns of a query that changes the database, without rows. The query does not run. None for other
        statements, and if the columns are unknown until it runs."""
        if statement.sql in self._runner.remembered:
            # It changes nothing. `execute` begins it, and not this: its table functions have run.
            return None
        self.lifetime.begin()
        try:
            bound = self._runner.bound(statement, None, max_columns)
        except BaseException:
            self.lifetime.abandon()
            raise
        if bound is None or not bound.changes or not bound.is_query or bound.is_late:
            # `execute` runs it next, without another check.
            self._checked = bound
            return None
        return self._runner.columns_alone(bound)

    @binding
    def describe(self, statement: AllowedStatement, parameters: dict[str, object] | None) -> Description:
        """The parameters of a statement and, with these values, its columns. The statement does not run."""
        origins = self._origins.find(statement) if statement.may_have_origins else ()
        bound = self.statement_check.check(self.library, statement, parameters)
        if bound is None:
            return Description()
        columns = list(zip(bound.columns, map(str, bound.types), strict=True)) if bound.is_query else None
        # DuckDB describes a statement so if its columns depend on the values of parameters.
        is_late = bound.is_late or columns == [("unknown", "UNKNOWN")]
        if columns is not None and not is_late:
            names = column_names(self.library, bound.sql, bound.columns)
            catalog = CatalogColumns.of(self.library, bound, parameters)
            columns = list(zip(names, catalog.shown(bound.types), strict=True))
        named = [(name, str(type_)) for name, type_ in bound.parameters]
        if parameters is None and named:
            named = self._open_types.of_parameters(bound.inner or bound.sql, dict(named))
        named = [(name, self.library.named_types.shown(type_)) for name, type_ in named]
        if origins is None:
            origins = self._origins.of(statement, bound)
        seen = self._origins.seen if origins else None
        version = None if seen is None else seen.version
        return Description(parameters=named, columns=columns, origins=origins, catalog=version, late=is_late)

    def catalog_version(self) -> tuple[int, int] | None:
        """`CatalogSnapshot.version` of what the session sees now."""
        now = self._origins.now
        return None if now is None else now.version

    @binding
    def constraints(self, table: str) -> list[Constraint]:
        """`table_constraints.constraints`."""
        return constraints(self.library, table)

    @binding
    def open_literals(self, statement: AllowedStatement) -> list[tuple[int, str]]:
        """The types of literals whose form depends on them, by their first byte. None if the statement cannot run."""
        try:
            if self.statement_check.check(self.library, statement, None) is None:
                return []
        except (Refused, duckdb.Error) as error:
            if is_serious(error):
                raise
            # The error is the statement's, which is told when it runs.
            return []
        literals = self._open_types.of_literals(statement.sql)
        return [(at, self.library.named_types.shown(type_)) for at, type_ in literals]

    @binding
    def inputs(
        self,
        function: NamedFunction,
        call: int,
        sample: tuple[int, bool] | None,
        seed: int | None,
        statement: AllowedStatement,
        limits: tuple[int, int, int],
        parameters: dict[str, object] | None,
    ) -> Answer:
        """Run a query with a capture in the place of a function's call. The answer is what the call would get."""
        assert self.functions is not None and self.tables is not None
        most = Limits(*limits)
        capture, self.tables.capture = self.tables.capture, None
        if capture is not None:
            try:
                query, values = FunctionInputs(self.functions, function).of_capture(capture)
                statement = self.statement_check.allowed(query)
            except BaseException:
                self.lifetime.abandon_calls()
                raise
            # The table functions of the query have run, and this query takes the place of the statement.
            return self.execute(
                statement, most.batch_rows, most.batch_bytes, values, gives_rows=True, max_columns=most.columns
            )
        self.lifetime.begin()
        try:
            inputs = FunctionInputs(self.functions, function)
            inputs.check(self.statement_check.check(self.library, statement, parameters))
            relation = inputs.captured(self.library, statement.sql, parameters, call, sample, seed)
            self.statement_check.check_width(relation.columns, relation.types, most.columns)
            check_converted(relation.columns, relation.types)
            converted, cast_from = exact(relation)
            stream = reader(converted, most)
        except BaseException:
            self.lifetime.abandon()
            raise
        types = tuple(map(str, relation.types))
        return Answer(stream, names=tuple(relation.columns), types=types, cast=tuple(cast_from))

    def begin_inputs(
        self, function: NamedFunction, call: int, sample: tuple[int, bool] | None, seed: int | None
    ) -> None:
        """Have the calls of the next statement's functions with whole columns captured, which run before `inputs`."""
        assert self.functions is not None and self.tables is not None
        self.tables.capture = FunctionInputs(self.functions, function).capture(call, sample, seed)

    def abandon_inputs(self) -> None:
        """End the capture of a statement that does not run."""
        if self.tables is not None:
            self.tables.capture = None

    def input_columns(self, function: NamedFunction) -> list[tuple[str, str]] | None:
        """The columns that `inputs` gives, with their types. None if they depend on the call."""
        assert self.functions is not None
        return FunctionInputs(self.functions, function).columns

    @binding
    def insert(self, statement: AllowedStatement, name: str, batch: ArrowStream) -> int:
        """Run an INSERT that reads the table `name`, which is `batch`. Returns the number of rows. An error aborts the
        client's transaction, if there is one."""
        import pyarrow as pa

        # DuckDB cannot bind the statement before `batch` is registered. So only the fence checks it.
        self.statement_check.check_insert(statement)
        registered = ReleasableTable(pa.RecordBatchReader.from_stream(batch).read_all())
        if self.deferred_calls is not None:
            self.deferred_calls.epoch.begin_write()
        try:
            if not arrow_scan.is_duckdbs(self._connection):
                raise Refused(arrow_scan.MESSAGE, "55000", None, None, arrow_scan.HINT)
            # This replaces the view of an earlier INSERT that failed.
            self._connection.register(name, registered)
            changed = self._connection.execute(statement.sql).rowcount
            # `unregister` would hide errors, and a lack of memory aborts the transaction.
            self._connection.execute(f"DROP VIEW temp.main.{quoted(name)}")
            self.lifetime.finish()
        except BaseException:
            self.lifetime.abandon()
            raise
        finally:
            registered.release()
        return changed

    def follow(self, caller: Session) -> None:
        """Take over the caller's settings. The caller may be running a statement."""
        if self._settings.follow(self._connection, caller._settings) and self.deferred_calls is not None:
            self.deferred_calls.epoch.settings_changed()
        self.lifetime.finish()

    def interrupt(self) -> None:
        try:
            self.lifetime.transactions.interrupt()
        finally:
            # Also if the connection is closed.
            if self.functions is not None:
                self.functions.processes.cancel()

    def close(self) -> None:
        if self.functions is not None:
            self.functions.store.close(self.functions.processes)
        self.library.parser.close()
        self._connection.close()
        if self.deferred_calls is not None:
            self.deferred_calls.epoch.end_write()
