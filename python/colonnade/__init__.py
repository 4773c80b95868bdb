"""Large query results into dataframes, as fast as the link allows.

>>> import colonnade
>>> frame = colonnade.read_sql("postgresql://localhost:5433/", "select * from lineitem")  # doctest: +SKIP
"""

from ._connection import Connection, connect
from ._core import __version__
from ._errors import (
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
from ._frames.result import Result, Stats
from ._lazy.scan import scan_sql
from ._options.dtype import lossy
from ._options.query import Progress
from ._plan.part import Part
from ._plan.plan import Plan, plan
from ._read.drop_in import get_meta, read_sql_query, read_sql_table
from ._read.read_sql import read_sql
from ._read.tables import schema, tables
from ._rows.append import Append
from ._rows.writing import WriteStats
from ._write.write_sql import write_sql

__all__ = [
    "Append",
    "Connection",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Part",
    "Plan",
    "ProgrammingError",
    "Progress",
    "Result",
    "Stats",
    "WriteStats",
    "__version__",
    "connect",
    "get_meta",
    "lossy",
    "plan",
    "read_sql",
    "read_sql_query",
    "read_sql_table",
    "scan_sql",
    "schema",
    "tables",
    "write_sql",
]
