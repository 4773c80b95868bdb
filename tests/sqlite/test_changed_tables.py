"""A table that another program changes between two queries of one connection: every value stays under its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import colonnade
import colonnade.dbapi
import psycopg
import pytest

from tests.support.sqlite_files import make
from tests.support.sqlite_holders import elsewhere
from tests.testbed.serving import serve

QUERY = "select * from t"
#: What another program does to a table `t (a TEXT, s TEXT, n INTEGER)` with the row ('A', 'S', 1), and the row then.
CHANGES = {
    "recreated": (
        ["drop table t", "create table t (s TEXT, a TEXT, n INTEGER)", "insert into t values ('S', 'A', 1)"],
        {"s": "S", "a": "A", "n": 1},
    ),
    "dropped": (["alter table t drop column a"], {"s": "S", "n": 1}),
    "added": (
        ["alter table t add column d DATE default '2024-01-02'"],
        {"a": "A", "s": "S", "n": 1, "d": "2024-01-02"},
    ),
    "renamed": (
        ["alter table t rename a to x", "alter table t rename s to a", "alter table t rename x to s"],
        {"s": "A", "a": "S", "n": 1},
    ),
    "retyped": (
        ["drop table t", "create table t (a INTEGER, s TEXT, n TEXT)", "insert into t values (1, 'S', 'A')"],
        {"a": 1, "s": "S", "n": "A"},
    ),
    "emptied": (["drop table t", "create table t (s TEXT, n INTEGER)"], None),
}


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, (int, str)) else str(value) for name, value in row.items()}


@contextmanager
def by_query(conn: str) -> Iterator[Callable[[], tuple[list[str], list[dict[str, Any]]]]]:
    with colonnade.connect(conn) as connection:

        def read() -> tuple[list[str], list[dict[str, Any]]]:
            table = connection.query(QUERY).to_arrow()
            return table.column_names, table.to_pylist()

        yield read


@contextmanager
def by_dbapi(conn: str) -> Iterator[Callable[[], tuple[list[str], list[dict[str, Any]]]]]:
    with colonnade.dbapi.connect(conn, autocommit=True) as connection, connection.cursor() as cursor:

        def read() -> tuple[list[str], list[dict[str, Any]]]:
            cursor.execute(QUERY)
            assert cursor.description is not None
            names = [column[0] for column in cursor.description]
            return names, [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        yield read


@contextmanager
def by_gateway(conn: str) -> Iterator[Callable[[], tuple[list[str], list[dict[str, Any]]]]]:
    with serve("--source", conn) as server, psycopg.connect(server.dsn, autocommit=True) as client:

        def read() -> tuple[list[str], list[dict[str, Any]]]:
            cursor = client.execute(QUERY, binary=True)
            assert cursor.description is not None
            names = [column.name for column in cursor.description]
            return names, [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        yield read


@contextmanager
def by_parts(conn: str) -> Iterator[Callable[[], tuple[list[str], list[dict[str, Any]]]]]:
    with colonnade.connect(conn) as connection:

        def read() -> tuple[list[str], list[dict[str, Any]]]:
            table = colonnade.read_sql(connection, QUERY, partition_on="n", partition_num=2, return_type="arrow")
            return table.column_names, table.to_pylist()

        yield read


@pytest.mark.parametrize("opened", [by_query, by_dbapi, by_gateway, by_parts])
@pytest.mark.parametrize("change", CHANGES)
def test_values_stay_under_their_names(tmp_path: Path, opened: Any, change: str) -> None:
    path = tmp_path / "a.db"
    conn = make(path, "create table t (a TEXT, s TEXT, n INTEGER); insert into t values ('A', 'S', 1)")
    statements, row = CHANGES[change]
    with opened(conn) as read:
        assert read() == (["a", "s", "n"], [{"a": "A", "s": "S", "n": 1}])
        assert elsewhere(path, *statements) == []
        names, rows = read()
        assert list(map(plain, rows)) == ([] if row is None else [row])
        assert names == (["s", "n"] if row is None else list(row))


def test_a_column_that_has_come_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with colonnade.connect(make(path, "create table t (a TEXT); insert into t values ('A')")) as connection:
        assert connection.query(QUERY).to_arrow().num_rows == 1
        elsewhere(path, "alter table t add column d DATE default 'soon'")
        assert connection.query(QUERY, as_text=["d"]).to_arrow().to_pylist() == [{"a": "A", "d": "soon"}]
        elsewhere(path, "alter table t drop column d")
        with pytest.raises(colonnade.InterfaceError, match="which the result does not have"):
            connection.query(QUERY, as_text=["d"])


def test_a_write_sees_the_table_as_it_is(tmp_path: Path) -> None:
    import pyarrow as pa

    path = tmp_path / "a.db"
    with colonnade.connect(make(path, "create table t (a TEXT, s TEXT)")) as connection:
        assert connection.query(QUERY).to_arrow().num_rows == 0
        elsewhere(path, "drop table t", "create table t (s TEXT, a TEXT)")
        connection.write(pa.table({"a": ["A"], "s": ["S"]}), "t", if_exists="append")
        assert connection.query(QUERY).to_arrow().to_pylist() == [{"s": "S", "a": "A"}]
    assert elsewhere(path, "select a, s from t") == [["A", "S"]]
