"""Calls of a library that cannot be stopped, such as an ADBC driver's connect: they have a thread of their own, so that
Ctrl-C ends the wait.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Seconds after which a wait looks for signals, as in the extension module. A library may have a handler of its own for
#: Ctrl-C with SA_RESTART, as polars has. A wait without a limit would not be interrupted then.
POLL_SECONDS = 0.05


class Signal:
    """What a thread waits for, once. Ctrl-C in a wait for a `threading.Event` may leave the lock within it locked, so
    that nobody can set it any more, or become a RuntimeError."""

    def __init__(self) -> None:
        self.is_set = False
        self._lock = Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Ends all waits."""
        self.is_set = True
        self._release()

    def wait(self, seconds: float) -> bool:
        """Waits until it is set; False if that takes longer."""
        # If Ctrl-C arrives between the two, others see that it is set.
        if not self.is_set and self._lock.acquire(timeout=seconds):
            self._release()
        return self.is_set

    def _release(self) -> None:
        # Another thread may have released it.
        with suppress(RuntimeError):
            self._lock.release()


class Abandoned(Exception):
    """The caller has stopped waiting. The call continues."""


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T], undo: Callable[[T], object] | None) -> None:
        #: Emptied on use, because a call must not keep objects of the library alive.
        self.work = [work]
        self.values: list[T] = []
        self.failed: list[BaseException] = []
        self.ended = Signal()
        #: Set when the wait is over: the call has ended or was abandoned.
        self.woken = Signal()
        self._undo = undo
        #: Held while it is decided whether the caller gets the value.
        self._lock = Lock()
        self._is_unwanted = False

    def run(self) -> None:
        try:
            value = self.work.pop()()
            with self._lock:
                self.values.append(value)
                is_unwanted = self._is_unwanted
            del value
            if is_unwanted:
                self._clear()
        except BaseException as error:
            self.failed.append(error)
        self.ended.set()
        self.woken.set()

    def drop(self) -> None:
        """Undoes the call, now or when it has ended: its caller was interrupted."""
        with self._lock:
            self._is_unwanted = True
            has_value = bool(self.values)
        if has_value:
            self._clear()

    def _clear(self) -> None:
        value = self.values.pop()
        if self._undo is not None:
            self._undo(value)


class Calls:
    """One call at a time, each on its own thread, so that the caller can stop waiting."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: The last call.
        self._call: _Call[Any] | None = None

    def run(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """Does the work and returns its result. Raises Abandoned if `abandon` was called meanwhile. After an interrupt,
        such as Ctrl-C, `undo` gets the result as soon as there is one."""
        call = _Call(work, undo)
        del work
        with self._lock:
            self._call = call
        try:
            start_new_thread(call.run, ())
            while not call.woken.wait(POLL_SECONDS):
                pass
        except BaseException:
            call.drop()
            raise
        if not call.ended.is_set:
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
