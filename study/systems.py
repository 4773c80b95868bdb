"""The systems from which a table is read: a database, and a client for it.

`databases.started` starts the databases that an experiment needs, and reads a table from each. A variant, such as the
same system with two partitions, is a `dataclasses.replace(system, name=…, options={…})`.

A database that is not available here is read through ODBC if the environment variable COLONNADE_STUDY_ODBC_name
contains a connection string; name is DB2, ORACLE or SQLSERVER. It must contain the tables, with the number of rows of
the run, under the names in `data.py`. Otherwise the report has only the paper's figures of such a system
(`figures.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Databases in the client's own process, which send nothing.
IN_PROCESS = ("sqlite", "duckdb")
ODBC = "COLONNADE_STUDY_ODBC_"


@dataclass(frozen=True)
class System:
    """A database and a client for it."""

    #: The name in tables: the database, a comma, the client.
    name: str
    #: One of `databases.STARTERS`.
    database: str
    #: One of `readers.READERS`, which documents its options.
    reader: str
    options: dict[str, Any] = field(default_factory=dict)
    #: Runs in the peers' interpreter (`Context.peers`); otherwise in the study's own.
    is_peer: bool = True
    #: Creates a Python object for each value. It is omitted for many rows, and on slow links.
    is_slow: bool = False
    #: Whether PostgreSQL has our extension during the reading.
    has_extension: bool = True
    #: The paper's name of the most similar system.
    paper: str = ""

    @property
    def is_remote(self) -> bool:
        return self.database not in IN_PROCESS

    @property
    def is_ours(self) -> bool:
        return self.reader == "colonnade"


def ours(name: str, database: str, **more: Any) -> System:
    return System(f"{name}, Colonnade", database, "colonnade", is_peer=False, **more)


def floor(codec: str, paper: str) -> System:
    """The same values as text over a plain socket, as netcat would send them."""
    shown = f"CSV through a socket, {codec}" if codec else "CSV through a socket"
    return System(shown, f"csv:{codec or 'none'}", "csv", is_peer=False, paper=paper)


FLOOR = floor("", "Netcat")
POSTGRES = ours("PostgreSQL as it is", "postgres", has_extension=False)
EXTENSION = ours("PostgreSQL with the extension", "postgres")
SERVE = ours("colonnade serve", "serve")

SYSTEMS = [
    FLOOR,
    floor("snappy", "Netcat+Sy"),
    floor("gzip", "Netcat+GZ"),
    System("PostgreSQL, ODBC (arrow-odbc)", "postgres", "arrow_odbc", paper="PostgreSQL"),
    System("PostgreSQL, turbodbc", "postgres", "turbodbc"),
    System("PostgreSQL, psycopg", "postgres", "psycopg3", is_slow=True),
    System("PostgreSQL, pandas + SQLAlchemy", "postgres", "sqlalchemy", is_slow=True),
    System("PostgreSQL, ConnectorX", "postgres", "connectorx"),
    System("PostgreSQL, ADBC", "postgres", "adbc"),
    System("PostgreSQL, DuckDB's scanner", "postgres", "duckdb_scan"),
    System("PostgreSQL, COPY text, thrown away", "postgres", "copy", {"format": "text"}, is_peer=False),
    System("PostgreSQL, COPY binary, thrown away", "postgres", "copy", {"format": "binary"}, is_peer=False),
    POSTGRES,
    EXTENSION,
    System("MariaDB, ODBC (arrow-odbc)", "mariadb", "arrow_odbc", paper="MySQL"),
    System("MariaDB, ODBC, compressed", "mariadb", "arrow_odbc", {"compressed": True}, paper="MySQL+C"),
    System("MariaDB, pandas + SQLAlchemy + PyMySQL", "mariadb", "sqlalchemy", is_slow=True),
    System("MariaDB, ConnectorX", "mariadb", "connectorx"),
    System("MariaDB, DuckDB's scanner", "mariadb", "duckdb_scan"),
    System("MariaDB, DuckDB's scanner, compressed", "mariadb", "duckdb_scan", {"compressed": True}),
    ours("MariaDB as it is", "mariadb"),
    System("SQLite, pandas + sqlite3", "sqlite", "sqlite3", is_slow=True),
    System("SQLite, ConnectorX", "sqlite", "connectorx"),
    System("SQLite, ADBC", "sqlite", "adbc"),
    System("SQLite, DuckDB's scanner", "sqlite", "duckdb_scan"),
    ours("SQLite", "sqlite"),
    System("MonetDB, pymonetdb", "monetdb", "pymonetdb", is_slow=True, paper="MonetDB"),
    System("DuckDB, Arrow Flight", "flight:none", "flight", is_peer=False),
    System("DuckDB, Arrow Flight, LZ4", "flight:lz4", "flight", is_peer=False),
    System("DuckDB, Arrow Flight, ZSTD", "flight:zstd", "flight", is_peer=False),
    System("DuckDB, Quack", "quack", "quack"),
    System("DuckDB in process", "duckdb", "duckdb", is_peer=False),
    SERVE,
    *(
        System(f"{name}, ODBC (arrow-odbc)", f"odbc:{variable}", "arrow_odbc", paper=paper)
        for name, variable, paper in (
            ("DB2", "DB2", "DB2"),
            ("Oracle", "ORACLE", ""),
            ("SQL Server", "SQLSERVER", ""),
        )
        if f"{ODBC}{variable}" in os.environ
    ),
]


def available(peers: str, systems: Sequence[System] = SYSTEMS) -> list[System]:
    """The systems that can run. Without an interpreter with the peers, the peers cannot."""
    return [system for system in systems if peers or not system.is_peer]


def by_name(*names: str) -> list[System]:
    known = {system.name: system for system in SYSTEMS}
    return [known[name] for name in names]
