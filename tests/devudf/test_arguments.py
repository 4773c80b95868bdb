"""What the arguments of `colonnade udf` choose: the database, the folder, functions, and inputs."""

from __future__ import annotations

import io
import json
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from tests.devudf.projects import Project

Session = psycopg.Connection[Any]

STATEMENTS = [
    "CREATE FUNCTION plus(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i + 1 $$",
    "CREATE FUNCTION minus(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i - 1 $$",
    "CREATE AGGREGATE total(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON_MAP AS $$ return sum(x) $$",
    "CREATE SCHEMA other",
    "CREATE FUNCTION other.plus(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i + 2 $$",
]
QUERY = "SELECT plus(plus(i::INTEGER) * 10) FROM range(3) t(i)"


def files(project: Project, folder: str = "udf") -> list[str]:
    found = (project.root / folder).rglob("*.py")
    return sorted(str(path.relative_to(project.root / folder)) for path in found)


def table(project: Project, *arguments: object) -> list[dict[str, Any]]:
    """The rows of inputs."""
    file = project.root / "inputs.arrow"
    answer = json.loads(project.done("inputs", *arguments, "-o", file, "--json"))
    with pa.memory_map(str(file)) as source:
        found = pa.ipc.open_file(source).read_all().to_pylist()
    assert answer["rows"] == len(found)
    return found


def test_options_precede_the_environment_and_the_project(session: Session, project: Project) -> None:
    (project.root / "pyproject.toml").write_text(f'[tool.colonnade]\nuri = "{project.uri}"\nudf-dir = "of_project"\n')
    nowhere = Project(project.root, "postgresql://tester@127.0.0.1:1/")
    assert "127.0.0.1:1" in nowhere.failed("pull")
    nowhere.done("pull", "--uri", project.uri)
    assert files(project, "of_project") == ["other/plus.py", "public/minus.py", "public/plus.py", "public/total.py"]
    Project(project.root, "").done("pull", "minus", "--dir", project.root / "of_option")
    assert files(project, "of_option") == ["public/minus.py"]


def test_names_choose_functions(session: Session, project: Project) -> None:
    project.done("pull", "other.plus")
    assert files(project) == ["other/plus.py"]
    project.done("pull", "plus", "total")
    assert files(project) == ["other/plus.py", "public/plus.py", "public/total.py"]
    assert {found["name"] for found in json.loads(project.done("list", "plus", "--json"))} == {
        "public.plus(integer)",
        "other.plus(integer)",
    }
    assert "several functions are called plus" in project.failed("run", "plus")
    file = project.file("plus.py")
    for name in ("public.plus", file):
        assert project.done("run", name, "--sql", "SELECT public.plus(4)") == "5\n(1 result)\n"
    # Two functions have a test, and one of them fails.
    project.done("run", file, "--save")
    project.done("run", "total", "--sql", "SELECT total(1.5)", "--save")
    file.write_text(file.read_text().replace("i + 1", "i + 3"))
    assert project.done("test", "total") == f"passed\t{project.file('total.py')}\n"
    assert project.failed("test", "public.plus").startswith(f"failed\t{file}\t")
    assert len(project.failed("test").splitlines()) == 2


def test_inputs_are_those_that_the_arguments_mean(
    session: Session, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.done("pull")
    file = project.file("plus.py")
    assert [row["i"] for row in table(project, file, "--sql", QUERY)] == [0, 1, 2]
    (project.root / "query.sql").write_text(QUERY)
    assert [row["i"] for row in table(project, file, "--sql", "@query.sql", "--call", 2)] == [10, 20, 30]
    monkeypatch.setattr("sys.stdin", io.StringIO(QUERY + ";\n"))
    assert [row["i"] for row in table(project, file, "--sql", "-")] == [0, 1, 2]
    assert "has 2 calls of function" in project.failed("inputs", file, "--sql", QUERY, "--call", 3)
    many = "SELECT public.plus(i::INTEGER) FROM range(5000) t(i)"
    one, again, other = (table(project, file, "--sql", many, "--sample", 100, "--seed", seed) for seed in (1, 1, 2))
    assert len(one) == len(other) == 100
    assert one == again != other
    grouped = "SELECT total(i::DOUBLE) FROM range(5000) t(i) GROUP BY i % 500"
    found = table(project, "total", "--sql", grouped, "--sample", 7, "--groups")
    assert len(found) == 70 and len({row["aggr_group"] for row in found}) == 7
