"""Whether the catalog, or rows of tables, may have changed, for sessions that remember what names mean and what a query
has given.

All statements of a database run in sessions of one `Engine`. Each session says here which of its statements may change
the catalog, and which may change rows, before and after it runs them. A statement whose rows stream counts until these
are read or dropped, and a transaction that has written until it ends. A session in a transaction that began before a
change, or in one that has written, gets nothing that others have found. DuckDB says whether a statement writes; a
statement of a kind that is no plain query counts as a write.

The epoch of rows is that of the whole database, because a bound statement does not say which tables it writes.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: For the name of a macro, what is known of the macros with it.
Found = dict[str, "frozenset[str] | None"]

#: DuckDB's kinds of statements that change no catalog. Transaction statements are handled separately.
ROWS = frozenset(
    ("select", "insert", "update", "delete", "merge_into", "explain", "prepare", "execute", "copy", "vacuum")
)
#: Kinds whose text says what they create or drop.
DEFINITIONS = frozenset(("create", "drop", "alter"))
#: Without any of these words they neither make nor drop a macro.
MACRO_WORDS = ("macro", "function", "schema")


@dataclass(frozen=True)
class Epoch:
    """A state of the catalog. It is new after each change."""

    #: Of all objects.
    objects: int = 0
    #: Of macros, of which functions in Python are made.
    macros: int = 0


class CatalogEpoch:
    """The catalog of one engine, and the rows of its tables."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epoch = Epoch()
        self._changes = 0
        #: How many statements have changed rows, and how many may do so now.
        self._writes = 0
        self._writing = 0
        #: What sessions have found out of the macros of an epoch, except those with macros of their own.
        self._found: tuple[int, Found] = (0, {})

    @property
    def now(self) -> Epoch | None:
        """The catalog's state; None while a statement changes it."""
        with self._lock:
            return None if self._changes else self._epoch

    @property
    def writes(self) -> int | None:
        """How many statements have changed rows; None while one may do so."""
        with self._lock:
            return None if self._writing else self._writes

    def begin_write(self) -> None:
        """Before a statement runs that may change what others see of rows."""
        with self._lock:
            self._writing += 1

    def end_write(self) -> None:
        """After it has ended, and its transaction with it."""
        with self._lock:
            self._writing -= 1
            self._writes += 1

    @contextmanager
    def changing(self, macros: bool) -> Iterator[None]:
        """While a statement changes the catalog."""
        with self._lock:
            self._changes += 1
        try:
            yield
        finally:
            with self._lock:
                self._changes -= 1
                self._epoch = Epoch(self._epoch.objects + 1, self._epoch.macros + macros)

    def found(self, epoch: Epoch) -> Found:
        """What is known of the macros of this epoch."""
        with self._lock:
            if self._found[0] < epoch.macros:
                self._found = (epoch.macros, {})
            # A session with an older snapshot does not share its findings.
            return self._found[1] if self._found[0] == epoch.macros else {}


@dataclass(frozen=True)
class CatalogSnapshot:
    """The catalog as one session sees it."""

    epoch: Epoch
    #: How often the session has changed its settings, such as the search path.
    settings: int

    @property
    def version(self) -> tuple[int, int]:
        """For the server, which keeps descriptions of statements."""
        return self.epoch.objects, self.settings


@dataclass(frozen=True)
class RowSnapshot:
    """The rows of all tables as one session sees them: those of the catalog after this number of writes."""

    snapshot: CatalogSnapshot
    writes: int


class SessionEpoch:
    """What a session does to the catalog and to rows, and what it sees of them."""

    def __init__(self, catalog: CatalogEpoch) -> None:
        self._catalog = catalog
        self._in_transaction = False
        #: When the transaction began, if that is known. Its snapshot is of that time or later.
        self._begun: Epoch | None = None
        #: What the open transaction has changed: nothing, objects, or macros too.
        self._changed: bool | None = None
        self._settings = 0
        #: What the catalog was when the session began a statement with calls of table functions, whose transaction is
        #: that old or younger.
        self._statement: Epoch | None = None
        #: Whether there is such a statement.
        self.in_statement = False
        #: What this session has found out of macros, if it may have some that others do not see, and in which epoch.
        self._own: tuple[int, Found] | None = None
        #: As `_begun` and `_statement`, of rows.
        self._writes_begun: int | None = None
        self._writes_statement: int | None = None
        #: Whether the open transaction has changed rows.
        self._has_written = False
        #: Whether a statement that may change rows has begun and has not ended.
        self.is_writing = False
        #: What the session sees of rows, as `now` of what may be remembered of it.
        self.rows = SessionRows(self)

    @property
    def now(self) -> CatalogSnapshot | None:
        """What the session sees for certain; None if that is not known."""
        now = self._catalog.now
        if now is None or (self._in_transaction and self._begun != now):
            return None
        if self.in_statement and self._statement != now:
            return None
        return CatalogSnapshot(now, self._settings)

    @property
    def has_changed(self) -> bool:
        """Whether the client's open transaction may have changed rows or the catalog."""
        return self._in_transaction and (self._has_written or self._changed is not None)

    def begin_statement(self) -> None:
        """Before the transaction of a statement with calls begins, unless the client has begun one."""
        self._statement, self._writes_statement, self.in_statement = self._catalog.now, self._catalog.writes, True

    def end_statement(self) -> None:
        """After that transaction."""
        self.in_statement = False

    def settings_changed(self) -> None:
        """After the session has changed its settings by other means than a statement of the client."""
        self._settings += 1

    def found(self, snapshot: CatalogSnapshot) -> Found:
        """What is known of the macros that the session sees."""
        if self._own is None:
            return self._catalog.found(snapshot.epoch)
        if self._own[0] != snapshot.epoch.macros:
            self._own = (snapshot.epoch.macros, {})
        return self._own[1]

    @property
    def row_snapshot(self) -> RowSnapshot | None:
        """What the session sees of rows for certain; None if that is not known."""
        snapshot, writes = self.now, self._catalog.writes
        if snapshot is None or writes is None or (self._in_transaction and self._writes_begun != writes):
            return None
        if self._has_written or (self.in_statement and self._writes_statement != writes):
            return None
        return RowSnapshot(snapshot, writes)

    def begin_write(self) -> None:
        """Before a statement runs that may change rows. In a transaction, others see the change when that ends."""
        if self._in_transaction:
            self._has_written = True
        elif not self.is_writing:
            self.is_writing = True
            self._catalog.begin_write()

    def end_write(self) -> None:
        """After a statement has ended, whose rows have been read or dropped."""
        if self.is_writing:
            self.is_writing = False
            self._catalog.end_write()

    @contextmanager
    def running(self, kind: str, sql: str) -> Iterator[None]:
        """While a statement of this kind runs."""
        if kind in ROWS:
            yield
        elif kind == "transaction":
            with self._ending() if sql in ("COMMIT", "ROLLBACK") else self._beginning():
                yield
        elif kind == "set":
            self.settings_changed()
            yield
        else:
            with self.changing(kind not in DEFINITIONS or any(word in sql.lower() for word in MACRO_WORDS)):
                yield

    @contextmanager
    def changing(self, macros: bool) -> Iterator[None]:
        """While a statement runs that may change the catalog."""
        if self._in_transaction:
            self._changed = macros or bool(self._changed)
        if macros:
            self._own = (-1, {})
        with self._catalog.changing(macros):
            yield
        if self._in_transaction and self._begun is not None:
            # Its own change belongs to what it sees. A change of others at the same time is not told apart.
            self._begun = None

    @contextmanager
    def _beginning(self) -> Iterator[None]:
        self._in_transaction, self._begun, self._writes_begun = True, self._catalog.now, self._catalog.writes
        yield

    @contextmanager
    def _ending(self) -> Iterator[None]:
        changed, has_written = self._changed, self._has_written
        if has_written:
            self._catalog.begin_write()
        try:
            if changed is None:
                yield
            else:
                with self.changing(changed):
                    yield
        finally:
            self._in_transaction, self._begun, self._changed = False, None, None
            self._has_written, self._writes_begun = False, None
            if has_written:
                self._catalog.end_write()


class SessionRows:
    """What a session sees of rows."""

    def __init__(self, epoch: SessionEpoch) -> None:
        self._epoch = epoch

    @property
    def now(self) -> RowSnapshot | None:
        """As `SessionEpoch.row_snapshot`."""
        return self._epoch.row_snapshot
