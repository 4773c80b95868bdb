"""Every source that `connect` reads, each with the same two tables.

`readings` has 3,000 rows, `every_type` a column `v_KIND` for each kind of value that the database has.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import adbc_driver_postgresql
import adbc_driver_sqlite
import colonnade
import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.support import adbc_driver, fronts
from tests.support.sqlite_files import uri as sqlite_uri
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

ROWS = 3000
#: The sources that other people's drivers serve, and ours for ADBC.
ADBC = ("adbc-postgresql", "adbc-colonnade", "adbc-sqlite")
DRIVERS = (*ADBC, "odbc")
#: As pyarrow has it.
UTC = ZoneInfo("UTC")
NAN, INFINITY = float("nan"), float("inf")
#: The values that a column of each kind holds, besides NULL: the extremes that all databases have in common.
KINDS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1, 2**53 + 1],
    "float32": [0.5, -3.4028234663852886e38, 1.1754943508222875e-38],
    "float64": [0.1, -1.7976931348623157e308, 2.2250738585072014e-308, -0.0, NAN, INFINITY],
    "decimal": [Decimal("-99999999.99"), Decimal("0.10"), Decimal("0.00")],
    "text": ["", "it's", "käse 🧀", " a ", "NULL", 'line\nbreak\t"quoted"'],
    "bytes": [b"", b"\0\xff'"],
    "date": [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    "time": [dt.time(0), dt.time(23, 59, 59, 999999)],
    "timestamp": [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(9999, 12, 31)],
    "timestamptz": [dt.datetime(1970, 1, 1, 0, 0, 1, 0, UTC), dt.datetime(2024, 2, 29, 12, 0, 0, 500000, UTC)],
    "uuid": [UUID(int=0), UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")],
}
#: The Arrow types where nothing stands in the way.
ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "text": pa.utf8(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "uuid": pa.utf8(),
}


@dataclass(frozen=True)
class Dialect:
    """How a database writes what the suite asks."""

    #: Its types for the kinds that it has.
    types: Mapping[str, str]
    #: A literal for bytes in hexadecimal digits.
    bytes: str
    #: `i` from 1 to a number, and a text `t`, in order.
    series: str
    #: Statements that do not end by themselves: one gives no row, the other one row after another.
    silent: str
    endless: str
    #: A literal for a float with an exponent.
    float: str = "'{}'"
    #: Numbers, by their `repr`, that its floats do not keep.
    no_floats: tuple[str, ...] = ()
    #: How a literal in UTC ends.
    utc: str = "+00:00"

    def values(self, kind: str) -> list[Any]:
        return [value for value in KINDS[kind] if repr(value) not in self.no_floats]

    def literal(self, value: Any) -> str:
        match value:
            case None:
                return "NULL"
            case bool():
                return str(value).lower()
            case int() | Decimal():
                return str(value)
            case float():
                return self.float.format(f"{value:.17e}")
            case bytes():
                return self.bytes.format(value.hex())
            case dt.datetime() if value.tzinfo:
                return f"'{value.replace(tzinfo=None)}{self.utc}'"
        return "'" + str(value).replace("'", "''") + "'"

    @property
    def depth(self) -> int:
        """Rows of `every_type`; in the last one all is NULL."""
        return max(len(self.values(kind)) for kind in self.types) + 1

    @property
    def tables(self) -> list[str]:
        """The statements that make both tables."""
        columns = ", ".join(f"v_{kind} {name}" for kind, name in self.types.items())
        readings = ", ".join(f"({i}, 'word {i}', {i / 4})" for i in range(1, ROWS + 1))
        made = [
            "create table readings (id bigint not null primary key, word varchar(20), price decimal(10, 2))",
            f"insert into readings values {readings}",
            f"create table every_type (k int not null primary key, {columns})",
        ]
        for row in range(self.depth):
            cells = [[*self.values(kind), *[None] * self.depth][row] for kind in self.types]
            made.append(f"insert into every_type values ({row}, {', '.join(map(self.literal, cells))})")
        return made


POSTGRESQL = Dialect(
    types={
        "boolean": "boolean", "int16": "smallint", "int32": "int", "int64": "bigint", "float32": "real",
        "float64": "double precision", "decimal": "numeric(10, 2)", "text": "text", "bytes": "bytea", "date": "date",
        "time": "time", "timestamp": "timestamp", "timestamptz": "timestamptz", "uuid": "uuid",
    },
    bytes=r"'\x{}'",
    series="select i::int8 as i, 'row ' || i as t from generate_series(1, {}) i",
    silent="select pg_sleep(600)",
    endless="select generate_series(1, 1000000000000) as i",
)  # fmt: skip
DUCKDB = Dialect(
    types={**POSTGRESQL.types, "bytes": "blob", "float64": "double"},
    bytes="unhex('{}')",
    series="select i, 'row ' || i as t from range(1, {} + 1) s(i) order by i",
    silent="select count(*) from range(100000000000000) t(i)",
    endless="select i from range(100000000000000) t(i)",
)
MYSQL = Dialect(
    types={
        "boolean": "boolean", "int16": "smallint", "int32": "int", "int64": "bigint", "float32": "float",
        "float64": "double", "decimal": "decimal(10, 2)", "text": "text", "bytes": "varbinary(100)", "date": "date",
        "time": "time(6)", "timestamp": "datetime(6)", "timestamptz": "timestamp(6) null", "uuid": "uuid",
    },
    bytes="x'{}'",
    float="{}",
    # A literal loses the sign of zero.
    no_floats=("nan", "inf", "-0.0"),
    # The session's time zone is UTC.
    utc="",
    series="select cast(seq as signed) as i, concat('row ', seq) as t from seq_1_to_{}",
    silent="select sleep(600)",
    endless="select seq from seq_1_to_1000000000000",
)  # fmt: skip
SQLITE = Dialect(
    types={
        "boolean": "BOOLEAN", "int64": "INTEGER", "float64": "REAL", "decimal": "DECIMAL(10,2)", "text": "TEXT",
        "bytes": "BLOB", "date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ",
        "uuid": "UUID",
    },
    bytes="x'{}'",
    float="{}",
    # A REAL without a fraction is kept as an integer.
    no_floats=("nan", "inf", "-0.0"),
    series="with recursive s(i) as (select 1 union all select i + 1 from s where i < {})"
    " select i, 'row ' || i as t from s",
    silent="with recursive s(i) as (select 1 union all select i + 1 from s) select count(*) from s",
    endless="with recursive s(i) as (select 1 union all select i + 1 from s) select i from s",
)  # fmt: skip


#: What a source says to a wrong statement, by class and SQLSTATE.
Errors = Mapping[str, tuple[type[colonnade.Error], str | None]]
ERRORS: Errors = {
    "syntax": (colonnade.ProgrammingError, "42601"),
    "no such table": (colonnade.ProgrammingError, "42P01"),
    "several statements": (colonnade.ProgrammingError, "42601"),
    "no rows": (colonnade.NotSupportedError, "0A000"),
    "cancelled": (colonnade.OperationalError, "57014"),
}


@dataclass(frozen=True)
class Source:
    """A source with both tables."""

    uri: str
    dialect: Dialect
    #: Where they are not those of ERRORS.
    errors: Errors = field(default_factory=dict)
    #: The kinds that arrive in an Arrow type of their own, and what their values then are.
    arrow: Mapping[str, tuple[pa.DataType, Callable[[Any], Any]]] = field(default_factory=dict)
    #: Statements that a connection begins with.
    before: tuple[str, ...] = ()

    def connect(self) -> colonnade.Connection:
        connection = colonnade.connect(self.uri)
        for statement in self.before:
            connection.execute(statement)
        return connection

    def read(self, sql: str, params: Any = None, **options: Any) -> pa.Table:
        """Over a connection of its own."""
        with self.connect() as connection:
            table = connection.query(sql, params, **options).to_arrow()
            table.validate(full=True)
            return table

    def error(self, what: str) -> tuple[type[colonnade.Error], str | None]:
        return {**ERRORS, **self.errors}[what]

    def type_of(self, kind: str) -> pa.DataType:
        return self.arrow[kind][0] if kind in self.arrow else ARROW[kind]

    def expected(self, kind: str) -> list[Any]:
        """The values of a kind's column in the order of `k`: those of KINDS, then NULLs."""
        convert = self.arrow[kind][1] if kind in self.arrow else str if kind == "uuid" else lambda value: value
        values = [convert(value) for value in self.dialect.values(kind)]
        return [*values, *[None] * (self.dialect.depth - len(values))]


Get = Callable[[str], Any]


@contextmanager
def over_tcp(_: Get, __: Path) -> Iterator[Source]:
    with serve() as server:
        uri = fronts.colonnade_uri(server)
        fill(uri, DUCKDB)
        yield Source(uri, DUCKDB)


@contextmanager
def over_a_unix_socket(_: Get, directory: Path) -> Iterator[Source]:
    if sys.platform == "win32":
        pytest.skip("Windows has no unix sockets")
    with serve("--unix", directory / "socket"):
        uri = f"postgresql://tester@/test?host={directory / 'socket'}"
        fill(uri, DUCKDB)
        yield Source(uri, DUCKDB)


def fill(uri: str, dialect: Dialect) -> None:
    with colonnade.connect(uri) as connection:
        for statement in dialect.tables:
            connection.execute(statement)


@contextmanager
def database(cluster: pg.Cluster, *more: str) -> Iterator[None]:
    """A database `every_source` in a cluster."""
    with cluster.connect() as session:
        session.execute("create database every_source")
        try:
            with cluster.connect("every_source") as filling:
                for statement in (*more, *POSTGRESQL.tables, "analyze readings"):
                    filling.execute(statement.encode())
            yield
        finally:
            session.execute("drop database every_source with (force)")


@contextmanager
def extension(get: Get, _: Path) -> Iterator[Source]:
    with database(get("extended"), "create extension colonnade"):
        yield Source(get("extended").uri("every_source"), POSTGRESQL)


@contextmanager
def postgresql(get: Get, _: Path) -> Iterator[Source]:
    with database(get("stock")):
        yield Source(get("stock").uri("every_source"), POSTGRESQL)


@contextmanager
def mysql(get: Get, _: Path) -> Iterator[Source]:
    server: mariadb.Server = get("maria")
    script = [
        "set names utf8mb4",
        "set time_zone = '+00:00'",
        "create database every_source character set utf8mb4",
        "use every_source",
    ]
    errors: Errors = {
        "syntax": (colonnade.ProgrammingError, "42000"),
        "no such table": (colonnade.ProgrammingError, "42S02"),
        "several statements": (colonnade.ProgrammingError, "42000"),
        "cancelled": (colonnade.OperationalError, "70100"),
    }
    types: dict[str, Any] = {"boolean": (pa.int8(), int), "time": (pa.duration("us"), since_midnight)}
    try:
        server.run(";\n".join([*script, *MYSQL.tables]), "--default-character-set=utf8mb4")
        yield Source(server.uri().replace(f"/{mariadb.DATABASE}", "/every_source"), MYSQL, errors, types)
    finally:
        server.run("drop database every_source")


def since_midnight(value: dt.time) -> dt.timedelta:
    return dt.datetime.combine(dt.date.min, value) - dt.datetime.min


def sqlite_file(directory: Path) -> Path:
    path = directory / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for statement in SQLITE.tables:
            connection.execute(statement)
        connection.commit()
    return path


@contextmanager
def sqlite(_: Get, directory: Path) -> Iterator[Source]:
    # Its library has one code for both.
    errors: Errors = dict.fromkeys(("syntax", "no such table"), (colonnade.ProgrammingError, "42000"))
    yield Source(sqlite_uri(sqlite_file(directory)), SQLITE, errors)


#: A library in this process or a driver that gives no SQLSTATE.
WITHOUT_STATE: Errors = dict.fromkeys(("syntax", "no such table"), (colonnade.ProgrammingError, None))


@contextmanager
def duckdb_file(_: Get, directory: Path) -> Iterator[Source]:
    path = directory / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in DUCKDB.tables:
            connection.execute(statement)
    # As on a server.
    yield Source(f"duckdb:///{path}", DUCKDB, WITHOUT_STATE, before=("set TimeZone = 'UTC'",))


@contextmanager
def adbc_postgresql(get: Get, _: Path) -> Iterator[Source]:
    uri = get("stock").uri("every_source", tcp=True)
    with database(get("stock")):
        types: dict[str, Any] = {
            "decimal": (pa.opaque(pa.utf8(), "numeric", "PostgreSQL"), str),
            "uuid": (pa.uuid(), lambda value: value),
        }
        yield Source(f"adbc:{adbc_driver_postgresql._driver_path()}?uri={uri}", POSTGRESQL, {}, types)


@contextmanager
def adbc_colonnade(get: Get, _: Path) -> Iterator[Source]:
    uri = get("stock").uri("every_source", tcp=True)
    with database(get("stock")):
        types: dict[str, Any] = {"uuid": (pa.uuid(), lambda value: value)}
        yield Source(f"adbc:{adbc_driver.DRIVER}?uri={uri}", POSTGRESQL, {}, types)


@contextmanager
def adbc_sqlite(_: Get, directory: Path) -> Iterator[Source]:
    uri = f"adbc:{adbc_driver_sqlite._driver_path()}?uri={sqlite_file(directory)}"
    # The driver looks at values, and not at declarations.
    types: dict[str, Any] = dict.fromkeys(("date", "time", "timestamp", "timestamptz"), (pa.utf8(), str))
    types |= {"boolean": (pa.int64(), int), "decimal": (pa.float64(), float)}
    yield Source(uri, SQLITE, WITHOUT_STATE, types)


@contextmanager
def odbc(get: Get, _: Path) -> Iterator[Source]:
    with database(get("stock")):
        types: dict[str, Any] = {
            # psqlODBC's own choice is text.
            "boolean": (pa.utf8(), lambda value: str(int(value))),
            "int16": (pa.int32(), int),
            "int32": (pa.int64(), int),
            # The driver reads the digits that PostgreSQL writes.
            "float32": (pa.float64(), lambda value: float(str(np.float32(value)))),
            "timestamptz": (pa.timestamp("us"), lambda value: value.replace(tzinfo=None)),
            "uuid": (pa.utf8(), lambda value: str(value).upper()),
        }
        yield Source(
            fronts.odbc(get("stock")).replace("Database=postgres", "Database=every_source"), POSTGRESQL, {}, types
        )


#: What each one's SQL is, and who makes it.
SOURCES: dict[str, tuple[Dialect, Callable[[Get, Path], AbstractContextManager[Source]]]] = {
    "serve-tcp": (DUCKDB, over_tcp),
    "serve-unix": (DUCKDB, over_a_unix_socket),
    "extension": (POSTGRESQL, extension),
    "postgresql": (POSTGRESQL, postgresql),
    "mysql": (MYSQL, mysql),
    "sqlite": (SQLITE, sqlite),
    "duckdb": (DUCKDB, duckdb_file),
    "adbc-postgresql": (POSTGRESQL, adbc_postgresql),
    "adbc-colonnade": (POSTGRESQL, adbc_colonnade),
    "adbc-sqlite": (SQLITE, adbc_sqlite),
    "odbc": (POSTGRESQL, odbc),
}
