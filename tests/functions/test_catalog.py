"""What tools ask a server about its functions: psql's \\df, \\sf and \\ef, and the catalog."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.functions.sessions import connected, psql, serving
from tests.testbed.serving import Server

ROOT = """CREATE OR REPLACE FUNCTION public.root(i integer, "Base" double precision DEFAULT 2)
 RETURNS real
 LANGUAGE python_map
 IMMUTABLE STRICT
AS $function$
# it's $$ and \\ and é
return numpy.power(i, 1 / Base)
$function$
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        with connected(server) as connection:
            connection.execute(ROOT.encode())
            connection.execute(
                "CREATE AGGREGATE total(x DECIMAL(9, 2), f BIGINT) RETURNS DOUBLE LANGUAGE PYTHON SCALAR (f) AS "
                "$$ return numpy.bincount(aggr_group, x.astype(float)) $$"
            )
        yield server


def test_psql_lists_functions(server: Server) -> None:
    listed = psql(server, r"\df").stdout.splitlines()
    assert listed == [
        'public|root|real|i integer, "Base" double precision DEFAULT 2|func',
        "public|total|double precision|x numeric(9,2), f bigint|agg",
    ]
    assert psql(server, r"\df total").stdout.splitlines() == listed[1:]
    assert psql(server, r"\dfa").stdout.splitlines() == listed[1:]
    details = psql(server, r"\df+ root").stdout
    assert "immutable" in details
    assert "python_map" in details
    assert "numpy.power" in details


def test_psql_shows_sources(server: Server) -> None:
    assert psql(server, r"\sf root").stdout == ROOT
    assert psql(server, r"\sf root(int, float8)").stdout == ROOT
    numbered = psql(server, r"\sf+ root").stdout.splitlines()
    assert numbered[5].startswith("2 ")
    assert psql(server, r"\sf total").stdout == (
        "CREATE OR REPLACE AGGREGATE public.total(x numeric(9,2), f bigint)\n RETURNS double precision\n"
        " LANGUAGE python\n SCALAR (f)\nAS $function$ return numpy.bincount(aggr_group, x.astype(float)) $function$\n"
    )
    assert "does not exist" in psql(server, r"\sf nothing").stderr


def test_psql_edits_functions(server: Server, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/1 [/] Base/2/' \"$1\"\n")
    editor.chmod(0o755)
    command = ["psql", "--no-psqlrc", "--no-align", "--tuples-only", server.dsn]
    environment = os.environ | {"PSQL_EDITOR": str(editor)}
    done = subprocess.run(
        command, input="\\ef root\n;\nSELECT root(3)\n;\n", env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "9"
    with connected(server) as connection:
        connection.execute(ROOT.encode())


def test_the_catalog_has_types_and_modes(server: Server) -> None:
    with connected(server) as connection:
        query = (
            "SELECT proname, prokind, lanname, prorettype::regtype::text, proargtypes, proargnames, provolatile, "
            "proisstrict, proparallel, pronargdefaults "
            "FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang ORDER BY proname"
        )
        assert connection.execute(query).fetchall() == [
            ("root", "f", "python_map", "real", "23 701", ["i", "Base"], "i", True, "s", 1),
            ("total", "a", "python", "double precision", "1700 20", ["x", "f"], "v", False, "u", 0),
        ]
        query = (
            "SELECT routine_name, routine_type, data_type, external_language, is_deterministic, is_null_call "
            "FROM information_schema.routines ORDER BY routine_name"
        )
        assert connection.execute(query).fetchall() == [
            ("root", "FUNCTION", "real", "PYTHON_MAP", "YES", "YES"),
            ("total", None, "double precision", "PYTHON", "NO", "NO"),
        ]
        query = (
            "SELECT parameter_name, ordinal_position, parameter_mode, data_type, parameter_default "
            "FROM information_schema.parameters WHERE specific_name LIKE 'root%' ORDER BY ordinal_position"
        )
        assert connection.execute(query).fetchall() == [
            ("i", 1, "IN", "integer", None),
            ("Base", 2, "IN", "double precision", "2"),
        ]


def test_a_definition_reads_back_as_itself(server: Server) -> None:
    bodies = [
        " return x ",
        "\n\treturn x\n",
        "return x # $function$",
        "return x # $functionx",
        "return '''\n\\n''' and x",
    ]
    with connected(server) as connection:
        for body in bodies:
            tag = "$colonnade$"
            statement = f"CREATE OR REPLACE FUNCTION same(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS {tag}{body}{tag}"
            connection.execute(statement.encode())
            shown = "pg_get_functiondef('same(int)'::regprocedure)"
            query = f"SELECT id, source, {shown} FROM colonnade_functions WHERE name = 'same'"
            first = connection.execute(query).fetchone()
            assert first is not None
            assert first[1] == body
            connection.execute(first[2].encode())
            assert connection.execute(query).fetchone() == first
        connection.execute("DROP FUNCTION same")


def test_a_function_of_another_schema_is_shown_with_it(server: Server) -> None:
    """Otherwise DROP FUNCTION with the shown name would drop another function."""
    with connected(server) as connection:
        connection.execute("CREATE SCHEMA other")
        for name in ("twin", "other.twin"):
            connection.execute(
                f"CREATE FUNCTION {name}(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS $$ return x $$".encode()
            )
        query = "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'twin' ORDER BY 1"
        assert connection.execute(query).fetchall() == [("other.twin(integer)",), ("twin(integer)",)]
        connection.execute("DROP FUNCTION twin")
        connection.execute("DROP SCHEMA other CASCADE")


def test_hostile_comments_do_not_disturb_the_catalog(server: Server) -> None:
    with connected(server) as connection:
        connection.execute("CREATE MACRO odd(x) AS x")
        for comment in ('{"colonnade_functions":', '{"colonnade_functions":[]}', '{"colonnade_functions":[{"id":3}]}'):
            connection.execute(f"COMMENT ON MACRO odd IS '{comment}'")
            assert len(psql(server, r"\df").stdout.splitlines()) == 2
        connection.execute("DROP MACRO odd")


def test_drivers_describe_functions(server: Server) -> None:
    with psycopg.connect(server.dsn) as connection:
        # In psycopg's default transaction.
        row = connection.execute("SELECT root(%s, 2), total(1.5, 1)", [16]).fetchone()
        assert row == (4.0, 1.5)
