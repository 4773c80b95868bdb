"""`write_sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._connection import Connection, connect
from colonnade._errors import InterfaceError
from colonnade._options.write import IfExists, WriteOptions
from colonnade._rows.data import DataStream
from colonnade._rows.writing import WriteStats, require, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._options.dtype import Dtypes
    from colonnade._options.query import ProgressOption
    from colonnade._rows.data import Data


def write_sql(
    data: Data,
    conn: str | Connection,
    table: str,
    *,
    schema: str | None = None,
    if_exists: IfExists = "fail",
    key: Sequence[str] | None = None,
    temporary: bool = False,
    dtype: Dtypes | None = None,
    index: bool | None = None,
    progress: ProgressOption = None,
) -> WriteStats:
    """Writes data into a table: all rows, or none.

    Everything happens in one transaction, so no reader sees a part, and after an error, Ctrl-C or a lost connection the
    database is as before. On a connection with an open transaction, the rows become part of that transaction. Each
    value lands exactly; a value that would not is an error that names its column and row (spec/TYPES.md, "Writing").
    The memory that is needed does not grow with the number of batches.

    Args:
        data: A table or a frame of pyarrow, polars or DuckDB, or anything else with `__arrow_c_stream__`; a
            pandas.DataFrame, in which NaN means NULL, as pandas defines it; a dict of NumPy arrays; an iterator of any
            of these, of which the first decides the columns; a `Result` of this package; a polars.LazyFrame; a
            pyarrow.dataset.Dataset or pyarrow.parquet.ParquetFile; or the path of a Parquet or Arrow IPC file (its
            first bytes tell which), which is read in parts.
        conn: A URI (see `connect`) or an open `Connection`: PostgreSQL, with or without the extension, `colonnade
            serve`, MySQL or MariaDB, an SQLite file, a DuckDB file, or an ADBC driver that is known to be exact.
        table: The table's name, exactly as the database has it: no quotes, and a dot or an upper-case letter is part
            of the name. Columns are found by their names, also exactly; columns of the table that the data lacks get
            their defaults.
        schema: The table's schema. Without it, the table is searched for, and created, as in a statement of SQL.
        if_exists: `"fail"` creates the table and is an error if it exists; `"append"` adds to a table that must exist;
            `"create_append"` creates it if it is missing; `"truncate"` deletes the rows of a table that must exist
            before; `"replace"` drops the table if it exists, and creates it; `"upsert"` replaces the rows whose `key`
            is in the table and adds the others, and creates a missing table with that primary key.
        key: The names of the columns that identify a row, for `"upsert"` only. An existing table must have a unique
            index on exactly these columns. Writing the same data again leaves the same table.
        temporary: Whether the table is one that only this connection sees, and that ends with it. It needs an open
            connection.
        dtype: Other types for columns before they are written, as for `read_sql`: `{"price": "decimal128(12, 2)"}`.
        index: `False` leaves the index of a pandas.DataFrame out. Without it, an index that is not just the numbers of
            rows is an error.
        progress: True shows the rows, bytes and speed of the write on a terminal or in a notebook, and nothing
            elsewhere (`pip install 'colonnade[progress]'`). A function is called with a `Progress` about ten times a
            second and at the end. An exception that it raises before the end undoes the write, and is raised.

    Returns:
        The number of rows and the time.

    Raises:
        DataError: A value has no exact form in its column; column and row are named.
        NotSupportedError: A column's type has no exact form in the table, or the database cannot be written to.
        ProgrammingError: The table or a column does not exist, or exists with `"fail"`, or a privilege is missing.
        IntegrityError: A constraint of the table is violated, or a value of the key is NULL.
        DatabaseError: Two rows of the data have one key (SQLSTATE 21000).
        OperationalError: The connection was lost. If that happened during the commit, nobody knows whether the rows
            are in the table; the SQLSTATE is then 08007.
        InterfaceError: An argument is wrong.
        Error: A `Result` as data has failed: its own error, with its source.

    Example:
        >>> colonnade.write_sql(frame, "postgresql://localhost/shop", "orders")  # doctest: +SKIP
        WriteStats(rows=1500000, seconds=1.9, table='orders', …)
    """
    if not isinstance(conn, (str, Connection)):
        raise InterfaceError(f"the connection is a {type(conn).__name__}: give a URI or a colonnade.Connection")
    options = WriteOptions(
        schema=schema,
        if_exists=if_exists,
        key=key,
        temporary=temporary,
        dtype=dtype,
        index=index,
        progress=progress,
    )
    require("write_sql", table, options, is_open=isinstance(conn, Connection))
    if isinstance(conn, Connection):
        return write_rows(data, conn._source, table, **options)
    # Data that cannot be written is an error before anything is connected to.
    rows = DataStream(data, index=index, dtype=dtype)
    try:
        rows.stream.check_target(if_exists, list(key or ()))
        with connect(conn) as connection:
            return write_rows(rows, connection._source, table, **options)
    finally:
        rows.close()
