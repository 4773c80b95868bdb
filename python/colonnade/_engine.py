"""DuckDB as the server's engine: sessions on one database, statements to Arrow streams.

`python/src/serve.rs` calls this and takes the streams; everything that carries rows happens there, without the interpreter
lock.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import duckdb
from duckdb import ExpectedResultType

from colonnade._exact import exact

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation, Statement


class ArrowStream(Protocol):
    """Anything with Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@dataclass(frozen=True)
class Answer:
    """What a statement gave: a stream of rows, or the number of rows it changed, or neither."""

    stream: ArrowStream | None = None
    changed: int | None = None
    #: The DuckDB type of each column.
    types: tuple[str, ...] = ()
    #: Positions of the columns that were cast to text, since Arrow has no exact form of their type.
    cast: tuple[int, ...] = ()


class Engine:
    """One database, opened once."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self._root = duckdb.connect(path, read_only=read_only)
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def session(self) -> Session:
        with self._lock:
            connection = self._root.cursor()
        # A query must not read this process's Python variables.
        connection.execute("SET python_enable_replacements = false")
        # What the server announces; text forms of times with a zone depend on it.
        connection.execute("SET TimeZone = 'UTC'")
        return Session(connection)

    def close(self) -> None:
        self._root.close()


class Session:
    """One client's connection. Only `interrupt` may be called while a statement runs."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def execute(self, sql: str, batch_rows: int) -> Answer:
        """Run one statement; rows come while DuckDB still works on the next ones."""
        statements = self._connection.extract_statements(sql)
        if not statements:
            return Answer()
        last = statements[-1]
        if len(statements) > 1:
            # One statement of the user's can be several of DuckDB's (PIVOT); the last one gives the rows.
            return rows(self._connection.sql(sql), batch_rows)
        if is_query(last):
            return rows(self._connection.sql(last), batch_rows)
        if has_returning(sql) and ExpectedResultType.QUERY_RESULT in last.expected_result_type:
            return rows(self._connection.sql(last), batch_rows)
        changed = self._connection.execute(last).rowcount
        return Answer(changed=changed if changed >= 0 else None)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


def is_query(statement: Statement) -> bool:
    """Whether the statement gives rows, whatever it does besides."""
    return statement.expected_result_type == [ExpectedResultType.QUERY_RESULT]


def has_returning(sql: str) -> bool:
    return re.search(r"\breturning\b", sql, re.IGNORECASE) is not None


def rows(relation: DuckDBPyRelation | None, batch_rows: int) -> Answer:
    if relation is None:
        return Answer()
    columns = list(zip(relation.columns, map(str, relation.types), strict=True))
    if relation.type == "MATERIALIZED_RELATION":
        # DuckDB's own columns, for statements that have no rows of the user's.
        if columns == [("Success", "BOOLEAN")]:
            return Answer()
        if columns == [("Count", "BIGINT")]:
            counted = relation.fetchone()
            return Answer(changed=counted[0] if counted else None)
    exported = exact(relation)
    stream = reader(exported.relation, batch_rows)
    return Answer(stream=stream, types=tuple(type_ for _, type_ in columns), cast=tuple(exported.cast_from))


def reader(relation: DuckDBPyRelation, batch_rows: int) -> ArrowStream:
    """The relation's rows as a stream. Without pyarrow DuckDB alone decides how many rows a batch has."""
    try:
        import pyarrow  # noqa: F401, PLC0415
    except ImportError:
        return relation
    return relation.to_arrow_reader(batch_rows)
