"""Tables for scripts that were written for ConnectorX or pandas, in each source that can have them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import pandas as pd

from tests.testbed import mariadb
from tests.testbed import postgres as pg

TABLES = """
    create table readings (id int not null, amount int, label varchar(20), ratio {double}, flag boolean);
    insert into readings values
        (1, 3, 'str1', null, true), (2, null, 'str2', 2.2, false), (0, 5, 'a', 3.1, null),
        (3, 7, 'b', 3, false), (4, 9, 'c', 7.8, null), (1314, 2, null, -10, true);
    create table words (id int not null, language varchar(20), hello varchar(20));
    insert into words values
        (0, 'English', 'Hello'), (1, '中文', '你好'), (2, '日本語', 'こんにちは'), (3, 'русский', 'Здра́вствуйте'),
        (4, 'Emoji', '😁😂😜'), (5, 'Latin1', '¥§¤®ð'), (6, 'Extra', 'y̆'), (7, '', null);
"""

#: The whole of `readings`, as ConnectorX gives it.
EXPECTED = {
    "id": pd.array([1, 2, 0, 3, 4, 1314], dtype="Int64"),
    "amount": pd.array([3, None, 5, 7, 9, 2], dtype="Int64"),
    "label": pd.Series(["str1", "str2", "a", "b", "c", None], dtype=object),
    "ratio": pd.Series([None, 2.2, 3.1, 3, 7.8, -10], dtype="float64"),
    "flag": pd.array([True, False, None, False, None, True], dtype="boolean"),
}
BY_ID = [0, 1, 2, 3, 4, 1314]


@dataclass(frozen=True)
class Place:
    """A source with the tables."""

    uri: str
    #: The URI with a password that no error may show, if there can be one.
    secret: str
    #: The exact types of an `int` and a `boolean` there.
    integer: str = "int32"
    boolean: str = "bool"
    #: How a sum is cast to 64 bits.
    bigint: str = "bigint"
    #: Whether results are read in parts, and what parts cannot keep is refused.
    parts: bool = True

    @property
    def flag(self) -> str:
        """ConnectorX's type for a boolean: MySQL has none, but small integers."""
        return "boolean" if self.boolean == "bool" else "Int64"

    def expected(self, rows: list[int] | None = None, columns: list[str] | None = None) -> pd.DataFrame:
        """Rows of `readings` by their `id`, in this order."""
        frame = pd.DataFrame(EXPECTED).astype({"flag": self.flag})
        if rows is not None:
            frame = frame.set_index("id").loc[rows].reset_index()
            frame["id"] = frame["id"].astype("Int64")
        return frame if columns is None else frame[columns]


def read(place: Place | str, query: Any, **arguments: Any) -> pd.DataFrame:
    uri = place.uri if isinstance(place, Place) else place
    return colonnade.read_sql(uri, query, dtype_backend="connectorx", **arguments)


def in_postgres(cluster: pg.Cluster) -> Place:
    with cluster.connect() as session:
        session.execute("create database shop")
    with cluster.connect("shop") as session:
        session.execute(TABLES.format(double="double precision"))
    return Place(cluster.uri("shop"), cluster.uri("shop", tcp=True).replace("tester@", "tester:hunter2@"))


def in_duckdb(directory: Path) -> Place:
    path = directory / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES.format(double="double"))
    return Place(f"duckdb:///{path}", "", parts=False)


def in_mysql(server: mariadb.Server) -> Place:
    server.run("set names utf8mb4;" + TABLES.format(double="double"), mariadb.DATABASE)
    # A password that is right: what is wrong is the query.
    server.run("create user teller@'%' identified by 'hunter2'; grant select on shop.* to teller@'%'")
    return Place(server.uri(), server.uri("teller:hunter2"), boolean="int8", bigint="signed")


def in_sqlite(directory: Path) -> Place:
    path = directory / "the shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES.format(double="double"))
    return Place(f"sqlite:///{path}".replace(" ", "%20"), "", integer="int64")
