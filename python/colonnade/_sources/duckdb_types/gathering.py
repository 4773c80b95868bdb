"""Rows that are gathered from DuckDB's vectors (`client/duckdb_vectors/`) instead of DuckDB's Arrow stream.

That takes half of the CPU time for each row, and more for each statement. So it is for statements that may have many
rows: those that read a table of many rows, a view, a table function or a file, and whose last result was not small.
Nothing but time depends on this choice.
"""

from __future__ import annotations

import re
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import duckdb

from .failures import is_serious

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The rows that DuckDB processes at once.
VECTOR_ROWS = 2048
#: A result of fewer rows is small. Both ways take the same time at about so many.
FEW_ROWS = 20_000
#: So many runs of a statement take the stream after one whose result was small.
SMALL_RUNS = 1024
#: How many statements a session knows, and the longest of these.
MAX_STATEMENTS, MAX_CHARACTERS = 256, 2048
#: DuckDB's buffer counts the bytes of tickets.
TICKET_BYTES = 8
#: The rows of a row group: each thread computes one, and the next ones wait for the first.
GROUP_ROWS = 122_880
#: The types of texts, and an estimate of their bytes and those of others.
TEXTS, TEXT_BYTES, OTHER_BYTES = ("VARCHAR", "BLOB", "JSON", "UUID"), 32, 8
ZONED = "TIMESTAMP WITH TIME ZONE"
#: A table function, or a file.
_UNSIZED = re.compile(r"\b(?:from|join)\s+(?:lateral\s+)?(?:'|[\w.\"]+\s*\()", re.IGNORECASE)


class Gathered(Protocol):
    """A result that is gathered: `VectorRows` of one of the extension modules."""

    @property
    def rows(self) -> int:
        """The rows so far."""
        ...

    def receive(self, tickets: Any, /) -> None: ...


Rows = TypeVar("Rows", bound=Gathered)
MadeRows = TypeVar("MadeRows", bound=Gathered, covariant=True)


class Library(Protocol[MadeRows]):
    """What runs the statements, and the extension module's own part."""

    #: The function that gathers, without its schema.
    function: str
    #: The most bytes of rows that wait for a slow reader, roughly, and the most rows.
    waiting_bytes: int
    waiting_rows: int

    def execute(self, sql: str) -> Any:
        """A statement that is done when this returns."""

    def stream(self, sql: str, parameters: dict[str, object] | None, rows: int) -> Any:
        """The rows of a query, in batches of so many, while DuckDB computes others."""

    def begin(self, token: str, columns: Sequence[tuple[str, str]], zone: str, form: str) -> MadeRows | None:
        """A result of columns with these names and types. None if a type cannot be gathered."""


class LargeTables:
    """The tables of many rows, and the views, as one session sees them. What other sessions change is seen later."""

    #: They are found again after so many seconds, and sooner if the session may have changed one: that takes 1 ms.
    SECONDS, SECONDS_IF_CHANGED = 5.0, 0.2
    QUERY = f"""
        SELECT system.main.lower(table_name) FROM system.main.duckdb_tables()
        WHERE estimated_size >= {FEW_ROWS} AND database_name IN (system.main.current_database(), 'temp')
        UNION ALL SELECT system.main.lower(view_name) FROM system.main.duckdb_views()
        WHERE NOT internal AND database_name IN (system.main.current_database(), 'temp')
    """

    def __init__(self, library: Library[Any]) -> None:
        self._library = library
        self._names: list[str] = []
        self._found_at = -self.SECONDS
        self._is_changed = False

    def changed(self) -> None:
        """Note that the session may have changed a table."""
        self._is_changed = True

    def are_read(self, sql: str) -> bool:
        """Whether a statement may read one."""
        if _UNSIZED.search(sql) is not None:
            return True
        if (now := monotonic()) - self._found_at >= (self.SECONDS_IF_CHANGED if self._is_changed else self.SECONDS):
            self._names = [name for (name,) in self._library.execute(self.QUERY).fetchall()]
            self._found_at, self._is_changed = now, False
        lower = sql.lower()
        return any(name in lower for name in self._names)


class Gathering(Generic[Rows]):
    """How a session's queries are gathered."""

    def __init__(self, library: Library[Rows]) -> None:
        self._library = library
        self.large = LargeTables(library)
        #: The runs that a statement still takes DuckDB's stream.
        self._small: dict[str, int] = {}
        self._last: tuple[str, Rows] | None = None
        #: The bytes of DuckDB's buffer, if it has the size for tickets, and the size that it had before.
        self._buffer: int | None = None
        self._own_buffer = ""

    def is_due(self, sql: str) -> bool:
        """Whether the statement may be gathered, as far as its last results tell."""
        self._note_last()
        left = self._small.get(sql, 0)
        if left > 1:
            self._small[sql] = left - 1
            return False
        self._small.pop(sql, None)
        return True

    def begin_stream(self) -> None:
        """Give DuckDB's stream its own buffer again. That cannot be done while rows are open, so not after a result."""
        if self._buffer is not None:
            self._library.execute(f"SET streaming_buffer_size = '{self._own_buffer}'")
            self._buffer = None

    def submit(
        self, sql: str, columns: Sequence[tuple[str, str]], form: str, parameters: dict[str, object] | None = None
    ) -> Rows | None:
        """Run a query that only reads, and whose columns have these names and types. `form` is `encoded` (for the
        encoder), `plain` or `views` (of texts and bytes). None if it has not run, because it is none for this."""
        if not self.is_due(sql):
            return None
        gathered = self._submit(sql, columns, form, parameters)
        if gathered is None:
            self.note(sql)
        else:
            self._last = (sql, gathered)
        return gathered

    def _submit(
        self, sql: str, columns: Sequence[tuple[str, str]], form: str, parameters: dict[str, object] | None
    ) -> Rows | None:
        if not self.large.are_read(sql):
            return None
        types = [type_ for _, type_ in columns]
        zone = self._setting("TimeZone") if ZONED in types else ""
        gathered = self._library.begin(token := token_hex(16), columns, zone, form)
        if gathered is None:
            return None
        row_bytes = sum(TEXT_BYTES if type_ in TEXTS else OTHER_BYTES for type_ in types)
        rows = min(self._library.waiting_rows, self._library.waiting_bytes // row_bytes)
        buffer = max(VECTOR_ROWS, rows) * TICKET_BYTES
        if self._buffer is None:
            self._own_buffer = self._setting("streaming_buffer_size")
        if self._buffer != buffer:
            self._library.execute(f"SET streaming_buffer_size = '{buffer} bytes'")
            self._buffer = buffer
        # The query begins on a line of its own, for the positions of errors.
        query = sql.rstrip("; \t\r\n")
        text = f"SELECT system.main.{self._library.function}('{token}', *COLUMNS(*)) FROM (\n{query}\n)"
        try:
            tickets = self._library.stream(text, parameters, VECTOR_ROWS)
        except duckdb.Error as error:
            if is_serious(error):
                raise
            # The stream has the same error, or the query cannot stand within another one.
            return None
        gathered.receive(tickets)
        return gathered

    def _setting(self, name: str) -> str:
        ((value,),) = self._library.execute(f"SELECT system.main.current_setting('{name}')").fetchall()
        return value

    def _note_last(self) -> None:
        """Note whether the last result was small."""
        if self._last is None:
            return
        (sql, gathered), self._last = self._last, None
        if gathered.rows < FEW_ROWS:
            self.note(sql)

    def note(self, sql: str) -> None:
        """Note that the statement takes the stream for some time."""
        if len(sql) > MAX_CHARACTERS:
            return
        if len(self._small) >= MAX_STATEMENTS:
            del self._small[next(iter(self._small))]
        self._small[sql] = SMALL_RUNS
