"""DB-API 2.0 (PEP 249) for every source of `colonnade.connect`.

>>> from colonnade import dbapi
>>> with dbapi.connect("postgresql://localhost:5433/") as connection:  # doctest: +SKIP
...     with connection.cursor() as cursor:
...         cursor.execute("select * from orders where total > $1", [500])
...         for row in cursor:
...             print(row)
"""

from colonnade._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

from .connection import Connection, connect
from .cursor import Cursor
from .types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
)

#: The version of the DB-API.
apilevel = "2.0"
#: Threads may share the module, but not connections.
threadsafety = 1
#: `$1`, `$2`, … as in all of this package, or `$name` with a mapping. PEP 249 has no name for it, SQLAlchemy has this
#: one.
paramstyle = "numeric_dollar"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
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
