"""PostgreSQL's schema `public` is there: it is DuckDB's `main`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
import sqlalchemy
from psycopg import Connection

from tests.support.tooling import USERS, Shop, shop
from tests.testbed.serving import serve


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop(tmp_path_factory.mktemp("public")) as running:
        yield running


@pytest.fixture(params=USERS)
def connection(running: Shop, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with running.connect(request.param) as connection:
        yield connection


@pytest.fixture
def writer(running: Shop) -> Iterator[Connection]:
    with running.connect("writer") as connection:
        yield connection


COUNT = "SELECT count(*) FROM {}"


@pytest.mark.parametrize(
    "table", ["public.orders", "main.orders", "shop.public.orders", '"shop"."public"."orders"', "PUBLIC . Orders"]
)
def test_tables_are_found_in_it(connection: Connection, table: str) -> None:
    query = COUNT.format(table).encode()
    assert connection.execute(query).fetchall() == [(3,)]
    assert connection.execute(query, prepare=True).fetchall() == [(3,)]
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} TO STDOUT".encode()) as copy:
        assert len(list(copy.rows())) == 3
    with connection.transaction():
        connection.execute(b"DECLARE c CURSOR FOR " + query)
        assert connection.execute("FETCH c").fetchall() == [(3,)]
    assert connection.execute("SELECT public.orders.id FROM public.orders WHERE orders.id = %s", [2]).fetchall() == [
        (2,)
    ]
    query = "SELECT %s::regclass = 'orders'::regclass, %s::regclass = 'orders'::regclass"
    assert connection.execute(query, ["public.orders", "main.orders"]).fetchall() == [(True, True)]


def test_the_catalog_knows_it(connection: Connection) -> None:
    for query, expected in (
        ("SELECT nspname FROM pg_namespace ORDER BY 1", ["information_schema", "pg_catalog", "pg_temp_1", "public"]),
        ("SELECT current_schema()", ["public"]),
        ("SELECT current_schema", ["public"]),
        ("SELECT unnest(current_schemas(false))", ["public"]),
        ("SELECT current_setting('search_path')", ["public"]),
        ("SELECT 'public'::regnamespace::text", ["public"]),
        ("SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname = 'orders'", ["public"]),
        ("SELECT DISTINCT table_schema FROM information_schema.tables", ["public"]),
        ("SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('main', 'public')", ["public"]),
        ("SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname <> 'pg_catalog'", ["public"]),
        ("SELECT schemaname FROM pg_indexes WHERE indexname = 'orders_placed'", ["public"]),
        ("SELECT DISTINCT constraint_schema FROM information_schema.key_column_usage", ["public"]),
    ):
        assert [row[0] for row in connection.execute(query.encode())] == expected, query


@pytest.mark.parametrize(
    "name", ['"shop".INFORMATION_SCHEMA.columns', "shop.information_schema.columns", "Information_Schema.COLUMNS"]
)
def test_the_information_schema_has_the_databases_name_in_front(connection: Connection, name: str) -> None:
    query = (
        f"SELECT column_name FROM {name} WHERE table_schema = 'public' AND table_name = %s ORDER BY ordinal_position"
    )
    assert [column for (column,) in connection.execute(query.encode(), ["customers"])] == ["id", "name", "joined"]
    assert connection.execute("SELECT count(*) > 9 FROM shop.pg_catalog.pg_type").fetchall() == [(True,)]


def test_things_are_made_and_dropped_in_it(writer: Connection) -> None:
    writer.execute("CREATE TABLE public.made (id serial PRIMARY KEY, s text)")
    writer.execute("INSERT INTO public.made (s) VALUES ('x')")
    with writer.cursor() as cursor, cursor.copy("COPY public.made (s) FROM STDIN") as copy:
        copy.write_row(["y"])
    writer.execute("CREATE INDEX made_s ON public.made (s)")
    writer.execute("CREATE VIEW public.seen AS SELECT s FROM public.made")
    writer.execute("UPDATE public.made SET s = 'z' WHERE public.made.id = 1")
    writer.execute("CREATE SEQUENCE public.counter")
    assert writer.execute("SELECT nextval('public.counter'), nextval('public.counter'::regclass)").fetchall() == [
        (1, 2)
    ]
    assert writer.execute("SELECT s FROM main.seen ORDER BY s").fetchall() == [("y",), ("z",)]
    writer.execute("DROP VIEW IF EXISTS public.seen")
    writer.execute("DROP TABLE IF EXISTS public.made")
    writer.execute("DROP SEQUENCE public.counter")
    assert writer.execute("SELECT to_regclass('made'), to_regclass('seen')").fetchall() == [(None, None)]


def test_it_is_on_the_search_path(connection: Connection) -> None:
    for path in ("public", '"$user", public', "public, pg_catalog"):
        connection.execute(f"SET search_path TO {path}")
        assert connection.execute("SELECT current_schema(), count(*) FROM orders").fetchall() == [("public", 3)]
    connection.execute("SELECT set_config('search_path', 'public', false)")
    connection.execute("USE public")
    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(3,)]


def test_the_served_database_stays_on_the_search_path(writer: Connection) -> None:
    writer.execute("CREATE TEMP TABLE mine AS SELECT 2 AS i")
    writer.execute("CREATE SCHEMA IF NOT EXISTS below")
    for path in ("'temp'", "'temp.main'", "'TEMP.main'", "'temp.main,colonnade_catalog.pg'"):
        writer.execute(f"SET search_path = {path}".encode())
        assert writer.execute("SELECT count(*), min(i) FROM orders, mine").fetchall() == [(3, 2)], path
        writer.execute("SET search_path = below")
        assert writer.execute("SELECT current_schema()").fetchall() == [("below",)]
        writer.execute("RESET search_path")
        assert writer.execute("SELECT count(*) FROM orders").fetchall() == [(3,)]
    writer.execute("DROP SCHEMA below")


def test_all_that_show_the_search_path_agree(writer: Connection) -> None:
    writer.execute("CREATE SCHEMA beside")
    for statement, path in (
        (None, "public"),
        ("SET search_path TO beside, public", "beside, public"),
        ("RESET search_path", "public"),
        ("USE beside", "beside"),
        ("USE public", "public"),
        ('SET search_path TO "$user", public', "public"),
        ("SET search_path TO 'beside'", "beside"),
        ("DISCARD ALL", "public"),
    ):
        if statement is not None:
            writer.execute(statement.encode())
        assert {row[0]: row[1] for row in writer.execute("SHOW ALL")}["search_path"] == path, statement
        for prepare in (False, True):
            assert writer.execute("SHOW search_path", prepare=prepare).fetchall() == [(path,)], statement
        query = "SELECT current_setting('search_path'), current_schema()"
        assert writer.execute(query).fetchall() == [(path, path.split(",")[0])]
    with pytest.raises(psycopg.errors.DivisionByZero), writer.transaction():
        writer.execute("SET search_path TO beside")
        writer.execute("SELECT 1 // 0")
    assert writer.execute("SHOW search_path").fetchall() == [("public",)]
    writer.execute("DROP SCHEMA beside")


def test_it_is_there_and_stays(writer: Connection) -> None:
    writer.execute("CREATE SCHEMA IF NOT EXISTS public")
    assert writer.execute("SELECT count(*) FROM public.orders").fetchall() == [(3,)]
    with pytest.raises(psycopg.errors.DuplicateSchema):
        writer.execute("CREATE SCHEMA public")
    with pytest.raises(psycopg.Error):
        writer.execute("DROP SCHEMA public CASCADE")
    assert writer.execute("SELECT count(*) FROM public.orders").fetchall() == [(3,)]


def test_another_thing_of_this_name_keeps_it(connection: Connection) -> None:
    query = "SELECT public.id, public.public FROM (SELECT 1 AS id, 2 AS public) public"
    assert connection.execute(query).fetchall() == [(1, 2)]


def test_sqlalchemy_reflects_it(running: Shop) -> None:
    engine = sqlalchemy.create_engine(running.uri("reader").replace("postgresql", "postgresql+psycopg"))
    inspector = sqlalchemy.inspect(engine)
    assert inspector.default_schema_name == "public"
    assert set(inspector.get_table_names(schema="public")) == {"customers", "orders"}
    table = sqlalchemy.Table("orders", sqlalchemy.MetaData(), autoload_with=engine, schema="public")
    (key,) = table.foreign_keys
    assert key.target_fullname == "public.customers.id"
    with engine.connect() as connection:
        assert connection.scalar(sqlalchemy.select(sqlalchemy.func.count()).select_from(table)) == 3
    engine.dispose()


def test_a_database_with_a_schema_of_this_name_keeps_both(tmp_path: Path) -> None:
    path = tmp_path / "both.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE t AS SELECT 'main' AS s; CREATE SCHEMA public")
        database.execute("CREATE TABLE public.t AS SELECT 'public' AS s")
    with serve(path) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        query = "SELECT (SELECT s FROM main.t), (SELECT s FROM public.t), (SELECT s FROM t), current_schema()"
        assert connection.execute(query).fetchall() == [("main", "public", "main", "main")]
        query = "SELECT table_schema FROM information_schema.tables WHERE table_name = 't' ORDER BY 1"
        assert connection.execute(query).fetchall() == [("main",), ("public",)]
        assert connection.execute("SHOW search_path").fetchall() == [("main",)]
        connection.execute("SET search_path TO public")
        assert connection.execute("SELECT s FROM t").fetchall() == [("public",)]
