"""One client process of the benchmark of MariaDB and SQLite, which `sources.py` starts; peers have their interpreter.

    python bench/sources_client.py PEER PLACE TABLE [OPTIONS as JSON]

PLACE is the port of a MariaDB on 127.0.0.1, or the path of a SQLite file. Connecting is inside the clock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from turns import answer

#: Prepares a peer for a place and a table, and gives what is timed; that gives the table.
Peer = Callable[[str, str, dict[str, Any]], Callable[[], Any]]
PEERS: dict[str, Peer] = {}
LOGIN = "bench:bench"


def peer(make: Peer) -> Peer:
    PEERS[make.__name__] = make
    return make


def uri(place: str) -> str:
    return f"mysql://{LOGIN}@127.0.0.1:{place}/bench" if place.isdigit() else f"sqlite://{place}"


@peer
def colonnade(place: str, table: str, options: dict[str, Any]) -> Callable[[], Any]:
    import colonnade
    import pyarrow as pa  # noqa: F401  importing is not reading

    if options.get("return_type") == "pandas":
        import pandas as pd  # noqa: F401
    where = uri(place)
    # ConnectorX writes the absolute path of a SQLite file behind two slashes.
    where = where if place.isdigit() else f"sqlite:{place}"
    return lambda: colonnade.read_sql(where, f"SELECT * FROM {table}", **{"return_type": "arrow", **options})


@peer
def connectorx(place: str, table: str, options: dict[str, Any]) -> Callable[[], Any]:
    import connectorx
    import pyarrow as pa  # noqa: F401

    if options.get("return_type") == "pandas":
        import pandas as pd  # noqa: F401
    return lambda: connectorx.read_sql(uri(place), f"SELECT * FROM {table}", **{"return_type": "arrow", **options})


@peer
def duckdb_scan(place: str, table: str, options: dict[str, Any]) -> Callable[[], Any]:
    import duckdb
    import duckdb_extensions
    import pyarrow as pa  # noqa: F401

    kind = "mysql" if place.isdigit() else "sqlite"
    connection = duckdb.connect()
    duckdb_extensions.import_extension(f"{kind}_scanner", con=connection)
    connection.execute(f"LOAD {kind}_scanner")
    where = f"host=127.0.0.1 port={place} user=bench password=bench database=bench" if place.isdigit() else place

    def read() -> Any:
        connection.execute(f"ATTACH '{where}' AS other (TYPE {kind}, READ_ONLY)")
        return connection.execute(f"FROM other.{table}").to_arrow_table()

    return read


@peer
def adbc(place: str, table: str, options: dict[str, Any]) -> Callable[[], Any]:
    import pyarrow as pa  # noqa: F401
    from adbc_driver_sqlite import dbapi

    def read() -> Any:
        with dbapi.connect(place) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")
            return cursor.fetch_arrow_table()

    return read


@peer
def pandas_driver(place: str, table: str, options: dict[str, Any]) -> Callable[[], Any]:
    import pandas as pd

    def read() -> Any:
        if place.isdigit():
            import pymysql
            import sqlalchemy

            engine = sqlalchemy.create_engine(uri(place).replace("mysql:", f"mysql+{pymysql.__name__}:"))
            with engine.connect() as connection:
                return pd.read_sql(sqlalchemy.text(f"SELECT * FROM {table}"), connection)
        import sqlite3

        return pd.read_sql(f"SELECT * FROM {table}", sqlite3.connect(place))

    return read


if __name__ == "__main__":
    name, place, table = sys.argv[1:4]
    answer(PEERS[name](place, table, json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}))
