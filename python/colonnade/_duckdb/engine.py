"""DuckDB as the server's engine: sessions on one database, statements to Arrow streams.

`python/src/serve.rs` calls this and takes the streams; everything that carries rows happens there, without the
interpreter lock.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from colonnade._core import Refused

from .batch_rows import row_bytes, rows_per_batch
from .catalog import VECTORS, CatalogColumns, attach_catalog, keep_catalog, search_path
from .column_names import column_names
from .exact import AS_THEY_ARE, cast_target, check, exact, literal, quoted
from .fences import Fences, Gate, ReadOnlyConnection, configure, fence_for, refuse

try:
    # Loaded before the first client comes, since it takes longer than most statements, and all sessions wait for it.
    import pyarrow
except ImportError:
    pyarrow = None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import ArrowStream

    from .fences import Statement


@dataclass(frozen=True)
class Seen:
    """What a statement was when it last ran: one that only reads, and whose columns leave as they are.

    DuckDB binds a statement anew whenever it runs. If its columns are others then, since somebody has changed a table
    or this session its settings, it is looked at and run again, which of those that only read nobody can tell.
    """

    #: DuckDB's own, of names and types.
    description: Sequence[tuple[object, ...]]
    names: tuple[str, ...]
    types: tuple[str, ...]
    row_bytes: int


@dataclass(frozen=True)
class Answer:
    """What a statement gave: a stream of rows, or the number of rows it changed, or neither."""

    stream: ArrowStream | None = None
    changed: int | None = None
    #: The name of each column, as clients are to see it (`column_names.py`).
    names: tuple[str, ...] = ()
    #: The DuckDB type of each column.
    types: tuple[str, ...] = ()
    #: Positions of the columns that were cast to text, since Arrow has no exact form of their type.
    cast: tuple[int, ...] = ()


@dataclass(frozen=True)
class Description:
    """A statement's parameters and columns, each with its DuckDB type; no columns if it gives no rows."""

    parameters: list[tuple[str, str]] = field(default_factory=list)
    columns: list[tuple[str, str]] | None = None
    #: Whether the columns are known only once it has run.
    late: bool = False


#: A session remembers so many statements, none longer or with more columns than this: some 100 KB.
SEEN = 32
SEEN_CHARACTERS = 2048
SEEN_COLUMNS = 64


class Capsule:
    """A stream that has begun."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


class Registered:
    """A table whose memory is given back while DuckDB still knows its name."""

    def __init__(self, table: ArrowStream) -> None:
        self._table: ArrowStream | None = table

    def release(self) -> None:
        self._table = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._table is None:
            raise LookupError("the rows are no longer there")
        return self._table.__arrow_c_stream__()


class Engine:
    """One database, opened once."""

    def __init__(
        self, path: str, *, read_only: bool = False, fences: Fences | None = None, scratch: Path | None = None
    ) -> None:
        self._fences = fences or Fences()
        self._is_in_memory = path == ":memory:"
        self._root = duckdb.connect(path, read_only=read_only)
        ((self._database,),) = self._root.execute("SELECT current_database()").fetchall()
        query = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()"
        #: Whether there is a schema `public`. If not, `main` is called so, and nobody makes one.
        self._has_public = ("public",) in self._root.execute(query).fetchall()
        self._lock = threading.Lock()
        self._fence = fence_for(self._root, self._fences.max_statement_bytes)
        home = "main" if self._has_public else "public"
        attach_catalog(self._root, self._database, home, None if self._fences.files else self._fence, scratch)
        configure(self._root, self._fences)

    @property
    def version(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    @property
    def database(self) -> str | None:
        """The name of the database that clients may name; one in memory answers to any."""
        return None if self._is_in_memory else self._database

    @property
    def home(self) -> tuple[str, bool]:
        """The name of the database, and whether it has a schema `public`."""
        return self._database, self._has_public

    def session(self, user: str = "duckdb", read_only: bool = False) -> Session:
        """A connection of its own, for a user who may only read or for one who may write, too."""
        with self._lock:
            connection, parser = self._root.cursor(), self._root.cursor()
        # Names that the database lacks are looked up in PostgreSQL's catalog.
        connection.execute(f"USE {quoted(self._database)}")
        keep_catalog(connection)
        # What current_user says. Who may do what is not decided by it.
        connection.execute(f"SET VARIABLE colonnade_user = {literal(user)}")
        return Session(connection, parser, Gate(self._fence, self._fences.files, read_only))

    def close(self) -> None:
        self._root.close()


class Session:
    """One client's connection. Only `interrupt` may be called while a statement runs."""

    def __init__(self, connection: DuckDBPyConnection, parser: DuckDBPyConnection, gate: Gate) -> None:
        self._connection = ReadOnlyConnection(connection) if gate.read_only else connection
        #: What only shows the trees of statements, whatever state the session's transaction is in.
        self._parser = parser
        self._gate = gate
        self._path = search_path(connection)
        #: By their text, the one that was added first at the beginning.
        self._seen: dict[str, Seen] = {}
        #: What `preview` has found in order last, with its text, until it runs. Its transaction is open until then.
        self._passed: tuple[str, Statement | None] | None = None

    def execute(
        self,
        sql: str,
        batch_rows: int,
        batch_bytes: int,
        parameters: dict[str, object] | None,
        gives_rows: bool = False,
    ) -> Answer:
        """Run one statement; rows come while DuckDB still works on the next ones, in batches within both limits.

        Parameters are texts that the statement casts, bytes, lists of such, or None. If it must give rows and does not,
        nothing happens.
        """
        limits = (batch_rows, batch_bytes)
        passed, self._passed = self._passed, None
        if passed is not None and passed[0] == sql and parameters is None:
            statement = passed[1]
        else:
            self.finish()
            if (answer := self._again(sql, limits, parameters)) is not None:
                return answer
            statement = self._gate.check(self._connection, sql, parameters)
        if gives_rows and (statement is None or not statement.is_query):
            raise Refused("COPY and DECLARE need a query that gives rows; nothing has run", "0A000", None)
        if statement is None:
            return Answer()
        answer = self._run(statement, sql, limits, parameters)
        if isinstance(self._connection, ReadOnlyConnection) and statement.kind != "select":
            self._connection.check()
        return answer

    def _run(
        self, statement: Statement, sql: str, limits: tuple[int, int], parameters: dict[str, object] | None
    ) -> Answer:
        if statement.kind == "transaction":
            if isinstance(self._connection, ReadOnlyConnection):
                self._connection.transaction(sql)
            else:
                self._connection.execute(sql)
            return Answer()
        if statement.is_query:
            catalog = self._catalog_columns(statement, sql, parameters)
            if is_plain(statement, catalog):
                return self._stream(statement, sql, limits, parameters, catalog)
            if not statement.is_late:
                # A statement that also writes has done so when its rows are looked at.
                columns = enumerate(zip(statement.columns, statement.types, strict=True))
                check(column for position, column in columns if position not in catalog.texts)
            return self._rows(self._connection.sql(sql, params=parameters), sql, limits, catalog)
        changed = self._connection.execute(sql, parameters).rowcount
        if statement.kind == "set":
            self._keep_path()
        return Answer(changed=changed if changed >= 0 else None)

    def _stream(
        self,
        statement: Statement,
        sql: str,
        limits: tuple[int, int],
        parameters: dict[str, object] | None,
        catalog: CatalogColumns,
    ) -> Answer:
        """Run a query whose columns leave as they are, and remember it."""
        bytes_ = row_bytes(statement.types)
        # DuckDB's own relations run with this; its public ways bind a statement twice, or copy the rows.
        result = self._connection._submit(sql, parameters, "stream", rows_per_batch(bytes_, *limits))
        names, types = column_names(self._parser, sql, statement.columns), catalog.shown(statement.types)
        self._remember(sql, Seen(result.description, names, types, bytes_))
        return Answer(stream=Capsule(result.arrow_capsule()), names=names, types=types)

    def _catalog_columns(self, statement: Statement, sql: str, parameters: dict[str, object] | None) -> CatalogColumns:
        types = [] if statement.is_late else statement.types
        return CatalogColumns.of(self._connection, sql, types, parameters)

    def _rows(
        self, relation: DuckDBPyRelation | None, sql: str, limits: tuple[int, int], catalog: CatalogColumns
    ) -> Answer:
        """The rows of a query some of whose columns may leave in another form."""
        if relation is None:
            return Answer()
        types = catalog.shown(relation.types)
        names = column_names(self._parser, sql, relation.columns)
        exported = exact(catalog.as_texts(relation))
        return Answer(
            stream=reader(exported.relation, limits), names=names, types=types, cast=tuple(exported.cast_from)
        )

    def _again(self, sql: str, limits: tuple[int, int], parameters: dict[str, object] | None) -> Answer | None:
        """Run a statement that was seen before and is still what it was; most of the work of a short one is to find
        that out. Otherwise None, and nothing has happened."""
        seen = self._seen.get(sql)
        if seen is None:
            return None
        result = self._connection._submit(sql, parameters, "stream", rows_per_batch(seen.row_bytes, *limits))
        if result.description != seen.description:
            result.close()
            del self._seen[sql]
            return None
        return Answer(stream=Capsule(result.arrow_capsule()), names=seen.names, types=seen.types)

    def _remember(self, sql: str, seen: Seen) -> None:
        if len(sql) > SEEN_CHARACTERS or len(seen.types) > SEEN_COLUMNS:
            return
        if len(self._seen) >= SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[sql] = seen

    def preview(self, sql: str) -> Answer | None:
        """The columns of a query that changes the database, with no rows; it does not run. None for other statements,
        and if only running it tells."""
        self.finish()
        if sql in self._seen:
            return None
        statement = self._gate.check(self._connection, sql, None)
        if statement is None or not statement.changes or not statement.is_query or statement.is_late:
            # It runs next, whatever its columns are.
            self._passed = (sql, statement)
            return None
        catalog = self._catalog_columns(statement, sql, None)
        columns = enumerate(zip(statement.columns, statement.types, strict=True))
        types = [(name, "VARCHAR" if position in catalog.texts else type_) for position, (name, type_) in columns]
        nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in types)
        return self._rows(self._connection.sql(f"SELECT {nulls} LIMIT 0"), sql, (1, 1), CatalogColumns())

    def describe(self, sql: str, parameters: dict[str, object] | None) -> Description:
        """What a statement takes and, with these values, what it will give. The statement does not run."""
        statement = self._gate.check(self._connection, sql, parameters)
        if statement is None:
            return Description()
        columns = list(zip(statement.columns, map(str, statement.types), strict=True)) if statement.is_query else None
        # DuckDB's way to say that it needs the values first.
        is_late = statement.is_late or columns == [("unknown", "UNKNOWN")]
        if columns is not None and not is_late:
            names = column_names(self._parser, sql, statement.columns)
            catalog = self._catalog_columns(statement, sql, parameters)
            columns = list(zip(names, catalog.shown(statement.types), strict=True))
        named = [(name, str(type_)) for name, type_ in statement.parameters]
        return Description(parameters=named, columns=columns, late=is_late)

    def insert(self, sql: str, name: str, batch: ArrowStream) -> int:
        """Run an INSERT that reads `batch` under `name`; the number of rows. In a transaction, an error ends it."""
        import pyarrow as pa

        # What is inserted is there only while it is; until then DuckDB cannot say what it thinks of the statement.
        self._gate.check_insert(sql)
        registered = Registered(pa.RecordBatchReader.from_stream(batch).read_all())
        # The view replaces one that an earlier INSERT has left behind because it failed.
        self._connection.register(name, registered)
        try:
            changed = self._connection.execute(sql).rowcount
            # Not by `unregister`: it hides errors, and one for want of memory aborts the transaction.
            self._connection.execute(f"DROP VIEW temp.main.{quoted(name)}")
        finally:
            registered.release()
        return changed

    def _keep_path(self) -> None:
        """Put PostgreSQL's catalog at the end of the search path, if a setting has lost it. DuckDB's own schema is
        always behind it: first, it would bring back the functions that `fences.hide_files` hides."""
        path = search_path(self._connection)
        if any(part.partition(".")[0].strip('" ').lower() == "system" for part in path.split(",")):
            self._connection.execute(f"SET search_path = {literal(self._path)}")
            refuse("the database system on the search path")
        keep_catalog(self._connection)
        self._path = search_path(self._connection)

    def finish(self) -> None:
        """The answer before is read, or given up."""
        if isinstance(self._connection, ReadOnlyConnection):
            self._connection.finish()

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._parser.close()
        self._connection.close()


def resources(memory: str | None, threads: int | None) -> tuple[str, int]:
    """Memory and threads as DuckDB understands them; for None what it takes by itself, by the machine's limits."""
    with duckdb.connect() as connection:
        if memory is not None:
            connection.execute(f"SET memory_limit = {literal(memory)}")
        query = "SELECT current_setting('memory_limit'), current_setting('threads')"
        ((found_memory, found_threads),) = connection.execute(query).fetchall()
    return found_memory, threads or found_threads


def is_plain(statement: Statement, catalog: CatalogColumns) -> bool:
    """Whether it is a query that only reads, and whose rows leave as DuckDB gives them."""
    if statement.kind != "select" or statement.is_late or statement.changes:
        return False
    columns = enumerate(zip(statement.columns, statement.types, strict=True))
    return all(position not in catalog.texts and leaves_as_it_is(*column) for position, column in columns)


def leaves_as_it_is(name: str, type_: DuckDBPyType) -> bool:
    if str(type_) in VECTORS:
        return False
    return type_.id in AS_THEY_ARE or (type_.id != "interval" and cast_target(type_, name) is None)


def reader(relation: DuckDBPyRelation, limits: tuple[int, int]) -> ArrowStream:
    """The relation's rows as a stream. Without pyarrow DuckDB alone decides how many rows a batch has."""
    if pyarrow is None:
        return relation
    return relation.to_arrow_reader(rows_per_batch(row_bytes(relation.types), *limits))
