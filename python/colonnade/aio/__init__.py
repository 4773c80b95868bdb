"""Connections for asyncio.

>>> async with colonnade.aio.connect("postgresql://localhost/") as connection:  # doctest: +SKIP
...     result = await connection.query("select * from lineitem")
...     async for batch in result:
...         print(batch.num_rows)
"""

from ._append import Append
from ._connection import Connecting, Connection, connect, write_sql
from ._read import read_sql, read_sql_table, schema, tables
from ._result import Result

__all__ = [
    "Append",
    "Connecting",
    "Connection",
    "Result",
    "connect",
    "read_sql",
    "read_sql_table",
    "schema",
    "tables",
    "write_sql",
]
