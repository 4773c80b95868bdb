"""Functions with the interfaces of pandas and ConnectorX, over `read_sql`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, Literal, Required, TypeAlias, TypeVar, Unpack, overload

from colonnade._connection import Connection
from colonnade._libraries import require
from colonnade._options import expected
from colonnade._sources.names import dialect_of, quoted
from colonnade._sources.uri import checked_uri, open_source

from .arguments import connection_and_query
from .description import described
from .read_sql import FrameOptions, Index, Source, read_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade._frames.result import Result

#: The type of the argument `columns`.
Columns = TypeVar("Columns")
Names: TypeAlias = list[str] | None


# Each class has the arguments for one type of the result. `columns` depends on the function.
class _Frame(FrameOptions, Generic[Columns], total=False):
    columns: Columns
    return_type: Literal["pandas"]
    chunksize: None


class _Frames(FrameOptions, Generic[Columns], total=False):
    columns: Columns
    return_type: Literal["pandas"]
    chunksize: Required[int]


class _Arrow(FrameOptions, Generic[Columns], total=False):
    columns: Columns
    return_type: Required[Literal["arrow"]]


class _Polars(FrameOptions, Generic[Columns], total=False):
    columns: Columns
    return_type: Required[Literal["polars"]]


class _Other(FrameOptions, Generic[Columns], total=False):
    columns: Columns
    return_type: Required[Literal["arrow_stream", "numpy", "duckdb", "modin", "dask"]]


@overload
def read_sql_query(sql: str, con: Source, index_col: Index = None, **options: Unpack[_Frame[None]]) -> pd.DataFrame: ...
@overload
def read_sql_query(
    sql: str, con: Source, index_col: Index = None, **options: Unpack[_Frames[None]]
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql_query(sql: str, con: Source, index_col: Index = None, **options: Unpack[_Arrow[None]]) -> pa.Table: ...
@overload
def read_sql_query(
    sql: str, con: Source, index_col: Index = None, **options: Unpack[_Polars[None]]
) -> pl.DataFrame: ...
@overload
def read_sql_query(sql: str, con: Source, index_col: Index = None, **options: Unpack[_Other[None]]) -> Any: ...
def read_sql_query(sql: str, con: Source, index_col: Index = None, **options: Any) -> Any:
    """Runs a query and returns its result: `read_sql` with the arguments in pandas' order.

    Args:
        sql: A query.
        con: A URI (see `connect`) or an open `Connection`.
        index_col: With pandas and Dask: the column that becomes the index; with pandas also several.
        options: The other arguments of `read_sql`.

    Returns:
        As `read_sql`: a pandas.DataFrame unless `return_type` or `chunksize` says otherwise.

    Raises:
        Error: As for `read_sql`.
    """
    return read_sql(con, sql, index_col=index_col, **options)


@overload
def read_sql_table(
    table_name: str, con: Source, schema: str | None = None, index_col: Index = None, **options: Unpack[_Frame[Names]]
) -> pd.DataFrame: ...
@overload
def read_sql_table(
    table_name: str, con: Source, schema: str | None = None, index_col: Index = None, **options: Unpack[_Frames[Names]]
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql_table(
    table_name: str, con: Source, schema: str | None = None, index_col: Index = None, **options: Unpack[_Arrow[Names]]
) -> pa.Table: ...
@overload
def read_sql_table(
    table_name: str, con: Source, schema: str | None = None, index_col: Index = None, **options: Unpack[_Polars[Names]]
) -> pl.DataFrame: ...
@overload
def read_sql_table(
    table_name: str, con: Source, schema: str | None = None, index_col: Index = None, **options: Unpack[_Other[Names]]
) -> Any: ...
def read_sql_table(
    table_name: str,
    con: Source,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    **options: Any,
) -> Any:
    """Reads a table, or some of its columns, by name.

    Args:
        table_name: The table's name as the database has it, including capital letters.
        con: A URI (see `connect`) or an open `Connection`. ADBC and ODBC sources are refused, because the way in which
            they quote names is unknown.
        schema: The schema of the table; None is the connection's default.
        index_col: With pandas and Dask: the column that becomes the index; with pandas also several. It is read in
            addition to `columns`.
        columns: The columns to read, at least one; None is all.
        options: The other arguments of `read_sql`.

    Returns:
        As `read_sql`: a pandas.DataFrame unless `return_type` or `chunksize` says otherwise.

    Raises:
        NotSupportedError: The source is ADBC or ODBC.
        Error: As for `read_sql`.
    """
    expected.require({"table_name": table_name, "schema": schema, "columns": columns, "index_col": index_col})
    dialect = con._source.dialect if isinstance(con, Connection) else dialect_of(checked_uri(con))
    wanted = "*"
    if columns is not None:
        index = [index_col] if isinstance(index_col, str) else list(index_col or [])
        # SQLite takes an unknown name in double quotes for a text, unless the table stands before it.
        read = [*(column for column in index if column not in columns), *columns]
        names = [quoted(dialect, schema, table_name, column) for column in read]
        wanted = ", ".join(names)
    return read_sql(con, f"select {wanted} from {quoted(dialect, schema, table_name)}", index_col=index_col, **options)


def get_meta(conn: Source, query: str, protocol: str | None = None) -> pd.DataFrame:
    """Returns a frame without rows, with the columns and types that `read_sql` gives the query (ConnectorX's function).

    The database describes the query, in a transaction that changes nothing. A statement that changes data is refused.

    Args:
        conn: A URI (see `connect`), or an open `Connection` without an open transaction.
        query: A query.
        protocol: ConnectorX's choice of a protocol. It has no effect.

    Returns:
        An empty pandas.DataFrame.

    Raises:
        Error: As for `read_sql`.
    """
    place, asked = connection_and_query(conn, query, None, None)
    require("pandas", "get_meta()")
    require("pyarrow", "get_meta()", "pandas")
    from colonnade._frames.layout import Layout
    from colonnade._frames.pandas import frame

    layout = Layout()

    def empty(result: Result) -> pd.DataFrame:
        result._retype(layout.conversions(result.schema), "get_meta()")
        return frame(result.schema, [], layout)

    opened = nullcontext(place) if isinstance(place, Connection) else Connection(open_source(place, only_reads=True))
    with opened as connection:
        return described(connection, str(asked).rstrip("; \t\r\n"), None, {}, empty)[0]
