"""Calls of a library that cannot be stopped."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """The caller has stopped waiting. The call continues."""


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        #: Emptied on use, because a call must not keep objects of the library alive.
        self.work = [work]
        self.values: list[T] = []
        self.failed: list[BaseException] = []
        self.ended = Event()
        #: Set when the wait is over: the call has ended or was abandoned.
        self.woken = Event()

    def run(self) -> None:
        try:
            self.values.append(self.work.pop()())
        except BaseException as error:
            self.failed.append(error)
        self.ended.set()
        self.woken.set()


class Calls:
    """One call at a time, each on its own thread, so that the caller can stop waiting."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: The last call.
        self._call: _Call[Any] | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Does the work and returns its result. Raises Abandoned if `abandon` was called meanwhile."""
        call = _Call(work)
        del work
        with self._lock:
            self._call = call
        Thread(target=call.run, name="colonnade-call", daemon=True).start()
        call.woken.wait()
        if not call.ended.is_set():
            raise Abandoned
        if call.failed:
            raise call.failed.pop()
        return call.values.pop()

    def abandon(self) -> None:
        """Ends the wait for the running call, if there is one. It may be called from any thread."""
        with self._lock:
            if self._call is not None:
                self._call.woken.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the end of an abandoned call; False if that takes longer."""
        with self._lock:
            call = self._call
        return call is None or call.ended.wait(seconds)
