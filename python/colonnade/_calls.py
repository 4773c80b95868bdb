"""Calls into a library that has no way to stop them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Nobody waits for the call any more; it goes on."""


class _Call:
    def __init__(self, work: Callable[[], object]) -> None:
        self._work: Callable[[], object] | None = work
        #: What came of it: a value or an error.
        self.outcome: tuple[object, BaseException | None] | None = None
        self.ended = Event()
        #: There is nothing to wait for: it has ended, or it was abandoned.
        self.woken = Event()

    def run(self) -> None:
        work, self._work = self._work, None
        assert work is not None
        try:
            self.outcome = work(), None
        except BaseException as error:
            self.outcome = None, error
        # What the work held is let go here: others may close it next.
        del work
        self.ended.set()
        self.woken.set()


class Calls:
    """One call at a time, each on a thread of its own, so that whoever waits for it can leave it behind."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: The last one.
        self._call: _Call | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Does the work.

        Raises Abandoned if `abandon` was called meanwhile, and what the work raises.
        """
        call = _Call(work)
        with self._lock:
            self._call = call
        Thread(target=call.run, name="colonnade-call", daemon=True).start()
        call.woken.wait()
        if call.outcome is None:
            raise Abandoned
        value, error = call.outcome
        # A traceback would keep the value, and with it the library's objects.
        call.outcome = None
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def abandon(self) -> None:
        """Lets nobody wait any longer for the call that runs, if one does; from any thread."""
        with self._lock:
            if self._call is not None:
                self._call.woken.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the end of a call that was abandoned; False if it takes longer."""
        with self._lock:
            call = self._call
        return call is None or call.ended.wait(seconds)
