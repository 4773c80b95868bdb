"""The tables of a database, and the columns of a table."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from colonnade._connection import Connection, connect

if TYPE_CHECKING:
    import pyarrow as pa


def tables(con: str | Connection) -> pa.Table:
    """Lists the tables of a database: `Connection.tables` for a URI.

    Args:
        con: A URI (see `connect`) or an open `Connection`.

    Returns:
        A pyarrow.Table with the columns of `Connection.tables`.

    Raises:
        Error: As for `connect` and `Connection.tables`.
    """
    with _opened(con) as connection:
        return connection.tables()


def schema(con: str | Connection, table: str, schema: str | None = None) -> pa.Schema:
    """Returns the names and types of a table's columns: `Connection.schema` for a URI.

    Args:
        con: A URI (see `connect`) or an open `Connection`.
        table: The table's name as the database has it, including capital letters. A dot is part of the name.
        schema: The schema of the table; None is the connection's default.

    Returns:
        A pyarrow.Schema with the types in which `read_sql` reads the table into Arrow.

    Raises:
        Error: As for `connect` and `Connection.schema`.
    """
    with _opened(con) as connection:
        return connection.schema(table, schema)


def _opened(con: str | Connection) -> Connection | nullcontext[Connection]:
    return nullcontext(con) if isinstance(con, Connection) else connect(con)
