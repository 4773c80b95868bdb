"""Connections and cursors as in Python's DB-API 2.0, by `adbc_driver_manager.dbapi`. It needs pyarrow.

Placeholders are `$1`, `$2`, … or `$name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adbc_driver_manager import dbapi
from adbc_driver_manager.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
    apilevel,
    threadsafety,
)

from . import driver_path

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

#: DB-API has no name for `$1`; this is the nearest one.
paramstyle = "numeric"


def connect(
    uri: str,
    db_kwargs: Mapping[str, str | Path] | None = None,
    conn_kwargs: Mapping[str, str] | None = None,
    *,
    autocommit: bool = False,
) -> Connection:
    """Connects to a database.

    `uri` names the database, as for `colonnade.connect`. `db_kwargs` and `conn_kwargs` have more options of the
    database and of the connection. Without `autocommit`, changes take effect with `Connection.commit`.
    """
    options = {**(db_kwargs or {}), "uri": uri}
    return dbapi.connect(str(driver_path()), db_kwargs=options, conn_kwargs=conn_kwargs, autocommit=autocommit)
