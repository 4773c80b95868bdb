"""Which folders of tests may import which: each imports itself, `support` and `testbed`. Of tests/, bench/ and study/
import only `testbed`, and tests/ imports nothing of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What a folder may import besides `support`: hostile load is made of attacks.
MORE = {"soak": {"attacks"}}
#: What bench/'s scripts import each other as.
BENCH = {path.stem for path in (ROOT / "bench").glob("*.py")} | {"study", "bench"}


def imported(file: Path) -> Iterator[str]:
    """The full names of what a file imports, wherever in it; of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None and node.level == 0, f"{file}: modules are imported by their full name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def found(folder: str, is_wrong: Callable[[Path, list[str]], bool]) -> list[str]:
    """The imports of a folder's files that are wrong, by the file's path in the folder and the parts of the name."""
    files = [path for path in (ROOT / folder).rglob("*.py") if not {"node_modules", ".data"} & {*path.parts}]
    assert len(files) > 3
    names = [(file, name) for file in files for name in imported(file)]
    return [f"{file}: {name}" for file, name in names if is_wrong(file.relative_to(ROOT / folder), name.split("."))]


def test_a_folder_imports_only_itself_and_what_is_shared() -> None:
    def is_of_another(file: Path, name: list[str]) -> bool:
        folder = file.parts[0].removesuffix(".py")
        known = {folder} if folder == "testbed" else {folder, "testbed", "support", *MORE.get(folder, ())}
        return name[0] == "tests" and len(name) > 1 and name[1] not in known

    assert found("tests", is_of_another) == []


def test_no_module_of_tests_is_imported() -> None:
    """What two modules need stands in a third one: an imported test would run twice."""

    def is_of_tests(_: Path, name: list[str]) -> bool:
        return name[0] == "tests" and any(part == "conftest" or part.startswith("test_") for part in name[1:])

    assert found("tests", is_of_tests) == []


def test_tests_and_benchmarks_do_not_import_each_other() -> None:
    assert found("tests", lambda _, name: name[0] in BENCH) == []
    for folder in ("bench", "study"):
        assert found(folder, lambda _, name: name[0] == "tests" and name[1:2] not in ([], ["testbed"])) == []


def test_pytest_skips_no_folder(request: pytest.FixtureRequest) -> None:
    """By default it skips folders with some names, such as dist and build."""
    skipped = request.config.getini("norecursedirs")
    paths = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")]
    # npm's packages, which some tests install, have files with such names.
    folders = {folder.name for path in paths if "node_modules" not in path.parts for folder in path.parents}
    assert not [name for name in folders if name and any(fnmatch(name, pattern) for pattern in skipped)]
