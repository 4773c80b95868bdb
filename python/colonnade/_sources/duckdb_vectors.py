"""How the queries of a DuckDB connection are gathered (`duckdb_types/gathering.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._core import VectorRows, open_with_vectors
from colonnade._sources.duckdb_types.gathering import GROUP_ROWS, Gathering
from colonnade._sources.duckdb_types.opening import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from colonnade._core import ArrowStream


def opened_with_vectors(path: str, config: dict[str, str]) -> tuple[DuckDBPyConnection, ConnectionGathering | None]:
    """A connection, and how its queries are gathered; None if this DuckDB does not give its vectors."""
    try:
        connection = open_with_vectors(lambda: opened(path, config))
    except NotImplementedError:
        return opened(path, config), None
    return connection, ConnectionGathering(connection)


class ConnectionGathering(Gathering[VectorRows]):
    """How the queries of a connection are gathered."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        super().__init__(_Connection(connection))


class _Connection:
    """DuckDB for these queries."""

    function = "colonnade_read_vectors"
    # Most results are kept in this process anyway. Threads wait less with more rows.
    waiting_bytes = 64 << 20
    waiting_rows = 4 * GROUP_ROWS

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def execute(self, sql: str) -> DuckDBPyConnection:
        return self._connection.execute(sql)

    def stream(self, sql: str, parameters: dict[str, object] | None, rows: int) -> ArrowStream:
        # DuckDB's relations use this method. Its public methods bind a statement twice, or copy the rows.
        return _Tickets(self._connection._submit(sql, parameters, "stream", rows).arrow_capsule())

    def begin(self, token: str, columns: Sequence[tuple[str, str]], zone: str, form: str) -> VectorRows | None:
        return VectorRows.begin(token, columns, zone, form)


class _Tickets:
    """A running stream with Arrow's PyCapsule interface."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self) -> object:
        return self._capsule
