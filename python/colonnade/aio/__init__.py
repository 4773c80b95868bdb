"""Connections for asyncio.

>>> async with colonnade.aio.connect("postgresql://localhost/") as connection:  # doctest: +SKIP
...     result = await connection.query("select * from lineitem")
...     async for batch in result:
...         print(batch.num_rows)
"""

from ._connection import Connecting, Connection, connect
from ._result import Result

__all__ = ["Connecting", "Connection", "Result", "connect"]
