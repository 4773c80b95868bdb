"""DuckDB in this process. Its batches are not copied."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar, Unpack

from colonnade._core import bind, file_uri, is_sqlite
from colonnade._errors import (
    Error,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    class_like,
)
from colonnade._libraries import require
from colonnade._options.query import Params, SourceOptions
from colonnade._options.write import WriteTarget
from colonnade._sources.duckdb_types.exact import UnsupportedType, check, described, named

from .arrow import CANCELLED, RELEASE_SECONDS, ArrowSource, NoRows, SeveralStatements
from .commit_gate import CommitGate
from .duckdb_write import DuckdbWriter

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import ArrowStream, Stream, VectorRows
    from colonnade._sources.duckdb_types.exact import FieldNotes

#: DuckDB's access modes. `automatic` depends on the permissions of the file.
_ACCESS_MODES = ("automatic", "read_only", "read_write")

#: What DuckDB says of a file that another process has opened: on Unix, and on Windows, by itself and by the system.
_LOCKED = ("set lock on file", "File is already open in", "used by another process")
_READ_ONLY = (
    "several processes can read the file if all of them open it with ?access_mode=read_only; `colonnade serve` also"
    " lets them write, and if it is this process, connect to it: postgresql://HOST:PORT"
)

#: The tables and views of the file, but no temporary ones.
_TABLES = """
    select database_name as catalog, schema_name as schema, table_name as name, 'table' as type,
        cast(estimated_size as bigint) as estimated_rows
    from system.main.duckdb_tables()
    where not internal and not temporary and database_name = system.main.current_database()
    union all
    select database_name, schema_name, view_name, 'view', null
    from system.main.duckdb_views()
    where not internal and not temporary and database_name = system.main.current_database()
    order by 2, 3
"""


class DuckdbSource(ArrowSource[str]):
    """One DuckDB connection."""

    uses_all_cores = True
    tells_failures = True
    dialect = "duckdb"
    # DuckDB begins a message with its class. Nothing of a query comes before it.
    stream_errors: ClassVar[dict[str, tuple[str, str]]] = {"INTERRUPT Error: ": CANCELLED}

    def __init__(self, name: str, path: str, access_mode: str = "automatic") -> None:
        self._duckdb = require("duckdb", "a duckdb:// URI")
        if is_sqlite(path):
            raise OperationalError("the file is an SQLite database", hint=f"write sqlite:///{path}", source=name)
        #: The write that runs.
        self._writer: DuckdbWriter | None = None
        self._gate = CommitGate()
        config = {"access_mode": access_mode} if access_mode != "automatic" else {}
        # Now that DuckDB is there.
        from colonnade._sources.duckdb_types.opening import hint

        from .duckdb_vectors import opened_with_vectors

        try:
            #: `_gathering` is how queries are gathered; None if DuckDB does not give its vectors.
            self._connection, self._gathering = opened_with_vectors(path, config)
            # A query must not read Python variables of this process, so that it means the same as on a server.
            self._connection.execute("SET python_enable_replacements = false")
            # A library must not write to the terminal of the program that uses it. In Jupyter without ipywidgets the
            # bar is off, and DuckDB refuses every change of the setting.
            bar = self._connection.execute("SELECT system.main.current_setting('enable_progress_bar')")
            if bar.fetchall() == [(True,)]:
                self._connection.execute("SET enable_progress_bar = false")
        except self._duckdb.Error as error:
            is_locked = any(words in str(error) for words in _LOCKED) and access_mode != "read_only"
            raise OperationalError(str(error), hint=_READ_ONLY if is_locked else hint(error), source=name) from error
        super().__init__(name, f"DuckDB {self._duckdb.__version__}")

    @classmethod
    def from_uri(cls, rest: str) -> DuckdbSource:
        """The source of the URI `duckdb:` and `rest`. The file must exist; DuckDB would create it."""
        name, path, parameters = file_uri(f"duckdb:{rest}")
        for key, value in parameters:
            if key != "access_mode" or value.lower() not in _ACCESS_MODES:
                known = f"access_mode={', access_mode='.join(_ACCESS_MODES)}"
                raise InterfaceError(f"a duckdb: URI has no parameter {key}={value}: there is {known}")
        return cls(name, path, **{key: value.lower() for key, value in parameters})

    def tables(self) -> Stream:
        return self.query(_TABLES)

    def _bind(self, sql: str, params: Params | None) -> str:
        return bind(sql, params)

    def _start(self, query: str, options: SourceOptions) -> tuple[ArrowStream | VectorRows, FieldNotes]:
        columns = self._check(query)
        if columns is not None and self._gathering is not None:
            form = "views" if options.get("views") else "plain"
            gathered = self._gathering.submit(query, [(name, str(type_)) for name, type_ in columns], form)
            if gathered is not None:
                return gathered, named(type_ for _, type_ in columns)
            self._gathering.begin_stream()
        relation = self._connection.sql(query)
        if relation is None:
            raise NoRows(self.name, has_run=True)
        return described(relation)

    def _check(self, query: str) -> list[tuple[str, DuckDBPyType]] | None:
        """Refuses a statement that returns no rows, or has a column without an exact form, before it runs. Returns the
        columns of a query that only reads, if they have different names."""
        statements = self._duckdb.extract_statements(query)
        if len(statements) > 1:
            raise SeveralStatements(self.name)
        if not statements:
            raise InterfaceError("the query is empty", source=self.name)
        names, types, _, gives, is_late, kind, writes = self._connection._bind(query, with_type=True, with_writes=True)
        if gives != "query_result":
            raise NoRows(self.name)
        if is_late:
            if writes:
                raise NotSupportedError(
                    "this statement writes, and its columns are unknown until it runs", source=self.name
                )
            return None
        columns = list(zip(names, types, strict=True))
        check(columns)
        has_own_names = len({name.casefold() for name in names}) == len(names)
        return columns if kind == "select" and not writes and has_own_names else None

    def _effect(self, query: str) -> int | None:
        done = self._connection.execute(query)
        changed = done.rowcount
        # This drops the rows, so that the connection is free again.
        done.complete()
        return changed if changed >= 0 else None

    def write(self, rows: Stream, **target: Unpack[WriteTarget]) -> int:
        rows.check_target(target["if_exists"], target["key"])

        def work() -> int:
            writer = DuckdbWriter(self._connection, self.name, target)
            self._gate.open()
            self._writer = writer
            try:
                return self._written(writer, rows)
            except self._duckdb.Error as error:
                if (found := writer.translated(error)) is not None:
                    raise found from error
                raise
            finally:
                self._writer = None

        return self._run(work)

    def _written(self, writer: DuckdbWriter, rows: Stream) -> int:
        """Writes in a transaction of its own, or in the one that is open."""
        is_own = not self._in_transaction()
        if is_own:
            self._connection.execute("BEGIN TRANSACTION")
        try:
            stored = writer.write(rows)
            if is_own and not self._gate.commit(lambda: self._connection.execute("COMMIT")):
                raise self._cancelled()
        except BaseException as error:
            with suppress(self._duckdb.Error):
                if is_own:
                    self._connection.execute("ROLLBACK")
                elif writer.has_changed:
                    # DuckDB has no savepoints. A statement that fails makes sure that nothing of this can be committed.
                    self._connection.execute("SELECT system.main.error('a write has failed')")
            if self._gate.is_stopped:
                raise self._cancelled() from error
            raise
        finally:
            # A transaction that has failed forgets the name itself.
            with suppress(self._duckdb.Error):
                writer.unregister()
        return stored

    def _in_transaction(self) -> bool:
        """Whether the user has begun a transaction: two statements then have one number. BEGIN would make it fail."""
        sql = "SELECT system.main.txid_current()"
        return self._connection.execute(sql).fetchall() == self._connection.execute(sql).fetchall()

    def _is_in_transaction(self) -> bool:
        try:
            return self._in_transaction()
        except self._duckdb.Error:
            # A transaction that has failed refuses all statements.
            return True

    def _interrupt(self) -> None:
        self._gate.stop()
        # DuckDB notices an interrupt only between its own steps, so the rows end, too.
        if (writer := self._writer) is not None:
            writer.interrupt()
        self._connection.interrupt()

    def _end(self) -> None:
        limit = monotonic() + RELEASE_SECONDS
        while True:
            try:
                self._connection.close()
                return
            except self._duckdb.Error as error:
                # DuckDB refuses while another thread uses the connection: that thread's statement is stopped.
                if monotonic() > limit:
                    message = "the connection could not be closed: another thread uses it"
                    raise OperationalError(message, source=self.name) from error
                self._interrupt()
                sleep(0.02)

    def _cancelled(self) -> OperationalError:
        sqlstate, message = CANCELLED
        return OperationalError(message, sqlstate=sqlstate, source=self.name)

    def _translated(self, error: BaseException) -> Error | None:
        if isinstance(error, UnsupportedType):
            return NotSupportedError(str(error), source=self.name)
        if not isinstance(error, self._duckdb.Error):
            return None
        if isinstance(error, self._duckdb.InterruptException):
            return self._cancelled()
        kind = class_like(self._duckdb, error)
        # DuckDB's errors have no SQLSTATE. Its class says that a constraint was violated.
        sqlstate = "23000" if kind is IntegrityError else None
        return kind(str(error), sqlstate=sqlstate, source=self.name)
