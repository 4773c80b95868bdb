"""PostgreSQL's catalog in sessions that have objects with the names of DuckDB's functions and of the catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from colonnade._sources.duckdb_types.exact import quoted
from colonnade_serve._duckdb.catalog import CATALOG, fill_catalog

from tests.functions.sessions import connected, psql, serving
from tests.testbed.serving import Server

OBJECTS = """
CREATE TYPE mood AS ENUM ('sad', 'it''s');
CREATE SEQUENCE counter START 5;
CREATE TABLE numbers (
    n INTEGER PRIMARY KEY, d DECIMAL(9, 2) DEFAULT 1.5, m mood, names VARCHAR[], UNIQUE (d), CHECK (n > 0)
);
CREATE TABLE others (id INTEGER REFERENCES numbers (n), "Mixed" TIMESTAMPTZ NOT NULL);
CREATE INDEX by_mixed ON others ("Mixed");
CREATE VIEW shown AS SELECT n FROM numbers;
CREATE SCHEMA second;
COMMENT ON TABLE numbers IS 'some numbers';
COMMENT ON COLUMN numbers.d IS 'a decimal';
"""
FUNCTIONS = (
    'CREATE FUNCTION python_one(x INTEGER, "Y" DOUBLE DEFAULT 2) RETURNS REAL LANGUAGE PYTHON_MAP IMMUTABLE STRICT AS '
    "$$ return x $$",
    "CREATE AGGREGATE python_sum(x DECIMAL(9, 2), f BIGINT) RETURNS DOUBLE LANGUAGE PYTHON SCALAR (f) AS $$ "
    "return x $$",
    "CREATE FUNCTION python_rows(x INTEGER) RETURNS TABLE(j INTEGER, k TEXT[]) LANGUAGE PYTHON AS $$ return x $$",
    "COMMENT ON FUNCTION python_one IS 'one'",
)
COMMANDS = (
    r"\d",
    r"\d+ numbers",
    r"\d others",
    r"\d by_mixed",
    r"\d+ shown",
    r"\d counter",
    r"\dt+",
    r"\dv",
    r"\di+",
    r"\ds",
    r"\dT+ mood",
    r"\dn+",
    r"\l+",
    r"\du",
    r"\df (python_one|python_rows)",
    r"\df+ python_one",
    r"\dfa python_sum",
    r"\sf python_one",
    r"\sf+ python_rows",
    r"\sf python_sum(numeric(9,2), bigint)",
    r"\sv shown",
    r"\dp",
    r"\conninfo",
)
#: What psql's statements use without a schema: `||`, `!~`, ARRAY (SELECT …), subscripts, pg_get_expr and string_agg.
#: DuckDB's rule for names holds for a client's own words, with this server or without it.
OWN_WORDS = {"||", "regexp_matches", "array_agg", "list_value", "array_extract", "pg_get_expr", "string_agg"}
#: Questions in which clients write the schema of all functions, and use no operators that are functions for DuckDB.
QUERIES = (
    "SELECT pg_catalog.format_type(1700, 589830), pg_catalog.format_type(1043, NULL)",
    "SELECT 'numbers'::regclass::oid > 0, 'numbers'::regclass::text, 'numeric'::regtype::oid, "
    "'second'::regnamespace::text",
    "SELECT 'python_one(integer,double precision)'::regprocedure::text, 'python_sum'::regproc::text",
    "SELECT pg_catalog.pg_get_functiondef('python_rows'::regproc::oid)",
    "SELECT proname, proargtypes, proallargtypes, proargmodes, proargnames, prosrc, provolatile, proisstrict, "
    "proparallel, "
    "pronargdefaults, pg_catalog.pg_get_function_arguments(oid), pg_catalog.pg_get_function_identity_arguments(oid), "
    "pg_catalog.pg_get_function_result(oid) FROM pg_catalog.pg_proc WHERE prolang <> 14 ORDER BY proname",
    "SELECT conname, contype, conkey, confkey, pg_catalog.pg_get_constraintdef(oid) FROM "
    "pg_catalog.pg_constraint ORDER BY 1",
    "SELECT pg_catalog.pg_get_indexdef('by_mixed'::regclass::oid), pg_catalog.pg_get_viewdef('shown'::regclass::oid)",
    "SELECT indkey, indoption FROM pg_catalog.pg_index ORDER BY indexrelid",
    "SELECT enumlabel, enumsortorder FROM pg_catalog.pg_enum ORDER BY 2",
    "SELECT typname, typinput, typcategory FROM pg_catalog.pg_type ORDER BY typname",
    "SELECT pg_catalog.pg_size_pretty(123456789), pg_catalog.quote_ident('Select'), pg_catalog.quote_literal('it''s')",
    "SELECT pg_catalog.to_char(TIMESTAMP '2024-02-03 04:05:06', 'YYYY-MM-DD HH24:MI:SS'), pg_catalog.version()",
    "SELECT pg_catalog.current_setting('server_version'), pg_catalog.current_schemas(true), "
    "pg_catalog.parse_ident('a.\"B\"')",
    "SELECT pg_catalog.array_remove(conkey, 1::SMALLINT), pg_catalog.array_to_string(conkey, ',') FROM "
    "pg_catalog.pg_constraint "
    "ORDER BY conname",
    "SELECT pg_catalog.obj_description('numbers'::regclass::oid, 'pg_class'), "
    "pg_catalog.col_description('numbers'::regclass::oid, 2)",
    "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY 2",
    "SELECT table_name, column_name, data_type, udt_name, is_nullable, numeric_precision FROM "
    "information_schema.columns "
    "ORDER BY table_name, ordinal_position",
    "SELECT constraint_name, constraint_type, table_name FROM information_schema.table_constraints ORDER BY 1, 2",
    "SELECT constraint_name, column_name, ordinal_position FROM information_schema.key_column_usage ORDER BY 1, 3",
    "SELECT unique_constraint_name, delete_rule FROM information_schema.referential_constraints ORDER BY 1",
    "SELECT column_name, constraint_name FROM information_schema.constraint_column_usage ORDER BY 2, 1",
    "SELECT check_clause FROM information_schema.check_constraints ORDER BY 1",
    "SELECT schema_name FROM information_schema.schemata ORDER BY 1",
    "SELECT table_name, view_definition FROM information_schema.views ORDER BY 1",
    "SELECT * FROM information_schema.sequences",
    "SELECT routine_name, data_type, external_language FROM information_schema.routines ORDER BY 1",
    "SELECT parameter_name, data_type, parameter_mode FROM information_schema.parameters ORDER BY specific_name, "
    "ordinal_position",
    "SELECT * FROM pg_catalog.pg_indexes ORDER BY indexname",
    "SELECT tablename, tableowner FROM pg_catalog.pg_tables ORDER BY 1",
    "SELECT name, setting FROM pg_catalog.pg_settings WHERE name IN ('search_path', 'server_version') ORDER BY 1",
    "SELECT usename, state FROM pg_catalog.pg_stat_activity",
    "SHOW search_path",
    "SHOW DATABASES",
)


def system_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    query = (
        "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE database_name = 'system' ORDER BY 1"
    )
    return [name for (name,) in connection.execute(query).fetchall()]


def catalog_names(kinds: str) -> list[tuple[str, str]]:
    """The names of the catalog's objects, with their kinds."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
        fill_catalog(connection, "public")
        query = f"""
            FROM (SELECT DISTINCT function_name, 'macro' FROM duckdb_functions() WHERE database_name = '{CATALOG}'
                  UNION SELECT table_name, 'table' FROM duckdb_tables() WHERE database_name = '{CATALOG}'
                  UNION SELECT view_name, 'table' FROM duckdb_views() WHERE database_name = '{CATALOG}'
                  UNION SELECT type_name, 'type' FROM duckdb_types() WHERE database_name = '{CATALOG}' AND NOT internal)
            AS names(name, kind) WHERE kind IN ({kinds}) ORDER BY ALL"""
        return connection.execute(query).fetchall()


def shadow(connection: duckdb.DuckDBPyConnection, names: list[str], kind: str = "") -> None:
    """Create macros with these names, whose results nothing expects."""
    for name in names:
        connection.execute(f"CREATE {kind} MACRO {quoted(name)}() AS 'another function'")
        connection.execute(f"CREATE {kind} MACRO {quoted(name)}() AS TABLE SELECT 'another function' AS {quoted(name)}")


#: The catalog's types, and those of DuckDB's whose names users can take.
TYPES = ("json", "name", "jsonb", "regproc", "int2vector", "oidvector")


def short_names(node: Any) -> Iterator[str]:
    """What a parse tree names without a schema, except for columns."""
    if isinstance(node, list):
        for part in node:
            yield from short_names(part)
    if not isinstance(node, dict):
        return
    is_short = len(node.get("qualified_name", {}).get("path", ())) == 1
    match node.get("class") or node.get("type"):
        case "FUNCTION" | "WINDOW" if is_short and node["function_name"] != "unnest":
            yield node["function_name"]
        case "OPERATOR" if node["type"] in ("ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT"):
            yield node["type"]
        case "BASE_TABLE" if is_short:
            yield node["table_name"]
        case "TYPE" if is_short and node["type_name"].lower() in TYPES:
            yield node["type_name"]
        case "LAMBDA":
            node = {"body": node["expr"]}
        case _:
            pass
    yield from short_names(list(node.values()))


def tree_of(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    ((text,),) = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchall()
    tree = json.loads(text)
    assert not tree["error"], tree
    return tree


def test_each_name_in_the_catalog_has_a_schema() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
        fill_catalog(connection, "public")
        created = connection.execute(f"""
            SELECT function_name, CASE function_type WHEN 'macro' THEN 'SELECT ' ELSE '' END || macro_definition
            FROM duckdb_functions() WHERE database_name = '{CATALOG}'
            UNION ALL SELECT view_name, regexp_replace(sql, '^CREATE VIEW [^ ]+ AS ', '')
            FROM duckdb_views() WHERE database_name = '{CATALOG}'""").fetchall()
        assert len(created) > 200
        for name, sql in created:
            assert list(short_names(tree_of(connection, sql))) == [], name
        written = "SELECT a || b[1], [sum(x) OVER () for x in c], d::JSON FROM t, s.u, range(1)"
        found = set(short_names(tree_of(connection, written)))
        assert found == {"||", "ARRAY_EXTRACT", "list_apply", "sum", "JSON", "t", "range"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from served(tmp_path_factory.mktemp("plain") / "one.duckdb", [])


@pytest.fixture(scope="module")
def nearly_shadowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same database, with macros that have the names of all of DuckDB's functions but for `OWN_WORDS`."""
    with duckdb.connect() as connection:
        names = [name for name in system_names(connection) if name not in OWN_WORDS]
    yield from served(tmp_path_factory.mktemp("nearly") / "one.duckdb", names)


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same database, with macros that have the names of DuckDB's functions and of the catalog's."""
    database = tmp_path_factory.mktemp("shadowed") / "one.duckdb"
    with duckdb.connect() as connection:
        names = {*system_names(connection), *(name for name, _ in catalog_names("'macro'"))}
    yield from served(database, sorted(names))


def served(database: Path, macros: list[str]) -> Iterator[Server]:
    with duckdb.connect(database) as connection:
        connection.execute(OBJECTS)
        shadow(connection, macros)
        if macros:
            connection.execute("CREATE TYPE json AS INTEGER")
    with serving(database) as server, connected(server) as connection:
        for function in FUNCTIONS:
            connection.execute(function.encode())
        yield server


@pytest.mark.parametrize("command", COMMANDS)
def test_psql_shows_the_same(plain: Server, nearly_shadowed: Server, command: str) -> None:
    expected, found = psql(plain, command), psql(nearly_shadowed, command)
    assert (expected.returncode, expected.stderr) == (0, "")
    assert found.stderr == ""
    assert without_differences(found.stdout, nearly_shadowed) == without_differences(expected.stdout, plain)
    assert expected.stdout.strip()


def without_differences(shown: str, server: Server) -> str:
    """Without the port and the size of the database."""
    return re.sub(r"\d+ kB", "SIZE", shown.replace(str(server.port), "PORT"))


@pytest.mark.parametrize("query", QUERIES)
def test_queries_give_the_same(plain: Server, shadowed: Server, query: str) -> None:
    with connected(plain) as one, connected(shadowed) as other:
        expected = one.execute(query.encode()).fetchall()
        assert expected
        assert other.execute(query.encode()).fetchall() == expected


def test_temporary_objects_with_the_catalogs_names_change_no_answer(plain: Server) -> None:
    with connected(plain) as connection:
        expected = {query: connection.execute(query.encode()).fetchall() for query in QUERIES}
        for name, kind in catalog_names("'macro', 'table', 'type'"):
            match kind:
                case "macro":
                    connection.execute(f'CREATE TEMP MACRO "{name}"() AS 0'.encode())
                case "table":
                    connection.execute(f'CREATE TEMP TABLE "{name}" (i INTEGER)'.encode())
        differing = [query for query, rows in expected.items() if connection.execute(query.encode()).fetchall() != rows]
        # Only the listings of relations have more.
        listings = ("information_schema.tables", "information_schema.columns", "pg_catalog.pg_tables")
        assert differing == [query for query in QUERIES if any(listing in query for listing in listings)]


def test_names_in_pg_catalog_are_not_users_objects(plain: Server) -> None:
    with connected(plain) as owner, connected(plain) as reader:
        owner.execute("CREATE SCHEMA mine")
        for statement in (
            "CREATE TABLE mine.pg_class AS SELECT 'mine' AS relname",
            "CREATE MACRO mine.format_type(a, b) AS 'mine'",
            "CREATE MACRO mine.lower(a) AS 'mine'",
            "CREATE MACRO mine.regclass_number(a) AS 0",
        ):
            owner.execute(statement.encode())
        reader.execute("SET search_path = 'mine,main'")
        query = (
            "SELECT count(*) > 1, pg_catalog.format_type(23, NULL), pg_catalog.lower('ABC'), "
            "'numbers'::regclass::oid <> 0 "
            "FROM pg_catalog.pg_class"
        )
        assert reader.execute(query.encode()).fetchall() == [(True, "integer", "abc", True)]
        # Without the schema, DuckDB's rule holds: the search path is searched in its order.
        assert reader.execute("SELECT relname, lower('ABC') FROM pg_class").fetchall() == [("mine", "mine")]
        owner.execute("DROP SCHEMA mine CASCADE")
