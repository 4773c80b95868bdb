"""The clients of `writes.py`: how each library writes a table into a database.

A writer imports what it needs and converts the rows to its library's own form: a frame, tuples or bytes. It returns a
function that connects, adds the rows to the table and commits; only this function is measured. The function returns an
object that keeps the connection open, so that the kernel still knows the bytes of its socket. Imports are within the
writers, because no environment has all libraries. `write.py` runs one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from place import Place

#: Bytes that are given to psycopg at once.
SLICE = 256 << 10
#: Rows of a statement of `pandas.to_sql`, if the options say nothing else.
MULTI_ROWS = 1000


@dataclass(frozen=True)
class Given:
    """The rows, and the table that receives them: it exists and is empty."""

    place: Place
    table: str
    #: A Parquet file, of which the first `rows` rows are written.
    file: str
    rows: int
    options: dict[str, Any] = field(default_factory=dict)

    def arrow(self) -> Any:
        """A pyarrow.Table."""
        import pyarrow.parquet as pq

        return pq.read_table(self.file).slice(0, self.rows).combine_chunks()

    def plain(self) -> Any:
        """The same with decimals as floats and dates as text, for libraries of SQLite that have neither."""
        import pyarrow as pa

        columns = {}
        for name, column in zip((table := self.arrow()).column_names, table.columns, strict=True):
            if pa.types.is_decimal(column.type):
                # By way of text, because the cast itself does not give the nearest float.
                column = column.cast(pa.string()).cast(pa.float64())
            columns[name] = column.cast(pa.string()) if pa.types.is_date(column.type) else column
        return pa.table(columns)


Run = Callable[[], Any]
Writer = Callable[[Given], Run]
WRITERS: dict[str, Writer] = {}


def writer(make: Writer) -> Writer:
    WRITERS[make.__name__] = make
    return make


@writer
def colonnade(given: Given) -> Run:
    """The option is `unix`, for PostgreSQL's unix socket."""
    import colonnade

    rows, place, uri = given.arrow(), given.place, given.place.uri
    if given.options.get("unix"):
        uri = f"postgresql://{place.user}@/{place.database}?host={quote(place.directory, safe='')}&port={place.port}"

    def run() -> Any:
        connection = colonnade.connect(uri)
        colonnade.write_sql(rows, connection, given.table, if_exists="append")
        return connection

    return run


@writer
def adbc(given: Given) -> Run:
    """`plain`: see `Given.plain`."""
    dbapi, uri = _adbc(given)
    rows = given.plain() if given.options.get("plain") else given.arrow()

    def run() -> Any:
        connection = dbapi.connect(uri)
        with connection.cursor() as cursor:
            cursor.adbc_ingest(given.table, rows, mode="append")
        connection.commit()
        return connection

    return run


def _adbc(given: Given) -> tuple[Any, str]:
    """The driver, and its form of the address."""
    if given.place.kind == "sqlite":
        from adbc_driver_sqlite import dbapi

        return dbapi, given.place.path
    from adbc_driver_postgresql import dbapi

    return dbapi, given.place.uri


@writer
def polars(given: Given) -> Run:
    """`engine`: adbc or sqlalchemy. `plain`: see `Given.plain`."""
    import polars as pl

    frame = pl.from_arrow(given.plain() if given.options.get("plain") else given.arrow())
    assert isinstance(frame, pl.DataFrame)
    connect = _adbc_connection(given) if given.options["engine"] == "adbc" else _engine(given)

    def run() -> Any:
        connection = connect()
        frame.write_database(given.table, connection, if_table_exists="append")
        return connection

    return run


def _adbc_connection(given: Given) -> Run:
    dbapi, uri = _adbc(given)
    return lambda: dbapi.connect(uri)


def _engine(given: Given) -> Run:
    import sqlalchemy

    place = given.place
    address = f"sqlite:///{place.path}" if place.kind == "sqlite" else place.sqlalchemy
    return lambda: sqlalchemy.create_engine(address)


@writer
def pandas(given: Given) -> Run:
    """`DataFrame.to_sql`; its options `method` and `chunksize`, and `plain`: see `Given.plain`."""
    frame = (given.plain() if given.options.get("plain") else given.arrow()).to_pandas()
    method, connect = given.options.get("method"), _engine(given)
    if given.place.kind == "sqlite":
        import sqlite3

        def connect() -> Any:
            return sqlite3.connect(given.place.path)

    more = {"method": method, "chunksize": given.options.get("chunksize", MULTI_ROWS)} if method else {}

    def run() -> Any:
        connection = connect()
        frame.to_sql(given.table, connection, if_exists="append", index=False, **more)
        return connection

    return run


@writer
def sqlite3(given: Given) -> Run:
    """`executemany` in Python's own module. Making Python's objects is part of the time, as a program would do it."""
    import sqlite3

    rows = given.plain()
    marks = ", ".join("?" * rows.num_columns)

    def run() -> Any:
        connection = sqlite3.connect(given.place.path)
        for batch in rows.to_batches(max_chunksize=10_000):
            values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            connection.executemany(f"INSERT INTO {given.table} VALUES ({marks})", values)
        connection.commit()
        return connection

    return run


@writer
def duckdb_attach(given: Given) -> Run:
    """INSERT into a table of another database, by DuckDB's extension for it."""
    import duckdb
    import duckdb_extensions

    place, rows = given.place, given.arrow()
    kind = {"mariadb": "mysql"}.get(place.kind, place.kind)
    connection = duckdb.connect()
    duckdb_extensions.import_extension(f"{kind}_scanner", con=connection)
    connection.execute(f"LOAD {kind}_scanner")
    connection.register("given", rows)
    where = {"postgres": place.dsn, "sqlite": place.path}.get(place.kind)
    if where is None:
        login = f"user={place.user} password={place.password} database={place.database}"
        where = f"host={place.host} port={place.port} {login} compression=disabled"

    def run() -> Any:
        connection.execute(f"ATTACH '{where}' AS other (TYPE {kind})")
        connection.execute(f"INSERT INTO other.{given.table} FROM given")
        return connection

    return run


@writer
def duckdb(given: Given) -> Run:
    """CREATE TABLE AS in DuckDB's own file, in this process. The empty table is replaced."""
    import duckdb

    rows = given.arrow()

    def run() -> Any:
        connection = duckdb.connect(given.place.path)
        connection.register("given", rows)
        connection.execute(f"CREATE OR REPLACE TABLE {given.table} AS FROM given")
        return connection

    return run


@writer
def psycopg_copy(given: Given) -> Run:
    """COPY … FROM STDIN of bytes that were prepared: the file `path` in the format `form`."""
    import psycopg

    contents = memoryview(Path(given.options["path"]).read_bytes())
    statement = f"COPY {given.table} FROM STDIN (FORMAT {given.options['form']})"

    def run() -> Any:
        connection = psycopg.connect(given.place.dsn, password=given.place.password or None)
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for start in range(0, len(contents), SLICE):
                copy.write(contents[start : start + SLICE])
        connection.commit()
        return connection

    return run


@writer
def psycopg_statement(given: Given) -> Run:
    """A statement, such as COPY from a file of the server."""
    import psycopg

    def run() -> Any:
        connection = psycopg.connect(given.place.dsn)
        connection.execute(given.options["statement"])
        connection.commit()
        return connection

    return run


@writer
def pymysql_statement(given: Given) -> Run:
    """A statement, such as LOAD DATA from a file of the server, or with LOCAL of the client."""
    import pymysql

    place = given.place

    def run() -> Any:
        connection = pymysql.connect(
            host=place.host,
            port=place.port,
            user=place.user,
            password=place.password,
            database=place.database,
            local_infile=True,
        )
        with connection.cursor() as cursor:
            cursor.execute(given.options["statement"])
        connection.commit()
        return connection

    return run
