"""What a session tells the server of its statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._core import ArrowStream

    from colonnade_serve._core import VectorRows


@dataclass(slots=True)
class Answer:
    """The answer to a statement: a stream of rows, or the number of changed rows, or neither."""

    stream: ArrowStream | VectorRows | None = None
    changed: int | None = None
    #: The name of each column, as clients see it (`column_names.py`).
    names: tuple[str, ...] = ()
    #: The DuckDB type of each column.
    types: tuple[str, ...] = ()
    #: The numbers of the table and of the column from which each column comes (`column_origins.py`), if asked for.
    origins: tuple[tuple[int, int], ...] = ()
    #: Positions of the columns that were cast to text, because Arrow has no exact form of their type.
    cast: tuple[int, ...] = ()
    #: What takes the rows when all have been read, if they are few.
    keep: Callable[[ArrowStream], None] | None = None
    #: Whether the statement ends when its rows have been read or dropped, so the session must be notified.
    must_finish: bool = False


@dataclass(frozen=True)
class Description:
    """A statement's parameters and columns, each with its DuckDB type. `columns` is None if it returns no rows."""

    parameters: list[tuple[str, str]] = field(default_factory=list)
    columns: list[tuple[str, str]] | None = None
    #: As in `Answer`, and `CatalogSnapshot.version` of the catalog in which they were found.
    origins: tuple[tuple[int, int], ...] = ()
    catalog: tuple[int, int] | None = None
    #: Whether the columns are unknown until the statement runs.
    late: bool = False


class Capsule:
    """A running stream with Arrow's PyCapsule interface."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


class ReleasableTable:
    """A table that can be released while DuckDB still has its name."""

    def __init__(self, table: ArrowStream) -> None:
        self._table: ArrowStream | None = table

    def release(self) -> None:
        self._table = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._table is None:
            raise LookupError("the rows have been released")
        return self._table.__arrow_c_stream__()
