"""Calls into a library that has no way to stop them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """The caller does not wait any longer; the call goes on."""


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        #: Taken out when they are used: a call must not keep the library's objects alive.
        self.work = [work]
        self.values: list[T] = []
        self.failed: list[BaseException] = []
        self.ended = Event()
        #: There is nothing to wait for: it has ended, or it was abandoned.
        self.woken = Event()

    def run(self) -> None:
        try:
            self.values.append(self.work.pop()())
        except BaseException as error:
            self.failed.append(error)
        self.ended.set()
        self.woken.set()


class Calls:
    """One call at a time, each on a thread of its own, so that the caller can stop waiting for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: The last one.
        self._call: _Call[Any] | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Does the work.

        Raises Abandoned if `abandon` was called meanwhile, and what the work raises.
        """
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
        """Ends the wait for the call that runs, if one does. It may be called from any thread."""
        with self._lock:
            if self._call is not None:
                self._call.woken.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the end of a call that was abandoned; False if it takes longer."""
        with self._lock:
            call = self._call
        return call is None or call.ended.wait(seconds)
