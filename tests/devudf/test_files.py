"""Functions of a server as files: pulled, compared, changed and pushed."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
import pytest

from tests.devudf.projects import Project

Session = psycopg.Connection[Any]

PLUS = "CREATE OR REPLACE FUNCTION plus(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n    return i + {}\n$$"


def create(connection: Session, step: int = 1) -> None:
    connection.execute(PLUS.format(step).encode())


def change(project: Project, old: str, new: str, name: str = "plus.py") -> None:
    file = project.file(name)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def value(connection: Session, query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def test_a_function_is_pulled_changed_and_pushed(connection: Session, project: Project) -> None:
    create(connection)
    project.done("pull")
    identity = json.loads(project.done("list", "--json"))[0]["id"]
    assert project.file("plus.py").read_text() == (
        "# CREATE FUNCTION public.plus(i integer) RETURNS integer LANGUAGE python_map\n"
        f"# id {identity}\ndef plus(i):\n    return i + 1\n"
    )
    assert project.states() == {"public.plus(integer)": "same"}
    assert project.done("pull").startswith("same\t")
    change(project, "i + 1", "i + 2")
    assert project.states() == {"public.plus(integer)": "changed here"}
    assert "-    return i + 1\n+    return i + 2\n" in project.failed("diff", "plus")
    shown = project.done("push", "--dry-run")
    assert shown.startswith(
        "CREATE OR REPLACE FUNCTION public.plus(i integer) RETURNS integer LANGUAGE python_map AS $"
    )
    assert value(connection, "SELECT plus(1)") == 2
    project.done("push")
    assert value(connection, "SELECT plus(1)") == 3
    assert project.states() == {"public.plus(integer)": "same"}
    assert project.done("diff") == ""


def test_objects_with_the_catalogs_names_forge_no_function(connection: Session, project: Project) -> None:
    """Whoever may create tables and macros, and no functions, writes no file of a developer."""
    create(connection)
    forged = "'public' AS nspname, 'plus' AS proname, 'python_map' AS lanname, 'import forged' AS prosrc"
    definition = "CREATE FUNCTION public.plus(i integer) RETURNS integer LANGUAGE python_map AS $$import forged$$"
    row = "SELECT 'plus' AS name, 'main' AS schema, now() AS created_at, 'import forged' AS source"
    objects = {
        "TABLE pg_proc": f"AS SELECT 0 AS oid, 0 AS pronamespace, 0 AS prolang, 'f' AS prokind, {forged}",
        "TABLE pg_namespace": f"AS SELECT 0 AS oid, {forged}",
        "TABLE pg_language": f"AS SELECT 0 AS oid, {forged}",
        "TABLE colonnade_functions": f"AS {row}",
        "MACRO pg_get_functiondef(o)": f"AS '{definition}'",
        "MACRO duckdb_schemas()": "AS TABLE SELECT 'main' AS schema_name, 'memory' AS database_name, 0 AS oid",
        "MACRO list_value(x)": "AS 'forged'",
        "MACRO current_database()": "AS 'forged'",
    }
    try:
        for name, text in objects.items():
            connection.execute(f"CREATE {name} {text}".encode())
        project.done("pull")
        assert project.file("plus.py").read_text().endswith("def plus(i):\n    return i + 1\n")
        assert project.states() == {"public.plus(integer)": "same"}
        assert project.done("run", "plus", "--sql", "SELECT plus(4)").splitlines()[0] == "5"
    finally:
        for name in objects:
            kind, plain = name.partition("(")[0].split()
            is_table = "TABLE" in objects[name][:9] and kind == "MACRO"
            connection.execute(f"DROP {kind} {'TABLE ' if is_table else ''}IF EXISTS {plain}".encode())


def test_a_change_in_the_database_is_not_overwritten(connection: Session, project: Project) -> None:
    create(connection)
    project.done("pull")
    create(connection, 10)
    assert project.states() == {"public.plus(integer)": "changed in the database"}
    change(project, "i + 1", "i + 2")
    assert project.states() == {"public.plus(integer)": "changed in both"}
    assert "was changed or dropped in the database" in project.failed("push")
    assert value(connection, "SELECT plus(1)") == 11
    assert project.failed("pull").startswith("kept\t")
    assert "i + 2" in project.file("plus.py").read_text()
    project.done("push", "--force")
    assert value(connection, "SELECT plus(1)") == 3
    create(connection, 10)
    change(project, "i + 2", "i + 4")
    project.done("pull", "--force")
    assert "i + 10" in project.file("plus.py").read_text()


def test_all_files_are_pushed_or_none(connection: Session, project: Project) -> None:
    create(connection)
    project.done("pull")
    change(project, "i + 1", "i + 2")
    head = "# CREATE FUNCTION public.{0}(i integer) RETURNS {1} LANGUAGE python_map\ndef {0}(i):\n    return i\n"
    project.file("zero.py").write_text(head.format("zero", "no_such_type"))
    assert "no_such_type" in project.failed("push")
    assert value(connection, "SELECT plus(1)") == 2
    assert project.states()["public.plus(integer)"] == "changed here"
    project.file("zero.py").write_text(head.format("zero", "integer"))
    project.done("push")
    assert value(connection, "SELECT plus(zero(1))") == 3
    assert set(project.states().values()) == {"same"}
    assert "# id new" not in project.file("zero.py").read_text()


def test_a_new_file_does_not_replace_a_function(connection: Session, project: Project) -> None:
    create(connection)
    project.file("plus.py").parent.mkdir(parents=True)
    head = "# CREATE FUNCTION public.plus(i integer) RETURNS integer LANGUAGE python_map\ndef plus(i):\n    return i\n"
    project.file("plus.py").write_text(head)
    assert "42723" in project.failed("push")
    project.done("push", "--force")
    assert value(connection, "SELECT plus(1)") == 1


def test_overloads_are_numbered_and_keep_their_files(connection: Session, project: Project) -> None:
    create(connection)
    project.done("pull")
    connection.execute(PLUS.replace("INTEGER)", "BIGINT)").format(5).encode())
    connection.execute(PLUS.replace("INTEGER)", "VARCHAR)").format("1").encode())
    project.done("pull")
    heads = {name: project.file(name).read_text().split(")")[0][-10:] for name in ("plus.py", "plus.2.py", "plus.3.py")}
    assert heads == {"plus.py": "(i integer", "plus.2.py": "s(i bigint", "plus.3.py": "lus(i text"}
    change(project, "i + 5", "i + 6", "plus.2.py")
    project.done("push")
    assert value(connection, "SELECT plus(1::bigint)") == 7
    assert project.done("push", "plus") == ""
    # Several files of one name at once.
    change(project, "i + 1", "i + 7")
    change(project, "i + 6", "i + 8", "plus.2.py")
    text = re.sub(r"# id \w+", "# id new", project.file("plus.py").read_text())
    project.file("other.py").write_text(text.replace("plus", "other"))
    project.done("push")
    assert value(connection, "SELECT plus(1::integer) * 100 + plus(1::bigint) + other(1) * 10000") == 80809
    assert project.done("diff") == ""


def test_every_clause_comes_back(connection: Session, project: Project) -> None:
    connection.execute(
        "CREATE AGGREGATE \"my agg\"(x DECIMAL(9,2), m VARCHAR DEFAULT 'it''s $$ \\n ok') RETURNS DOUBLE "
        "LANGUAGE PYTHON STABLE STRICT SCALAR (m) AS $b$ return float(len(x)) + aggr_group[0] * 0 $b$"
    )
    project.done("pull")
    before = connection.execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE prolang <> 14").fetchall()
    file = project.file("my%20agg.py")
    assert file.read_text().split("\n")[2] == "def function(x, m, aggr_group):"
    file.write_text(file.read_text().replace("* 0", "* 1"))
    project.done("push")
    after = connection.execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE prolang <> 14").fetchall()
    assert [text.replace("* 1", "* 0") for (text,) in after] == [text for (text,) in before]


@pytest.mark.parametrize("name", ["../../evil", "a/b", "C:x", ".hidden", "ü"])
def test_no_name_leaves_the_folder(connection: Session, project: Project, name: str) -> None:
    connection.execute(
        f'CREATE FUNCTION "{name}"(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i $$'.encode()
    )
    project.done("pull")
    files = [path.relative_to(project.root) for path in project.root.rglob("*.py")]
    assert len(files) == 1 and files[0].parts[:2] == ("udf", "public") and len(files[0].parts) == 3
    assert project.states() == {f"public.{name}(integer)": "same"}


def test_a_file_in_another_place_is_refused(connection: Session, project: Project) -> None:
    create(connection)
    project.done("pull")
    project.file("plus.py").rename(project.file("minus.py"))
    assert "call the file public/plus.py" in project.failed("push")


def test_settings_are_in_pyproject(connection: Session, project: Project) -> None:
    create(connection)
    text = f'[tool.colonnade]\nuri = "{project.uri}"\nudf-dir = "functions"\n'
    (project.root / "pyproject.toml").write_text(text)
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    other = Project(below, "")
    other.done("pull")
    assert (project.root / "functions" / "public" / "plus.py").is_file()
    (project.root / "pyproject.toml").write_text('[tool.colonnade]\nport = "1"\n')
    assert "has no setting port" in other.failed("list")
    (project.root / "pyproject.toml").unlink()
    assert "no database: pass --uri" in other.failed("list")


def test_configurations_of_editors_run_the_files(connection: Session, project: Project) -> None:
    create(connection)
    other = project.root / ".vscode" / "launch.json"
    other.parent.mkdir()
    other.write_text('{"version": "0.2.0", "configurations": [{"name": "mine"}, {"name": "colonnade: old"}]}')
    project.done("pull", "--ide", "vscode")
    mine, ours = json.loads(other.read_text())["configurations"]
    assert mine == {"name": "mine"}
    assert ours["name"] == "colonnade: public.plus"
    assert (ours["module"], ours["args"]) == ("colonnade", ["udf", "run", "udf/public/plus.py"])
    project.done("pull", "--ide", "pycharm")
    text = (project.root / ".idea/runConfigurations/colonnade_public_plus.xml").read_text()
    assert 'name="PARAMETERS" value="udf run udf/public/plus.py"' in text
    # Those of functions that have no file are removed, and nothing else.
    configurations = project.root / ".idea" / "runConfigurations"
    gone = text.replace("plus", "gone")
    kept = {
        "mine.xml": gone,
        "colonnade_public_mine.xml": gone,
        "colonnade_public_gone2.xml": gone.replace("COLONNADE_UDF", "OTHER").replace("gone", "gone2"),
        "colonnade_elsewhere_gone.xml": gone.replace("udf/public", "other/elsewhere"),
        "colonnade_public_bytes.xml": "\N{LATIN SMALL LETTER E WITH ACUTE}",
    }
    for name, content in {**kept, "colonnade_public_gone.xml": gone}.items():
        (configurations / name).write_text(content, encoding="latin-1")
    project.done("pull", "--ide", "pycharm")
    assert {path.name for path in configurations.iterdir()} == {*kept, "colonnade_public_plus.xml"}
    # What the configurations run.
    connection.execute("CREATE OR REPLACE TEMP VIEW unused AS SELECT 1")
    project.done("inputs", "plus", "--sql", "SELECT plus(i::integer) FROM range(3) t(i)")
    assert project.done(*ours["args"][1:]) == "1\n2\n3\n(3 results)\n"
