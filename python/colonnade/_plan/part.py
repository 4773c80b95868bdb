"""`Part`: a part of a planned result, which any process can read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from colonnade._core import Connection as CoreConnection
from colonnade._core import Stream, read_part, ticket_query
from colonnade._errors import InterfaceError
from colonnade._frames.result import Result
from colonnade._frames.shape import ParseDates, ReturnType, Shape
from colonnade._libraries import require
from colonnade._sources.pushed import around, in_from
from colonnade._sources.uri import open_source

from .row_filter import RowFilter

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade._core import HeldPlan
    from colonnade._options.dtype import Backend
    from colonnade._options.query import QueryOptions

#: The variable with the URI by which parts are read.
URI_VARIABLE = "COLONNADE_URI"


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a result, made by `plan`.

    It can be pickled and read in another process or on another machine, by several readers, and again after a failure.
    The pickled form has the ticket, the address of the database, the columns and the options, and no password. A part
    is equal to another one with the same ticket.

    A reader elsewhere connects to, in this order: the argument `uri`; the environment variable COLONNADE_URI; the
    planner's own address without its password. In each case missing parameters, such as the password, come from the
    reader's PG* variables, service file and ~/.pgpass, as for `connect`. The reader must be the planner's user (or one
    that may take its role), in the same database of the same server. In the planner's process, parts are read as the
    planner has connected.

    A ticket is like a query that somebody else wrote: read only those of a planner that you trust.
    """

    #: The number of the part, from 0.
    index: int
    #: The names and types of the columns: a pyarrow.Schema.
    schema: pa.Schema = field(repr=False)
    #: The number of rows: exact if `exact` says so, or else the database's estimate; None if it is unknown.
    rows: int | None
    #: The size in bytes as plain Arrow buffers, likewise.
    bytes: int | None
    #: Whether `rows` and `bytes` are exact.
    exact: bool
    #: What stands for the part: bytes without an address or a password.
    ticket: bytes = field(repr=False)
    #: Whether a reader runs the part's query in the planner's snapshot, or gets rows that the server has spooled.
    kind: Literal["snapshot", "spool"]
    #: The planner's address, as connection parameters without secrets.
    address: str
    _options: QueryOptions = field(repr=False)
    #: In the planner's process: the plan, which its parts keep open.
    _plan: HeldPlan | None = field(default=None, repr=False)

    @overload
    def read(
        self,
        return_type: Literal["pandas"] = "pandas",
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
        index_col: str | list[str] | None = None,
        dtype_backend: Backend | None = None,
        coerce_float: bool | None = None,
        parse_dates: ParseDates | None = None,
    ) -> pd.DataFrame: ...
    @overload
    def read(
        self,
        return_type: Literal["polars"],
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
    ) -> pl.DataFrame: ...
    @overload
    def read(
        self,
        return_type: Literal["arrow"],
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
    ) -> pa.Table: ...
    @overload
    def read(
        self,
        return_type: Literal["arrow_stream"],
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
    ) -> pa.RecordBatchReader: ...
    @overload
    def read(
        self,
        return_type: Literal["numpy"],
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
    ) -> dict[str, np.ndarray]: ...
    @overload
    def read(
        self,
        return_type: ReturnType,
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
        index_col: str | list[str] | None = None,
        dtype_backend: Backend | None = None,
        coerce_float: bool | None = None,
        parse_dates: ParseDates | None = None,
    ) -> Any: ...
    def read(
        self,
        return_type: ReturnType = "pandas",
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        uri: str | None = None,
        index_col: str | list[str] | None = None,
        dtype_backend: Backend | None = None,
        coerce_float: bool | None = None,
        parse_dates: ParseDates | None = None,
    ) -> Any:
        """Reads the part as a dataframe or a table.

        Args:
            return_type: As for `read_sql`: `"pandas"`, `"polars"`, `"arrow"`, `"arrow_stream"`, `"numpy"`, `"duckdb"`,
                `"dask"` or `"modin"`.
            columns: The columns to read, in this order; None is all. With an empty list, the rows are only counted
                (`"arrow"` and `"arrow_stream"`).
            where: A predicate of polars over the columns, decided for each row alone, such as `pl.col("id") > 5`. The
                database filters by it where it certainly decides as polars does, and polars filters in any case.
            limit: The largest number of rows. Which ones these are depends on the database.
            uri: The database, for a reader elsewhere (see `Part`).
            index_col: With pandas and Dask: the column that becomes the index; with pandas also several.
            dtype_backend: With pandas and Dask: the types of the frame's columns, see `Result.to_pandas`.
            coerce_float: With pandas and Dask: whether decimals become the nearest float64.
            parse_dates: With pandas and Dask: a column to parse as dates by the rules of pandas, or several.

        Returns:
            What `return_type` names.

        Raises:
            InterfaceError: The part is gone, because its plan has ended or its time is over (SQLSTATE 42704); a column
                is unknown; an argument is wrong.
            NotSupportedError: `where` is not a predicate of single rows.
            Error: The reading failed, as for `read_sql`. The result is never shorter than the part.
        """
        if return_type == "arrow_stream":
            return self.batches(columns, where, limit, uri=uri)
        read = _Reading.of(self, columns, where, limit)
        options: QueryOptions = read.options
        shape = Shape(return_type, index_col, dtype_backend, coerce_float, parse_dates, None, None, options)
        shape.require()
        with ExitStack() as opened:
            stream = read.open(uri, opened)
            result = opened.enter_context(closing(Result(stream, shape.query_options)))
            if not read.is_all_done:
                rows = require("pyarrow", "a part").Table.from_batches(read.rest(result), read.schema)
                held, _ = Stream.from_arrow(rows, stream.stats()["source"], stream.stats()["server"])
                result = opened.enter_context(closing(Result(held, shape.query_options)))
            return shape.of_result(shape.prepare(result))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        limit: int | None = None,
        *,
        uri: str | None = None,
    ) -> pa.RecordBatchReader:
        """Reads the part batch by batch, as they arrive: a pyarrow.RecordBatchReader.

        Args:
            columns: As for `read`.
            where: As for `read`.
            limit: As for `read`.
            uri: As for `read`.

        Raises:
            Error: As for `read`, now or while the batches arrive.
        """
        pa = require("pyarrow", "batches()")
        read = _Reading.of(self, columns, where, limit)
        with ExitStack() as opened:
            result = opened.enter_context(closing(Result(read.open(uri, opened), read.options)))
            kept = opened.pop_all()

        def rows() -> Iterator[pa.RecordBatch]:
            with kept:
                yield from read.rest(result)

        return pa.RecordBatchReader.from_batches(read.schema, rows())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and (self.ticket, self.index) == (other.ticket, other.index)

    def __hash__(self) -> int:
        return hash((self.ticket, self.index))


@dataclass(frozen=True)
class _Reading:
    """One reading of a part: what the database does of it, and what is left to do."""

    part: Part
    #: The columns of the result.
    schema: pa.Schema
    options: QueryOptions
    #: The columns that the stream has, which `where` may need in addition; None is all.
    needed: list[str] | None
    where: RowFilter | None
    limit: int | None

    @classmethod
    def of(cls, part: Part, columns: Sequence[str] | None, where: pl.Expr | None, limit: int | None) -> _Reading:
        """Checks the arguments."""
        pa = require("pyarrow", "a part")
        if limit is not None and (not hasattr(limit, "__index__") or isinstance(limit, bool) or limit < 0):
            raise InterfaceError(f"limit is {limit!r}: give a number of rows")
        chosen = None if where is None else RowFilter.of(where, part.schema)
        if columns is None:
            return cls(part, part.schema, part._options, None, chosen, limit)
        if isinstance(columns, str):
            raise InterfaceError(f"columns is the text {columns!r}: give a list of names")
        wanted = list(columns)
        for name in wanted:
            if part.schema.names.count(name) != 1:
                many = "several columns" if name in part.schema.names else "no column"
                raise InterfaceError(f"the part has {many} named {name!r}: it has {part.schema.names}")
            if wanted.count(name) > 1:
                raise InterfaceError(f"columns names {name!r} twice")
        schema = pa.schema([part.schema.field(name) for name in wanted], part.schema.metadata)
        needed = list(dict.fromkeys([*wanted, *(chosen.columns if chosen else ())]))
        options, dtype = part._options, part._options.get("dtype")
        if isinstance(dtype, Mapping):
            chosen_types = {name: kind for name, kind in dtype.items() if name in needed}
            options: QueryOptions = {**options, "dtype": chosen_types}
        return cls(part, schema, options, needed, chosen, limit)

    @property
    def is_all_done(self) -> bool:
        """Whether the stream has exactly the rows and columns of the result."""
        return self.where is None and (self.needed is None or self.needed == self.schema.names != [])

    def open(self, uri: str | None, opened: ExitStack) -> Stream:
        """Begins to read. `opened` closes the connection."""
        if self.part._plan is not None and uri is None:
            return self.part._plan.read_part(self.part.ticket, self._pushed(), **self.options)
        place = uri or os.environ.get(URI_VARIABLE) or self.part.address
        source = open_source(place, only_reads=True)
        opened.callback(source.close)
        if not isinstance(source, CoreConnection):
            raise InterfaceError(
                "the part is not of this kind of database: give the URI of its PostgreSQL or colonnade serve",
                source=source.name,
            )
        return read_part(source, self.part.ticket, self._pushed(), **self.options)

    def _pushed(self) -> tuple[str, list[str]] | tuple[list[int] | None, int | None] | None:
        """What the database does of the reading; None for the part as it is.

        For a part of a snapshot, its query with that around it, and its columns. For spooled rows, the numbers of the
        columns and the limit: the server does not run a predicate.
        """
        limit = self.limit if self.where is None else None
        schema, query = self.part.schema, ticket_query(self.part.ticket)
        if query is None:
            if self.needed is None:
                return None if limit is None else (None, limit)
            # A column is needed to count the rows.
            return [schema.names.index(name) for name in self.needed] or [0], limit
        where = None if self.where is None else self.where.condition("postgresql", schema, self.part._options)
        if self.needed is None and where is None and limit is None:
            return None
        sql = around("postgresql", in_from(query), self.needed, where, limit)
        return sql, schema.names if self.needed is None else self.needed

    def rest(self, result: Result) -> Iterator[pa.RecordBatch]:
        """The result's batches, with what the database has not done."""
        batches = iter(result)
        if self.where is not None:
            batches = self.where.kept(batches)
        left = self.limit
        for batch in batches:
            made = batch if self.needed is None else batch.select(self.schema.names)
            if left is not None:
                made = made.slice(0, left)
                left -= made.num_rows
            yield made
            if left == 0:
                return
