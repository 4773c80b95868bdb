"""The clients of all benchmarks: how each library reads a query's result from a database.

A reader is a generator, so that its steps can be timed separately. It yields READY after its imports, CONNECTED and
EXECUTED if its library makes these steps visible, and finally the result: a `pyarrow.Table`, a `pandas.DataFrame` or
`Received`. Imports are within the readers, because no environment has all of them. `read.py` runs one. Readers that
need no library are in `readers_bare.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import quote

from place import Place


class Step(Enum):
    READY = "ready"
    CONNECTED = "connect"
    EXECUTED = "execute"


READY, CONNECTED, EXECUTED = Step


@dataclass(frozen=True)
class Received:
    """The size of a result that was received and discarded."""

    bytes: int
    rows: int | None


@dataclass(frozen=True)
class Asked:
    """A question to a reader."""

    place: Place
    table: str
    query: str
    #: arrow or pandas. A reader that ignores it returns its library's own type.
    destination: str = "arrow"
    options: dict[str, Any] = field(default_factory=dict)


Steps = Iterator[Any]
Reader = Callable[[Asked], Steps]
READERS: dict[str, Reader] = {}


def reader(make: Reader) -> Reader:
    READERS[make.__name__] = make
    return make


@reader
def colonnade(asked: Asked) -> Steps:
    """Options are `query`'s and `read_sql`'s; `unix` for PostgreSQL's unix socket; `texts`, the type of the texts that
    `dtype` does not name."""
    import colonnade
    import pyarrow as pa  # noqa: F401  the import is not part of reading

    if asked.destination == "pandas":
        import pandas as pd  # noqa: F401
    options, place, uri = dict(asked.options), asked.place, asked.place.uri
    if options.pop("unix", False):
        directory = quote(place.directory, safe="")
        uri = f"postgresql://{place.user}@/{place.database}?host={directory}&port={place.port}"
    if texts := options.pop("texts", None):
        options["dtype"] = {str: texts, **options.get("dtype", {})}
    yield READY
    if "partition_num" in options:
        yield colonnade.read_sql(uri, asked.query, return_type=asked.destination, **options)
    connection = colonnade.connect(uri)
    if "parallel" in options:
        connection.execute("SET max_parallel_workers_per_gather = 2")
    yield CONNECTED
    if asked.destination != "arrow":
        yield colonnade.read_sql(connection, asked.query, return_type=asked.destination, **options)
    result = connection.query(asked.query, **options)
    yield EXECUTED
    yield result.to_arrow()


@reader
def connectorx(asked: Asked) -> Steps:
    """Options are those of its `read_sql`."""
    import connectorx
    import pyarrow as pa  # noqa: F401

    if asked.destination == "pandas":
        import pandas as pd  # noqa: F401
    uri = asked.place.uri
    if asked.place.kind == "sqlite":
        # An absolute path follows two slashes.
        uri = f"sqlite://{asked.place.path}"
    if asked.place.kind == "mariadb":
        # On 127.0.0.1 it would use the unix socket instead of TCP.
        uri += "?prefer_socket=false"
    yield READY
    yield connectorx.read_sql(uri, asked.query, return_type=asked.destination, **asked.options)


@reader
def adbc(asked: Asked) -> Steps:
    import pyarrow as pa  # noqa: F401

    if asked.place.kind == "sqlite":
        from adbc_driver_sqlite import dbapi
    else:
        from adbc_driver_postgresql import dbapi
    yield READY
    uri = asked.place.path if asked.place.kind == "sqlite" else asked.place.uri
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        yield CONNECTED
        cursor.execute(asked.query)
        yield EXECUTED
        yield cursor.fetch_arrow_table()


@reader
def arrow_odbc(asked: Asked) -> Steps:
    """`compressed`: MariaDB's compressed protocol. `fetch`: the number of rows of each fetch of PostgreSQL's driver."""
    import arrow_odbc
    import pyarrow as pa

    address = asked.place.odbc(asked.options)
    yield READY
    connection = arrow_odbc.connect(connection_string=address)
    yield CONNECTED
    # Every row of a batch gets memory for the longest text. PostgreSQL's driver fetches at least one row.
    size = asked.options.get("fetch", 20_000)
    batches = connection.read_arrow_batches(query=asked.query, batch_size=size, max_text_size=4096)
    # MariaDB's driver has received the whole result at this point.
    if asked.place.kind != "mariadb":
        yield EXECUTED
    yield pa.Table.from_batches(list(batches), schema=batches.schema)


@reader
def turbodbc(asked: Asked) -> Steps:
    import pyarrow as pa  # noqa: F401
    import turbodbc

    options = turbodbc.make_options(
        read_buffer_size=turbodbc.Megabytes(32), large_decimals_as_64_bit_types=True, prefer_unicode=True
    )
    yield READY
    connection = turbodbc.connect(connection_string=asked.place.odbc(asked.options), turbodbc_options=options)
    yield CONNECTED
    cursor = connection.cursor()
    cursor.execute(asked.query)
    yield EXECUTED
    yield cursor.fetchallarrow()


@reader
def duckdb(asked: Asked) -> Steps:
    """The engine in this process, on its own file."""
    import duckdb
    import pyarrow as pa  # noqa: F401

    yield READY
    connection = duckdb.connect(asked.place.path, read_only=True)
    yield CONNECTED
    yield _fetched(connection.execute(asked.query), asked)


@reader
def duckdb_scan(asked: Asked) -> Steps:
    """DuckDB's extension for another database. Options: `threads`; `compressed`: MariaDB's compressed protocol."""
    import duckdb
    import duckdb_extensions
    import pyarrow as pa  # noqa: F401

    place = asked.place
    kind = {"mariadb": "mysql"}.get(place.kind, place.kind)
    connection = duckdb.connect()
    duckdb_extensions.import_extension(f"{kind}_scanner", con=connection)
    connection.execute(f"LOAD {kind}_scanner")
    if "threads" in asked.options:
        connection.execute(f"SET threads = {asked.options['threads']}")
    where = {"postgres": place.dsn, "sqlite": place.path}.get(place.kind)
    if where is None:
        # Compression is its default.
        mode = "required" if asked.options.get("compressed") else "disabled"
        login = f"user={place.user} password={place.password} database={place.database}"
        where = f"host={place.host} port={place.port} {login} compression={mode}"
    yield READY
    connection.execute(f"ATTACH '{where}' AS other (TYPE {kind}, READ_ONLY)")
    connection.execute("USE other")
    yield CONNECTED
    yield _fetched(connection.execute(asked.query), asked)


@reader
def quack(asked: Asked) -> Steps:
    """DuckDB's own protocol, which reads only tables."""
    import duckdb
    import duckdb_extensions
    import pyarrow as pa  # noqa: F401
    from quack_server import TOKEN

    address = f"quack:{asked.place.host}:{asked.place.port}"
    connection = duckdb.connect()
    # Its client uses HTTP.
    for extension in ("httpfs", "quack"):
        duckdb_extensions.import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    yield READY
    connection.execute(f"CREATE SECRET (TYPE quack, TOKEN '{TOKEN}', SCOPE '{address}')")
    connection.execute(f"ATTACH '{address}' AS other (DISABLE_SSL true)")
    yield CONNECTED
    yield _fetched(connection.execute(f"FROM other.{asked.table}"), asked)


def _fetched(result: Any, asked: Asked) -> Any:
    """A result of DuckDB's."""
    return result.df() if asked.destination == "pandas" else result.to_arrow_table()


@reader
def flight(asked: Asked) -> Steps:
    import pyarrow as pa  # noqa: F401
    from pyarrow import flight

    yield READY
    # It connects with the first request.
    client = flight.connect(f"grpc://{asked.place.host}:{asked.place.port}")
    batches = client.do_get(flight.Ticket(asked.query.encode()))
    yield EXECUTED
    yield batches.read_all()


@reader
def psycopg3(asked: Asked) -> Steps:
    import psycopg

    make = _frame_maker(asked.destination)
    yield READY
    with psycopg.connect(asked.place.dsn) as connection:
        yield CONNECTED
        cursor = connection.cursor(binary=True)
        # At this point the whole result is in libpq's memory.
        cursor.execute(asked.query)
        yield make([column.name for column in cursor.description or ()], cursor.fetchall())


@reader
def asyncpg(asked: Asked) -> Steps:
    import asyncio

    import asyncpg

    make = _frame_maker(asked.destination)

    async def fetch() -> Any:
        connection = await asyncpg.connect(asked.place.uri)
        statement = await connection.prepare(asked.query)
        rows = await statement.fetch()
        names = [attribute.name for attribute in statement.get_attributes()]
        await connection.close()
        return make(names, rows)

    yield READY
    yield asyncio.run(fetch())


@reader
def pymonetdb(asked: Asked) -> Steps:
    import pymonetdb

    place, make = asked.place, _frame_maker(asked.destination)
    yield READY
    login = dict.fromkeys(("username", "password"), place.user)
    with pymonetdb.connect(place.database, hostname=place.host, port=place.port, **login) as connection:
        yield CONNECTED
        cursor = connection.cursor()
        cursor.execute(asked.query)
        yield EXECUTED
        yield make([column.name for column in cursor.description or ()], cursor.fetchall())


def _frame_maker(destination: str) -> Callable[[list[str], list[Any]], Any]:
    """A function that makes a frame from names and rows."""
    if destination == "pandas":
        import pandas as pd

        return lambda names, rows: pd.DataFrame(rows, columns=names)
    import pyarrow as pa

    return lambda names, rows: pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@reader
def sqlalchemy(asked: Asked) -> Steps:
    """`pandas.read_sql` with SQLAlchemy and psycopg2 or PyMySQL. The option is its `chunksize`."""
    import pandas as pd
    import sqlalchemy

    engine = sqlalchemy.create_engine(asked.place.sqlalchemy)
    yield READY
    with engine.connect() as connection:
        yield CONNECTED
        found = pd.read_sql(sqlalchemy.text(asked.query), connection, **asked.options)
        yield pd.concat(found, ignore_index=True) if "chunksize" in asked.options else found


@reader
def dask(asked: Asked) -> Steps:
    """Dask's frame, fully computed. The table is divided by `partition_on` (default: its first column) into
    `partition_num` parts."""
    import dask.dataframe
    import pandas as pd  # noqa: F401

    yield READY
    key, parts = asked.options["partition_on"], asked.options["partition_num"]
    frame = dask.dataframe.read_sql_table(asked.table, asked.place.sqlalchemy, index_col=key, npartitions=parts)
    yield frame.compute().reset_index()


@reader
def sqlite3(asked: Asked) -> Steps:
    """`pandas.read_sql` with Python's own module."""
    import sqlite3

    import pandas as pd

    yield READY
    connection = sqlite3.connect(asked.place.path)
    yield CONNECTED
    yield pd.read_sql(asked.query, connection, **asked.options)


@reader
def copy_csv(asked: Asked) -> Steps:
    """COPY in text and pyarrow's CSV reader, connected by hand-written code."""
    import io

    import psycopg
    import pyarrow.csv as csv

    yield READY
    with psycopg.connect(asked.place.dsn) as connection, connection.cursor() as cursor:
        yield CONNECTED
        with cursor.copy(f"COPY ({asked.query}) TO STDOUT (FORMAT csv, HEADER)") as copy:
            received = io.BytesIO(b"".join(copy))
        yield csv.read_csv(received)
