"""Rows that are gathered from DuckDB's vectors (`client/duckdb_vectors/`) instead of DuckDB's Arrow stream.

That takes half of the CPU time for each row, and more for each statement. So it is for statements that may have many
rows: those that read a table of many rows, a view, a table function or a file, and whose last result was not small.
Nothing but time depends on this choice.
"""

from __future__ import annotations

import re
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING

import duckdb

from colonnade_serve._core import VectorRows, register_vectors

from .answers import Capsule
from .batch_rows import VECTOR_ROWS
from .failures import is_serious

if TYPE_CHECKING:
    from .library import Bound, Library

#: A result of fewer rows is small. Both ways take the same time at about so many.
FEW_ROWS = 20_000
#: So many runs of a statement take the stream after one whose result was small.
SMALL_RUNS = 1024
#: How many statements a session knows, and the longest of these.
MAX_STATEMENTS, MAX_CHARACTERS = 256, 2048
#: Bytes of rows that wait for a slow reader, roughly. DuckDB's buffer counts the bytes of their tickets.
WAITING_BYTES, TICKET_BYTES = 16 << 20, 8
#: As many rows as a row group has: each thread computes one, and the next ones wait for the first.
MOST_WAITING = 122_880
ZONED = "TIMESTAMP WITH TIME ZONE"
#: A table function, or a file.
_UNSIZED = re.compile(r"\b(?:from|join)\s+(?:lateral\s+)?(?:'|[\w.\"]+\s*\()", re.IGNORECASE)


def can_gather() -> bool:
    """Whether this DuckDB gives its vectors. Databases that are opened from now on do."""
    try:
        register_vectors()
    except NotImplementedError:
        return False
    return True


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

    def __init__(self, library: Library) -> None:
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
            self._names = [name for (name,) in self._library.connection.execute(self.QUERY).fetchall()]
            self._found_at, self._is_changed = now, False
        lower = sql.lower()
        return any(name in lower for name in self._names)


class Gathering:
    """How a session's queries are gathered."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.large = LargeTables(library)
        #: The runs that a statement still takes DuckDB's stream.
        self._small: dict[str, int] = {}
        self._last: tuple[str, VectorRows] | None = None
        #: The bytes of DuckDB's buffer, if it has the size for tickets.
        self._buffer: int | None = None

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
            self._library.connection.execute("RESET streaming_buffer_size")
            self._buffer = None

    def submit(self, statement: Bound, parameters: dict[str, object] | None, row_bytes: int) -> VectorRows | None:
        """Run a query. None if it has not run, because it is none for this."""
        sql = statement.sql
        if not self.is_due(sql):
            return None
        gathered = self._submit(statement, parameters, row_bytes)
        if gathered is None:
            self._note(sql)
        else:
            self._last = (sql, gathered)
        return gathered

    def _submit(self, statement: Bound, parameters: dict[str, object] | None, row_bytes: int) -> VectorRows | None:
        has_calls = statement.calls is not None and bool(statement.calls.functions)
        if statement.kind != "select" or statement.changes or statement.is_late or has_calls:
            return None
        if not self.large.are_read(statement.sql):
            return None
        types = list(map(str, statement.types))
        gathered = VectorRows.begin(token := token_hex(16), types, self._zone() if ZONED in types else "")
        if gathered is None:
            return None
        waiting = max(VECTOR_ROWS, min(MOST_WAITING, WAITING_BYTES // row_bytes)) * TICKET_BYTES
        if self._buffer != waiting:
            self._library.connection.execute(f"SET streaming_buffer_size = '{waiting} bytes'")
            self._buffer = waiting
        # The query begins on a line of its own, for the positions of errors.
        text = f"SELECT system.main.colonnade_vectors('{token}', *COLUMNS(*)) FROM (\n{statement.sql}\n)"
        try:
            result = self._library.rows(text, parameters, VECTOR_ROWS)
        except duckdb.Error as error:
            if is_serious(error):
                raise
            # The stream has the same error, or the query cannot stand within another one.
            return None
        gathered.receive(Capsule(result.arrow_capsule()))
        return gathered

    def _zone(self) -> str:
        sql = "SELECT system.main.current_setting('TimeZone')"
        ((zone,),) = self._library.connection.execute(sql).fetchall()
        return zone

    def _note_last(self) -> None:
        """Note whether the last result was small."""
        if self._last is None:
            return
        (sql, gathered), self._last = self._last, None
        if gathered.rows < FEW_ROWS:
            self._note(sql)

    def _note(self, sql: str) -> None:
        """Note that the statement takes the stream for some time."""
        if len(sql) > MAX_CHARACTERS:
            return
        if len(self._small) >= MAX_STATEMENTS:
            del self._small[next(iter(self._small))]
        self._small[sql] = SMALL_RUNS
