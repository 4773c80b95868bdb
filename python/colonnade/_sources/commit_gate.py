"""Decides whether a write commits or is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class CommitGate:
    """A write that was interrupted does not commit, and one that commits is not interrupted."""

    def __init__(self) -> None:
        self._deciding = Lock()
        self._is_stopped = False

    def open(self) -> None:
        """Begins a write: what was interrupted before is over."""
        with self._deciding:
            self._is_stopped = False

    def stop(self) -> None:
        """Interrupts the write. If it commits, this waits for the end of that. It may be called from any thread."""
        with self._deciding:
            self._is_stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether the write was interrupted."""
        return self._is_stopped

    def commit(self, work: Callable[[], object]) -> bool:
        """Commits by `work`, unless the write was interrupted; whether it did."""
        with self._deciding:
            if not self._is_stopped:
                work()
            return not self._is_stopped
