"""Columns with names that DuckDB's own results and PostgreSQL's catalog have: what they are called changes nothing."""

from __future__ import annotations

import colonnade
import psycopg
import pytest
from serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
client = pytest.fixture(connected)

NAMES = ["Success", "Count", "count", "indkey", "indclass", "proargtypes"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["true", "5::bigint", "'x'", "[1, 2]::usmallint[]", "[1, 2]::uinteger[]"])
def test_rows_of_a_server(client: psycopg.Connection, name: str, value: str) -> None:
    ((expected,),) = client.execute(f"select {value} as v")
    client.execute("create or replace table changed (i int)")
    client.execute(f'create or replace macro called() as table select {value} as "{name}"')
    for statement, count in (
        (f'select {value} as "{name}"', 1),
        (f'insert into changed values (1), (2) returning {value} as "{name}"', 2),
        (f'update changed set i = 3 returning {value} as "{name}"', 2),
        (f'delete from changed returning {value} as "{name}"', 2),
        ("call called()", 1),
        ("from called()", 1),
    ):
        cursor = client.execute(statement)
        assert [column.name for column in cursor.description or ()] == [name], statement
        assert cursor.fetchall() == [(expected,)] * count, statement


def test_lists_of_the_catalog_are_texts(client: psycopg.Connection) -> None:
    client.execute("create or replace table keyed (a int, b int, primary key (b, a))")
    query = "select indkey from pg_catalog.pg_index where indrelid = 'keyed'::regclass"
    assert client.execute(query).fetchall() == [("2 1",)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["true", "5::bigint", "'x'"])
def test_statements_of_duckdb(name: str, value: str) -> None:
    with colonnade.connect("duckdb:///:memory:") as connection:
        connection.execute("create table changed (i int)")
        insert = f'insert into changed values (1), (2) returning {value} as "{name}"'
        assert connection.execute(insert) is None
        assert connection.execute(f'select {value} as "{name}"') is None
        assert connection.execute("update changed set i = 3") == 2
        expected = connection.query(f"select {value} as v").to_arrow()["v"][0].as_py()
        assert connection.query(insert).to_arrow().to_pylist() == [{name: expected}] * 2
