"""What DBeaver, pgAdmin and the JDBC driver ask a server about its functions."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.functions.sessions import connected, psql, serving
from tests.testbed.serving import Server

ROOT = """CREATE OR REPLACE FUNCTION public.root(i integer, "Base" double precision DEFAULT 2)
 RETURNS real
 LANGUAGE python_map
 IMMUTABLE STRICT
AS $function$ return i $function$
"""

DBEAVER_FUNCTIONS = """
SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid AND d.classoid='pg_proc'::regclass AND d.objsubid = 0
WHERE p.pronamespace=%s
ORDER BY p.proname
"""
DBEAVER_LANGUAGES = "SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid"
PGADMIN_NODES = """
SELECT
    pr.oid, pr.proname || '(' || COALESCE(pg_catalog.pg_get_function_identity_arguments(pr.oid), '') || ')' as name,
    lanname, pg_catalog.pg_get_userbyid(proowner) as funcowner, description
FROM
    pg_catalog.pg_proc pr
JOIN
    pg_catalog.pg_type typ ON typ.oid=prorettype
JOIN
    pg_catalog.pg_language lng ON lng.oid=prolang
LEFT OUTER JOIN
    pg_catalog.pg_description des ON (des.objoid=pr.oid AND des.classoid='pg_proc'::regclass)
WHERE
   pr.prokind IN ('f', 'w')
    AND pronamespace = %s::oid
    AND typname NOT IN ('trigger', 'event_trigger')
ORDER BY
    proname
"""
PGADMIN_PROPERTIES = """
SELECT
    pr.oid, pr.xmin,
    CASE WHEN pr.prokind = 'w' THEN true ELSE false END AS proiswindow,
    pr.prosrc, pr.prosrc AS prosrc_c, pr.pronamespace, pr.prolang, pr.procost, pr.prorows, pr.prokind,
    pr.prosecdef, pr.proleakproof, pr.proisstrict, pr.proretset, pr.provolatile, pr.proparallel,
    pr.pronargs, pr.prorettype, pr.proallargtypes, pr.proargmodes, pr.probin, pr.proacl,
    pr.proname, pr.proname AS name, pg_catalog.pg_get_function_result(pr.oid) AS prorettypename,
    typns.nspname AS typnsp, lanname, proargnames, pg_catalog.oidvectortypes(proargtypes) AS proargtypenames,
    pg_catalog.pg_get_expr(proargdefaults, 'pg_catalog.pg_class'::regclass) AS proargdefaultvals,
    pronargdefaults, proconfig, pg_catalog.pg_get_userbyid(proowner) AS funcowner, description,
    (SELECT
        pg_catalog.array_agg(provider || '=' || label)
    FROM
        pg_catalog.pg_seclabel sl1
    WHERE
        sl1.objoid=pr.oid) AS seclabels
FROM
    pg_catalog.pg_proc pr
JOIN
    pg_catalog.pg_type typ ON typ.oid=prorettype
JOIN
    pg_catalog.pg_namespace typns ON typns.oid=typ.typnamespace
JOIN
    pg_catalog.pg_language lng ON lng.oid=prolang
LEFT OUTER JOIN
    pg_catalog.pg_description des ON (des.objoid=pr.oid AND des.classoid='pg_proc'::regclass and des.objsubid = 0)
WHERE
    pr.prokind IN ('f', 'w')
    AND typname NOT IN ('trigger', 'event_trigger')
    AND pronamespace = %s::oid
ORDER BY
    proname
"""
PGADMIN_DEFINITION = """
SELECT
    pg_catalog.pg_get_functiondef(%s::oid) AS func_def,
    COALESCE(pg_catalog.pg_get_function_identity_arguments(pr.oid), '') as
    func_with_identity_arguments,
    nspname,
    pr.proname as proname,
    COALESCE(pg_catalog.pg_get_function_arguments(pr.oid), '') as func_args
FROM
    pg_catalog.pg_proc pr
JOIN
    pg_catalog.pg_namespace nsp ON nsp.oid=pr.pronamespace
WHERE
    pr.prokind in ('f', 'w')
    AND pr.oid = %s::oid
"""
PGADMIN_AGGREGATES = """
SELECT aggfnoid::oid as oid,
    proname || '(' || COALESCE(pg_catalog.pg_get_function_arguments(aggfnoid::oid), '') || ')' AS name,
    pg_catalog.pg_get_userbyid(proowner) AS owner
FROM pg_aggregate ag
LEFT OUTER JOIN pg_catalog.pg_proc pr ON pr.oid = ag.aggfnoid
LEFT OUTER JOIN pg_catalog.pg_type tt on tt.oid=aggtranstype
LEFT OUTER JOIN pg_catalog.pg_type tf on tf.oid=prorettype
WHERE pronamespace = %s::oid
ORDER BY name
"""
JDBC_PROCEDURES = """
SELECT NULL AS PROCEDURE_CAT, n.nspname AS PROCEDURE_SCHEM, p.proname AS PROCEDURE_NAME, NULL, NULL, NULL,
    d.description AS REMARKS, 2 AS PROCEDURE_TYPE, p.proname || '_' || p.oid AS SPECIFIC_NAME
FROM pg_catalog.pg_namespace n, pg_catalog.pg_proc p
LEFT JOIN pg_catalog.pg_description d ON (p.oid=d.objoid)
LEFT JOIN pg_catalog.pg_class c ON (d.classoid=c.oid AND c.relname='pg_proc')
LEFT JOIN pg_catalog.pg_namespace pn ON (c.relnamespace=pn.oid AND pn.nspname='pg_catalog')
WHERE p.pronamespace=n.oid
ORDER BY PROCEDURE_SCHEM, PROCEDURE_NAME, p.oid::text
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        with connected(server) as connection:
            connection.execute(ROOT.encode())
            connection.execute(
                "CREATE AGGREGATE total(x DECIMAL(9,2)) RETURNS DOUBLE LANGUAGE PYTHON AS $$ return 1 $$"
            )
            connection.execute(
                "CREATE FUNCTION pairs(i INTEGER) RETURNS TABLE (a INTEGER, b VARCHAR) LANGUAGE PYTHON AS $$ pass $$"
            )
            connection.execute("COMMENT ON FUNCTION root IS 'a root'")
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection[dict[str, object]]]:
    with connected(server) as connection:
        connection.row_factory = dict_row  # type: ignore[assignment]
        yield connection  # type: ignore[misc]


def ask(connection: psycopg.Connection[dict[str, object]], query: str) -> dict[object, dict[str, object]]:
    """The rows of a query about the schema `public`, by the functions' names."""
    number = connection.execute("SELECT 'public'::regnamespace::oid AS oid").fetchall()[0]["oid"]
    rows = connection.execute(query.encode(), [number] * query.count("%s")).fetchall()
    return {row.get("proname", row.get("name")): row for row in rows}


def test_dbeaver_lists_functions(connection: psycopg.Connection[dict[str, object]]) -> None:
    found = ask(connection, DBEAVER_FUNCTIONS)
    assert set(found) == {"root", "total", "pairs"}
    root, pairs = found["root"], found["pairs"]
    assert (root["proargnames"], root["arg_defaults"], root["description"]) == (["i", "Base"], "2", "a root")
    assert (root["prosrc"], root["prokind"], root["provolatile"]) == (" return i ", "f", "i")
    assert (pairs["proretset"], pairs["proargmodes"], pairs["proargnames"]) == (True, ["i", "t", "t"], ["i", "a", "b"])
    languages = {row["oid"]: row["lanname"] for row in connection.execute(DBEAVER_LANGUAGES.encode()).fetchall()}
    assert languages[root["prolang"]] == "python_map"
    assert languages[pairs["prolang"]] == "python"


def test_pgadmin_shows_functions(connection: psycopg.Connection[dict[str, object]]) -> None:
    nodes = ask(connection, PGADMIN_NODES)
    assert list(nodes) == ["pairs(i integer)", 'root(i integer, "Base" double precision)']
    properties = ask(connection, PGADMIN_PROPERTIES)
    root = properties["root"]
    assert (root["prorettypename"], root["proargtypenames"]) == ("real", "integer, double precision")
    assert (root["description"], root["seclabels"], root["funcowner"]) == ("a root", None, "tester")
    assert properties["pairs"]["prorettypename"] == "TABLE(a integer, b text)"
    (definition,) = connection.execute(PGADMIN_DEFINITION.encode(), [root["oid"]] * 2).fetchall()
    assert definition["func_def"] == ROOT
    assert list(ask(connection, PGADMIN_AGGREGATES)) == ["total(x numeric(9,2))"]


def test_drivers_list_functions(connection: psycopg.Connection[dict[str, object]], server: Server) -> None:
    rows = connection.execute(JDBC_PROCEDURES.encode()).fetchall()
    # Clients read these columns by their names in any case.
    listed = [(values[1], values[2], values[4]) for values in (list(row.values()) for row in rows)]
    assert listed == [("public", "pairs", None), ("public", "root", "a root"), ("public", "total", None)]
    assert "a root" in psql(server, r"\df+ root").stdout
    query = "SELECT routine_name, data_type, external_language FROM information_schema.routines ORDER BY routine_name"
    assert [tuple(row.values()) for row in connection.execute(query).fetchall()] == [
        ("pairs", "record", "PYTHON"),
        ("root", "real", "PYTHON_MAP"),
        ("total", "double precision", "PYTHON"),
    ]
    query = (
        "SELECT parameter_name, parameter_mode, data_type FROM information_schema.parameters "
        "WHERE specific_name LIKE 'pairs%' ORDER BY ordinal_position"
    )
    assert [tuple(row.values()) for row in connection.execute(query).fetchall()] == [
        ("i", "IN", "integer"),
        ("a", "OUT", "integer"),
        ("b", "OUT", "text"),
    ]
