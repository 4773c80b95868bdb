"""A thread that works for the event loop, one piece of work after another.

asyncio has no second stack: a connection's daemon thread does the work of `colonnade.Connection`, and wakes the event
loop by `call_soon_threadsafe`. A cancelled task starts a thread that repeats `cancel()` until the piece of work has
ended, because a request has no effect before the statement has started. The connection's thread waits for this thread
before its next piece of work, so that no request reaches another statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Seconds between two requests to stop a statement. A request has no effect before the statement has started.
AGAIN = 0.1
#: Seconds after which a statement that does not stop is ended by closing its connection.
STOP_SECONDS = 10.0


class Worker:
    """The thread of one connection. It is a daemon, because a query must not keep the interpreter from exiting."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(self._jobs,), name="colonnade-aio", daemon=True)
        self._thread.start()

    async def run(
        self,
        work: Callable[[], T],
        *,
        cancel: Callable[[], object] | None = None,
        close: Callable[[], object] | None = None,
        discard: Callable[[T], object] | None = None,
    ) -> T:
        """Does the work on the thread, after all work before it.

        If the task is cancelled, `cancel` is called on a thread of its own until the work ends, and `close` if it does
        not end. A value that comes too late is given to `discard`. Work that follows waits for this.
        """
        job = Job(work, cancel, close, discard)
        self._jobs.put(job)
        try:
            return await job.future
        except asyncio.CancelledError:
            job.stop(self.post)
            raise

    def post(self, work: Callable[[], object]) -> None:
        """Does the work on the thread, after all work before it. Nobody waits for it."""
        self._jobs.put(work)

    def end(self) -> None:
        """Ends the thread after all work."""
        self._jobs.put(None)

    def join(self, seconds: float) -> None:
        """Waits until the thread has ended."""
        self._thread.join(seconds)


def _work(jobs: SimpleQueue[Callable[[], object] | None]) -> None:
    while (job := jobs.get()) is not None:
        # An error of work for which nobody waits has no reader.
        with suppress(Exception):
            job()
        # The work may hold the last reference to a result.
        del job


class Job(Generic[T]):
    """A piece of work, and the future of its outcome. It is made on the event loop."""

    def __init__(
        self,
        work: Callable[[], T],
        cancel: Callable[[], object] | None,
        close: Callable[[], object] | None,
        discard: Callable[[T], object] | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()
        self._work: Callable[[], T] | None = work
        self._cancel, self._close, self._discard = cancel, close, discard
        #: Protects what follows.
        self._lock = Lock()
        self._has_begun = False
        self._is_stopped = False
        self._ended = Event()
        self._stopper: Thread | None = None
        #: The value, until it is taken.
        self._values: list[T] = []

    def __call__(self) -> None:
        """Works, and reports the outcome. It runs on the worker's thread."""
        with self._lock:
            if self._is_stopped:
                return
            self._has_begun = True
        error: BaseException | None = None
        try:
            assert self._work is not None
            self._values.append(self._work())
        except BaseException as caught:
            error = caught
        # It may refer to a result, which must be dropped by the task and not later by this thread.
        self._work = None
        with self._lock:
            self._ended.set()
            is_stopped, stopper = self._is_stopped, self._stopper
        if stopper is not None:
            # Its last request must not reach the next statement.
            stopper.join()
        if not is_stopped:
            try:
                self._loop.call_soon_threadsafe(self._deliver, error)
                return
            except RuntimeError:
                # The loop is closed.
                pass
        self._drop()

    def _deliver(self, error: BaseException | None) -> None:
        """Sets the future. It runs on the event loop."""
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self._values[0])
            self._values.clear()

    def stop(self, post: Callable[[Callable[[], object]], object]) -> None:
        """Ends the work, because its task was cancelled. It runs on the event loop and does not wait."""
        with self._lock:
            self._is_stopped = True
            if self._ended.is_set():
                if self.future.done() and not self.future.cancelled() and self.future.exception() is None:
                    self._values.append(self.future.result())
                post(self._drop)
            elif self._has_begun and self._cancel is not None:
                self._stopper = Thread(target=self._insist, name="colonnade-cancel", daemon=True)
                self._stopper.start()

    def _drop(self) -> None:
        while self._values:
            value = self._values.pop()
            if self._discard is not None:
                self._discard(value)

    def _insist(self) -> None:
        assert self._cancel is not None
        limit = monotonic() + STOP_SECONDS
        while not self._ended.is_set():
            if monotonic() > limit and self._close is not None:
                self._close()
                return
            with suppress(Exception):
                self._cancel()
            self._ended.wait(AGAIN)


def apart(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Does the work on a thread of its own, concurrently with the workers."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def complete(error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        # The loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(complete, error)

    Thread(target=run, name="colonnade-cancel", daemon=True).start()
    return future
