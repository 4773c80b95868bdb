"""`connect` and `read_sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload
from urllib.parse import unquote

from . import _convert, _core
from ._errors import InterfaceError, NotSupportedError
from ._result import Result

if TYPE_CHECKING:
    from types import TracebackType

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ._core import Stream

Params = Sequence[Any] | Mapping[str, Any]
ReturnType = Literal["pandas", "polars", "arrow", "modin", "dask", "arrow_stream"]


class Source(Protocol):
    """What a connection is made of, whatever it leads to."""

    @property
    def name(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    def query(
        self,
        sql: str,
        params: Params | None = None,
        *,
        compression: str | None = None,
        chunk_rows: int | None = None,
        chunk_bytes: int | None = None,
        max_message_bytes: int | None = None,
        numeric: tuple[int, int] | None = None,
        as_text: Sequence[str] | None = None,
        parallel: str | None = None,
    ) -> Stream: ...
    def execute(self, sql: str, params: Params | None = None) -> int | None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


class Connection:
    """A connection to a database. One result at a time is read from it; it may be used from any thread.

    >>> with colonnade.connect("postgresql://localhost:5433/") as connection:  # doctest: +SKIP
    ...     table = connection.query("select * from lineitem where l_orderkey < $1", [1000]).to_arrow()
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def query(
        self,
        sql: str,
        params: Params | None = None,
        *,
        compression: str | None = None,
        chunk_rows: int | None = None,
        chunk_bytes: int | None = None,
        max_message_bytes: int | None = None,
        numeric: tuple[int, int] | None = None,
        as_text: Sequence[str] | None = None,
        parallel: str | None = None,
    ) -> Result:
        """Starts a query and returns when its columns are known.

        `params` are values for `$1`, `$2`, … (a list or tuple) or for `$name` (a mapping). `compression` is `"auto"`
        or pins a configuration: `"plain"`, `"light"`, `"light+fsst"`, each alone or with `"+lz4"` or `"+zstd-1"` …
        `"+zstd-22"`. `chunk_rows` and `chunk_bytes` bound a chunk, `max_message_bytes` what this process accepts.

        PostgreSQL has three options more. `numeric=(precision, scale)` makes decimals of numerics that were
        declared without either, which otherwise arrive as text; a value that does not fit is an error, never rounded.
        `as_text` names columns of the result that arrive as the text PostgreSQL has for them, such as arrays of several
        dimensions. `parallel` is `"auto"`, `"on"` (workers encode wherever the plan allows it) or `"off"`. Without the
        extension, `compression` and `parallel` have no effect.
        """
        return Result(
            self._source.query(
                sql,
                params,
                compression=compression,
                chunk_rows=chunk_rows,
                chunk_bytes=chunk_bytes,
                max_message_bytes=max_message_bytes,
                numeric=numeric,
                as_text=as_text,
                parallel=parallel,
            )
        )

    def execute(self, sql: str, params: Params | None = None) -> int | None:
        """Runs a statement for its effect. Gives the number of rows it touched, if the database says one."""
        return self._source.execute(sql, params)

    def cancel(self) -> None:
        """Stops the query that runs now, from another thread; its reader gets an error. If none runs, so be it."""
        self._source.cancel()

    def close(self) -> None:
        """Ends the connection, and a query that runs on it."""
        self._source.close()

    @property
    def name(self) -> str:
        """The source, without any password."""
        return self._source.name

    @property
    def server(self) -> str:
        """The server's software, as it calls itself."""
        return self._source.server

    @property
    def is_open(self) -> bool:
        """Whether it can take another query, now or when the running one has ended."""
        return self._source.is_open

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<colonnade.Connection {self.name}{'' if self.is_open else ', closed'}>"


def connect(uri: str) -> Connection:
    """Connects to a database.

    * `postgresql://user@host:port/database`: PostgreSQL, with the extension or as it is, or a Colonnade server
    * `postgresql:///database?host=/path`: the same on a unix socket (libpq's directory, or the socket file itself)
    * `duckdb:///absolute/path`, `duckdb:relative/path`, `duckdb:///:memory:`: DuckDB in this process
    """
    scheme, colon, rest = uri.partition(":")
    # SQLAlchemy's URIs name a driver, which does not matter here.
    scheme = scheme.partition("+")[0].lower()
    if scheme in ("postgresql", "postgres"):
        return Connection(_core.connect(f"{scheme}:{rest}"))
    if scheme == "duckdb" and colon:
        from ._duckdb import DuckdbSource

        return Connection(DuckdbSource(_duckdb_path(rest)))
    known = "use postgresql:// or duckdb://"
    if not rest.startswith("//"):
        raise InterfaceError(f"the connection string is not a URI: {known}")
    raise NotSupportedError(f"there is no source for {scheme}:// in this version: {known}")


def _duckdb_path(rest: str) -> str:
    """What follows `duckdb:` as a path; RFC 3986 gives an absolute one two slashes more and a relative one none."""
    path, _, query = rest.partition("?")
    if query:
        raise InterfaceError("a duckdb: URI takes no parameters")
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if host and host != ":memory:":
            raise InterfaceError("a duckdb: URI names no host: write duckdb:///absolute/path or duckdb:relative/path")
        path = slash + path
    path = unquote(path)
    return ":memory:" if path in ("", "/", ":memory:", "/:memory:") else path


# The defaults and the order are those of connectorx.read_sql, so that changing the import is enough.
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["pandas"] = "pandas",
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> pd.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["polars"],
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> pl.DataFrame: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["arrow"],
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> pa.Table: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["arrow_stream"],
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> pa.RecordBatchReader: ...
@overload
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: Literal["modin", "dask"],
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> Any: ...
def read_sql(
    conn: str | Connection,
    query: str | list[str],
    *,
    return_type: ReturnType = "pandas",
    protocol: str | None = None,
    partition_on: str | None = None,
    partition_range: tuple[int, int] | None = None,
    partition_num: int | None = None,
    index_col: str | None = None,
    strategy: str | None = None,
    pre_execution_query: str | list[str] | None = None,
    params: Params | None = None,
    compression: str | None = None,
    numeric: tuple[int, int] | None = None,
    as_text: Sequence[str] | None = None,
    parallel: str | None = None,
) -> Any:
    """Runs a query and gives its result as a dataframe.

    conn
        A URI (see `connect`) or an open `Connection`.
    query
        A query, or a list of queries with the same columns, whose rows follow one another.
    return_type
        `"pandas"`, `"polars"`, `"arrow"` (a pyarrow.Table) or `"arrow_stream"` (a pyarrow.RecordBatchReader).
    protocol
        ConnectorX's choice of a wire. The connection's own is used whatever it says.
    partition_on, partition_range, partition_num
        ConnectorX's way to use several connections. One stream fills the link here, so the query runs once,
        unpartitioned: no row is lost at the edges, and all come from one snapshot. The values are checked.
    index_col
        With pandas: the column that becomes the index.
    strategy
        For ConnectorX's federated queries only, which take a mapping of connections; it must be None.
    pre_execution_query
        Statements to run before, such as SET.
    params
        Values for `$1`, `$2`, … or `$name` in every query.
    compression, numeric, as_text, parallel
        See `Connection.query`.
    """
    options = {"compression": compression, "numeric": numeric, "as_text": as_text, "parallel": parallel}
    queries = _checked(query, return_type, partition_on, partition_range, partition_num, index_col, strategy)
    before = [pre_execution_query] if isinstance(pre_execution_query, str) else pre_execution_query or []
    if protocol not in (None, "csv", "binary", "cursor", "simple", "text"):
        raise ValueError(f"protocol {protocol!r} is none of csv, binary, cursor, simple, text")
    if isinstance(conn, Mapping):
        raise NotSupportedError("federated queries over several connections are not supported: query one connection")

    connection = conn if isinstance(conn, Connection) else connect(conn)
    try:
        for statement in before:
            connection.execute(statement)
        if return_type == "arrow_stream":
            return _reader(connection, queries, params, options, owned=connection is not conn)
        return _frame(connection, queries, return_type, index_col, params, options)
    finally:
        if connection is not conn and return_type != "arrow_stream":
            connection.close()


def _checked(
    query: str | list[str],
    return_type: str,
    partition_on: str | None,
    partition_range: tuple[int, int] | None,
    partition_num: int | None,
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
    if partition_on is None and (partition_range is not None or partition_num is not None):
        raise ValueError("partition_range and partition_num need partition_on")
    if partition_num is not None and partition_num < 1:
        raise ValueError("partition_num must be at least 1")
    if partition_range is not None and partition_range[0] > partition_range[1]:
        raise ValueError("partition_range must be (low, high)")
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
    options: dict[str, Any],
) -> Any:
    if len(queries) == 1:
        result = connection.query(queries[0], params, **options)
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


def _reader(
    connection: Connection, queries: list[str], params: Params | None, options: dict[str, Any], *, owned: bool
) -> pa.RecordBatchReader:
    pa = _convert.require("pyarrow", "return_type 'arrow_stream'")
    try:
        first = connection.query(queries[0], params, **options)
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
