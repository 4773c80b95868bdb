"""Subscripts of the catalog's vectors count from 0, as in PostgreSQL, and those of users' lists from 1."""

from __future__ import annotations

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

SETUP = "CREATE TABLE keyed (a integer, b integer, c integer, PRIMARY KEY (c, a)); CREATE INDEX by_b ON keyed (b)"
OF_KEY = "indrelid = 'keyed'::regclass AND indisprimary"
QUERIES = [
    f"SELECT i.indkey[0], i.indkey[1], i.indkey[2] FROM pg_index i WHERE {OF_KEY}",
    f"SELECT indkey[0] FROM pg_catalog.pg_index WHERE {OF_KEY}",
    f"SELECT pg_index.indoption[0], pg_index.indoption[2] FROM pg_index WHERE {OF_KEY}",
    f"SELECT indclass[0] IS NULL, indclass[2] IS NULL FROM pg_index WHERE {OF_KEY}",
    f"SELECT array_lower(indkey, 1), array_upper(indkey, 1) FROM pg_index WHERE {OF_KEY}",
    f"SELECT i.indkey[i.place] FROM (SELECT indkey, generate_subscripts(indkey, 1) AS place FROM pg_index"
    f" WHERE {OF_KEY}) i ORDER BY place",
    # Rails: the primary key, and the columns of indexes.
    "SELECT a.attname FROM (SELECT indrelid, indkey, generate_subscripts(indkey, 1) idx FROM pg_index"
    f" WHERE {OF_KEY}) i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[i.idx] ORDER BY i.idx",
    "SELECT ARRAY(SELECT pg_get_indexdef(d.indexrelid, k + 1, true) FROM generate_subscripts(d.indkey, 1) AS k"
    " ORDER BY k) FROM pg_class t JOIN pg_index d ON t.oid = d.indrelid"
    " WHERE t.relname = 'keyed' AND NOT d.indisprimary",
    # Lists.
    "SELECT array_lower(ARRAY[5, 6], 1), array_upper(ARRAY[5, 6], 1)",
    "SELECT k FROM generate_subscripts(ARRAY[5, 6], 1) AS k ORDER BY k",
    "SELECT indkey[1], t.indkey[2] FROM (SELECT ARRAY[5, 6] AS indkey) t",
]


def test_they_are_those_of_postgresql(connection: psycopg.Connection, stock: pg.Cluster) -> None:
    with stock.prepared(SETUP, "DROP TABLE keyed"), stock.connect() as postgres:
        connection.execute(SETUP)
        for query in QUERIES:
            expected = postgres.execute(query.encode()).fetchall()
            assert connection.execute(query.encode()).fetchall() == expected, query
            assert connection.execute(query.encode(), prepare=True).fetchall() == expected, query
