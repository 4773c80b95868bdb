"""The server has all relations of PostgreSQL's catalog, with their columns."""

from __future__ import annotations

from collections import defaultdict

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server

#: The version whose catalog this is: SHOW server_version_num.
MAJOR = 15
COLUMNS = """
    select n.nspname, c.relname, a.attname
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v') and a.attnum > 0
"""


@pytest.fixture
def session(server: Server) -> psycopg.Connection:
    return psycopg.connect(server.dsn, autocommit=True)


def test_all_relations_have_all_columns(session: psycopg.Connection, stock: pg.Cluster) -> None:
    with psycopg.connect(stock.uri()) as postgres:
        if postgres.info.server_version // 10000 != MAJOR:
            pytest.skip(f"this is not PostgreSQL {MAJOR}")
        wanted = defaultdict(set)
        for schema, relation, column in postgres.execute(COLUMNS).fetchall():
            wanted[f'{schema}."{relation}"'].add(column)
    assert len(wanted) > 200
    missing, doubled = {}, {}
    with session:
        for relation, columns in wanted.items():
            found = session.execute(f"select * from {relation} limit 1")
            names = [column.name for column in found.description or ()]
            if lacks := columns - set(names):
                missing[relation] = lacks
            # DuckDB gives the second column of a name another one.
            if more := [name for name in names if name.removesuffix("_1") in columns - {name}]:
                doubled[relation] = more
    assert missing == {}
    assert doubled == {}


def test_rows_where_there_is_something_to_show(session: psycopg.Connection) -> None:
    with session:
        session.execute("create schema shown")
        session.execute("create sequence shown.numbers")
        session.execute("create table shown.goods (i int, s text)")
        session.execute("select nextval('shown.numbers'), nextval('shown.numbers')")
        query = "select last_value, data_type from pg_sequences where schemaname = 'shown'"
        assert session.execute(query).fetchall() == [(2, "bigint")]
        query = "select privilege_type from information_schema.table_privileges where table_schema = 'shown' order by 1"
        assert [row for (row,) in session.execute(query)] == ["DELETE", "INSERT", "SELECT", "UPDATE"]
        query = (
            "select count(*) from information_schema.column_privileges where table_name = 'goods' and grantee = user"
        )
        assert session.execute(query).fetchall() == [(6,)]
        assert session.execute("select role_name from information_schema.enabled_roles").fetchall() == [("tester",)]
        session.execute("drop schema shown cascade")
