"""`read_sql`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from colonnade._connection import Connection
from colonnade._errors import NotSupportedError, ProgrammingError
from colonnade._frames.shape import ParseDates, ReturnType, Shape
from colonnade._options import expected
from colonnade._options.dtype import Backend
from colonnade._options.query import Params, QueryOptions
from colonnade._sources.uri import open_source

from . import partition
from .arguments import connection_and_query, hint_for, in_pandas_order
from .reading import Reading

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyRelation

#: A URI or an open connection.
Source: TypeAlias = str | Connection
#: A query, or several with the same columns. The first two arguments of `read_sql` may be exchanged.
Queries: TypeAlias = str | list[str]
Conn: TypeAlias = Source | None
Query: TypeAlias = Queries | Connection | None
#: The columns that become a frame's index.
Index: TypeAlias = str | list[str] | None


class FrameOptions(QueryOptions, total=False):
    """The arguments of `read_sql`, `read_sql_query` and `read_sql_table` that do not change the result's type."""

    protocol: str | None
    partition_on: str | None
    partition_range: tuple[Any, Any] | None
    partition_num: int | None
    consistent: bool
    strategy: str | None
    pre_execution_query: str | list[str] | None
    params: Params | None
    dtype_backend: Backend | None
    coerce_float: bool | None
    parse_dates: ParseDates | None
    batch_size: int | None


class ReadOptions(FrameOptions, total=False):
    """All arguments of `read_sql` that do not change the result's type."""

    con: Conn
    sql: Queries | None
    index_col: Index
    columns: None


#: The names of the arguments of `read_sql`.
_NAMES = ("conn", "query", "return_type", "chunksize", *ReadOptions.__annotations__)


@overload
def read_sql(
    conn: Conn = None,
    query: Query = None,
    *pandas: Any,
    return_type: Literal["pandas"] = "pandas",
    chunksize: None = None,
    **options: Unpack[ReadOptions],
) -> pd.DataFrame: ...
@overload
def read_sql(
    conn: Conn = None,
    query: Query = None,
    *pandas: Any,
    return_type: Literal["pandas"] = "pandas",
    chunksize: int,
    **options: Unpack[ReadOptions],
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql(
    conn: Conn = None, query: Query = None, *pandas: Any, return_type: Literal["polars"], **options: Unpack[ReadOptions]
) -> pl.DataFrame: ...
@overload
def read_sql(
    conn: Conn = None, query: Query = None, *pandas: Any, return_type: Literal["arrow"], **options: Unpack[ReadOptions]
) -> pa.Table: ...
@overload
def read_sql(
    conn: Conn = None,
    query: Query = None,
    *pandas: Any,
    return_type: Literal["arrow_stream"],
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader: ...
@overload
def read_sql(
    conn: Conn = None, query: Query = None, *pandas: Any, return_type: Literal["numpy"], **options: Unpack[ReadOptions]
) -> dict[str, np.ndarray]: ...
@overload
def read_sql(
    conn: Conn = None, query: Query = None, *pandas: Any, return_type: Literal["duckdb"], **options: Unpack[ReadOptions]
) -> DuckDBPyRelation: ...
@overload
def read_sql(
    conn: Conn = None,
    query: Query = None,
    *pandas: Any,
    return_type: Literal["modin", "dask"],
    **options: Unpack[ReadOptions],
) -> Any: ...
def read_sql(
    conn: Conn = None,
    query: Query = None,
    *pandas: Any,
    return_type: ReturnType = "pandas",
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[Any, Any] | None = None,
    partition_num: int | None = None,
    index_col: Index = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    consistent: bool = True,
    batch_size: int | None = None,
    con: Conn = None,
    sql: Queries | None = None,
    dtype_backend: Backend | None = None,
    coerce_float: bool | None = None,
    parse_dates: ParseDates | None = None,
    chunksize: int | None = None,
    columns: None = None,
    **options: Unpack[QueryOptions],
) -> Any:
    """Runs a query and returns its result as a dataframe or a table.

    The names, the order and the defaults of the arguments are those of `connectorx.read_sql` and `pandas.read_sql`.

    Args:
        conn: A URI (see `connect`) or an open `Connection`. It may also be the second argument, as in pandas.
        query: A query, or a list of queries with the same columns, whose rows follow one another. Where the source can,
            queries that only read run at the same time and see one state of the database.
        pandas: The next arguments of `pandas.read_sql` in its order: `index_col`, `coerce_float`, `params`,
            `parse_dates`, `columns`, `chunksize`, `dtype_backend` and `dtype`.
        return_type: `"pandas"` (a pandas.DataFrame), `"polars"` (a polars.DataFrame), `"arrow"` (a pyarrow.Table),
            `"arrow_stream"` (a pyarrow.RecordBatchReader), `"numpy"` (a dict of arrays), `"duckdb"` (a relation of
            DuckDB's default connection), `"dask"` (a dask.dataframe) or `"modin"` (a modin.pandas.DataFrame).
        protocol: ConnectorX's choice of a protocol. It is checked and has no effect.
        partition_on: A column by whose values the result is cut into parts, which are read over several connections.
            Rows with a NULL in it are read too. A Colonnade server and DuckDB send one stream instead, for which they
            use all cores.
        partition_range: `(low, high)`: cut at equal distances between these values instead of by the database's
            statistics. It filters nothing: rows outside of it belong to the first and the last part.
        partition_num: The number of parts. Without `partition_on`, a plain table is cut by the place of its rows or by
            its primary key. With a list of queries, the number of queries that run at the same time.
        index_col: With pandas and Dask: the column that becomes the index; with pandas also several.
        strategy: ConnectorX's argument for federated queries. It must be None.
        pre_execution_query: Statements to run before the query, such as SET.
        params: Values for `$1`, `$2`, … (a list or a tuple) or for `$name` (a mapping), in every query.
        consistent: Whether all parts must see one state of the database. If True and that is impossible, the call is an
            error; if False, each part sees the state at its own start.
        batch_size: With `"arrow_stream"`: the largest number of rows of a batch.
        con: pandas' name for `conn`.
        sql: pandas' name for `query`.
        dtype_backend: With pandas and Dask: the types of the frame's columns, see `Result.to_pandas`.
        coerce_float: With pandas and Dask: whether decimals become the nearest float64. The default is True, and False
            with `dtype_backend="exact"`.
        parse_dates: With pandas and Dask: a column to parse as dates by the rules of pandas, or several.
        chunksize: With pandas: return an iterator of frames of this many rows, made as the rows arrive.
        columns: pandas' argument for tables by name. It must be None.
        options: The options of `Connection.query`, such as `dtype`, `max_result_bytes` and `progress`. With pandas,
            `object` is a type for `dtype` too.

    Returns:
        What `return_type` names; with `chunksize`, an iterator of pandas.DataFrame.

    Raises:
        Error: The query failed, or a value has no exact form in the result; the subclass says which. No result is ever
            shorter than the database's.
        TypeError: An argument is unknown, or has a value of the wrong type. Nothing was connected to.
        ValueError: An argument has a value that it cannot have.
        ImportError: The library of `return_type` is not installed.
    """
    # At the beginning, the local variables are the arguments.
    arguments: dict[str, Any] = {**locals(), **options}
    if pandas:
        del arguments["pandas"], arguments["options"]
        return read_sql(**in_pandas_order(pandas, arguments))
    expected.refuse_unknown("read_sql", options, _NAMES)
    expected.require(arguments)
    place, asked = connection_and_query(conn, query, con, sql)
    if columns is not None:
        why = "it selects from a table that is given by name: name the columns in the query"
        raise NotSupportedError(f"columns is not supported: {why}")
    shape = Shape(return_type, index_col, dtype_backend, coerce_float, parse_dates, chunksize, batch_size, options)
    if strategy is not None:
        raise NotSupportedError("strategy is for federated queries, which are not supported")
    queries = [asked] if isinstance(asked, str) else asked
    if not queries:
        raise ValueError("the list of queries is empty")
    if partition_on is not None and len(queries) > 1:
        raise ValueError("a list of queries cannot be partitioned")
    before = [pre_execution_query] if isinstance(pre_execution_query, str) else list(pre_execution_query or [])
    split = partition.Split.checked(partition_on, partition_num, partition_range, consistent=consistent, before=before)
    if protocol not in (None, "csv", "binary", "cursor", "simple", "text"):
        raise ValueError(f"protocol must be one of csv, binary, cursor, simple, text, not {protocol!r}")
    shape.require()

    connection = place if isinstance(place, Connection) else Connection(open_source(place, only_reads=True))
    reading = Reading(connection, queries, shape, params, split, owns_connection=connection is not place)
    # A result that is read as it arrives closes the connection at its end.
    streams = return_type == "arrow_stream" or chunksize is not None
    try:
        for statement in before:
            connection.execute(statement)
        return reading.stream() if streams else reading.whole()
    except BaseException as error:
        streams = False
        if isinstance(error, ProgrammingError) and error.hint is None:
            error.hint = hint_for(asked)
        raise
    finally:
        if not streams:
            reading.close()
