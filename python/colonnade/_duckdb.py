"""DuckDB in this process: its batches are handed on without a copy."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NoReturn, TypeVar
from weakref import WeakSet

from . import _convert, _core, _errors
from ._exact import UnsupportedType, exact

T = TypeVar("T")

#: How long a result that was given up may keep its connection busy.
_RELEASE_SECONDS = 10.0


#: A query that still runs when the interpreter ends would meet a process that is half gone.
_sources: WeakSet[DuckdbSource] = WeakSet()


@atexit.register
def _close_all() -> None:
    for source in list(_sources):
        source.close()


class DuckdbSource:
    """One DuckDB connection. It delivers one result at a time, as a server's would."""

    def __init__(self, path: str) -> None:
        self._duckdb = _convert.require("duckdb", "a duckdb:// URI")
        self.name = f"duckdb:{path}" if not path.startswith("/") else f"duckdb://{path}"
        self.server = f"DuckDB {self._duckdb.__version__}"
        #: What the last query's stream makes the connection do.
        self._current: _core.Production | None = None
        self._open = True
        try:
            self._connection = self._duckdb.connect(path)
            # A query must mean the same here as on a server, whatever this process has variables for.
            self._connection.execute("SET python_enable_replacements = false")
            # A library does not write to its caller's terminal.
            self._connection.execute("SET enable_progress_bar = false")
        except self._duckdb.Error as error:
            raise _errors.OperationalError(str(error), source=self.name) from error
        _sources.add(self)

    @property
    def is_open(self) -> bool:
        return self._open

    def query(
        self,
        sql: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        compression: str | None = None,
        chunk_rows: int | None = None,
        chunk_bytes: int | None = None,
        max_message_bytes: int | None = None,
        numeric: tuple[int, int] | None = None,
        as_text: Sequence[str] | None = None,
        parallel: str | None = None,
    ) -> _core.Stream:
        """Nothing is encoded, so most options have nothing to say here."""
        if numeric is not None or as_text:
            raise _errors.NotSupportedError(
                "numeric and as_text are for PostgreSQL: cast in the query", source=self.name
            )
        bound = _core.bind(sql, params)
        self._claim()

        def start() -> _core.Stream:
            relation = self._connection.sql(bound)
            if relation is None:
                raise _errors.ProgrammingError("the statement returns no rows: use execute()", source=self.name)
            try:
                made = exact(relation)
            except UnsupportedType as error:
                raise _errors.NotSupportedError(str(error), source=self.name) from error
            stream, self._current = _core.Stream.from_arrow(
                made.relation, self.name, self.server, self._connection.interrupt, made.cast_from
            )
            return stream

        return self._run(start)

    def execute(self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> int | None:
        bound = _core.bind(sql, params)
        self._claim()

        def run() -> int | None:
            done = self._connection.execute(bound)
            columns = [column[0] for column in done.description or []]
            rows = done.fetchall() if columns == ["Count"] else []
            return int(rows[0][0]) if rows else None

        return self._run(run)

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._open = False
        if self._current is not None:
            self._current.close()
            self._current.wait(_RELEASE_SECONDS)
            self._current = None
        self._connection.close()

    def _claim(self) -> None:
        if not self._open:
            raise _errors.InterfaceError("the connection is closed: open a new one", source=self.name)
        if self._current is not None:
            if self._current.is_open:
                raise _errors.InterfaceError(
                    "the connection still delivers a result: read it to its end, drop it, or open a second connection",
                    source=self.name,
                )
            self._current.wait(_RELEASE_SECONDS)
            self._current = None

    def _run(self, work: Callable[[], T]) -> T:
        """Does the work on another thread: on the main one, DuckDB answers Ctrl-C only after the running task."""
        done: list[T] = []
        failed: list[BaseException] = []
        # An interrupted Thread.join() takes the thread for ended (bpo-45274).
        ended = Event()
        # Whoever takes it decides: the thread, that the work is done; this one, that it is given up before it began.
        begun = Lock()

        def target() -> None:
            if not begun.acquire(blocking=False):
                return
            try:
                done.append(work())
            except BaseException as error:
                failed.append(error)
            finally:
                ended.set()

        thread = Thread(target=target, name="colonnade-duckdb", daemon=True)
        try:
            # Ctrl-C may come while this waits for the thread to say that it runs.
            thread.start()
            ended.wait()
        except BaseException:
            if not begun.acquire(blocking=False):
                limit = monotonic() + _RELEASE_SECONDS
                while not ended.is_set() and monotonic() < limit:
                    # One that comes before the query has started has no effect.
                    self._connection.interrupt()
                    ended.wait(0.1)
            # Whatever came of it, nobody will read it.
            if self._current is not None:
                self._current.close()
            raise
        if failed:
            self._raise(failed[0])
        return done[0]

    def _raise(self, error: BaseException) -> NoReturn:
        """The same error as one of this package's."""
        if not isinstance(error, self._duckdb.Error):
            raise error
        if isinstance(error, self._duckdb.InterruptException):
            raise _errors.OperationalError("the query was cancelled", sqlstate="57014", source=self.name) from error
        classes: list[tuple[type[Exception], type[_errors.Error]]] = [
            (self._duckdb.NotSupportedError, _errors.NotSupportedError),
            (self._duckdb.ProgrammingError, _errors.ProgrammingError),
            (self._duckdb.DataError, _errors.DataError),
            (self._duckdb.IntegrityError, _errors.IntegrityError),
            (self._duckdb.OperationalError, _errors.OperationalError),
            (self._duckdb.InternalError, _errors.InternalError),
        ]
        ours = next((ours for theirs, ours in classes if isinstance(error, theirs)), _errors.DatabaseError)
        raise ours(str(error), source=self.name) from error
