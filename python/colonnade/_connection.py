"""`connect` and `Connection`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ._frames.progress import Reporter
from ._frames.result import Result
from ._libraries import require
from ._options import expected
from ._options.query import NAMES, Params, QueryOptions
from ._options.write import APPEND_NAMES, AppendOptions, WriteOptions
from ._rows.append import Append
from ._rows.writing import WriteStats, write_rows
from ._rows.writing import require as require_write
from ._sources.estimate import estimated_rows
from ._sources.names import quoted
from ._sources.near import name_tables
from ._sources.uri import open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from ._core import Source, Stream
    from ._rows.data import Data


class Connection:
    """A connection to a database, made by `connect`.

    One result at a time is read from it. It may be used from any thread. While a statement runs, or its result is not
    read to its end, another statement is an `InterfaceError`. A connection belongs to the process that made it: a
    forked process, as of `multiprocessing`, connects by itself. As a context manager it closes itself.

    Example:
        >>> with colonnade.connect("postgresql://localhost:5433/") as connection:  # doctest: +SKIP
        ...     table = connection.query("select * from lineitem where l_orderkey < $1", [1000]).to_arrow()
    """

    def __init__(self, source: Source) -> None:
        #: For the rest of this package too.
        self._source = source

    def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Result:
        """Starts a query and returns when its columns are known.

        Args:
            sql: The query.
            params: Values for `$1`, `$2`, … (a list or a tuple) or for `$name` (a mapping). ADBC takes a list of
                values for the database's own placeholders: `$2` takes the second value, others take theirs in order.
                ODBC takes a list of texts for each `?`.
            options: Any of these. None, or an option that is left out, leaves the choice to the source. An option that
                the source cannot follow is an error that names it.

                `dtype`: other types for columns: a mapping of names to types such as
                `{"price": "float64", "id": "int32"}`, or one type for all columns. Types are names of spec/TYPES.md, or
                types of pyarrow, NumPy, pandas and Python. A value that would change is an error; `lossy("float64")`
                allows the nearest one.

                `max_result_bytes`: the largest size of the result's columns as plain Arrow buffers: a number of bytes,
                or a size such as `"100MB"`. A larger result is an `OperationalError` (SQLSTATE 54000). Every source
                has this option.

                `chunk_rows`, `chunk_bytes`: the largest number of rows and of plain bytes in a chunk.

                `max_message_bytes`: the largest message that is accepted, in bytes. With ODBC, the longest value.

                `compression`: PostgreSQL with the extension and `colonnade serve`: `"auto"` (the default), or a fixed
                configuration: `"plain"`, `"light"` or `"light+fsst"`, each alone or with `"+lz4"` or `"+zstd-1"` …
                `"+zstd-22"`. PostgreSQL without the extension ignores it. Other sources take `"auto"` and `"plain"`.

                `parallel`: PostgreSQL with the extension: `"auto"`, `"on"` (workers encode wherever the plan allows it)
                or `"off"`. PostgreSQL without the extension ignores it. Other sources take `"auto"` and `"off"`.

                `numeric`: PostgreSQL: `(precision, scale)` of the decimals that numerics declared without them become.
                They arrive as text otherwise. A value that does not fit is an error and never rounded.

                `progress`: True shows the rows, bytes and speed of reading on a terminal or in a notebook, and nothing
                elsewhere (`pip install 'colonnade[progress]'`). A function is called with a `Progress` about ten times
                a second and at the end; an exception that it raises ends the read. PostgreSQL's planner estimates the
                number of rows, outside of a transaction. What follows from the estimate is marked with `~`. A library
                that reads `__arrow_c_stream__` reports nothing.

                `as_text`: PostgreSQL, MySQL, SQLite and ODBC: names of columns that arrive as the database's text for
                them, such as arrays of several dimensions.

        Returns:
            The result, of which no row has been read yet.

        Raises:
            ProgrammingError: The query is wrong, or names something that does not exist.
            InterfaceError: A parameter or an option is wrong, or another result is still being read.
            NotSupportedError: The source cannot follow an option, or has no exact form for a column's type.
            OperationalError: The connection was lost.
            TypeError: An option is unknown, or has a value of the wrong type.
        """
        expected.refuse_unknown("query", options, NAMES)
        expected.require(options)
        reporter = Reporter.of(options.get("progress"), lambda: estimated_rows(self._source, sql, params))
        stream: Stream | None = None
        try:
            stream = self._source.query(_text(sql), params, **options)
            return Result(stream, options, reporter=reporter)
        except BaseException as error:
            # The traceback of Ctrl-C or of a wrong option would keep the stream, and with it the connection.
            if stream is not None:
                stream.close()
            name_tables(self._source, error)
            raise

    def execute(self, sql: str, params: Params | None = None) -> int | None:
        """Runs a statement for its effect.

        Args:
            sql: The statement. Rows that it returns are dropped.
            params: As for `query`.

        Returns:
            The number of rows that it changed, or None if the database reports no number.

        Raises:
            Error: The statement failed; the subclass says how.
        """
        try:
            return self._source.execute(_text(sql), params)
        except Exception as error:
            name_tables(self._source, error)
            raise

    def write(self, data: Data, table: str, **options: Unpack[WriteOptions]) -> WriteStats:
        """Writes data into a table over this connection: all rows, or none.

        Args:
            data: As for `write_sql`.
            table: The table's name as the database has it.
            options: Those of `write_sql`: `schema`, `if_exists`, `key`, `temporary`, `dtype`, `index`, `progress`.

        Returns:
            The number of rows and the time.

        Raises:
            Error: As for `write_sql`.
        """
        require_write("write", table, options)
        return write_rows(data, self._source, table, **options)

    def append(self, table: str, schema: str | None = None, **options: Unpack[AppendOptions]) -> Append:
        """Adds rows to a table part by part. All parts are one write: all rows arrive, or none.

        Args:
            table: The table's name as the database has it.
            schema: The table's schema; None is the connection's default.
            options: Those of `write_sql`. `if_exists` is `"append"` if it is left out: the table must exist.

        Returns:
            A context manager. Leaving its block commits; leaving it by an exception rolls back. Its `write` takes a
            pyarrow.RecordBatch, a table, a frame or a dict of arrays, and its `stats` are the `WriteStats` afterwards.
            The transaction begins with the first `write`; without one, nothing happens. Other uses of the connection
            have to wait for the end of the block.

        Example:
            >>> with connection.append("readings") as rows:  # doctest: +SKIP
            ...     for batch in batches:
            ...         rows.write(batch)
            >>> rows.stats.rows  # doctest: +SKIP
            1200000
        """
        given: WriteOptions = {"if_exists": "append", **options, "schema": schema}
        require_write("append", table, given, names=APPEND_NAMES)
        return Append(self._source, table, given)

    def tables(self) -> pa.Table:
        """Lists the tables of users, in the order of their names.

        Tables of the database itself and temporary tables are left out. `schema` and `name` are what `schema` and
        `read_sql_table` take.

        Returns:
            A pyarrow.Table with the columns `catalog`, `schema`, `name`, `type` (`"table"`, `"view"`, or another kind
            that the database has) and `estimated_rows` (int64: the database's estimate, or NULL if it has none). In
            MySQL and MariaDB, `schema` is the database. ADBC drivers report catalogs and schemas in their own way.

        Raises:
            NotSupportedError: The source cannot list its tables (ODBC).
        """
        require("pyarrow", "tables()")
        return Result(self._source.tables(), {}).to_arrow().cast(_tables_schema())

    def schema(self, table: str, schema: str | None = None) -> pa.Schema:
        """Returns the names and types of a table's columns. No row is read.

        Args:
            table: The table's name as the database has it, including capital letters. A dot is part of the name.
            schema: The schema of the table; None is the connection's default.

        Returns:
            A pyarrow.Schema with the types in which the table is read into Arrow.

        Raises:
            ProgrammingError: There is no such table.
            NotSupportedError: It is unknown how the source quotes names (ADBC and ODBC), or the source has no exact
                form for a column's type.
        """
        require("pyarrow", "schema()")
        with self.query(f"select * from {quoted(self._source.dialect, schema, table)} where 1 = 0") as result:
            return result.to_arrow().schema

    def cancel(self) -> None:
        """Stops the query that runs now. It is called from another thread than the reader's.

        The reader gets an `OperationalError`. If no query runs, nothing happens.

        Raises:
            OperationalError: The database cannot be reached for the request.
        """
        self._source.cancel()

    def close(self) -> None:
        """Cancels the query that runs on it, waits until it has ended, 10 s at most, and ends the connection."""
        self._source.close()

    @property
    def name(self) -> str:
        """The URI of the source, without its password."""
        return self._source.name

    @property
    def server(self) -> str:
        """The name and version of the server's software, as the server gives them."""
        return self._source.server

    @property
    def is_open(self) -> bool:
        """Whether it takes another query, now or after the running one has ended."""
        return self._source.is_open

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<colonnade.Connection {self.name}{'' if self.is_open else ', closed'}>"


def _text(sql: str) -> str:
    if not isinstance(sql, str):
        raise TypeError(f"the query is {sql!r}: give a text")
    return sql


def _tables_schema() -> pa.Schema:
    pa = require("pyarrow", "tables()")
    texts = [(name, pa.utf8()) for name in ("catalog", "schema", "name", "type")]
    return pa.schema([*texts, ("estimated_rows", pa.int64())])


def connect(uri: str) -> Connection:
    """Connects to a database.

    Args:
        uri: One of these forms:

            * `postgresql://user@host:port/database`: PostgreSQL, with or without the extension, or `colonnade serve`
            * `postgresql:///database?host=/path`: the same on a unix socket (libpq's directory, or the socket file)
            * `host=… dbname=… sslmode=verify-full`: the same in libpq's other form. With both forms, missing parameters
              come from a service file, the PG* variables and the password file
            * `mysql://user@host:port/database`, `mariadb://…`: MySQL or MariaDB; `?unix_socket=/path` for its unix
              socket
            * `sqlite:///relative/path`, `sqlite:////absolute/path`: an SQLite file, read-only; `?timeout=seconds` is
              the time to wait for locks, `?immutable=1` says that nobody writes to the file
            * `duckdb:///relative/path`, `duckdb:////absolute/path`, `duckdb:///:memory:`: DuckDB in this process, with
              an existing file; with `?access_mode=read_only` other processes can open the file too
            * `adbc:DRIVER?option=value&…`: an ADBC driver, by its Python package (`adbc_driver_snowflake`), its
              manifest's name or its library's path. Options are the database's (most drivers have `uri`); those that
              begin with `adbc.connection.` or `adbc.statement.` are the connection's and the statement's
            * `odbc:DSN=name;UID=user;PWD=password`, `odbc:Driver={name};Server=host;…`: an ODBC data source, by ODBC's
              connection string

    Returns:
        An open connection.

    Raises:
        InterfaceError: The URI, or a parameter in it, is wrong, or `uri` is no text.
        OperationalError: The database cannot be reached, or refuses the login.
        NotSupportedError: The server asks for a login or a version that is not supported.
        ImportError: The library of a `duckdb:`, `adbc:` or `odbc:` source is not installed.
    """
    return Connection(open_source(uri))
