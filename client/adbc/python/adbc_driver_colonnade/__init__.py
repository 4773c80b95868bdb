"""Colonnade's ADBC driver: large results of PostgreSQL, `colonnade serve`, MySQL, MariaDB and SQLite files as Arrow.

`dbapi` has connections and cursors as in Python's DB-API. `connect` gives ADBC's own objects.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import adbc_driver_manager

__all__ = ["ReadOptions", "__version__", "connect", "driver_path"]

__version__ = version("adbc-driver-colonnade")

#: The library's file on systems that do not name it as Linux does.
_LIBRARIES = {"win32": "adbc_driver_colonnade.dll", "darwin": "libadbc_driver_colonnade.dylib"}


class ReadOptions(enum.Enum):
    """Names of the driver's own options, of a database, a connection or a statement. An option of the database is the
    default of its connections, and theirs of their statements."""

    #: `auto` (default), `plain`, `light`, `light+lz4`, …
    COMPRESSION = "adbc.colonnade.compression"
    #: `auto` (default), `on` or `off`.
    PARALLEL = "adbc.colonnade.parallel"
    #: Most rows of a batch.
    CHUNK_ROWS = "adbc.colonnade.chunk_rows"
    #: Most bytes of a batch, without compression.
    CHUNK_BYTES = "adbc.colonnade.chunk_bytes"
    #: Most bytes of a message of the server.
    MAX_MESSAGE_BYTES = "adbc.colonnade.max_message_bytes"
    #: Most bytes of a result. A larger one is an error.
    MAX_RESULT_BYTES = "adbc.colonnade.max_result_bytes"
    #: Precision and scale of numerics that have none, such as `38,9`. Without it, they are text.
    NUMERIC = "adbc.colonnade.numeric"
    #: Names of columns that arrive as text, one a line.
    AS_TEXT = "adbc.colonnade.as_text"
    #: The column by whose values a result is read in parts.
    PARTITION_ON = "adbc.colonnade.partition_on"
    #: The number of parts.
    PARTITION_NUM = "adbc.colonnade.partition_num"


def connect(uri: str, db_kwargs: Mapping[str, str | Path] | None = None) -> adbc_driver_manager.AdbcDatabase:
    """Opens ADBC's database object, from which `adbc_driver_manager.AdbcConnection` makes connections.

    `uri` names the database, as for `colonnade.connect`. `db_kwargs` has more options of the database.
    """
    return adbc_driver_manager.AdbcDatabase(**{**(db_kwargs or {}), "driver": str(driver_path()), "uri": uri})


def driver_path() -> Path:
    """The driver's library, for a driver manager that takes a path."""
    return Path(__file__).parent / _LIBRARIES.get(sys.platform, "libadbc_driver_colonnade.so")
