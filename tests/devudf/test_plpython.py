"""Functions of an ordinary PostgreSQL in plpython3u: as files, and in this process on the arguments of a query."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.devudf.projects import Project
from tests.devudf.terminal import Terminal
from tests.testbed import postgres as pg

Session = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pg.cluster(pg.stock()) as cluster:
        with cluster.connect() as session:
            session.autocommit = True
            try:
                session.execute("CREATE EXTENSION plpython3u")
            except psycopg.errors.Error:
                pytest.skip("PL/Python is not installed: make plpython")
        yield cluster


@pytest.fixture
def session(cluster: Any) -> Iterator[Session]:
    with cluster.connect() as session:
        session.autocommit = True
        yield session
        for (name,) in session.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = prolang "
            "WHERE lanname = 'plpython3u' AND p.oid >= 16384 AND proname NOT LIKE 'plpython3%'"
        ).fetchall():
            session.execute(f"DROP FUNCTION {name}".encode())


@pytest.fixture
def project(cluster: Any, tmp_path: Path) -> Project:
    return Project(tmp_path, cluster.uri())


BODY = "\n    words = [word.capitalize() for word in text.split()]\n    return ' '.join(words[:most])\n"
CREATE = (
    "CREATE FUNCTION title(text text, most integer DEFAULT 2) RETURNS text LANGUAGE plpython3u IMMUTABLE PARALLEL SAFE "
    f"SET search_path TO 'public' AS $${BODY}$$"
)


def definition(session: Session, name: str) -> Any:
    row = session.execute("SELECT pg_get_functiondef(%s::regproc)", [name]).fetchone()
    assert row is not None
    return row[0]


def test_a_function_is_pulled_changed_and_pushed(session: Session, project: Project) -> None:
    session.execute(CREATE.encode())
    before = definition(session, "title")
    project.done("pull")
    file = project.file("title.py")
    head, identity, *rest = file.read_text().split("\n")
    assert head == (
        "# CREATE FUNCTION public.title(text text, most integer DEFAULT 2) RETURNS text LANGUAGE plpython3u "
        "IMMUTABLE PARALLEL SAFE SET search_path TO 'public'"
    )
    assert identity.startswith("# id ") and "\n".join(["", *rest]) == "\ndef title(text, most):" + BODY
    file.write_text(file.read_text().replace("capitalize", "upper"))
    assert project.states() == {"public.title(text, integer)": "changed here"}
    assert "+    words = [word.upper()" in project.failed("diff")
    project.done("push")
    assert definition(session, "title") == before.replace("capitalize", "upper")
    assert session.execute("SELECT title('a b c')").fetchone() == ("A B",)
    assert project.states() == {"public.title(text, integer)": "same"}


def test_the_inputs_are_the_arguments_of_the_query(session: Session, project: Project) -> None:
    session.execute(CREATE.encode())
    project.done("pull")
    session.execute("CREATE TABLE IF NOT EXISTS lines AS SELECT 'line ' || i AS t, i FROM generate_series(1, 5) i")
    query = "SELECT title(t || ' of five', i) FROM lines WHERE i > 2 ORDER BY title(t, 1)"
    before = definition(session, "title")
    shown = project.done("run", "title", "--sql", query)
    assert '"Line 3 Of"' in shown
    # The function is what it was, and so is everything else.
    assert definition(session, "title") == before
    assert session.execute("SELECT title('a b c')").fetchone() == ("A B",)
    file = project.file("title.py")
    file.write_text(file.read_text().replace("' '.join", "'_'.join"))
    assert '"Line_3_Of"' in project.done("run", "title")
    project.done("run", "title", "--save")
    assert project.done("test").startswith("passed\t")
    file.write_text(file.read_text().replace("words[:most]", "words[most]"))
    shown = project.failed("run", "title")
    assert f'File "{file}", line 5, in title' in shown and "IndexError" in shown


def test_pdb_stops_on_the_arguments_of_the_query(session: Session, project: Project) -> None:
    body = "\n    shown = ''.join(letter.upper() for letter in text)\n    return shown * most\n"
    session.execute(
        f"CREATE FUNCTION twice(text text, most integer) RETURNS text LANGUAGE plpython3u AS $${body}$$".encode()
    )
    project.done("pull")
    file, inputs = project.file("twice.py"), project.root / "inputs.arrow"
    query = "SELECT twice('line ' || i, i) FROM generate_series(2, 3) i ORDER BY i"
    project.done("inputs", "twice", "--sql", query, "-o", inputs)
    for where in (("--sql", query), ("--inputs", inputs)):
        terminal = Terminal(project, "debug", "twice", *where)
        assert f"> {file}(4)twice()" in terminal.until("(Pdb) ")
        terminal.say("p text, most")
        assert "('line 2', 2)" in terminal.until("(Pdb) ")
        # It is called for each row, and stops in nothing else that is in the line.
        terminal.say("c")
        assert f"> {file}(4)twice()" in terminal.until("(Pdb) ")
        terminal.say("p text, most")
        assert "('line 3', 3)" in terminal.until("(Pdb) ")
        terminal.say("c")
        assert '"LINE 2LINE 2"' in terminal.until('"LINE 3LINE 3LINE 3"')
        assert terminal.process.wait(60) == 0
        os.close(terminal.controller)


def test_values_are_those_that_pl_python_gives(session: Session, project: Project) -> None:
    types = {
        "boolean": "true",
        "smallint": "7",
        "bigint": "9223372036854775807",
        "double precision": "0.1",
        "numeric": "12345678901234567890.1230",
        "numeric[]": "ARRAY[1.50, NULL]",
        "bytea": "'\\x00ff'",
        "date": "'2020-02-29'",
        "timestamptz": "'2020-01-01 00:00+00'",
        "interval": "'1 month 2 days'",
        "uuid": "'12345678-1234-1234-1234-123456789abc'",
        "jsonb": "'{\"a\": [1]}'",
        "integer[]": "ARRAY[1, NULL, 3]",
        "date[]": "ARRAY['2020-01-01'::date]",
    }
    parameters = ", ".join(f"x{number} {type_}" for number, type_ in enumerate(types))
    session.execute(
        f"CREATE FUNCTION described({parameters}) RETURNS text LANGUAGE plpython3u AS $$ return repr(args) $$".encode()
    )
    project.done("pull")
    values = ", ".join(f"CAST({literal} AS {type_})" for type_, literal in types.items())
    nulls = ", ".join("NULL" for _ in types)
    query = f"SELECT described({values}) UNION ALL SELECT described({nulls})"
    expected = [row for (row,) in session.execute(query.encode()).fetchall()]
    shown = project.done("run", "described", "--sql", query)
    assert [json.loads(line) for line in shown.splitlines()[:2]] == expected


def test_what_is_refused(session: Session, project: Project) -> None:
    session.execute("CREATE FUNCTION trig() RETURNS trigger LANGUAGE plpython3u AS $$ return None $$")
    session.execute(
        "CREATE FUNCTION asks(i integer) RETURNS integer LANGUAGE plpython3u AS $$ return plpy.execute(i) $$"
    )
    project.done("pull")
    assert "it is a trigger's" in project.failed("run", "trig", "--sql", "SELECT 1")
    query = "SELECT asks(i) FROM generate_series(1, 2) i"
    assert "plpy.execute needs the server" in project.failed("run", "asks", "--sql", query)
    assert "are for functions of colonnade serve" in project.failed("run", "asks", "--sql", query, "--sample", "1")
    assert "division by zero" in project.failed("run", "asks", "--sql", "SELECT asks(1 / 0)")
    assert session.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'colonnade_inputs%'").fetchone() == (0,)
