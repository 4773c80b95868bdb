"""How a checked statement of a session runs, and how its rows are streamed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import check, exact, quoted

from colonnade_serve._core import Refused

from .answers import Answer, Capsule
from .batch_rows import Limits, reader, row_bytes, rows_per_batch
from .catalog import CatalogColumns, needs_no_conversion
from .column_names import column_names
from .export import with_database
from .remembered import RememberedStatement, RememberedStatements
from .result_width import check_converted

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from colonnade_serve._core import AllowedStatement

    from .catalog_epoch import SessionEpoch
    from .deferred_calls import DeferredCalls
    from .library import Bound, Library
    from .lifetime import StatementLifetime
    from .session_settings import SessionSettings
    from .statement_check import StatementCheck
    from .vector_rows import StatementGathering

#: Kinds of statements that change a table that exists, for which DuckDB may bind its expressions again. COMMENT ON is
#: one of the first kind.
REPLAYED = ("alter", "drop")
#: The limits of a query that gives no rows.
NO_ROWS = Limits(1, 1)
HINT = (
    "DuckDB might not open the database after a crash. Make a new table by CREATE TABLE and INSERT, and rename it; for "
    "new values use UPDATE."
)


class StatementRunner:
    """Runs the statements of one session, and remembers those that need not be checked again."""

    def __init__(
        self,
        library: Library,
        statement_check: StatementCheck,
        settings: SessionSettings,
        lifetime: StatementLifetime,
        epoch: SessionEpoch,
    ) -> None:
        self._library = library
        self._connection = library.connection
        self._statement_check = statement_check
        self._settings = settings
        self._lifetime = lifetime
        self._epoch = epoch
        self.remembered = RememberedStatements()
        #: How queries are gathered; None if DuckDB does not give its vectors.
        self.gathering: StatementGathering | None = None
        #: Functions that run beside the plan; None without `--udf`.
        self.deferred_calls: DeferredCalls | None = None

    def bound(self, statement: AllowedStatement, parameters: dict[str, object] | None, columns: int) -> Bound | None:
        """A statement that will run, if it may. `columns` is the most that the form of its result has."""
        if self.deferred_calls is None:
            return self._statement_check.check(self._library, statement, parameters, columns)
        with self.deferred_calls.recording(self._lifetime.is_begun) as calls:
            bound = self._statement_check.check(self._library, statement, parameters, columns)
        return None if bound is None else replace(bound, calls=calls)

    def run_noted(self, statement: Bound, limits: Limits, parameters: dict[str, object] | None) -> Answer:
        """Run a statement of the client, and end it if it gives no rows. Other sessions hear of what it may change."""
        epoch = self._epoch
        if self.deferred_calls is None:
            with epoch.running(statement.kind, statement.sql):
                answer = self.run(statement, limits, parameters)
                if answer.stream is None:
                    self._lifetime.finish()
            self._library.named_types.ran(statement.kind)
            return answer
        # A transaction notes its own end. A setting of all sessions may change what their queries give.
        if statement.changes or statement.kind not in ("select", "transaction"):
            epoch.begin_write()
        with epoch.running(statement.kind, statement.sql):
            if statement.kind in REPLAYED:
                answer = self._run_replayed(self.deferred_calls, statement, limits, parameters)
            else:
                answer = self.run(statement, limits, parameters)
            if answer.stream is None:
                self._lifetime.finish()
        self._library.named_types.ran(statement.kind)
        return replace(answer, must_finish=True) if epoch.is_writing else answer

    def _run_replayed(
        self,
        deferred_calls: DeferredCalls,
        statement: Bound,
        limits: Limits,
        parameters: dict[str, object] | None,
    ) -> Answer:
        """Run a statement that DuckDB runs again when it opens the database after a crash, from its log. Then there are
        no functions in Python yet, and it would never open again. So the statement is undone if it has bound one."""
        self._lifetime.transactions.begin()
        with deferred_calls.recording(True) as calls:
            answer = self.run(statement, limits, parameters)
        if names := calls.names:
            what = f"{statement.kind.upper()} of a table whose expressions call functions in Python: {names}"
            raise Refused(what, "0A000", None, None, HINT)
        return answer

    def run(self, statement: Bound, limits: Limits, parameters: dict[str, object] | None) -> Answer:
        """Run a statement."""
        if self.gathering is not None and (statement.changes or statement.kind not in ("select", "transaction")):
            self.gathering.large.changed()
        if statement.kind == "transaction":
            self._lifetime.transactions.client(statement.sql)
            return Answer()
        if statement.kind == "explain" and self.deferred_calls is not None:
            self.deferred_calls.explain(statement.inner)
        if statement.is_query:
            catalog = CatalogColumns() if statement.is_late else CatalogColumns.of(self._library, statement, parameters)
            if needs_no_conversion(statement, catalog):
                return self._stream(statement, limits, parameters, catalog)
            if not statement.is_late:
                # The types are checked before the statement runs, because it may also write.
                columns = enumerate(zip(statement.columns, statement.types, strict=True))
                check(column for position, column in columns if position not in catalog.texts)
                check_converted(statement.columns, statement.types)
            relation = self._connection.sql(statement.sql, params=parameters)
            if relation is not None and statement.is_late:
                self._statement_check.check_width(relation.columns, relation.types, limits.columns)
                check_converted(relation.columns, relation.types)
                catalog = CatalogColumns.of_late(self._library, relation.types)
            return self._rows(relation, statement.sql, limits, catalog)
        sql = statement.sql
        if statement.kind == "export":
            sql = with_database(sql, self._connection)
        elif statement.kind == "set":
            sql = self._settings.with_existing_schemas(self._connection, sql)
        changed = self._connection.execute(sql, parameters).rowcount
        if statement.kind == "create":
            self._settings.created(self._connection)
        if statement.kind == "set":
            self._settings.changed(self._connection, sql, are_followed=self.deferred_calls is not None)
        return Answer(changed=changed if changed >= 0 else None)

    def _stream(
        self,
        statement: Bound,
        limits: Limits,
        parameters: dict[str, object] | None,
        catalog: CatalogColumns,
    ) -> Answer:
        """Run a query whose columns need no conversion, and remember it."""
        sql, bytes_ = statement.sql, row_bytes(statement.types)
        rows = rows_per_batch(bytes_, limits)
        names, types = column_names(self._library, sql, statement.columns), catalog.shown(statement.types)
        named_types = self._library.named_types.state if catalog.may_be_numbered else None
        if limits.may_be_encoded and self.gathering is not None:
            gathered = self.gathering.submit_bound(statement, parameters)
            if gathered is not None:
                return Answer(stream=gathered, names=names, types=types)
        if self.gathering is not None:
            self.gathering.begin_stream()
        proof = None if self.deferred_calls is None else self.deferred_calls.proof(statement)
        if self.deferred_calls is not None and proof is not None:
            # As texts, which DuckDB then makes only once.
            expected = tuple(map(str, statement.types))
            stream = self.deferred_calls.submit((sql, parameters, rows), expected, proof)
            if stream is not None:
                self.remembered.keep(sql, RememberedStatement(expected, names, types, bytes_, proof, named_types))
                return Answer(stream=stream, names=names, types=types)
        result = self._library.rows(sql, parameters, rows)
        if statement.calls is None or statement.calls.is_decided:
            known = RememberedStatement(result.description, names, types, bytes_, named_types=named_types)
            self.remembered.keep(sql, known)
        return Answer(stream=Capsule(result.arrow_capsule()), names=names, types=types)

    def _rows(self, relation: DuckDBPyRelation | None, sql: str, limits: Limits, catalog: CatalogColumns) -> Answer:
        """The rows of a query. Columns that need it are converted."""
        if relation is None:
            return Answer()
        types = catalog.shown(relation.types)
        names = column_names(self._library, sql, relation.columns)
        converted, cast_from = exact(catalog.as_texts(relation))
        return Answer(stream=reader(converted, limits), names=names, types=types, cast=tuple(cast_from))

    def run_remembered(self, sql: str, limits: Limits, parameters: dict[str, object] | None) -> Answer | None:
        """Run a remembered statement, if its columns are unchanged; otherwise None, without any effect. This skips the
        checks, which take most of the time of a short statement."""
        remembered = self.remembered.find(sql)
        if remembered is None:
            return None
        if limits.may_be_encoded and self.gathering is not None and self.gathering.is_due(sql):
            return None
        if remembered.named_types not in (None, self._library.named_types.state):
            self.remembered.forget(sql)
            return None
        if self.gathering is not None:
            self.gathering.begin_stream()
        rows = rows_per_batch(remembered.row_bytes, limits)
        if self.deferred_calls is not None and remembered.proof is not None:
            stream = self.deferred_calls.submit((sql, parameters, rows), remembered.columns, remembered.proof)
            if stream is None:
                self.remembered.forget(sql)
                return None
            return Answer(stream=stream, names=remembered.names, types=remembered.types)
        result = self._library.rows(sql, parameters, rows)
        if result.description != remembered.columns:
            result.close()
            self.remembered.forget(sql)
            return None
        return Answer(stream=Capsule(result.arrow_capsule()), names=remembered.names, types=remembered.types)

    def columns_alone(self, statement: Bound) -> Answer:
        """The columns of a query, without rows. The query does not run."""
        catalog = CatalogColumns.of(self._library, statement, None)
        columns = enumerate(zip(statement.columns, statement.types, strict=True))
        types = [(name, "VARCHAR" if position in catalog.texts else type_) for position, (name, type_) in columns]
        nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in types)
        return self._rows(self._connection.sql(f"SELECT {nulls} LIMIT 0"), statement.sql, NO_ROWS, CatalogColumns())
