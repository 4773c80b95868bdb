"""A client's session: it runs statements and returns Arrow streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from colonnade._core import Refused

from .answers import Answer, Capsule, Description, ReleasableTable
from .batch_rows import reader, row_bytes, rows_per_batch
from .beside_plan import BesidePlan
from .binding import binding
from .catalog import CatalogColumns, needs_no_conversion
from .column_names import column_names
from .exact import check, exact, quoted
from .fences import Gate, ReadOnlyConnection
from .functions import SessionFunctions
from .inputs import FunctionInputs, NamedFunction
from .kept_rows import Keeping
from .remembered import RememberedStatement, RememberedStatements
from .session_settings import SessionSettings
from .sight_memory import SightMemory
from .statement_transaction import StatementTransaction
from .table_functions import TableFunctions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from colonnade._core import ArrowStream

    from .catalog_epoch import RowSight, SessionEpoch, Sight
    from .fences import Statement
    from .kept_rows import KeptRows


class Session:
    """One client's connection. While a statement runs, only `interrupt` may be called."""

    def __init__(self, connection: DuckDBPyConnection, parser: DuckDBPyConnection, gate: Gate, user: str) -> None:
        self.user = user
        self._transactions = ReadOnlyConnection(connection) if gate.read_only else StatementTransaction(connection)
        self._connection = self._transactions if isinstance(self._transactions, ReadOnlyConnection) else connection
        #: Serializes parse trees, independently of the state of the session's transaction.
        self._parser = parser
        self._gate = gate
        self._settings = SessionSettings(connection)
        self._remembered = RememberedStatements()
        #: The statement that `preview` accepted last, with its text, until it runs. Its transaction is open until then.
        self._checked: tuple[str, Statement | None] | None = None
        #: The functions in Python, for `python/src/serve/functions.rs`; None without `--udf`.
        self.functions: SessionFunctions | None = None
        #: The same functions beside the plan.
        self.beside: BesidePlan | None = None
        #: The table functions in Python, for `python/src/serve/tables.rs`.
        self.tables: TableFunctions | None = None
        #: The queries of functions that DuckDB has bound as queries that only read.
        self.reads: SightMemory[bool] | None = None
        #: The rows of such queries.
        self.kept: KeptRows | None = None
        #: Whether the statement has calls of table functions, until it is finished.
        self._is_calling = False
        #: Whether table functions of the next statement have run.
        self._has_called = False
        #: Whether the transaction of the statement that runs is older than it.
        self._is_begun = False
        #: For `function_store.py`: how many transactions have begun, and how many calls run that may bind a statement.
        self.transactions_begun = 0
        self.binding_calls = 0

    @property
    def may_bind_in_transaction(self) -> bool:
        """Whether a statement may still be bound in the transaction that has begun last."""
        return self.binding_calls > 0 or self._has_called or self._transactions.is_in_clients

    @binding
    def execute(
        self,
        sql: str,
        batch_rows: int,
        batch_bytes: int,
        parameters: dict[str, object] | None,
        gives_rows: bool = False,
    ) -> Answer:
        """Run one statement. Rows are streamed in batches within both limits, while DuckDB computes further rows.

        Parameters are texts that the statement casts, bytes, lists of these, or None. With `gives_rows`, a statement
        that returns no rows is refused and does not run.
        """
        try:
            return self._execute(sql, batch_rows, batch_bytes, parameters, gives_rows)
        except BaseException:
            self._transactions.roll_back()
            if self.beside is not None:
                self.beside.epoch.end_write()
            raise

    def _execute(
        self,
        sql: str,
        batch_rows: int,
        batch_bytes: int,
        parameters: dict[str, object] | None,
        gives_rows: bool,
    ) -> Answer:
        limits = (batch_rows, batch_bytes)
        checked, self._checked = self._checked, None
        if checked is not None and checked[0] == sql and parameters is None:
            statement = checked[1]
        else:
            self._begin()
            if (answer := self._run_remembered(sql, limits, parameters)) is not None:
                return answer
            statement = self._bound(sql, parameters)
        if gives_rows and (statement is None or not statement.is_query):
            raise Refused("COPY and DECLARE need a query that gives rows; nothing has run", "0A000", None)
        if statement is None:
            return Answer()
        if self.beside is None:
            answer = self._run(statement, sql, limits, parameters)
        else:
            answer = self._run_noted(self.beside.epoch, statement, sql, limits, parameters)
        if isinstance(self._connection, ReadOnlyConnection) and statement.kind != "select":
            self._connection.check()
        return answer

    def _run_noted(
        self,
        epoch: SessionEpoch,
        statement: Statement,
        sql: str,
        limits: tuple[int, int],
        parameters: dict[str, object] | None,
    ) -> Answer:
        """Run a statement. Other sessions hear of what it may change."""
        # A transaction notes its own end. A setting of all sessions may change what their queries give.
        if statement.changes or statement.kind not in ("select", "transaction"):
            epoch.begin_write()
        with epoch.running(statement.kind, sql):
            answer = self._run(statement, sql, limits, parameters)
            if answer.stream is None:
                self.finish()
        return replace(answer, must_finish=True) if epoch.is_writing else answer

    def _bound(self, sql: str, parameters: dict[str, object] | None) -> Statement | None:
        """A statement that will run, if it may."""
        if self.beside is None:
            return self._gate.check(self._connection, sql, parameters)
        with self.beside.noting(sql, self._is_begun):
            return self._gate.check(self._connection, sql, parameters)

    def _run(
        self, statement: Statement, sql: str, limits: tuple[int, int], parameters: dict[str, object] | None
    ) -> Answer:
        if statement.kind == "transaction":
            self._transactions.client(sql)
            return Answer()
        if statement.kind == "explain" and self.beside is not None:
            self.beside.explain(self._gate.inner(sql))
        if statement.is_query:
            types = [] if statement.is_late else statement.types
            catalog = CatalogColumns.of(self._connection, sql, types, parameters)
            if needs_no_conversion(statement, catalog):
                return self._stream(statement, sql, limits, parameters, catalog)
            if not statement.is_late:
                # The types are checked before the statement runs, because it may also write.
                columns = enumerate(zip(statement.columns, statement.types, strict=True))
                check(column for position, column in columns if position not in catalog.texts)
            return self._rows(self._connection.sql(sql, params=parameters), sql, limits, catalog)
        changed = self._connection.execute(sql, parameters).rowcount
        if statement.kind == "set":
            self._settings.changed(self._connection, are_followed=self.functions is not None)
        return Answer(changed=changed if changed >= 0 else None)

    def _stream(
        self,
        statement: Statement,
        sql: str,
        limits: tuple[int, int],
        parameters: dict[str, object] | None,
        catalog: CatalogColumns,
    ) -> Answer:
        """Run a query whose columns need no conversion, and remember it."""
        bytes_ = row_bytes(statement.types)
        rows = rows_per_batch(bytes_, *limits)
        names, types = column_names(self._parser, sql, statement.columns), catalog.shown(statement.types)
        proof = None if self.beside is None else self.beside.proof(sql)
        if self.beside is not None and proof is not None:
            stream = self.beside.submit((sql, parameters, rows), statement.types, proof)
            if stream is not None:
                self._remembered.keep(sql, RememberedStatement(statement.types, names, types, bytes_, proof))
                return Answer(stream=stream, names=names, types=types)
        # DuckDB's relations use this method. DuckDB's public methods bind a statement twice, or copy the rows.
        result = self._connection._submit(sql, parameters, "stream", rows)
        if self.beside is None or self.beside.is_decided(sql):
            self._remembered.keep(sql, RememberedStatement(result.description, names, types, bytes_))
        return Answer(stream=Capsule(result.arrow_capsule()), names=names, types=types)

    def _rows(
        self, relation: DuckDBPyRelation | None, sql: str, limits: tuple[int, int], catalog: CatalogColumns
    ) -> Answer:
        """The rows of a query. Columns that need it are converted."""
        if relation is None:
            return Answer()
        types = catalog.shown(relation.types)
        names = column_names(self._parser, sql, relation.columns)
        converted, cast_from = exact(catalog.as_texts(relation))
        return Answer(stream=reader(converted, limits), names=names, types=types, cast=tuple(cast_from))

    def _run_remembered(self, sql: str, limits: tuple[int, int], parameters: dict[str, object] | None) -> Answer | None:
        """Run a remembered statement, if its columns are unchanged; otherwise None, without any effect. This skips the
        checks, which take most of the time of a short statement."""
        remembered = self._remembered.find(sql)
        if remembered is None:
            return None
        rows = rows_per_batch(remembered.row_bytes, *limits)
        if self.beside is not None and remembered.proof is not None:
            stream = self.beside.submit((sql, parameters, rows), remembered.columns, remembered.proof)
            if stream is None:
                self._remembered.forget(sql)
                return None
            return Answer(stream=stream, names=remembered.names, types=remembered.types)
        result = self._connection._submit(sql, parameters, "stream", rows)
        if result.description != remembered.columns:
            result.close()
            self._remembered.forget(sql)
            return None
        return Answer(stream=Capsule(result.arrow_capsule()), names=remembered.names, types=remembered.types)

    @binding
    def read(self, sql: str, batch_rows: int, batch_bytes: int) -> Answer:
        """Run a query of a function in Python. DuckDB's binder decides whether it only reads; anything else is refused
        and does not run. While the session sees the same catalog, it need not decide again."""
        limits, reads, sight = (batch_rows, batch_bytes), self.reads, self._sight()
        before = None
        if self.kept is not None and sight is not None:
            if (kept := self.kept.results.find(sql)) is not None:
                return kept
            before = self.kept.sight(sql)
        known = self._remembered.find(sql)
        if reads is not None and reads.find(sql) and known is not None and known.proof is None:
            answer = self._run_remembered(sql, limits, None)
            if answer is not None and self.beside is not None and self.beside.epoch.now == sight:
                return self._keeping(sql, answer, before)
            # It was bound while the catalog changed. Nothing has been read of it.
            answer = None
        statement = replace(self._gate, read_only=True).check(self._connection, sql, None)
        if statement is None:
            raise Refused("_conn.execute() needs a query, and this text has none", "42601", None)
        if statement.kind != "select" or statement.changes:
            what = "this query writes" if statement.kind == "select" else f"this is {statement.kind.upper()}"
            raise Refused(f"_conn.execute() runs queries that only read, and {what}", "25006", None)
        answer = self._run(statement, sql, limits, None)
        if reads is not None:
            reads.keep(sql, True, sight)
        return self._keeping(sql, answer, before)

    def _keeping(self, sql: str, answer: Answer, before: RowSight | None) -> Answer:
        """The answer, whose rows are kept if all of them are read. `before`: what the session saw before it ran, if the
        query is one whose rows can be kept."""
        if self.kept is None or before is None:
            return answer
        return replace(answer, keep=Keeping(self.kept, sql, answer, before))

    def _sight(self) -> Sight | None:
        """What the session sees of the catalog. A transaction that this session does not know of is older."""
        if self.beside is None or not (self._transactions.is_known or self.beside.epoch.in_statement):
            return None
        return self.beside.epoch.now

    @binding
    def preview(self, sql: str) -> Answer | None:
        """The columns of a query that changes the database, without rows. The query does not run. None for other
        statements, and if the columns are unknown until it runs."""
        if sql in self._remembered:
            # It changes nothing. `execute` begins it, and not this: its table functions have run.
            return None
        self._begin()
        try:
            statement = self._bound(sql, None)
        except BaseException:
            self._transactions.roll_back()
            raise
        if statement is None or not statement.changes or not statement.is_query or statement.is_late:
            # `execute` runs it next, without another check.
            self._checked = (sql, statement)
            return None
        catalog = CatalogColumns.of(self._connection, sql, statement.types, None)
        columns = enumerate(zip(statement.columns, statement.types, strict=True))
        types = [(name, "VARCHAR" if position in catalog.texts else type_) for position, (name, type_) in columns]
        nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in types)
        return self._rows(self._connection.sql(f"SELECT {nulls} LIMIT 0"), sql, (1, 1), CatalogColumns())

    @binding
    def describe(self, sql: str, parameters: dict[str, object] | None) -> Description:
        """The parameters of a statement and, with these values, its columns. The statement does not run."""
        statement = self._gate.check(self._connection, sql, parameters)
        if statement is None:
            return Description()
        columns = list(zip(statement.columns, map(str, statement.types), strict=True)) if statement.is_query else None
        # DuckDB describes a statement so if its columns depend on the values of parameters.
        is_late = statement.is_late or columns == [("unknown", "UNKNOWN")]
        if columns is not None and not is_late:
            names = column_names(self._parser, sql, statement.columns)
            catalog = CatalogColumns.of(self._connection, sql, statement.types, parameters)
            columns = list(zip(names, catalog.shown(statement.types), strict=True))
        named = [(name, str(type_)) for name, type_ in statement.parameters]
        return Description(parameters=named, columns=columns, late=is_late)

    @binding
    def inputs(
        self,
        function: NamedFunction,
        call: int,
        sample: tuple[int, bool] | None,
        seed: int | None,
        sql: str,
        limits: tuple[int, int],
        parameters: dict[str, object] | None,
    ) -> Answer:
        """Run a query with a capture in the place of a function's call. The answer is what the call would get."""
        assert self.functions is not None and self.tables is not None
        capture, self.tables.capture = self.tables.capture, None
        if capture is None:
            return self._captured(function, call, sample, seed, sql, limits, parameters)
        try:
            query, values = FunctionInputs(self.functions, function).of_capture(capture)
        except BaseException:
            self._begin()
            self._transactions.roll_back()
            raise
        # The table functions of the query have run, and this query takes the place of the statement.
        return self.execute(query, *limits, values, gives_rows=True)

    def _captured(
        self,
        function: NamedFunction,
        call: int,
        sample: tuple[int, bool] | None,
        seed: int | None,
        sql: str,
        limits: tuple[int, int],
        parameters: dict[str, object] | None,
    ) -> Answer:
        """Run a query whose calls of the function are in its plan."""
        assert self.functions is not None
        self._begin()
        try:
            inputs = FunctionInputs(self.functions, function)
            inputs.check(self._gate.check(self._connection, sql, parameters))
            relation = inputs.captured(self._connection, sql, parameters, call, sample, seed)
            converted, cast_from = exact(relation)
            stream = reader(converted, limits)
        except BaseException:
            self._transactions.roll_back()
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
    def insert(self, sql: str, name: str, batch: ArrowStream) -> int:
        """Run an INSERT that reads the table `name`, which is `batch`. Returns the number of rows. An error aborts the
        client's transaction, if there is one."""
        import pyarrow as pa

        # DuckDB cannot bind the statement before `batch` is registered. So only the fence checks it.
        self._gate.check_insert(sql)
        registered = ReleasableTable(pa.RecordBatchReader.from_stream(batch).read_all())
        if self.beside is not None:
            self.beside.epoch.begin_write()
        # This replaces the view of an earlier INSERT that failed.
        self._connection.register(name, registered)
        try:
            changed = self._connection.execute(sql).rowcount
            # `unregister` would hide errors, and a lack of memory aborts the transaction.
            self._connection.execute(f"DROP VIEW temp.main.{quoted(name)}")
        finally:
            registered.release()
            if self.beside is not None:
                self.beside.epoch.end_write()
        return changed

    def follow(self, caller: Session) -> None:
        """Take over the caller's settings. The caller may be running a statement."""
        if self._settings.follow(self._connection, caller._settings) and self.beside is not None:
            self.beside.epoch.settings_changed()
        self.finish()

    def _begin(self) -> None:
        """End the previous statement, and forget what its functions have left."""
        self._is_begun, self._has_called = self._has_called, False
        if self._is_begun:
            # By its table functions.
            return
        self.finish()
        if not self._transactions.is_in_clients:
            self.transactions_begun += 1
        if self.functions is not None:
            self.functions.workers.begin_statement()

    def begin_calls(self) -> None:
        """Begin a statement with the calls of its table functions, in a transaction in which it then runs."""
        self._has_called = False
        self._begin()
        assert self.beside is not None
        self.beside.epoch.begin_statement()
        self._is_calling = True
        self._transactions.begin()
        self._has_called = True

    def abandon_calls(self) -> None:
        """End the calls of a statement that does not run."""
        self._has_called = False
        self._transactions.roll_back()
        self.finish()

    def finish(self) -> None:
        """End the previous statement, whose rows have been read or dropped."""
        if self.beside is None:
            self._transactions.commit()
            return
        if self._is_calling and self.tables is not None:
            self.tables.release()
        self._transactions.commit()
        self.beside.epoch.end_write()
        if self._is_calling:
            self.beside.epoch.end_statement()
            self._is_calling = False

    def interrupt_query(self) -> None:
        """End the query that `read` runs, but not the statement whose function has it run."""
        self._connection.interrupt()

    def interrupt(self) -> None:
        try:
            self._connection.interrupt()
        finally:
            # Also if the connection is closed.
            if self.functions is not None:
                self.functions.workers.cancel()

    def close(self) -> None:
        if self.functions is not None:
            self.functions.store.close(self.functions.workers)
        self._parser.close()
        self._connection.close()
        if self.beside is not None:
            self.beside.epoch.end_write()
