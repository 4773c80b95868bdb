"""The parameters and options of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

from .dtype import Dtypes

#: Values for `$1`, `$2`, …, or for `$name`.
Params = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """What has been read of a result, or given to a write, up to now. Sizes are in bytes, times in seconds."""

    #: Rows.
    rows: int
    #: Bytes received, the protocol's framing included; 0 for a source in this process. For a write, the bytes of the
    #: rows as plain Arrow buffers.
    wire_bytes: int
    #: Seconds since the query's columns were known, or since the write began.
    seconds: float
    #: The number of rows that the database's planner expects, which can be far from the truth, or that the written data
    #: has; None if it is unknown.
    estimated_rows: int | None
    #: Whether the result was read to its end, or the write is complete.
    is_complete: bool = False
    #: Whether this is the last report: the result is complete, or reading ended early. After a complete write, the rows
    #: are in the table.
    is_last: bool = False

    @property
    def fraction(self) -> float | None:
        """The part of the rows that was read, from 0 to 1, by the estimate; None if it is unknown, or was too low."""
        if self.is_complete:
            return 1.0
        if not self.estimated_rows or self.rows > self.estimated_rows:
            return None
        return self.rows / self.estimated_rows

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the end at the speed up to now, by the estimate; None if they are unknown."""
        fraction = self.fraction
        return self.seconds * (1 / fraction - 1) if fraction else None


#: The option `progress`.
ProgressOption: TypeAlias = bool | Callable[[Progress], object] | None


class QueryOptions(TypedDict, total=False):
    """The options of a query, which `Connection.query` explains."""

    compression: str | None
    chunk_rows: int | None
    chunk_bytes: int | None
    max_message_bytes: int | None
    max_result_bytes: int | str | None
    numeric: tuple[int, int] | None
    as_text: Sequence[str] | None
    parallel: str | None
    dtype: Dtypes | None
    progress: ProgressOption


#: The options' names.
NAMES = tuple(QueryOptions.__annotations__)


class SourceOptions(QueryOptions, total=False):
    """The options that a source gets."""

    #: Columns whose dates and times SQLite gives as they are stored.
    stored_dates: list[str]
    #: Whether texts and bytes should come as views, which polars has in memory. A source may leave it out of account.
    views: bool
