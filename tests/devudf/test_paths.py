"""Where files of functions are written: under names that each system accepts, and through no link."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import psycopg
import pytest
from colonnade._errors import InterfaceError
from colonnade._files import new_file
from colonnade_serve._udf_tools import folder
from colonnade_serve._udf_tools.catalog import DatabaseFunction
from colonnade_serve._udf_tools.file import FunctionFile

from tests.devudf.projects import Project

Session = psycopg.Connection[Any]

#: With %XX, the last ones have up to 12 bytes a letter.
LONG = ["a" * 250, "a" * 249 + "b", "Ä" * 250, "€" * 85 + "x", "𝄞" * 250, "." * 250, "%" * 99, " " * 34, "a" * 99 + "%"]


def create(connection: Session, name: str, result: str = "i") -> None:
    head = f'CREATE OR REPLACE FUNCTION "{name}"(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP'
    connection.execute(f"{head} AS $$\n    return {result}\n$$".encode())


def pulled(project: Project, *arguments: object) -> dict[str, str]:
    """What became of each function, by its file."""
    done = project.udf("pull", "--json", *arguments)
    results = json.loads(done.stdout)
    assert done.returncode == any(result["result"] in ("failed", "kept") for result in results), done.stderr
    return {result["name"]: f"{result['result']} {result.get('reason', '')}".strip() for result in results}


def test_names_of_every_length_have_files(connection: Session, project: Project) -> None:
    for name in LONG:
        create(connection, name)
    assert set(pulled(project).values()) == {"written"}
    files = {path.name for path in project.file("").iterdir()}
    assert len(files) == len(LONG) and max(map(len, files)) <= folder.MAX_ENCODED + len(".py")
    assert project.states() == {f"public.{name}(integer)": "same" for name in LONG}
    # A file is found by the name that it declares, changed, and pushed.
    for name in LONG:
        (path,) = (one.path for one in folder.read(project.root / "udf") if one.name == name)
        path.write_text(path.read_text().replace("return i", "return i + 1"))
    assert set(project.states().values()) == {"changed here"}
    project.done("push")
    for name in LONG:
        row = connection.execute(f'SELECT "{name}"(41)'.encode()).fetchone()
        assert row == (42,)
    assert set(pulled(project, "--ide", "pycharm").values()) >= {"same", "written"}
    # What is kept beside a file has a longer name.
    project.done("run", LONG[2], "--sql", f'SELECT "{LONG[2]}"(1)', "--save")
    assert project.done("test").startswith("passed")


def test_a_long_name_of_another_file_is_not_taken_for_it(project: Project) -> None:
    """Only the name that the path has, or whose hash it has, is a file's."""
    text = FunctionFile("CREATE FUNCTION public.{}(i integer) RETURNS integer LANGUAGE python_map", "return i")
    path = project.file(f"{folder.encoded(LONG[0])}.py")
    path.parent.mkdir(parents=True)
    path.write_text(FunctionFile(text.head.format("a" * 249), text.body).text())
    (found,) = folder.read(project.root / "udf")
    assert found.name not in (LONG[0], "a" * 249)
    path.write_text(FunctionFile(text.head.format(LONG[0]), text.body).text())
    (found,) = folder.read(project.root / "udf")
    assert found.name == LONG[0]


def test_names_that_differ_only_in_their_case_have_files_that_differ_otherwise(tmp_path: Path) -> None:
    """As in PostgreSQL. Some file systems do not distinguish them."""
    text = 'CREATE FUNCTION "{}"."{}"(i integer) RETURNS integer LANGUAGE plpython3u'
    names = [("shop", "total"), ("shop", "Total"), ("shop", "TOTAL"), ("Shop", "total"), ("SHOP", "total")]
    taken: set[Path] = set()
    for schema, name in names:
        function = DatabaseFunction(schema, name, "plpython3u", FunctionFile(text.format(schema, name), "return i"))
        path = folder.path_for(function, tmp_path, taken)
        folder.write(path, function.file, tmp_path)
        taken.add(path)
    found = {(one.schema, one.name): one.path.relative_to(tmp_path).as_posix() for one in folder.read(tmp_path)}
    assert found == dict(
        zip(
            names,
            ["shop/total.py", "shop/Total.2.py", "shop/TOTAL.3.py", "Shop.2/total.py", "SHOP.3/total.py"],
            strict=True,
        )
    )
    # The next function of a schema is in the schema's folder.
    function = DatabaseFunction("Shop", "sum", "plpython3u", FunctionFile(text.format("Shop", "sum"), "return i"))
    assert folder.path_for(function, tmp_path, taken) == tmp_path / "Shop.2/sum.py"


@pytest.mark.parametrize("place", ["udf", "udf/public"])
def test_nothing_is_written_through_a_link(connection: Session, project: Project, tmp_path: Path, place: str) -> None:
    """A repository may contain links."""
    create(connection, "plus")
    target = tmp_path / "elsewhere"
    target.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    found = pulled(project)
    text = f"failed {link} is a link to {link.readlink()}, and nothing is written through links: remove it, or put a"
    assert found["public.plus(integer)"].startswith(text)
    assert list(target.iterdir()) == []
    link.unlink()
    assert "written" in pulled(project).values()


def test_links_to_files_are_neither_read_nor_replaced(connection: Session, project: Project, tmp_path: Path) -> None:
    create(connection, "plus")
    project.done("pull")
    secret = tmp_path / "secret.py"
    file = project.file("plus.py")
    file.rename(secret)
    file.symlink_to(secret)
    before = secret.read_text()
    assert "is a link" in pulled(project)["public.plus(integer)"]
    create(connection, "plus", "i + 5")
    assert "is a link" in pulled(project, "--force")["public.plus(integer)"]
    secret.write_text(before.replace("return i", "return i + 7"))
    assert "is a link" in project.failed("push", "--force")
    assert connection.execute("SELECT plus(1)").fetchone() == (6,)
    # The name of the file while it is written cannot be known.
    file.unlink()
    (file.parent / "plus.py.new").symlink_to(tmp_path / "made")
    assert pulled(project) == {"public.plus(integer)": "written"}
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        (".colonnade", ("inputs", "plus", "--sql", "SELECT plus(1)")),
        (".colonnade/inputs", ("inputs", "plus", "--sql", "SELECT plus(1)")),
        ("udf/public/plus.inputs.arrow", ("run", "plus", "--sql", "SELECT plus(1)", "--save")),
        ("udf/public/plus.expected.json", ("run", "plus", "--sql", "SELECT plus(1)", "--save")),
        (".vscode", ("pull", "--ide", "vscode")),
        (".vscode/launch.json", ("pull", "--ide", "vscode")),
        (".idea/runConfigurations/colonnade_public_plus.xml", ("pull", "--ide", "pycharm")),
    ],
)
def test_no_other_file_of_a_project_is_written_through_a_link(
    connection: Session, project: Project, tmp_path: Path, place: str, arguments: tuple[str, ...]
) -> None:
    create(connection, "plus")
    project.done("pull")
    target = tmp_path / "elsewhere"
    target.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target / "file" if link.suffix else target)
    assert f"{link} is a link" in project.failed(*arguments)
    assert list(target.iterdir()) == []


def test_what_is_no_file_of_a_function_stays_as_it_is(connection: Session, project: Project, tmp_path: Path) -> None:
    """A directory, and a link to nothing. The functions get other files."""
    create(connection, "plus")
    create(connection, "minus")
    project.file("plus.py").mkdir(parents=True)
    project.file("minus.py").symlink_to(tmp_path / "made")
    assert set(pulled(project).values()) == {"written"}
    assert project.file("plus.2.py").is_file() and project.file("minus.2.py").is_file()
    assert not (tmp_path / "made").exists()


def test_a_function_that_cannot_be_written_does_not_stop_the_others(
    connection: Session, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(connection, "plus")
    create(connection, "minus")
    monkeypatch.setattr(folder, "MAX_ENCODED", 300)
    create(connection, "a" * 260)
    found = pulled(project)
    assert found[f"public.{'a' * 260}(integer)"].startswith("failed [Errno 36] File name too long")
    assert [found["public.plus(integer)"], found["public.minus(integer)"]] == ["written", "written"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of other users")
def test_a_result_is_not_written_through_a_link_of_another_user(tmp_path: Path) -> None:
    own, other, target = tmp_path / "own", tmp_path / "other", tmp_path / "target"
    for link in (own, other):
        link.symlink_to(target)
    os.lchown(other, 65534, 65534)
    with new_file(own) as file:
        file.write_text("new")
    assert own.is_symlink() and target.read_text() == "new"
    with pytest.raises(InterfaceError, match="is a link of another user"), new_file(other):
        pass
    assert target.read_text() == "new" and sorted(path.name for path in tmp_path.iterdir()) == [
        "other",
        "own",
        "target",
    ]


def test_a_name_at_the_system_s_limit_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    with new_file(path) as file:
        file.write_text("new")
    assert path.read_text() == "new"
