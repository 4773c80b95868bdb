"""Reads one result over several connections."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from colonnade._core import Connection as CoreConnection
from colonnade._errors import Error, InterfaceError, NotSupportedError
from colonnade._frames.progress import Reporter
from colonnade._frames.result import Result
from colonnade._sources.arrow import ArrowSource
from colonnade._sources.estimate import estimated_rows
from colonnade._sources.near import name_tables

if TYPE_CHECKING:
    from colonnade._core import Source, Stream
    from colonnade._options.query import Params, SourceOptions

#: The largest number of parts if the caller gives none.
_DEFAULT_PARTS = 8


@dataclass(frozen=True)
class Split:
    """How a result is cut into parts. Without a key and a number, it has one part."""

    #: The column by whose values the parts are made.
    key: str | None
    #: The number of parts, or of the queries of a list that run at the same time.
    number: int | None
    #: The keys between which to cut at equal distances, as texts.
    range: tuple[str, str] | None
    #: Whether all parts must see one state of the database.
    consistent: bool
    #: Statements to run on each connection before the query.
    before: list[str]

    @classmethod
    def checked(
        cls, key: str | None, number: int | None, between: Sequence[Any] | None, *, consistent: bool, before: list[str]
    ) -> Split:
        """Checks the arguments of `read_sql`."""
        if number is not None and number < 1:
            raise ValueError("partition_num must be at least 1")
        if between is None:
            return cls(key, number, None, consistent, before)
        if key is None:
            raise ValueError("partition_range needs partition_on")
        if len(between) != 2:
            raise ValueError(f"partition_range is {between!r}: give (low, high)")
        try:
            is_ordered = bool(between[0] <= between[1])
        except TypeError:
            raise TypeError(f"partition_range is {between!r}: give two values of one type, such as (1, 1000)") from None
        if not is_ordered:
            raise ValueError(f"partition_range is {between!r}: give (low, high), the lower value first")
        return cls(key, number, (_text(between[0]), _text(between[1])), consistent, before)

    @property
    def parts(self) -> int:
        """The number of parts of one query."""
        if self.number is None:
            return 1 if self.key is None else min(os.cpu_count() or 1, _DEFAULT_PARTS)
        return self.number


def start(source: Source, sql: str, params: Params | None, options: SourceOptions, split: Split) -> Result:
    """Starts a query, in several parts if `split` says so."""
    try:
        return _started(source, sql, params, options, split)
    except Error as error:
        name_tables(source, error)
        raise


def _started(source: Source, sql: str, params: Params | None, options: SourceOptions, split: Split) -> Result:
    reporter = Reporter.of(options.get("progress"), lambda: estimated_rows(source, sql, params))
    if split.parts == 1 or (isinstance(source, ArrowSource) and source.uses_all_cores):
        stream = source.query(sql, params, **options)
        _require_column(stream, split.key)
        return Result(stream, options, reporter=reporter)
    if isinstance(source, CoreConnection):
        stream = source.partitioned(
            sql, params, split.key, split.parts, split.range, split.consistent, split.before, **options
        )
        return Result(stream, options, in_parts=True, reporter=reporter)
    raise NotSupportedError(
        "this source cannot be read in parts",
        source=source.name,
        hint="leave partition_on and partition_num out, or give partition_num=1",
    )


def start_each(
    source: Source, queries: list[str], params: Params | None, options: SourceOptions, split: Split
) -> Result | None:
    """Starts all queries as the parts of one result; None if they can only run one after another."""
    if not isinstance(source, CoreConnection):
        return None
    stream = source.together(queries, params, split.number, split.before, **options)
    if stream is None:
        return None
    return Result(stream, options, in_parts=True, reporter=Reporter.of(options.get("progress"), lambda: None))


def _require_column(stream: Stream, key: str | None) -> None:
    """Refuses a key that is not a column of the result, also where the result is not cut by it."""
    names = stream.names
    if key is None or any(name.casefold() == key.casefold() for name in names):
        return
    stream.close()
    shown = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    raise InterfaceError(f'the result has no column "{key}" to make parts by: it has {shown}')


def _text(bound: Any) -> str:
    """The value as text for the database, without quotes."""
    if isinstance(bound, bool) or not isinstance(bound, int | float | Decimal | date | str):
        raise TypeError(f"partition_range takes numbers, dates, datetimes or their texts, not {type(bound).__name__}")
    # A datetime is a date too.
    return bound.isoformat() if isinstance(bound, date) else str(bound)
