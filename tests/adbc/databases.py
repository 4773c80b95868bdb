"""The databases that the driver's tests read, and connections to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from adbc_driver_manager import dbapi

from tests.support.adbc_driver import DRIVER


def connect(uri: str | None, *, autocommit: bool = True, **options: str) -> dbapi.Connection:
    """A connection with options of the database."""
    assert DRIVER.exists(), f"{DRIVER} is missing: cargo build --release -p colonnade-adbc"
    given = {"uri": uri, **options} if uri is not None else options
    return dbapi.connect(driver=str(DRIVER), db_kwargs=given, autocommit=autocommit)


@dataclass(frozen=True)
class Database:
    """A database, and how it writes what the tests ask."""

    uri: str
    #: `i` from 1 to a number, in order.
    series: str
    #: Statements that do not end by themselves: one gives no row, the other one row after another.
    silent: str
    endless: str
    #: A query that gives some rows before it fails, and the SQLSTATE of that.
    failing: tuple[str, str]
    #: The SQLSTATEs of a table that is missing, of a row whose key is there, of a statement that was cancelled.
    missing: str
    duplicate: str
    cancelled: str
    #: Whether a transaction in which a statement failed can only be rolled back.
    fails_whole: bool = True
    #: The session's catalog and schema.
    names: tuple[str | None, str | None] = field(default=("postgres", "public"))

    def connect(self, *, autocommit: bool = True, **options: str) -> dbapi.Connection:
        return connect(self.uri, autocommit=autocommit, **options)

    @contextmanager
    def cursor(self, **options: str) -> Iterator[dbapi.Cursor]:
        """A cursor of a connection of its own, whose statements are transactions of their own."""
        with self.connect(**options) as connection, connection.cursor() as cursor:
            yield cursor

    def read(self, sql: str, parameters: Any = None) -> pa.Table:
        with self.cursor() as cursor:
            return cursor.execute(sql, parameters).fetch_arrow_table()


POSTGRESQL: dict[str, Any] = {
    "series": "select i from generate_series(1, {}) t(i) order by i",
    "silent": "select pg_sleep(600)",
    "endless": "select generate_series(1, 1000000000000) as i",
    "failing": ("select 1000000 / (900000 - i) as q from generate_series(1, 1000000) i", "22012"),
    "missing": "42P01",
    "duplicate": "23505",
    "cancelled": "57014",
}
DUCKDB: dict[str, Any] = {
    **POSTGRESQL,
    "silent": "select count(*) from range(100000000000000) t(i)",
    "endless": "select i from range(100000000000000) t(i)",
    "failing": ("select (9223372036854775807 - 900000 + i) as q from range(1000000) t(i)", "22003"),
    "names": ("memory", "public"),
}
MARIADB: dict[str, Any] = {
    "series": "select seq as i from seq_1_to_{}",
    "silent": "select sleep(600)",
    "endless": "select seq from seq_1_to_1000000000000",
    "failing": ("select 9223372036853875807 + cast(seq as signed) as q from seq_1_to_1000000", "22003"),
    "missing": "42S02",
    "duplicate": "23000",
    "cancelled": "70100",
    "fails_whole": False,
    "names": ("shop", None),
}
