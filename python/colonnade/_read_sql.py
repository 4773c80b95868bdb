"""`read_sql`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from . import _convert, _partition
from ._connection import Connection, connect
from ._errors import InterfaceError, NotSupportedError
from ._options import Params, QueryOptions
from ._result import Result

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ReturnType = Literal["pandas", "polars", "arrow", "modin", "dask", "arrow_stream"]


class ReadOptions(QueryOptions, total=False):
    """The arguments of `read_sql` that do not change the type of what it gives."""

    protocol: str | None
    partition_on: str | None
    partition_range: tuple[Any, Any] | None
    partition_num: int | None
    consistent: bool
    index_col: str | None
    strategy: str | None
    pre_execution_query: str | list[str] | None
    params: Params | None


# The defaults and the names are those of connectorx.read_sql, so that changing the import is enough.
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["pandas"] = "pandas",
    **options: Unpack[ReadOptions],
) -> pd.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection, query: str | list[str], *, return_type: Literal["polars"], **options: Unpack[ReadOptions]
) -> pl.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection, query: str | list[str], *, return_type: Literal["arrow"], **options: Unpack[ReadOptions]
) -> pa.Table: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["arrow_stream"],
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["modin", "dask"],
    **options: Unpack[ReadOptions],
) -> Any: ...
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: ReturnType = "pandas",
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[Any, Any] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    consistent: bool = True,
    **options: Unpack[QueryOptions],
) -> Any:
    """Runs a query and gives its result as a dataframe.

    conn
        A URI (see `connect`) or an open `Connection`.
    query
        A query, or a list of queries with the same columns, whose rows follow one another. Where the source can,
        queries that only read are read beside one another and see one state of the database.
    return_type
        `"pandas"`, `"polars"`, `"arrow"` (a pyarrow.Table) or `"arrow_stream"` (a pyarrow.RecordBatchReader).
    protocol
        ConnectorX's choice of a wire. The connection's own is used whatever it says.
    partition_on, partition_num
        Reads `partition_num` parts of the result over connections of their own, cut by the values of the column
        `partition_on`; rows without a value are read too. `partition_num` alone cuts PostgreSQL's tables by where their
        rows lie, and bounds how many queries of a list run at once. DuckDB and Colonnade servers use all cores for one
        stream, which is read then. The docs' page on partitions says more.
    partition_range
        `(low, high)`, to cut between them at equal distances in place of by the database's statistics. It filters
        nothing: keys outside it belong to the first and the last part.
    index_col
        With pandas: the column that becomes the index.
    strategy
        For ConnectorX's federated queries only, which take a mapping of connections; it must be None.
    pre_execution_query
        Statements to run before, such as SET.
    params
        Values for `$1`, `$2`, … or `$name` in every query.
    consistent
        Whether all parts must see one state of the database, or else be refused. With False, each sees its own.
    options
        See `Connection.query`.
    """
    queries = _checked(query, return_type, partition_on, index_col, strategy)
    before = [pre_execution_query] if isinstance(pre_execution_query, str) else list(pre_execution_query or [])
    split = _partition.Split.checked(partition_on, partition_num, partition_range, consistent=consistent, before=before)
    if protocol not in (None, "csv", "binary", "cursor", "simple", "text"):
        raise ValueError(f"protocol {protocol!r} is none of csv, binary, cursor, simple, text")
    if isinstance(conn, Mapping):
        raise NotSupportedError("federated queries over several connections are not supported: query one connection")

    connection = conn if isinstance(conn, Connection) else connect(conn)
    try:
        for statement in before:
            connection.execute(statement)
        if return_type == "arrow_stream":
            return _reader(connection, queries, params, options, split, owned=connection is not conn)
        return _frame(connection, queries, return_type, index_col, params, options, split)
    finally:
        if connection is not conn and return_type != "arrow_stream":
            connection.close()


def _checked(
    query: str | list[str],
    return_type: str,
    partition_on: str | None,
    index_col: str | None,
    strategy: str | None,
) -> list[str]:
    """The queries, once the arguments make sense."""
    if return_type in ("modin", "dask"):
        raise NotSupportedError(
            f"return_type {return_type!r} is not supported yet: use 'pandas' and convert the result"
        )
    if return_type not in ("pandas", "polars", "arrow", "arrow_stream"):
        raise ValueError(f"return_type {return_type!r} is none of pandas, polars, arrow, arrow_stream")
    if index_col is not None and return_type != "pandas":
        raise ValueError("index_col needs return_type 'pandas'")
    if strategy is not None:
        raise NotSupportedError("strategy is for federated queries, which are not supported")
    if isinstance(query, str):
        return [query]
    if not query:
        raise ValueError("the list of queries is empty")
    if partition_on is not None and len(query) > 1:
        raise ValueError("a list of queries cannot be partitioned")
    return list(query)


def _frame(
    connection: Connection,
    queries: list[str],
    return_type: str,
    index_col: str | None,
    params: Params | None,
    options: QueryOptions,
    split: _partition.Split,
) -> Any:
    result = _open(connection, queries, params, options, split)
    if result is not None:
        if return_type == "arrow":
            return result.to_arrow()
        if return_type == "polars":
            return result.to_polars()
        frame = result.to_pandas()
        return frame if index_col is None else frame.set_index(index_col)
    pa = _convert.require("pyarrow", "a list of queries")
    tables: list[pa.Table] = []
    for sql in queries:
        tables.append(connection.query(sql, params, **options).to_arrow())
        _same_columns(tables[0].schema, tables[-1].schema)
    table = pa.concat_tables(tables)
    if return_type == "arrow":
        return table
    if return_type == "polars":
        return _convert.polars(table)
    del tables
    frame = _convert.pandas(table)
    return frame if index_col is None else frame.set_index(index_col)


def _open(
    connection: Connection, queries: list[str], params: Params | None, options: QueryOptions, split: _partition.Split
) -> Result | None:
    """The one result of all queries; None if they can only follow one another."""
    source = connection._source
    if len(queries) == 1:
        return _partition.start(source, queries[0], params, options, split)
    return _partition.start_each(source, queries, params, options, split)


def _reader(
    connection: Connection,
    queries: list[str],
    params: Params | None,
    options: QueryOptions,
    split: _partition.Split,
    *,
    owned: bool,
) -> pa.RecordBatchReader:
    pa = _convert.require("pyarrow", "return_type 'arrow_stream'")
    try:
        # Batch by batch, the rows of a list's queries follow one another.
        only = _open(connection, queries, params, options, split) if len(queries) == 1 else None
        first = only or connection.query(queries[0], params, **options)
    except BaseException:
        if owned:
            connection.close()
        raise

    def batches() -> Any:
        try:
            yield from first
            for sql in queries[1:]:
                result = connection.query(sql, params, **options)
                _same_columns(first.schema, result.schema)
                yield from result
        finally:
            if owned:
                connection.close()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _same_columns(first: pa.Schema, other: pa.Schema) -> None:
    if not first.equals(other):
        raise InterfaceError(f"the queries have different columns:\n{first}\nand\n{other}")
