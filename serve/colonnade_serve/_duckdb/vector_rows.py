"""Which statements of a session are gathered from DuckDB's vectors
(`colonnade/_sources/duckdb_types/gathering.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.gathering import GROUP_ROWS, Gathering

from colonnade_serve._core import VectorRows, register_vectors

from .answers import Capsule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from .library import Bound, Library


def can_gather() -> bool:
    """Whether this DuckDB gives its vectors. Databases that are opened from now on do."""
    try:
        register_vectors()
    except NotImplementedError:
        return False
    return True


class StatementGathering(Gathering[VectorRows]):
    """How a session's statements are gathered."""

    def __init__(self, library: Library) -> None:
        super().__init__(_SessionLibrary(library))

    def submit_bound(self, statement: Bound, parameters: dict[str, object] | None) -> VectorRows | None:
        """Run a query. None if it has not run, because it is none for this."""
        has_calls = statement.calls is not None and bool(statement.calls.functions)
        if statement.kind != "select" or statement.changes or statement.is_late or has_calls:
            return None
        columns = list(zip(statement.columns, map(str, statement.types), strict=True))
        return self.submit(statement.sql, columns, "encoded", parameters)


class _SessionLibrary:
    """DuckDB for the statements of a session."""

    function = "colonnade_vectors"
    # A server has many readers.
    waiting_bytes = 16 << 20
    waiting_rows = GROUP_ROWS

    def __init__(self, library: Library) -> None:
        self._library = library

    def execute(self, sql: str) -> DuckDBPyConnection:
        return self._library.connection.execute(sql)

    def stream(self, sql: str, parameters: dict[str, object] | None, rows: int) -> Capsule:
        return Capsule(self._library.rows(sql, parameters, rows).arrow_capsule())

    def begin(self, token: str, columns: Sequence[tuple[str, str]], zone: str, form: str) -> VectorRows | None:
        return VectorRows.begin(token, columns, zone, form)
