"""Columns with names that DuckDB's own results and PostgreSQL's catalog have: what they are called changes nothing."""

from __future__ import annotations

import colonnade
import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, own_server

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


#: One that has two columns, and the column of a key.
OF_KEYED = "from pg_catalog.pg_index where indrelid = 'keyed'::regclass"
VECTORS = [
    f"select indkey {OF_KEYED}",
    f'select indkey as "anything" {OF_KEYED}',
    f"with i as (select indkey as k {OF_KEYED}) select k from i",
    f"select (select indkey {OF_KEYED})",
    f"select max(indkey) {OF_KEYED}",
    "select k from keys",
]
LISTS = [
    f"select array_agg(n) from (select unnest(indkey) as n {OF_KEYED})",
    f"select indkey[1:2]::smallint[] {OF_KEYED}",
    "select u.indkey from pg_catalog.pg_index i, listed u where i.indrelid = 'keyed'::regclass",
    "select proargtypes from listed where 'pg_proc' <> ''",
]


@pytest.fixture
def keyed(client: psycopg.Connection) -> psycopg.Connection:
    client.execute("create or replace table keyed (a int, b int, primary key (b, a))")
    client.execute(f"create or replace view keys as select indkey as k {OF_KEYED.replace('pg_catalog.', '')}")
    client.execute(
        "create or replace table listed as select [2, 1]::usmallint[] as indkey, [2, 1]::uinteger[] as proargtypes"
    )
    return client


@pytest.mark.parametrize("statement", VECTORS)
def test_vectors_of_the_catalog_are_texts(keyed: psycopg.Connection, statement: str) -> None:
    assert keyed.execute(statement).fetchall() == [("2 1",)]


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_are_those_of_postgresql(keyed: psycopg.Connection, stock: pg.Cluster, binary: bool) -> None:
    keyed.execute("create or replace macro nothing_given() as 1")
    setup = """create table keyed (a int, b int, primary key (b, a));
        create function nothing_given() returns int language sql as 'select 1'"""
    queries = (
        f"select indkey {OF_KEYED}",
        "select proargtypes from pg_catalog.pg_proc where proname = 'nothing_given'",
    )
    with stock.prepared(setup, "drop table keyed; drop function nothing_given"), stock.connect() as yardstick:
        for query in queries:
            ours, theirs = (session.execute(query, binary=binary) for session in (keyed, yardstick))
            types = [[column.type_code for column in cursor.description or ()] for cursor in (ours, theirs)]
            assert types[0] == types[1]
            assert ours.fetchall() == theirs.fetchall()


def test_an_array_of_names_has_a_type_of_its_own(keyed: psycopg.Connection) -> None:
    names = "from pg_catalog.pg_attribute where attrelid = 'keyed'::regclass"
    query = f"select array_agg(attname order by attname), ['a'] as l {names}"
    cursor = keyed.execute(query)
    assert [column.type_code for column in cursor.description or ()] == [1003, 1009]
    assert cursor.fetchall() == [(["a", "b"], ["a"])]
    assert keyed.execute(query, binary=True).fetchall() == [(["a", "b"], ["a"])]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("statement", LISTS)
def test_lists_beside_the_catalog_are_lists(keyed: psycopg.Connection, statement: str, binary: bool) -> None:
    assert keyed.execute(statement, binary=binary).fetchall() == [([2, 1],)]


def test_vectors_and_lists_in_one_row(keyed: psycopg.Connection) -> None:
    query = f"select a.indkey, b.indkey from (select indkey {OF_KEYED}) a, listed b where b.indkey = a.indkey"
    assert keyed.execute(query).fetchall() == [("2 1", [2, 1])]
    with keyed.transaction():
        keyed.execute("create temp table mine as select [2]::usmallint[] as l")
        assert keyed.execute("select k, l from keys, mine").fetchall() == [("2 1", [2])]


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
