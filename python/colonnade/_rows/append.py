"""Rows that are written part by part, as one write."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from threading import Condition, Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from colonnade._errors import InterfaceError

from .data import checked, part_of
from .writing import WriteStats, write_rows

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

    from colonnade._core import Source
    from colonnade._options.write import WriteOptions

    from .data import Rows

#: The batches that wait for the writer.
_WAITING = 2
#: Seconds between two requests to stop the writer. A request has no effect before its statement has started.
_AGAIN = 0.1
#: Seconds between two looks for Ctrl-C: a signal may reach another thread than the one that sleeps.
_LOOK = 0.1
#: Seconds after which a writer that does not stop is ended by closing its connection.
_STOP_SECONDS = 10.0


class _State(Enum):
    UNUSED = "is not entered: write with connection.append(…) as rows"
    OPEN = "is open"
    COMPLETE = "has ended"
    ABANDONED = "was given up"


class _AbandonedError(Exception):
    """Ends the stream of the rows, so that the writer rolls back."""


class Append:
    """Rows on their way into a table, made by `Connection.append`.

    `write` gives rows to a thread that writes them. Leaving the `with` block commits all of them; leaving it by an
    exception, or after a failed `write`, rolls back. The connection is busy from the first `write` until then.
    """

    def __init__(self, source: Source, table: str, options: WriteOptions) -> None:
        self._source, self._table, self._options = source, table, options
        self._state = _State.UNUSED
        self._schema: pa.Schema | None = None
        self._thread: Thread | None = None
        #: Protects the batches and the state.
        self._changed = Condition()
        self._batches: deque[pa.RecordBatch] = deque()
        self._ended = Event()
        #: Whether the writer takes no more batches, because it has failed.
        self._is_refused = False
        self._stats: WriteStats | None = None
        self._error: BaseException | None = None

    def write(self, rows: Rows) -> None:
        """Adds rows. It returns when the writer has room for them, so memory does not grow with the rows.

        Args:
            rows: A pyarrow.RecordBatch, or a table, a frame or a dict of arrays as for `write_sql`. The first rows
                decide the columns of all others.

        Raises:
            InterfaceError: The rows are of another kind or have other columns, and are not added. Those before are
                kept. Or the `with` block was left.
            Error: The writer has failed, as `write_sql` does. Nothing will be written.
        """
        if self._state is not _State.OPEN:
            raise InterfaceError(f"the append to {self._table!r} {self._state.value}")
        part = checked(part_of(rows), self._schema)
        if self._thread is None:
            self._schema = part.schema
            self._start()
        try:
            for batch in part:
                self._give(batch)
        except BaseException:
            # A part of them was given.
            self.abandon()
            raise

    @property
    def stats(self) -> WriteStats:
        """What was written.

        Raises:
            InterfaceError: The rows are not committed yet, or were rolled back.
        """
        if self._stats is None:
            raise InterfaceError(f"the append to {self._table!r} has written nothing yet, or has failed")
        return self._stats

    def abandon(self) -> None:
        """Makes a `write` that waits raise an error. The writer rolls back. It is called from any thread."""
        self._become(_State.ABANDONED)

    def _start(self) -> None:
        self._thread = Thread(target=self._work, name="colonnade-append", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._stats = write_rows(self._given(), self._source, self._table, stop=self._refuse, **self._options)
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()
            with self._changed:
                self._changed.notify_all()

    def _given(self) -> Iterator[pa.RecordBatch]:
        """The batches, on the thread that reads them for the writer."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._batches or self._is_refused or self._is_over())
                if self._state is _State.ABANDONED or self._is_refused or self._ended.is_set():
                    raise _AbandonedError("the rows were given up")
                if not self._batches:
                    return
                batch = self._batches.popleft()
                self._changed.notify_all()
            yield batch

    def _refuse(self) -> None:
        with self._changed:
            self._is_refused = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._state is not _State.OPEN or self._ended.is_set()

    def _give(self, batch: pa.RecordBatch) -> None:
        with self._changed:
            while len(self._batches) >= _WAITING and not self._is_over():
                self._changed.wait(_LOOK)
            if not self._is_over():
                self._batches.append(batch)
                self._changed.notify_all()
                return
        self._raise()
        raise InterfaceError(f"the append to {self._table!r} {self._state.value}")

    def _raise(self) -> None:
        """Raises the writer's error, if it has failed by itself."""
        if self._error is not None and not isinstance(self._error, _AbandonedError):
            raise self._error

    def _become(self, state: _State) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()

    def __enter__(self) -> Append:
        if self._state is not _State.UNUSED:
            raise InterfaceError(f"the append to {self._table!r} {self._state.value}: it is used once")
        self._state = _State.OPEN
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._thread is None:
            self._become(_State.COMPLETE)
            self._stats = WriteStats(0, 0.0, self._table, self._source.name, self._source.server)
            return
        try:
            if error is not None:
                self._stop()
                return
            if self._state is _State.OPEN:
                self._become(_State.COMPLETE)
            else:
                self._stop()
            while not self._ended.wait(_LOOK):
                pass
        except BaseException:
            # Ctrl-C while it waits.
            self._stop()
            raise
        self._raise()
        if self._stats is None:
            raise InterfaceError(f"the append to {self._table!r} {_State.ABANDONED.value}, and nothing is written")

    def _stop(self) -> None:
        """Ends the writer. It returns when the connection is free, or closed."""
        self._become(_State.ABANDONED)
        limit = monotonic() + _STOP_SECONDS
        while not self._ended.wait(_AGAIN):
            if monotonic() > limit:
                self._source.close()
                return
            # It may wait for a lock.
            with suppress(Exception):
                self._source.cancel()
