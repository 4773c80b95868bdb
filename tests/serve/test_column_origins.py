"""RowDescription has the table and the column from which a column comes, as PostgreSQL's has."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import pq, sql

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

TABLES = """
create schema origins;
set search_path = origins;
create table customer(id int primary key, name text, "Öde Spalte" int);
create table orders(id int primary key, customer int, total numeric(9, 2), name text);
create table line("order" int, item text);
create view totals as select customer, sum(total) as total, name as "Name" from orders group by customer, name;
create schema other;
create table other.customer(code text, id int, made timestamp);
insert into customer values (1, 'a', 2);
insert into orders values (1, 1, 2.5, 'b')
"""

NAMES = """
select a.attnum, n.nspname || '.' || c.relname, a.attname
from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
where c.oid = %s::oid and a.attnum = %s
"""

STATEMENTS = [
    "select * from customer",
    "select id, name as n, id + 1, 'x', name from customer",
    "select customer.*, c.id from customer, customer as c",
    "select (id), ((name)) from customer",
    "select origins.customer.id, customer.name from origins.customer",
    "select ID, Customer.NAME from CUSTOMER",
    'select "Öde Spalte" from customer',
    "table customer",
    "select other.customer.id, made from other.customer",
    "select * from other.customer",
    "select c.x, c.name from customer as c(x)",
    "select c.* from customer as c(x, y)",
    "select distinct on (name) id, name from customer order by name, id limit 5 offset 0",
    "select name, count(*) from customer group by name having count(*) > 0",
    "select customer, sum(total) over (partition by customer) from orders",
    # Joins.
    "select * from customer join orders on customer.id = orders.customer",
    "select o.*, c.name from customer c left join orders o on true",
    "select id, item from orders join line on line.order = orders.id",
    "select name, orders.id, customer.id from customer join orders using (id, name)",
    "select id, customer.id, orders.id from customer left join orders using (id)",
    "select id, customer.id, orders.id from customer right join orders using (id)",
    "select id, customer.id, orders.id from customer full join orders using (id)",
    "select customer.*, orders.* from customer full join orders using (id)",
    "select * from (select id, total from orders) o join (select id, name from customer) c using (id)",
    "select id, total from customer natural join orders",
    "select * from customer c cross join line",
    "select a.id, b.name from customer a, customer b, generate_series(1, 3) as g",
    "select id from customer join orders using (id) join other.customer c using (id)",
    # Queries within queries.
    "select * from (select id, total * 2 as double from orders) as o",
    "select o.a, o.b from (select id, customer from orders) as o(a, b)",
    "select b from (select a as b from (select id as a from customer) x) y",
    "select (select id from customer limit 1), exists (select 1 from customer)",
    "select * from customer where id in (select customer from orders)",
    "with c as (select id, name from customer) select * from c",
    "with c(x, y) as (select id, upper(name) from customer), d as (select x from c) select d.x, c.y from c, d",
    "with customer as (select id as total from orders) select total from customer",
    "with recursive r(id) as (select id from customer union all select id + 1 from r where id < 3) select id from r",
    "with c as (select id from customer) select id from (with c as (select name id from customer) select * from c) x",
    "select * from customer, lateral (select total from orders where orders.customer = customer.id) o",
    # A view has numbers of its own.
    "select * from totals",
    'select t.total, "Name", c.id from totals t cross join (select id from customer) c',
    # None of these has one.
    "select id from customer union all select id from orders",
    "select x from (select id as x from customer union select id from orders) u",
    "select * from (values (1, 'a')) as v(id, name)",
    "select i, id from generate_series(1, 2) as g(i), customer",
    "select max(id), coalesce(name, 'x'), case when true then 1 end from customer group by name",
    "select 1 as id",
    # Changes.
    "insert into customer values (2, 'b', 3) returning *",
    "insert into customer(id) values (3) returning id as i, name, id + 1",
    "update customer set name = 'c' where id = 2 returning name, id",
    "update customer c set name = 'd' where c.id = 2 returning c.id, c.*",
    "delete from customer where id > 1 returning id, name",
    "with o as (select 5 as id) insert into customer(id) select id from o returning customer.id",
]


@pytest.fixture(scope="module")
def both(stock: pg.Cluster, server: Server) -> Iterator[list[psycopg.Connection]]:
    """PostgreSQL and the server, with the same tables."""
    with stock.connect() as one, psycopg.connect(server.dsn, autocommit=True) as other:
        for connection in (one, other):
            connection.autocommit = True
            for statement in TABLES.split(";"):
                connection.execute(statement)
        yield [one, other]
        one.execute("drop schema origins cascade; drop schema other cascade")


Origins = list[tuple[str, str] | None]


def numbers(cursor: psycopg.Cursor) -> list[tuple[int, int]]:
    result = cursor.pgresult
    assert result is not None
    return [(result.ftable(at), result.ftablecol(at)) for at in range(result.nfields)]


def origins(connection: psycopg.Connection, cursor: psycopg.Cursor) -> Origins:
    """The table and the column of each of a result's columns, by their names."""
    found: Origins = []
    for table, column in numbers(cursor):
        row = connection.execute(NAMES, [table, column]).fetchone()
        assert (table, column) == (0, 0) or row is not None
        found.append(None if row is None else (row[1], row[2]))
    return found


@pytest.mark.parametrize("statement", STATEMENTS)
def test_origins_are_those_of_postgresql(both: list[psycopg.Connection], statement: str) -> None:
    expected, found = (
        [origins(connection, connection.execute(statement)), origins(connection, prepared(connection, statement))]
        for connection in both
    )
    assert found == expected


def prepared(connection: psycopg.Connection, statement: str) -> psycopg.Cursor:
    """A cursor with the description of a statement, which does not run."""
    connection.pgconn.prepare(b"", statement.encode())
    cursor = connection.cursor()
    cursor.pgresult = connection.pgconn.describe_prepared(b"")
    return cursor


def test_parameters_and_cursors(both: list[psycopg.Connection]) -> None:
    expected: list[Origins] = []
    found: list[Origins] = []
    for connection, into in zip(both, (expected, found), strict=True):
        into.append(origins(connection, connection.execute("select name, id from customer where id = %s", [1])))
        into.append(
            origins(connection, connection.execute("select name from customer where id = %s", ["1"], binary=True))
        )
        with connection.transaction():
            connection.execute("declare o scroll cursor for select id, total + 1, total from orders")
            for fetch in ("fetch 1 from o", "fetch all from o", "fetch first from o"):
                into.append(origins(connection, connection.execute(fetch)))
            connection.execute("declare p cursor for select id from customer")
            # The portal is set aside.
            connection.execute("select 1")
            into.append(origins(connection, connection.execute("fetch next from p")))
        into.append(origins(connection, connection.execute("select id from customer; select name from customer")))
    assert found == expected


def test_a_table_in_two_schemas(connection: psycopg.Connection) -> None:
    """A name without a schema is found on the search path, and a temporary table is in front of all."""
    connection.execute(
        "create schema a; create schema b; create table a.twice(x int); create table b.twice(y int, x int)"
    )
    query = "select x from twice"
    for path, expected in (("a", ("a.twice", "x")), ("b, a", ("b.twice", "x"))):
        connection.execute(sql.SQL("set search_path = {}").format(path))
        assert origins(connection, connection.execute(query)) == [expected]
    assert origins(connection, connection.execute("select a.twice.x, b.twice.x from a.twice, b.twice")) == [
        ("a.twice", "x"),
        ("b.twice", "x"),
    ]
    connection.execute("create temp table twice(z int, w int, x int)")
    ((_, column),) = numbers(connection.execute(query))
    assert column == 3
    connection.execute("drop table temp.twice; drop schema a cascade; drop schema b cascade")


def test_numbers_follow_the_catalog(connection: psycopg.Connection, server: Server) -> None:
    """They are new when the table is, for other sessions and within a transaction, too."""
    query = "select b from changing where 1 = 1"

    def number(of: psycopg.Connection = connection) -> tuple[int, int]:
        ((table, column),) = numbers(of.execute(query))
        assert of.execute("select oid from pg_class where relname = 'changing'").fetchall() == [(table,)]
        return table, column

    with psycopg.connect(server.dsn, autocommit=True) as other:
        connection.execute("create table changing(b int)")
        first = number()
        assert number(other) == number() == first
        other.execute("drop table changing; create table changing(a int, b int)")
        second = number()
        assert second[0] != first[0]
        assert second[1] == 2
        other.execute("alter table changing drop a")
        assert number()[1] == 1
        with connection.transaction(force_rollback=True):
            before = number()
            other.execute("create or replace table changing(x int, y int, b int)")
            assert number() == before
            assert number(other)[1] == 3
        assert number()[1] == 3
        with connection.transaction(force_rollback=True):
            connection.execute("drop table changing; create table changing(x int, b int)")
            assert number()[1] == 2
        assert number()[1] == 3
        connection.execute("drop table changing")


def test_a_prepared_statement_is_described_with_new_numbers(connection: psycopg.Connection, server: Server) -> None:
    connection.execute("create table renewed(a int, b int)")
    connection.pgconn.prepare(b"renewed", b"select b from renewed where a = $1")

    def described() -> tuple[int, int]:
        cursor = connection.cursor()
        cursor.pgresult = connection.pgconn.describe_prepared(b"renewed")
        assert cursor.pgresult.status == pq.ExecStatus.COMMAND_OK
        ((table, column),) = numbers(cursor)
        return table, column

    first = described()
    assert described() == first
    with psycopg.connect(server.dsn, autocommit=True) as other:
        other.execute("alter table renewed add c int")
        other.execute("create table unrelated(x int); drop table unrelated")
        assert described() == first
        other.execute("drop table renewed; create table renewed(b int, a int)")
    second = described()
    assert second[0] != first[0]
    assert second[1] == 1
    connection.execute("drop table renewed")
    assert connection.pgconn.describe_prepared(b"renewed").error_field(pq.DiagnosticField.SQLSTATE) == b"42P01"


def test_statements_that_differ_in_names_are_told_apart(connection: psycopg.Connection) -> None:
    """Those that differ in values alone share what is known of them."""
    connection.execute("""create table alike(a1 int, a2 int, "a 1" int, "a 2" int)""")
    for query, column in [
        ("select a1 from alike where a1 = 1", 1),
        ("select a2 from alike where a1 = 1", 2),
        ('select "a 1" from alike where a1 = 2', 3),
        ('select "a 2" from alike where a1 = 3', 4),
        ("select x from (select a1 as 'x', a2 as 'y' from alike)", 1),
        ("select x from (select a1 as 'y', a2 as 'x' from alike)", 2),
        ("select x from alike as t('x', 'y')", 1),
        ("select x from alike as t('y', 'x')", 2),
    ]:
        assert [at for _, at in numbers(connection.execute(query))] == [column], query
    connection.execute("drop table alike")


@pytest.mark.parametrize(
    "query",
    [
        "select columns('i.*') from unsure",
        "select * exclude (id) from unsure",
        "select * replace (id + 1 as id) from unsure",
        "select s.id, s.* from unsure",
        "select id from (select s.id, id from unsure)",
        "select id from (select unnest(s), id from unsure)",
        "select id_1 from (select unsure.id, u.id, 3 as id_1 from unsure, unsure as u)",
        "select id from (select id, 2 as n from unsure union by name select 1 as m, 3 as id)",
        "select id from (pivot unsure on v using first(v) group by id)",
        "select rowid, unsure from unsure",
        "select #1 from unsure",
    ],
)
def test_what_is_not_sure_has_no_origin(connection: psycopg.Connection, query: str) -> None:
    """DuckDB's own forms of queries: none is taken for another column."""
    connection.execute("create or replace table unsure(id int, v text, s struct(id int, v text))")
    connection.execute("insert into unsure values (1, 'a', {'id': 2, 'v': 'b'})")
    assert set(numbers(connection.execute(query))) == {(0, 0)}


def test_columns_beside_unsure_ones_have_theirs(connection: psycopg.Connection) -> None:
    connection.execute("create or replace table beside(id int, v text, s struct(v int))")
    query = "select id, columns('v|s'), v as w from beside"
    assert [at for _, at in numbers(connection.execute(query))] == [1, 0, 0, 2]
    query = "select b.v, x.* from beside b, (select unnest([1, 2]) as v) x, range(3) r"
    assert [at for _, at in numbers(connection.execute(query))] == [2, 0]
    connection.execute("drop table beside")
