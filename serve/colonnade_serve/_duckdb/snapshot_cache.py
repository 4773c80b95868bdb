"""What a session has found out and may use again, as long as it sees the same catalog with the same settings, or also
the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .catalog_epoch import CatalogSnapshot, RowSnapshot, SessionEpoch, SessionRows

Value = TypeVar("Value")


class SnapshotCache(Generic[Value]):
    """Values by their keys. All of them were found while the session saw the same."""

    def __init__(self, epoch: SessionEpoch | SessionRows, most: int) -> None:
        self._epoch = epoch
        #: The number of values that are kept.
        self._most = most
        self._snapshot: CatalogSnapshot | RowSnapshot | None = None
        self._found: dict[Hashable, Value] = {}

    def find(self, key: Hashable) -> Value | None:
        """The value; None if there is none, or if the session's snapshot is unknown."""
        now = self._epoch.now
        return self._found.get(key) if now is not None and now == self._snapshot else None

    def keep(self, key: Hashable, value: Value, before: CatalogSnapshot | RowSnapshot | None) -> None:
        """Keep a value, unless something has changed since the session saw `before`, when it began to look for it."""
        if before is None or before != self._epoch.now:
            return
        if before != self._snapshot:
            self._found.clear()
            self._snapshot = before
        if len(self._found) >= self._most:
            del self._found[next(iter(self._found))]
        self._found[key] = value
