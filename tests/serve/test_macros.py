"""The macros of PostgreSQL's catalog give the same whatever the caller's tables and columns are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import psycopg
import pytest
from colonnade_serve._duckdb.catalog import CATALOG, fill_catalog

from tests.testbed.serving import Server, serve


def captured(node: Any, parameters: set[str], is_scoped: bool) -> Iterator[list[str]]:
    """The uses of parameters in a parse tree where a table or a variable of the macro is in scope. DuckDB puts the
    argument there, so a column of the caller could be taken for one of the macro's."""
    if isinstance(node, list):
        for item in node:
            yield from captured(item, parameters, is_scoped)
        return
    if not isinstance(node, dict):
        return
    if node.get("class") == "COLUMN_REF":
        if is_scoped and node["column_names"][0] in parameters:
            yield node["column_names"]
    elif node.get("type") == "SELECT_NODE":
        source = node["from_table"]
        yield from captured_in_source(source, parameters, is_scoped)
        has_tables = is_scoped or source["type"] != "EMPTY"
        for name, part in node.items():
            if name != "from_table":
                yield from captured(part, parameters, is_scoped if name == "cte_map" else has_tables)
    elif node.get("class") == "LAMBDA":
        yield from captured(node["expr"], parameters, True)
    else:
        for part in node.values():
            yield from captured(part, parameters, is_scoped)


def captured_in_source(source: dict[str, Any], parameters: set[str], is_scoped: bool) -> Iterator[list[str]]:
    """In FROM: a table sees those before it."""
    if source["type"] != "JOIN":
        yield from captured(source, parameters, is_scoped)
        return
    yield from captured_in_source(source["left"], parameters, is_scoped)
    rest = {name: part for name, part in source.items() if name != "left"}
    yield from captured(rest, parameters, True)


def macros() -> list[tuple[str, list[str], dict[str, Any]]]:
    """The name, the parameters and the parse tree of each macro of the catalog, for each number of arguments."""
    query = (
        "SELECT function_name, parameters, "
        "CASE function_type WHEN 'macro' THEN 'SELECT ' ELSE '' END || macro_definition "
        f"FROM duckdb_functions() WHERE database_name = '{CATALOG}' AND function_type IN ('macro', 'table_macro')"
    )
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
        fill_catalog(connection, "public")
        found = connection.execute(
            f"SELECT name, parameters, json_serialize_sql(sql) FROM ({query}) q(name, parameters, sql)"
        )
        return [(name, parameters, json.loads(tree)) for name, parameters, tree in found.fetchall()]


def test_no_parameter_can_be_taken_for_a_column_of_the_macro() -> None:
    found = macros()
    assert len(found) > 100
    for name, parameters, tree in found:
        assert not tree["error"], name
        wrong = list(captured(tree["statements"], set(parameters), False))
        assert wrong == [], f"{name}({', '.join(parameters)})"


@pytest.mark.parametrize(
    ("body", "is_captured"),
    [
        ("(SELECT min(b) FROM t WHERE a = x)", True),
        ("(SELECT min(b) FROM (SELECT x) AS argument(x), t WHERE a = x)", True),
        ("(SELECT min(b) FROM (SELECT x) AS argument(y), t WHERE a = argument.y)", False),
        ("(SELECT min(b) FROM t, (SELECT x) AS argument(y) WHERE a = argument.y)", True),
        ("list_filter([1], lambda one: one = x)", True),
        ("list_filter([x], lambda one: one = 1)", False),
        ("(SELECT x + 1)", False),
    ],
)
def test_the_check_finds_such_a_use(body: str, is_captured: bool) -> None:
    with duckdb.connect() as connection:
        ((tree,),) = connection.execute("SELECT json_serialize_sql($1)", [f"SELECT {body}"]).fetchall()
    assert bool(list(captured(json.loads(tree)["statements"], {"x"}, False))) is is_captured


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    server: Server
    with serve() as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE first (a INTEGER PRIMARY KEY, b DECIMAL(9, 2))")
        connection.execute("CREATE TABLE second (a INTEGER PRIMARY KEY)")
        connection.execute("CREATE INDEX by_b ON first (b)")
        connection.execute("COMMENT ON TABLE first IS 'the first'")
        connection.execute("CREATE VIEW shown AS SELECT a FROM second")
        connection.execute("CREATE MACRO one(x) AS x; CREATE MACRO two(x, y) AS x + y")
        yield connection


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT proname, pg_get_function_arguments(oid) FROM pg_proc", [("one", "x"), ("two", "x, y")]),
        ("SELECT proname, pg_get_function_identity_arguments(oid) FROM pg_proc", [("one", "x"), ("two", "x, y")]),
        ("SELECT proname, regprocedure_name(oid) FROM pg_proc", [("one", "one(text)"), ("two", "two(text,text)")]),
        (
            "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class WHERE relname IN ('first', 'second')",
            [("first", "the first"), ("second", None)],
        ),
        ("SELECT relname, oid = to_regclass(relname) FROM pg_class WHERE relname = 'first'", [("first", True)]),
        ("SELECT viewname, definition FROM pg_views WHERE viewname = 'shown'", [("shown", 'SELECT a FROM "second";')]),
        (
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = to_regclass('first')",
            [("a", "integer"), ("b", "numeric(9,2)")],
        ),
        ("SELECT oid FROM (SELECT 7 AS oid) q WHERE pg_get_function_arguments(oid) IS NULL", [(7,)]),
        ("SELECT 1 AS one, array_remove([1, 2], one)", [(1, [2])]),
    ],
)
def test_arguments_have_the_names_of_the_catalogs_own_columns(
    connection: psycopg.Connection, query: str, rows: list[tuple[object, ...]]
) -> None:
    assert sorted(connection.execute(query.encode()).fetchall()) == rows
