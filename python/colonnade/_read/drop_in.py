"""Functions of pandas and ConnectorX beside `read_sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from colonnade._connection import Connection, connect
from colonnade._errors import NotSupportedError
from colonnade._libraries import require
from colonnade._sources.uri import is_keywords

from .arguments import connection_and_query
from .read_sql import FrameOptions, Index, Place, read_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

#: How a source quotes a name, by the scheme of its URI.
_QUOTES = {"postgresql": '"', "postgres": '"', "sqlite": '"', "duckdb": '"', "mysql": "`", "mariadb": "`"}


@overload
def read_sql_query(
    sql: str,
    con: Place,
    index_col: Index = None,
    *,
    return_type: Literal["pandas"] = "pandas",
    chunksize: None = None,
    **options: Unpack[FrameOptions],
) -> pd.DataFrame: ...
@overload
def read_sql_query(
    sql: str,
    con: Place,
    index_col: Index = None,
    *,
    return_type: Literal["pandas"] = "pandas",
    chunksize: int,
    **options: Unpack[FrameOptions],
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql_query(
    sql: str, con: Place, index_col: Index = None, *, return_type: Literal["arrow"], **options: Unpack[FrameOptions]
) -> pa.Table: ...
@overload
def read_sql_query(
    sql: str, con: Place, index_col: Index = None, *, return_type: Literal["polars"], **options: Unpack[FrameOptions]
) -> pl.DataFrame: ...
@overload
def read_sql_query(
    sql: str,
    con: Place,
    index_col: Index = None,
    *,
    return_type: Literal["arrow_stream", "numpy", "duckdb", "modin", "dask"],
    **options: Unpack[FrameOptions],
) -> Any: ...
def read_sql_query(sql: str, con: Place, index_col: Index = None, **options: Any) -> Any:
    """Runs a query and returns its result: `read_sql` with the arguments in pandas' order.

    Args:
        sql: A query.
        con: A URI (see `connect`) or an open `Connection`.
        index_col: With pandas and Dask: the column that becomes the index, or several.
        options: The other arguments of `read_sql`.

    Returns:
        As `read_sql`: a pandas.DataFrame unless `return_type` or `chunksize` says otherwise.

    Raises:
        Error: As for `read_sql`.
    """
    return read_sql(con, sql, index_col=index_col, **options)


@overload
def read_sql_table(
    table_name: str,
    con: Place,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    return_type: Literal["pandas"] = "pandas",
    chunksize: None = None,
    **options: Unpack[FrameOptions],
) -> pd.DataFrame: ...
@overload
def read_sql_table(
    table_name: str,
    con: Place,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    return_type: Literal["pandas"] = "pandas",
    chunksize: int,
    **options: Unpack[FrameOptions],
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql_table(
    table_name: str,
    con: Place,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    return_type: Literal["arrow"],
    **options: Unpack[FrameOptions],
) -> pa.Table: ...
@overload
def read_sql_table(
    table_name: str,
    con: Place,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    return_type: Literal["polars"],
    **options: Unpack[FrameOptions],
) -> pl.DataFrame: ...
@overload
def read_sql_table(
    table_name: str,
    con: Place,
    schema: str | None = None,
    index_col: Index = None,
    *,
    columns: list[str] | None = None,
    return_type: Literal["arrow_stream", "numpy", "duckdb", "modin", "dask"],
    **options: Unpack[FrameOptions],
) -> Any: ...
def read_sql_table(
    table_name: str,
    con: Place,
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
        index_col: With pandas and Dask: the column that becomes the index, or several. It is read in addition to
            `columns`.
        columns: The columns to read; None is all.
        options: The other arguments of `read_sql`.

    Returns:
        As `read_sql`: a pandas.DataFrame unless `return_type` or `chunksize` says otherwise.

    Raises:
        NotSupportedError: The source is ADBC or ODBC.
        Error: As for `read_sql`.
    """
    quote = _quote(con)

    def quoted(name: str) -> str:
        return f"{quote}{name.replace(quote, 2 * quote)}{quote}"

    wanted = "*"
    if columns is not None:
        index = [index_col] if isinstance(index_col, str) else list(index_col or [])
        wanted = ", ".join(map(quoted, dict.fromkeys([*index, *columns])))
    table = ".".join(map(quoted, [schema, table_name] if schema is not None else [table_name]))
    return read_sql(con, f"select {wanted} from {table}", index_col=index_col, **options)


def _quote(con: Place) -> str:
    """What a name is quoted with where the connection leads."""
    name = con.name if isinstance(con, Connection) else con
    scheme = "postgresql" if is_keywords(name) else name.partition(":")[0].partition("+")[0].lower()
    if scheme not in _QUOTES:
        raise NotSupportedError(
            f"how {scheme} quotes the name of a table is not known here", hint="write the query for read_sql"
        )
    return _QUOTES[scheme]


def get_meta(conn: Place, query: str, protocol: str | None = None) -> pd.DataFrame:
    """Returns a frame without rows, with the columns and types that `read_sql` gives the query (ConnectorX's function).

    The query is started, and cancelled when its columns are known.

    Args:
        conn: A URI (see `connect`) or an open `Connection`.
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
    from colonnade._frames.pandas import Layout, frame

    connection = place if isinstance(place, Connection) else connect(place)
    try:
        layout = Layout()
        with connection.query(str(asked)) as result:
            result._retype(layout.conversions(result.schema), "get_meta()")
            return frame(result.schema, [], layout)
    finally:
        if connection is not place:
            connection.close()
