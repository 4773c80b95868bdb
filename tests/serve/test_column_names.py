"""Columns without an alias are called what PostgreSQL calls them, however a query is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import colonnade
import duckdb
import psycopg
import pytest
from colonnade_serve._duckdb.column_names import column_names
from colonnade_serve._duckdb.library import Library
from colonnade_serve._duckdb.named_types import Definitions
from psycopg import Connection

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, own_server

server = pytest.fixture(own_server, scope="module")


@pytest.fixture(scope="module")
def connection(server: Server) -> Iterator[Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(TABLE)
        yield connection


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[Connection]:
    with stock.connect() as connection:
        connection.execute(TABLE)
        yield connection


TABLE = "CREATE TEMP TABLE t (id integer, s text, d date, l integer[], n numeric(5, 2))"
#: Understood by both. Each is a query's list of columns.
COLUMNS = """
    id; id AS "a b"; t.id; *; id, *, count(*) OVER (); 1; 1.5; 'x'; NULL; true; version(); pg_catalog.version();
    count(*); COUNT(*); count(id); count(*), count(id); count(*) FILTER (WHERE id > 1); row_number() OVER ();
    sum(id) OVER (PARTITION BY s); max(s); lower(s); upper(lower(s)); id::text; CAST(id AS bigint); 1::smallint;
    id::text::varchar; '1'::int; '1'::double precision; '1.5'::numeric(5, 2); lower(s)::varchar; (id + 1)::int;
    (1 + 1)::real; '2020-01-01'::date; date '2020-01-01'; '2020-01-01'::timestamp with time zone; interval '1 day';
    l::bigint[]; l[1]; l[1:2]; NULL::boolean; id + 1; -id; s || 'x'; s LIKE 'x'; s ILIKE 'x';
    s LIKE 'x' ESCAPE 'y'; s ~ 'x'; s SIMILAR TO 'x'; id = 1; id IS NULL; id BETWEEN 1 AND 2; id IN (1, 2);
    NOT true; id = ANY(l); true AND false; coalesce(id, 1); coalesce(id, 1)::text; nullif(id, 1); greatest(1, 2);
    CASE WHEN id = 1 THEN 2 END; CASE WHEN id = 1 THEN 2 ELSE id END; CASE WHEN id = 1 THEN 2 ELSE 3 END::text;
    (SELECT 1); (SELECT max(id) FROM t); (SELECT 1 AS x); (SELECT id::text FROM t); EXISTS (SELECT 1);
    1 IN (SELECT 1); ARRAY[1, 2]; ARRAY(SELECT 1); ROW(1, 2); array_agg(id ORDER BY id); extract(year FROM d);
    date_part('year', d); date_trunc('month', d::timestamp); substring(s FROM 1 FOR 2); position('a' IN s);
    trim(s); trim(leading FROM s); trim(trailing 'x' FROM s); now() AT TIME ZONE 'UTC'; current_date; current_user;
    s COLLATE "C"; 't'::regclass; 't'::regclass::text; 'int4'::regtype::oid; 23::regtype
"""
#: Whole queries.
QUERIES = [
    *(f"SELECT {columns.strip()} FROM t" for columns in COLUMNS.split(";")),
    "VALUES (1, 2)",
    "SELECT * FROM (VALUES (1, 'x')) v",
    "SELECT * FROM (VALUES (1, 'x')) v (a, b)",
    "SELECT id, v.* FROM t, (VALUES (1, 'x')) v (a, b)",
    "SELECT * FROM (SELECT count(*), id::text FROM t GROUP BY id) q",
    "SELECT q.* FROM (SELECT 1 + 1, lower('x')) q",
    "SELECT count(*) FROM t UNION ALL SELECT 1 AS x",
    "WITH x AS (SELECT 1 AS i) SELECT count(*), i + 1 FROM x GROUP BY i",
    "SELECT 1 ORDER BY 1 LIMIT 1",
    "SELECT DISTINCT lower(s), id + 1 FROM t",
]
#: With parameters, which are written as the protocol has them.
WITH_PARAMETERS = ["SELECT $1", "SELECT $1::int, $2", "SELECT CAST($1 AS int)", "SELECT lower($1), id + $2 FROM t"]


def names(connection: Connection, query: str) -> list[str]:
    """As the simple protocol tells them."""
    return [column.name for column in connection.execute(query.encode()).description or ()]


@pytest.mark.parametrize("query", QUERIES)
def test_names_are_those_of_postgresql(connection: Connection, postgres: Connection, query: str) -> None:
    assert names(connection, query) == names(postgres, query)


@pytest.mark.parametrize("query", WITH_PARAMETERS)
def test_parameters_have_the_names_of_postgresql(connection: Connection, postgres: Connection, query: str) -> None:
    def described(session: Connection) -> list[list[bytes | None]]:
        """Before it runs, and when it runs, with types that the client gives and without."""
        found = []
        given = {"$1": 23 if "int" in query else 25, "$2": 23 if "$2" in query else 0}
        for types in ([0] * (2 if "$2" in query else 1), [oid for oid in given.values() if oid]):
            assert session.pgconn.prepare(b"s", query.encode(), types).status == psycopg.pq.ExecStatus.COMMAND_OK
            for result in (
                session.pgconn.describe_prepared(b"s"),
                session.pgconn.exec_prepared(b"s", [b"1"] * len(types)),
            ):
                found.append([result.fname(at) for at in range(result.nfields)])
            session.execute("DEALLOCATE s")
        return found

    assert described(connection) == described(postgres)


def copied(connection: Connection, query: str) -> list[str]:
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)".encode()) as copy:
        return b"".join(map(bytes, copy)).decode().splitlines()[0].split(",")


def declared(connection: Connection, query: str) -> list[str]:
    with connection.transaction():
        connection.execute(f"DECLARE c CURSOR FOR {query}".encode())
        return names(connection, "FETCH 1 FROM c")


def prepared(connection: Connection, query: str) -> list[str]:
    return [column.name for column in connection.execute(query.encode(), prepare=True).description or ()]


def twice(connection: Connection, query: str) -> list[str]:
    first = names(connection, query)
    assert names(connection, query) == first
    return first


EXPECTED = ["count", "lower", "?column?", "id", "text", "An Alias", "interval"]
MIXED = (
    """SELECT count(*), lower(max(s)), 1 + 1, max(id) AS id, 'x'::text, min(s) AS "An Alias", interval '1 day' FROM t"""
)


@pytest.mark.parametrize("way", [names, copied, declared, prepared, twice])
def test_every_way_has_the_same_names(connection: Connection, way: Callable[[Connection, str], list[str]]) -> None:
    assert way(connection, MIXED) == EXPECTED


def test_columnar_clients_have_the_same_names(server: Server) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}/test"
    query = """SELECT count(*), 1 + 1, max(i) AS "max(i)", interval '1' second FROM range(3) r(i)"""
    table = colonnade.read_sql(uri, query, return_type="arrow")
    assert table.column_names == ["count", "?column?", "max(i)", "interval"]
    assert table.slice(0, 1).to_pylist()[0]["max(i)"] == 2


def test_duckdbs_own_syntax_keeps_working(connection: Connection) -> None:
    for query, expected in (
        ("SELECT COLUMNS(*), 1 FROM (SELECT 1 AS a, 2 AS b)", ["a", "b", "?column?"]),
        ("SELECT 1, unnest({'a': 1, 'b': 2}), 2", ["?column?", "a", "b", "?column?"]),
        ("SELECT * EXCLUDE (a), 1 FROM (SELECT 1 AS a, 2 AS b)", ["b", "?column?"]),
        ("SELECT max(COLUMNS(*)) FROM (SELECT 1 AS a, 2 AS b)", ["a", "b"]),
        ("SELECT {'a': 1}, map {'a': 1}, [1], [x + 1 FOR x IN [1]]", ["row", "map", "array", "?column?"]),
        ("PIVOT (SELECT 1 AS i) ON i USING count(*)", ["1"]),
        ("DESCRIBE SELECT 1 AS i", ["column_name", "column_type", "null", "key", "default", "extra"]),
        ("FROM range(1)", ["range"]),
    ):
        assert names(connection, query) == expected, query


@pytest.mark.parametrize("depth", [10, 300, 900])
def test_no_statement_fails_for_its_names(connection: Connection, depth: int) -> None:
    for query, expected in (
        ("SELECT 1" + " + 1" * depth, depth + 1),
        ("SELECT 1" + "::bigint::integer" * (depth // 2), 1),
    ):
        ((value,),) = connection.execute(query.encode()).fetchall()
        assert value == expected
    long = "SELECT count(*) FROM t WHERE id IN (" + "1, " * 40_000 + "1)"
    assert connection.execute(long.encode()).fetchall() == [(0,)]


def test_names_do_not_depend_on_the_memory_that_is_left() -> None:
    """A query that is described and then runs has the same names, or an error that says what is missing."""
    count = 1000
    sql, own = f"select {', '.join(['1 + 1'] * count)}", ["(1 + 1)"] * count
    with duckdb.connect() as parser:
        assert column_names(Library(parser, parser, Definitions()), sql, own) == ("?column?",) * count
    config = {"memory_limit": "1MB", "temp_directory": ""}
    with duckdb.connect(config=config) as parser, pytest.raises(duckdb.OutOfMemoryException):
        column_names(Library(parser, parser, Definitions()), sql, own)
