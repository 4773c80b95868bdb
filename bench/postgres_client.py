"""One client process of the PostgreSQL benchmark, which `postgres_peers.py` starts; peers have an interpreter apart.

    python bench/postgres_client.py PEER DIRECTORY [HOST:]PORT TABLE [OPTIONS as JSON]

Connecting is inside the clock.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from turns import answer

#: Prepares a peer and gives what is timed; that gives the table, or the number of bytes for peers that only receive.
Peer = Callable[["Place"], Callable[[], Any]]
PEERS: dict[str, Peer] = {}


class Place:
    """Where the table is."""

    def __init__(self, directory: str, port: str, table: str, options: dict[str, Any]) -> None:
        host, _, port = port.rpartition(":")
        host = host or "127.0.0.1"
        self.directory, self.port, self.table, self.options = directory, port, table, options
        self.uri = f"postgresql://tester@{host}:{port}/postgres"
        self.dsn = f"host={host} port={port} user=tester dbname=postgres"
        self.query = f"SELECT * FROM {table}"


def peer(make: Peer) -> Peer:
    PEERS[make.__name__] = make
    return make


@peer
def colonnade(place: Place) -> Callable[[], Any]:
    import colonnade
    import pyarrow as pa  # noqa: F401  importing is not reading

    options = dict(place.options)
    uri = place.uri
    if options.setdefault("return_type", "arrow") == "pandas":
        import pandas as pd  # noqa: F401
    if options.pop("unix", False):
        uri = f"postgresql://tester@/postgres?host={place.directory}&port={place.port}"

    def read() -> Any:
        connection = colonnade.connect(uri)
        if "parallel" in options:
            connection.execute("SET max_parallel_workers_per_gather = 2")
        return colonnade.read_sql(connection, place.query, **options)

    return read


@peer
def drain(place: Place) -> Callable[[], Any]:
    """Any statement, its answer received into nothing: what a server does without any client's work."""

    def read() -> int:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(f"{place.directory}/.s.PGSQL.{place.port}")
        login = struct.pack(">I", 196608) + b"user\0tester\0database\0postgres\0\0"
        connection.sendall(struct.pack(">I", len(login) + 4) + login)
        received = _answer(connection)
        for statement in (*place.options.get("before", ()), place.options["statement"]):
            text = statement.encode() + b"\0"
            connection.sendall(b"Q" + struct.pack(">I", len(text) + 4) + text)
            received = _answer(connection)
        return received

    return read


def _answer(connection: socket.socket) -> int:
    """Receives up to ReadyForQuery; the bytes."""
    buffer = bytearray(1 << 20)
    total, end = 0, b""
    while not end.endswith(b"Z\0\0\0\x05I"):
        count = connection.recv_into(buffer)
        if count == 0:
            raise EOFError("the server closed the connection")
        total += count
        end = (end + bytes(buffer[max(0, count - 6) : count]))[-6:]
    return total


@peer
def duckdb_scan(place: Place) -> Callable[[], Any]:
    import duckdb
    import duckdb_extensions
    import pyarrow as pa  # noqa: F401

    connection = duckdb.connect()
    duckdb_extensions.import_extension("postgres_scanner", con=connection)
    connection.execute("LOAD postgres_scanner")
    if "threads" in place.options:
        connection.execute(f"SET threads = {place.options['threads']}")
    query = f"FROM postgres_scan('{place.dsn}', 'public', '{place.table}')"
    return lambda: connection.execute(query).to_arrow_table()


@peer
def connectorx(place: Place) -> Callable[[], Any]:
    import connectorx
    import pyarrow as pa  # noqa: F401

    options = {"return_type": "arrow", **place.options}
    if options["return_type"] == "pandas":
        import pandas as pd  # noqa: F401
    return lambda: connectorx.read_sql(place.uri, place.query, **options)


@peer
def adbc(place: Place) -> Callable[[], Any]:
    import pyarrow as pa  # noqa: F401
    from adbc_driver_postgresql import dbapi

    def read() -> Any:
        with dbapi.connect(place.uri) as connection, connection.cursor() as cursor:
            cursor.execute(place.query)
            return cursor.fetch_arrow_table()

    return read


def odbc(place: Place) -> str:
    """A connection string; the driver is Debian's."""
    address = f"Server=127.0.0.1;Port={place.port};Database=postgres;UID=tester;SSLmode=disable"
    return f"Driver={{PostgreSQL Unicode}};{address};"


@peer
def arrow_odbc(place: Place) -> Callable[[], Any]:
    import arrow_odbc
    import pyarrow as pa

    connection = odbc(place) + "UseDeclareFetch=1;Fetch=20000;"

    def read() -> Any:
        reader = arrow_odbc.read_arrow_batches_from_odbc(
            place.query, connection_string=connection, batch_size=65535, max_text_size=4096
        )
        return pa.Table.from_batches(list(reader), schema=reader.schema)

    return read


@peer
def turbodbc(place: Place) -> Callable[[], Any]:
    import pyarrow as pa  # noqa: F401
    import turbodbc

    def read() -> Any:
        options = turbodbc.make_options(
            read_buffer_size=turbodbc.Megabytes(32), large_decimals_as_64_bit_types=True, prefer_unicode=True
        )
        connection = turbodbc.connect(connection_string=odbc(place), turbodbc_options=options)
        cursor = connection.cursor()
        cursor.execute(place.query)
        return cursor.fetchallarrow()

    return read


@peer
def copy_csv(place: Place) -> Callable[[], Any]:
    """COPY in text and pyarrow's reader of CSV, by hand."""
    import io

    import psycopg
    import pyarrow.csv as csv

    def read() -> Any:
        with psycopg.connect(place.dsn) as connection, connection.cursor() as cursor:
            with cursor.copy(f"COPY {place.table} TO STDOUT (FORMAT csv, HEADER)") as copy:
                received = io.BytesIO(b"".join(copy))
            return csv.read_csv(received)

    return read


@peer
def psycopg3(place: Place) -> Callable[[], Any]:
    import psycopg
    import pyarrow as pa

    def read() -> Any:
        with psycopg.connect(place.dsn) as connection:
            cursor = connection.cursor(binary=True)
            cursor.execute(place.query)
            names = [column.name for column in cursor.description or ()]
            return pa.table(dict(zip(names, map(list, zip(*cursor.fetchall(), strict=True)), strict=True)))

    return read


@peer
def asyncpg(place: Place) -> Callable[[], Any]:
    import asyncio

    import asyncpg
    import pyarrow as pa

    async def fetch() -> Any:
        connection = await asyncpg.connect(place.uri)
        statement = await connection.prepare(place.query)
        rows = await statement.fetch()
        names = [attribute.name for attribute in statement.get_attributes()]
        await connection.close()
        return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    return lambda: asyncio.run(fetch())


@peer
def pandas_sqlalchemy(place: Place) -> Callable[[], Any]:
    import pandas as pd
    import psycopg2  # noqa: F401
    import sqlalchemy

    def read() -> Any:
        engine = sqlalchemy.create_engine(place.uri.replace("postgresql://", "postgresql+psycopg2://"))
        with engine.connect() as connection:
            return pd.read_sql(sqlalchemy.text(place.query), connection)

    return read


def main() -> None:
    name, directory, port, table = sys.argv[1:5]
    options = json.loads(sys.argv[5]) if len(sys.argv) > 5 else {}
    answer(PEERS[name](Place(directory, port, table, options)))


if __name__ == "__main__":
    main()
