"""`read_sql` and the functions like it, for asyncio."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Required, TypeVar, Unpack, overload

from colonnade import _connection as sync
from colonnade._errors import NotSupportedError
from colonnade._read import tables as listing
from colonnade._read.drop_in import Index
from colonnade._read.drop_in import read_sql_table as read_table
from colonnade._read.read_sql import FrameOptions, Queries
from colonnade._read.read_sql import read_sql as read_query
from colonnade._sources.uri import open_source

from ._connection import Connecting, Connection

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa


T = TypeVar("T")

#: Their rows would be read later, by a thread that nobody has started.
_LAZY = ("arrow_stream", "dask", "modin", "duckdb")


class _Options(FrameOptions, total=False):
    index_col: Index
    #: Only for tables.
    columns: list[str] | None


class _Pandas(_Options, total=False):
    return_type: Literal["pandas"]


class _Polars(_Options, total=False):
    return_type: Required[Literal["polars"]]


class _Arrow(_Options, total=False):
    return_type: Required[Literal["arrow"]]


class _Numpy(_Options, total=False):
    return_type: Required[Literal["numpy"]]


@overload
async def read_sql(conn: str | Connection, query: Queries, **options: Unpack[_Pandas]) -> pd.DataFrame: ...
@overload
async def read_sql(conn: str | Connection, query: Queries, **options: Unpack[_Polars]) -> pl.DataFrame: ...
@overload
async def read_sql(conn: str | Connection, query: Queries, **options: Unpack[_Arrow]) -> pa.Table: ...
@overload
async def read_sql(conn: str | Connection, query: Queries, **options: Unpack[_Numpy]) -> dict[str, np.ndarray]: ...
async def read_sql(conn: str | Connection, query: Queries, **options: Any) -> Any:
    """Runs a query and returns its whole result. The arguments and the errors are those of `colonnade.read_sql`; the
    connection is a URI or one of this module.

    `return_type` is `"pandas"`, `"polars"`, `"arrow"` or `"numpy"`. To read rows as they arrive, use `Connection.query`
    and `async for`. If the task is cancelled, the query is cancelled too.
    """
    _require_whole("read_sql", options)
    return await _on_thread(conn, lambda connection: read_query(connection, query, **options))


@overload
async def read_sql_table(
    table_name: str, con: str | Connection, schema: str | None = None, **options: Unpack[_Pandas]
) -> pd.DataFrame: ...
@overload
async def read_sql_table(
    table_name: str, con: str | Connection, schema: str | None = None, **options: Unpack[_Polars]
) -> pl.DataFrame: ...
@overload
async def read_sql_table(
    table_name: str, con: str | Connection, schema: str | None = None, **options: Unpack[_Arrow]
) -> pa.Table: ...
@overload
async def read_sql_table(
    table_name: str, con: str | Connection, schema: str | None = None, **options: Unpack[_Numpy]
) -> dict[str, np.ndarray]: ...
async def read_sql_table(table_name: str, con: str | Connection, schema: str | None = None, **options: Any) -> Any:
    """Reads a whole table: `colonnade.read_sql_table`, with the limits of this module's `read_sql`."""
    _require_whole("read_sql_table", options)
    return await _on_thread(con, lambda connection: read_table(table_name, connection, schema, **options))


async def tables(con: str | Connection) -> pa.Table:
    """Lists the tables of a database: `colonnade.tables`."""
    return await _on_thread(con, listing.tables)


async def schema(con: str | Connection, table: str, schema: str | None = None) -> pa.Schema:
    """Returns the names and types of a table's columns: `colonnade.schema`."""
    return await _on_thread(con, lambda connection: listing.schema(connection, table, schema))


def _require_whole(function: str, options: dict[str, Any]) -> None:
    """Refuses results that are read later."""
    instead = "query() of a connection, and read its result with async for"
    if (kind := options.get("return_type")) in _LAZY:
        raise NotSupportedError(f"aio.{function} has no return_type {kind!r}: use {instead}")
    if options.get("chunksize") is not None:
        raise NotSupportedError(f"aio.{function} has no chunksize: use {instead}")


async def _on_thread(conn: str | Connection, work: Callable[[sync.Connection], T]) -> T:
    """Works on a connection's thread: on that of an open connection, or on one that lives as long as the call."""
    if isinstance(conn, Connection):
        return await conn._run(lambda: work(conn._connection))
    async with Connecting(conn, lambda uri: sync.Connection(open_source(uri, only_reads=True))) as connection:
        return await connection._run(lambda: work(connection._connection))
