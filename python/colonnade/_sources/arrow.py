"""A source in this process that delivers its results as Arrow streams."""

from __future__ import annotations

import atexit
import os
from _thread import start_new_thread
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, Unpack
from weakref import WeakSet

from colonnade._core import Stream, refuse_for_plain_source
from colonnade._errors import Error, InterfaceError, NotSupportedError, OperationalError, ProgrammingError
from colonnade._options.query import Params, SourceOptions
from colonnade._options.write import WriteTarget

from .calls import POLL_SECONDS, Signal

if TYPE_CHECKING:
    from colonnade._core import ArrowStream, Production, VectorRows
    from colonnade._sources.duckdb_types.exact import FieldNotes

T = TypeVar("T")
#: A statement with its parameters, in the library's terms.
Query = TypeVar("Query")

#: Seconds for which an abandoned result may keep its connection busy.
RELEASE_SECONDS = 10.0

#: They are closed at exit, because a running query would use objects that the interpreter's shutdown has removed.
_sources: WeakSet[ArrowSource[Any]] = WeakSet()


@atexit.register
def _close_all() -> None:
    for source in list(_sources):
        # A library that does not end its statement must not keep the program from ending.
        with suppress(Error):
            source.close()


class NoRows(NotSupportedError):
    """A statement returned no rows where rows are required."""

    def __init__(self, source: str, *, has_run: bool = False) -> None:
        message = "the statement returns no rows" + (", and it has run" if has_run else "")
        super().__init__(message, sqlstate="0A000", hint="in Python, Connection.execute runs it", source=source)
        self.has_run = has_run


class SeveralStatements(ProgrammingError):
    """A text has several statements where one is required."""

    def __init__(self, source: str) -> None:
        message, hint = "the query has more than one statement", "run the others with execute() before it"
        super().__init__(message, sqlstate="42601", hint=hint, source=source)


_BUSY = "the connection still delivers a result: read it to its end, drop it, or open a second connection"
#: The SQLSTATE and the message of a cancelled query.
CANCELLED = ("57014", "the query was cancelled")


class ArrowSource(ABC, Generic[Query]):
    """One connection of another library. It delivers one result at a time, like a connection to a server."""

    #: Whether the library uses all cores for one result, so that reading in parts gains nothing.
    uses_all_cores = False
    #: Whether it refuses to commit a transaction that has failed.
    tells_failures = False
    #: Whose SQL the database reads, by the extension module's names.
    dialect = "unknown"
    #: Whether it has the option `as_text`.
    has_as_text = False
    #: The SQLSTATE and the message of errors that end a stream, by how their text begins: Arrow's C interface carries
    #: only the text.
    stream_errors: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init__(self, name: str, server: str) -> None:
        """It is called when the library's connection is open: from then on, this source closes it."""
        self.name = name
        self.server = server
        #: The connection's work for the last query's stream.
        self._current: Production | None = None
        self.is_open = True
        #: Whether `begin` has begun a transaction that `end` has not ended. The thread that works sets it, because the
        #: caller may be interrupted.
        self.has_begun = False
        #: Whether the library's connection is closed. `close` may have been interrupted before that.
        self._has_ended = False
        #: Held while a statement runs, and for every change of `_current`. A thread that comes meanwhile is refused.
        self._working = Lock()
        #: In a process that was forked from this one, the library's threads do not exist.
        self._process = os.getpid()
        _sources.add(self)

    @abstractmethod
    def tables(self) -> Stream:
        """The tables of users, with the columns of `Connection.tables`."""

    @abstractmethod
    def write(self, rows: Stream, **target: Unpack[WriteTarget]) -> int:
        """Writes all rows of a stream into a table, or none. Returns their number."""

    @abstractmethod
    def _bind(self, sql: str, params: Params | None) -> Query:
        """The statement with its parameters."""

    @abstractmethod
    def _start(self, query: Query, options: SourceOptions) -> tuple[ArrowStream | VectorRows, FieldNotes]:
        """Runs a query. Returns its stream, and what its schema does not tell of the database's types."""

    def _protect(self, query: Query) -> Callable[[bool], object] | None:
        """Prevents effects of a query that returns no rows: raises NoRows before it runs, or begins a transaction.
        Returns the function that ends this transaction, whose argument says whether to commit, or None."""
        return None

    @abstractmethod
    def _effect(self, query: Query) -> int | None:
        """Runs a statement, and returns the number of rows that it changed."""

    @abstractmethod
    def _interrupt(self) -> object:
        """Stops the running statement. It is called from any thread."""

    def _wait_for_abandoned(self) -> None:
        """Waits until what was abandoned has ended.

        Raises:
            InterfaceError: It does not end.
        """

    @abstractmethod
    def _end(self) -> None:
        """Closes the library's connection."""

    @abstractmethod
    def _translated(self, error: BaseException) -> Error | None:
        """An error of the library as an error of this package; None for any other error."""

    def query(self, sql: str, params: Params | None = None, **options: Unpack[SourceOptions]) -> Stream:
        refuse_for_plain_source(self.name, self.has_as_text, **options)
        bound = self._bind(sql, params)

        def start() -> Stream:
            finish = self._protect(bound)
            try:
                stream = self._stream(bound, options, finish)
            except BaseException:
                if finish is not None:
                    finish(False)
                raise
            if not stream.names:
                stream.close()
                raise NoRows(self.name, has_run=True)
            return stream

        return self._run(start)

    def _stream(self, bound: Query, options: SourceOptions, finish: Callable[[bool], object] | None) -> Stream:
        producer, notes = self._start(bound, options)
        stream, self._current = Stream.from_arrow(
            producer,
            self.name,
            self.server,
            cancel=self._interrupt,
            meanings=self.stream_errors,
            notes=notes,
            finish=finish,
            chunk_rows=options.get("chunk_rows"),
            chunk_bytes=options.get("chunk_bytes"),
        )
        return stream

    def execute(self, sql: str, params: Params | None = None) -> int | None:
        bound = self._bind(sql, params)
        return self._run(lambda: self._effect(bound))

    def run(self, sql: str, params: Params | None = None, **options: Unpack[SourceOptions]) -> Stream | int | None:
        """Runs a statement that may return rows: a stream, or the number of rows that it changed."""
        if self._is_effect(sql):
            return self.execute(sql, params)
        refuse_for_plain_source(self.name, self.has_as_text, **options)
        bound = self._bind(sql, params)
        try:
            stream = self._run(lambda: self._stream(bound, options, None))
        except NoRows as refused:
            return None if refused.has_run else self.execute(sql, params)
        if stream.names:
            return stream
        # Some drivers run a statement only when its stream is read.
        stream.read(False)
        return None

    def begin(self) -> None:
        """Begins a transaction, which `end` ends.

        Raises:
            NotSupportedError: The source has no transactions.
        """
        self._transact(self._begin, begins=True)

    def end(self, *, commit: bool) -> None:
        """Commits the transaction, or rolls it back."""
        self._transact(lambda: self._finish(commit=commit), begins=False)

    def _transact(self, step: Callable[[], object], *, begins: bool) -> None:
        def work() -> None:
            try:
                step()
            except BaseException:
                self.has_begun = self._is_in_transaction()
                raise
            self.has_begun = begins

        self._run(work)

    def _begin(self) -> object:
        return self._effect(self._bind("begin transaction", None))

    def _finish(self, *, commit: bool) -> object:
        return self._effect(self._bind("commit" if commit else "rollback", None))

    @property
    def is_in_transaction(self) -> bool:
        """Whether a statement belongs to a transaction of the caller."""
        return self.has_begun

    def _is_in_transaction(self) -> bool:
        """Whether there is a transaction after an attempt to begin or to end one has failed."""
        return self.has_begun

    def _is_effect(self, sql: str) -> bool:
        """Whether a statement certainly returns no rows, and should be run by `execute`."""
        return False

    def cancel(self) -> None:
        if not self._is_forked():
            self._interrupt()

    def close(self) -> None:
        self.is_open = False
        if self._has_ended or self._is_forked():
            return
        limit = monotonic() + RELEASE_SECONDS
        while not self._working.acquire(timeout=POLL_SECONDS):
            self._insist(limit)
        try:
            # Another thread may have closed it.
            if self._has_ended:
                return
            if self._current is not None:
                while not self._current.close(POLL_SECONDS):
                    self._insist(limit)
                self._current.wait(RELEASE_SECONDS)
                self._current = None
            self._end()
            self._has_ended = True
        finally:
            self._working.release()

    def _insist(self, limit: float) -> None:
        """Stops what another thread runs or reads, whose end `close` waits for until the time `limit`."""
        if monotonic() > limit:
            raise OperationalError("the connection could not be closed: another thread uses it", source=self.name)
        self._interrupt()

    def __del__(self) -> None:
        """Closes a connection that was dropped: some libraries would keep its session."""
        if not getattr(self, "is_open", False) or self._is_forked():
            return
        if self._current is None or self._current.wait(0):
            self._close_dropped()
        else:
            # This may be the thread that works for the last result, whose end it would wait for.
            _sources.add(self)
            Thread(target=self._close_dropped, name="colonnade-close", daemon=True).start()

    def _close_dropped(self) -> None:
        # Nobody waits for the outcome.
        with suppress(Exception):
            self.close()

    def _is_forked(self) -> bool:
        return self._process != os.getpid()

    def _claim(self) -> None:
        """Acquires `_working`, if no statement runs and no result is being read."""
        if self._is_forked():
            raise InterfaceError(
                "the connection belongs to the process from which this one was forked",
                hint="connect in each process, after the fork",
                source=self.name,
            )
        if not self._working.acquire(blocking=False):
            raise InterfaceError(_BUSY, source=self.name)
        try:
            if not self.is_open:
                raise InterfaceError("the connection is closed: open a new one", source=self.name)
            if self._current is not None:
                if self._current.is_open:
                    raise InterfaceError(_BUSY, source=self.name)
                self._current.wait(RELEASE_SECONDS)
                self._current = None
            self._wait_for_abandoned()
        except BaseException:
            self._working.release()
            raise

    def _run(self, work: Callable[[], T]) -> T:
        """Does the work on another thread, while no other work and no result uses the connection. On the main thread,
        Ctrl-C would wait until the library returns, and might arrive between the claim and its release."""
        done: list[T] = []
        failed: list[BaseException] = []
        # A `threading.Thread` is not used: Ctrl-C may damage the `Event` in its start(), and after an interrupt join()
        # reports that the thread has ended (bpo-45274).
        claimed, ended = Signal(), Signal()
        # The thread acquires it before the work. If the caller acquires it first, the work does not begin.
        begun = Lock()

        def target() -> None:
            if not begun.acquire(blocking=False):
                return
            try:
                self._claim()
                claimed.set()
                try:
                    done.append(work())
                finally:
                    self._working.release()
            except BaseException as error:
                failed.append(error)
            finally:
                ended.set()

        try:
            start_new_thread(target, ())
            while not ended.wait(POLL_SECONDS):
                pass
            if failed:
                # The list must not keep the error, whose traceback has this list.
                self._raise(failed.pop())
            return done[0]
        except BaseException:
            if not begun.acquire(blocking=False):
                limit = monotonic() + RELEASE_SECONDS
                while not ended.is_set and monotonic() < limit:
                    # It is repeated, because it has no effect before the query has started.
                    if claimed.is_set:
                        self._interrupt()
                    ended.wait(0.1)
            for result in done:
                # Nobody will read it.
                if isinstance(result, Stream):
                    result.close()
            raise

    def _raise(self, error: BaseException) -> NoReturn:
        translated = self._translated(error)
        try:
            if translated is None:
                raise error
            raise translated from error
        finally:
            # An error whose traceback has this frame must not keep itself, and this connection.
            del translated, error
