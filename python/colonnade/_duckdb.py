"""DuckDB in this process: its batches are handed on without a copy."""

from __future__ import annotations

from urllib.parse import unquote

from . import _convert, _core, _errors
from ._arrow_source import ArrowSource
from ._errors import InterfaceError
from ._exact import UnsupportedType, exact
from ._options import Params, QueryOptions


class DuckdbSource(ArrowSource[str]):
    """One DuckDB connection."""

    uses_all_cores = True

    def __init__(self, path: str) -> None:
        self._duckdb = _convert.require("duckdb", "a duckdb:// URI")
        name = f"duckdb:{path}" if not path.startswith("/") else f"duckdb://{path}"
        super().__init__(name, f"DuckDB {self._duckdb.__version__}")
        try:
            self._connection = self._duckdb.connect(path)
            # A query must mean the same here as on a server, whatever this process has variables for.
            self._connection.execute("SET python_enable_replacements = false")
            # A library does not write to its caller's terminal.
            self._connection.execute("SET enable_progress_bar = false")
        except self._duckdb.Error as error:
            raise _errors.OperationalError(str(error), source=self.name) from error

    @classmethod
    def from_uri(cls, rest: str) -> DuckdbSource:
        """The source that `duckdb:` and `rest` mean."""
        return cls(_path(rest))

    def _bind(self, sql: str, params: Params | None) -> str:
        return _core.bind(sql, params)

    def _start(self, query: str, options: QueryOptions) -> tuple[object, dict[int, str]]:
        """Nothing is encoded, so most options have nothing to say here."""
        if options.get("numeric") is not None or options.get("as_text"):
            raise _errors.NotSupportedError(
                "numeric and as_text are for PostgreSQL: cast in the query", source=self.name
            )
        relation = self._connection.sql(query)
        if relation is None:
            raise _errors.ProgrammingError(
                "the statement returns no rows", hint="in Python, Connection.execute runs it", source=self.name
            )
        try:
            made = exact(relation)
        except UnsupportedType as error:
            raise _errors.NotSupportedError(str(error), source=self.name) from error
        return made.relation, made.cast_from

    def _effect(self, query: str) -> int | None:
        done = self._connection.execute(query)
        changed = done.rowcount
        # What it returns is given up; the connection is free again.
        done.complete()
        return changed if changed >= 0 else None

    def _interrupt(self) -> None:
        self._connection.interrupt()

    def _end(self) -> None:
        self._connection.close()

    def _translated(self, error: BaseException) -> _errors.Error | None:
        if not isinstance(error, self._duckdb.Error):
            return None
        if isinstance(error, self._duckdb.InterruptException):
            return _errors.OperationalError("the query was cancelled", sqlstate="57014", source=self.name)
        classes: list[tuple[type[Exception], type[_errors.Error]]] = [
            (self._duckdb.NotSupportedError, _errors.NotSupportedError),
            (self._duckdb.ProgrammingError, _errors.ProgrammingError),
            (self._duckdb.DataError, _errors.DataError),
            (self._duckdb.IntegrityError, _errors.IntegrityError),
            (self._duckdb.OperationalError, _errors.OperationalError),
            (self._duckdb.InternalError, _errors.InternalError),
        ]
        ours = next((ours for theirs, ours in classes if isinstance(error, theirs)), _errors.DatabaseError)
        return ours(str(error), source=self.name)


def _path(rest: str) -> str:
    """What follows `duckdb:` as a path; RFC 3986 gives an absolute one two slashes more and a relative one none."""
    path, _, query = rest.partition("?")
    if query:
        raise InterfaceError("a duckdb: URI takes no parameters")
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if host and host != ":memory:":
            raise InterfaceError("a duckdb: URI names no host: write duckdb:///absolute/path or duckdb:relative/path")
        path = slash + path
    path = unquote(path)
    return ":memory:" if path in ("", "/", ":memory:", "/:memory:") else path
