"""`write_sql`."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, get_args

from colonnade._connection import Connection, connect
from colonnade._errors import InterfaceError
from colonnade._frames.dtype import converted
from colonnade._options.write import IfExists, WriteTarget

from .data import DataStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._core import Stream
    from colonnade._options.dtype import Dtypes

    from .data import Data


@dataclass(frozen=True)
class WriteStats:
    """What was written."""

    #: Rows, as this package and the database have counted them.
    rows: int
    #: Seconds from the begin of the transaction to its commit.
    seconds: float
    #: The table, as it was named.
    table: str
    #: The URI of the database, without its password.
    source: str
    #: The database's software and version.
    server: str


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
) -> WriteStats:
    """Writes data into a table: all rows, or none.

    Everything happens in one transaction, so no reader sees a part, and after an error, Ctrl-C or a lost connection the
    database is as before. On a connection with an open transaction, the rows become part of that transaction. Each
    value lands exactly; a value that would not is an error that names its column and row (spec/TYPES.md, "Writing").
    The memory that is needed does not grow with the number of batches.

    Args:
        data: A table or a frame of pyarrow, polars or DuckDB, or anything else with `__arrow_c_stream__`, also a
            `Result` of this package; a pandas.DataFrame, in which NaN means NULL, as pandas defines it; a dict of NumPy
            arrays; or an iterator of pyarrow.RecordBatch.
        conn: A URI (see `connect`) or an open `Connection`: PostgreSQL, with or without the extension, MySQL or
            MariaDB, or an SQLite file.
        table: The table's name, exactly as the database has it: no quotes, and a dot or an upper-case letter is part
            of the name. Columns are found by their names, also exactly; columns of the table that the data lacks get
            their defaults.
        schema: The table's schema. Without it, the table is searched for, and created, as in a statement of SQL.
        if_exists: `"fail"` creates the table and is an error if it exists; `"append"` adds to a table that must exist;
            `"create_append"` creates it if it is missing; `"truncate"` deletes the rows of a table that must exist
            before; `"replace"` drops the table if it exists, and creates it; `"upsert"` replaces the rows whose `key`
            is in the table and adds the others, and creates a missing table with that primary key.
        key: The names of the columns that identify a row, for `"upsert"` only.
        temporary: Whether a new table is one that only this connection sees, and that ends with it.
        dtype: Other types for columns before they are written, as for `read_sql`: `{"price": "decimal128(12, 2)"}`.
        index: `False` leaves the index of a pandas.DataFrame out. Without it, an index that is not just the numbers of
            rows is an error.

    Returns:
        The number of rows and the time.

    Raises:
        DataError: A value has no exact form in its column; column and row are named.
        NotSupportedError: A column's type has no exact form in the table, or the database cannot be written to.
        ProgrammingError: The table or a column does not exist, or exists with `"fail"`, or a privilege is missing.
        IntegrityError: A constraint of the table is violated.
        OperationalError: The connection was lost. If that happened during the commit, nobody knows whether the rows
            are in the table; the SQLSTATE is then 08007.
        InterfaceError: An argument is wrong.

    Example:
        >>> colonnade.write_sql(frame, "postgresql://localhost/shop", "orders")  # doctest: +SKIP
        WriteStats(rows=1500000, seconds=1.9, table='orders', …)
    """
    _require(conn, table, schema, if_exists, key)
    target = WriteTarget(
        schema=schema, table=table, if_exists=if_exists, key=list(key) if key is not None else [], temporary=temporary
    )
    rows = DataStream(data, index=index)
    with rows.raising():
        stream = converted(rows.stream, dtype)
        if isinstance(conn, Connection):
            return _write(stream, conn, target)
        with connect(conn) as connection:
            return _write(stream, connection, target)


def _write(stream: Stream, connection: Connection, target: WriteTarget) -> WriteStats:
    source = connection._source
    begun = monotonic()
    rows = source.write(stream, **target)
    return WriteStats(rows, monotonic() - begun, target["table"], source.name, source.server)


def _require(conn: object, table: object, schema: object, if_exists: object, key: object) -> None:
    if not isinstance(conn, (str, Connection)):
        raise InterfaceError(f"the connection is a {type(conn).__name__}: give a URI or a colonnade.Connection")
    if not isinstance(table, str):
        raise TypeError(f"table is {table!r}: give the table's name")
    if schema is not None and not isinstance(schema, str):
        raise TypeError(f"schema is {schema!r}: give the schema's name")
    if isinstance(key, str):
        raise TypeError(f"key is {key!r}: give a list of names, such as [{key!r}]")
    if if_exists not in get_args(IfExists):
        raise ValueError(f"if_exists is {if_exists!r}: give one of {', '.join(map(repr, get_args(IfExists)))}")
