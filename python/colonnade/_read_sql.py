"""`read_sql`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from . import _convert, _expected, _partition
from ._arguments import endpoints, refuse
from ._connection import Connection, connect
from ._errors import InterfaceError, NotSupportedError
from ._frames import ParseDates, Shape, resliced
from ._options import NAMES, Params, QueryOptions
from ._pandas import Backend
from ._result import Result

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyRelation

ReturnType = Literal["pandas", "polars", "arrow", "arrow_stream", "numpy", "duckdb", "dask", "modin"]


class ReadOptions(QueryOptions, total=False):
    """The arguments of `read_sql` that do not change the type of what it gives."""

    con: str | Connection | None
    sql: str | list[str] | None
    protocol: str | None
    partition_on: str | None
    partition_range: tuple[Any, Any] | None
    partition_num: int | None
    consistent: bool
    index_col: str | list[str] | None
    strategy: str | None
    pre_execution_query: str | list[str] | None
    params: Params | None
    dtype_backend: Backend | None
    coerce_float: bool | None
    parse_dates: ParseDates | None
    batch_size: int | None
    columns: None


#: The names of its arguments, but for the options of a query.
_OWN = (
    "conn",
    "query",
    "return_type",
    "chunksize",
    *(name for name in ReadOptions.__annotations__ if name not in NAMES),
)


# The defaults and the names are those of connectorx.read_sql and of pandas.read_sql: changing the import is enough.
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["pandas"] = "pandas",
    chunksize: None = None,
    **options: Unpack[ReadOptions],
) -> pd.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["pandas"] = "pandas",
    chunksize: int,
    **options: Unpack[ReadOptions],
) -> Iterator[pd.DataFrame]: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["polars"],
    **options: Unpack[ReadOptions],
) -> pl.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["arrow"],
    **options: Unpack[ReadOptions],
) -> pa.Table: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["arrow_stream"],
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["numpy"],
    **options: Unpack[ReadOptions],
) -> dict[str, np.ndarray]: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["duckdb"],
    **options: Unpack[ReadOptions],
) -> DuckDBPyRelation: ...
@overload
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: Literal["modin", "dask"],
    **options: Unpack[ReadOptions],
) -> Any: ...
def read_sql(
    conn: str | Connection | None = None,
    query: str | list[str] | Connection | None = None,
    *,
    return_type: ReturnType = "pandas",
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[Any, Any] | None = None,
    partition_num: int | None = None,
    index_col: str | list[str] | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    consistent: bool = True,
    batch_size: int | None = None,
    con: str | Connection | None = None,
    sql: str | list[str] | None = None,
    dtype_backend: Backend | None = None,
    coerce_float: bool | None = None,
    parse_dates: ParseDates | None = None,
    chunksize: int | None = None,
    columns: None = None,
    **options: Unpack[QueryOptions],
) -> Any:
    """Runs a query and gives its result as a dataframe.

    conn, con
        A URI (see `connect`) or an open `Connection`. It may also be the second of the two, as in pandas.
    query, sql
        A query, or a list of queries with the same columns, whose rows follow one another. Where the source can,
        queries that only read are read beside one another and see one state of the database.
    return_type
        `"pandas"`, `"polars"`, `"arrow"` (a pyarrow.Table), `"arrow_stream"` (a pyarrow.RecordBatchReader), `"numpy"`
        (a dict of arrays), `"duckdb"` (a relation of DuckDB's default connection) or `"dask"` (a dask.dataframe).
    protocol
        ConnectorX's choice of a wire. The connection's own is used whatever it says.
    partition_on, partition_num
        Reads `partition_num` parts of the result over connections of their own, cut by the values of the column
        `partition_on`; rows without a value are read too. `partition_num` alone cuts a plain table by where its rows
        lie, or by its primary key, and bounds how many queries of a list run at once. DuckDB and Colonnade servers use
        all cores for one stream, which is read then. The docs' page on partitions says more.
    partition_range
        `(low, high)`, to cut between them at equal distances in place of by the database's statistics. It filters
        nothing: keys outside it belong to the first and the last part.
    index_col
        With pandas and Dask: the column that becomes the index, or several.
    strategy
        For ConnectorX's federated queries only, which take a mapping of connections; it must be None.
    pre_execution_query
        Statements to run before, such as SET.
    params
        Values for `$1`, `$2`, … or `$name` in every query.
    consistent
        Whether all parts must see one state of the database, or else be refused. With False, each sees its own.
    batch_size
        With `"arrow_stream"`: rows of a batch at most.
    dtype_backend
        With pandas and Dask: how the frame keeps its columns, see `Result.to_pandas`. The default is pandas.read_sql's
        types; `"exact"` gives the database's own, `"connectorx"` ConnectorX's.
    coerce_float
        With pandas and Dask: whether decimals become floats, the nearest. The default is True, as in pandas, and False
        with `dtype_backend="exact"`.
    parse_dates
        With pandas and Dask: a column to read as moments, by pandas' rules, or several.
    chunksize
        With pandas: an iterator of frames of so many rows each, made as they arrive.
    columns
        Not supported, since a query names its columns.
    options
        See `Connection.query`. `dtype` is one of them: types of columns by name, or one type for all; with pandas,
        `object` is a type too.
    """
    _expected.refuse_unknown("read_sql", options, [*_OWN, *NAMES])
    _expected.require(
        {
            **options,
            "partition_on": partition_on,
            "partition_num": partition_num,
            "partition_range": partition_range,
            "consistent": consistent,
            "index_col": index_col,
            "pre_execution_query": pre_execution_query,
            "chunksize": chunksize,
            "batch_size": batch_size,
        }
    )
    place, asked = endpoints(conn, query, con, sql)
    refuse({"columns": columns})
    shape = Shape(
        return_type,
        index_col,
        dtype_backend,
        coerce_float,
        parse_dates,
        chunksize,
        batch_size,
        dtype=options.get("dtype"),
        as_text=options.get("as_text"),
    )
    options["dtype"] = shape.converted
    queries = _checked(asked, partition_on, strategy)
    before = [pre_execution_query] if isinstance(pre_execution_query, str) else list(pre_execution_query or [])
    split = _partition.Split.checked(partition_on, partition_num, partition_range, consistent=consistent, before=before)
    if protocol not in (None, "csv", "binary", "cursor", "simple", "text"):
        raise ValueError(f"protocol {protocol!r} is none of csv, binary, cursor, simple, text")
    shape.require()

    connection = place if isinstance(place, Connection) else connect(place)
    # What arrives bit by bit closes it at its end.
    streaming = return_type == "arrow_stream" or chunksize is not None
    try:
        for statement in before:
            connection.execute(statement)
        if streaming:
            return _stream(connection, queries, shape, params, options, split, owned=connection is not place)
        return _whole(connection, queries, shape, params, options, split)
    except BaseException:
        streaming = False
        raise
    finally:
        if connection is not place and not streaming:
            connection.close()


def _checked(query: str | list[str], partition_on: str | None, strategy: str | None) -> list[str]:
    """The queries, once the arguments make sense."""
    if strategy is not None:
        raise NotSupportedError("strategy is for federated queries, which are not supported")
    if isinstance(query, str):
        return [query]
    if not query:
        raise ValueError("the list of queries is empty")
    if partition_on is not None and len(query) > 1:
        raise ValueError("a list of queries cannot be partitioned")
    return list(query)


def _whole(
    connection: Connection,
    queries: list[str],
    shape: Shape,
    params: Params | None,
    options: QueryOptions,
    split: _partition.Split,
) -> Any:
    result = _open(connection, queries, params, options, split)
    if result is not None:
        return shape.of_result(shape.prepare(result))
    pa = _convert.require("pyarrow", "a list of queries")
    tables: list[pa.Table] = []
    for sql in queries:
        tables.append(shape.prepare(connection.query(sql, params, **options)).to_arrow())
        _same_columns(tables[0].schema, tables[-1].schema)
    held = [pa.concat_tables(tables)]
    tables.clear()
    return shape.of_table(held)


def _open(
    connection: Connection, queries: list[str], params: Params | None, options: QueryOptions, split: _partition.Split
) -> Result | None:
    """The one result of all queries; None if they can only follow one another."""
    source = connection._source
    if len(queries) == 1:
        return _partition.start(source, queries[0], params, options, split)
    return _partition.start_each(source, queries, params, options, split)


def _stream(
    connection: Connection,
    queries: list[str],
    shape: Shape,
    params: Params | None,
    options: QueryOptions,
    split: _partition.Split,
    *,
    owned: bool,
) -> pa.RecordBatchReader | Iterator[pd.DataFrame]:
    # Batch by batch, the rows of a list's queries follow one another.
    only = _open(connection, queries, params, options, split) if len(queries) == 1 else None
    first = shape.prepare(only or connection.query(queries[0], params, **options))

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from first
            for sql in queries[1:]:
                result = shape.prepare(connection.query(sql, params, **options))
                _same_columns(first.schema, result.schema)
                yield from result
        finally:
            first.close()
            if owned:
                connection.close()

    if shape.chunksize is not None:
        return shape.frames(batches(), first.schema)
    pa = _convert.require("pyarrow", "return_type 'arrow_stream'")
    made = batches() if shape.batch_size is None else resliced(batches(), shape.batch_size)
    return pa.RecordBatchReader.from_batches(first.schema, made)


def _same_columns(first: pa.Schema, other: pa.Schema) -> None:
    if not first.equals(other):
        raise InterfaceError(f"the queries have different columns:\n{first}\nand\n{other}")
