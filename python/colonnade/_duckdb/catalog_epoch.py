"""Whether the catalog may have changed, for sessions that remember what names mean in it.

All statements of a database run in sessions of one `Engine`. Each session says here which of its statements may change
the catalog, before and after it runs them.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: DuckDB's kinds of statements that change no catalog. Transactions are told apart.
ROWS = frozenset(("select", "insert", "update", "delete", "merge_into", "explain"))
#: Kinds whose text says what they create or drop.
DEFINITIONS = frozenset(("create", "drop", "alter"))


@dataclass(frozen=True)
class Epoch:
    """A state of the catalog. It is new after each change."""

    #: Of all objects.
    objects: int = 0
    #: Of macros, of which functions in Python are made.
    macros: int = 0


class CatalogEpoch:
    """The catalog of one engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = Epoch()

    def change(self, macros: bool) -> None:
        with self._lock:
            self.now = Epoch(self.now.objects + 1, self.now.macros + macros)


class SessionEpoch:
    """The catalog as one session sees it."""

    def __init__(self, catalog: CatalogEpoch) -> None:
        self._catalog = catalog
        #: When the session's transaction began, if one is open. Its snapshot is of that time or later.
        self._begun: Epoch | None = None
        #: What the open transaction has changed: nothing, objects, or macros too.
        self._changed: bool | None = None
        #: Whether the session may have objects that others do not see.
        self.has_own = False

    @property
    def now(self) -> Epoch | None:
        """The state that the session sees for certain; None if that is not known."""
        now = self._catalog.now
        return now if self._begun in (None, now) else None

    @contextmanager
    def running(self, kind: str, sql: str) -> Iterator[None]:
        """While a statement of this kind runs."""
        if kind in ROWS:
            yield
        elif kind == "transaction":
            with self._ending() if sql in ("COMMIT", "ROLLBACK") else self._beginning():
                yield
        else:
            text = sql.lower()
            with self.changing(kind not in DEFINITIONS or "macro" in text or "function" in text):
                yield

    @contextmanager
    def changing(self, macros: bool) -> Iterator[None]:
        """While a statement runs that may change the catalog."""
        self.has_own = True
        if self._begun is not None:
            self._changed = macros or bool(self._changed)
        # Before, so that who sees the change knows of it; after, so that nobody takes the state before for the new one.
        self._catalog.change(macros)
        try:
            yield
        finally:
            self._catalog.change(macros)

    @contextmanager
    def _beginning(self) -> Iterator[None]:
        self._begun = self._catalog.now
        yield

    @contextmanager
    def _ending(self) -> Iterator[None]:
        changed = self._changed
        try:
            if changed is None:
                yield
            else:
                with self.changing(changed):
                    yield
        finally:
            self._begun, self._changed = None, None
