"""Which files import each other in a circle: each circle is listed with its reason. A file that uses a part of the file
of its own folder's module (`super::…`) is no circle; neither is an import for types alone in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = [
    *(f"core/{name}" for name in ("budget", "wire", "tcp", "login", "sql")),
    *("client", "client/adbc", "client/duckdb_api", "client/duckdb_vectors", "python", "python/interop"),
    *(f"serve/{name}" for name in ("protocol", "duckdb", "udf", "bridge")),
    "pg/encoder",
]
PACKAGES = ["python/colonnade", "serve/colonnade_serve"]

NESTED = "values within values: the code for lists calls that for their items"
#: The circles, by the crate or package: the files, and the reason.
REASONS = {
    "core/wire": {
        "decode/bytes_column decode/dictionary decode/fixed decode/integers decode/nested decode/node": NESTED,
        " ".join(
            f"encode/{name}"
            for name in ("bytes_column", "column", "dictionary", "fixed", "floats", "integers", "nested")
        ): NESTED,
    },
    "client": {
        "postgres/binary/column postgres/binary/nested": NESTED,
        "postgres/delivery postgres/server_connection": "a new connection asks how its server delivers results",
    },
}

Name = tuple[str, ...]
COMMENT = re.compile(r"//.*")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod tests \{.*", re.S)
USE = re.compile(r"\buse ([^;]+);")
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def used(tree: str, before: Name = ()) -> Iterator[Name]:
    """The paths of a `use`, without its braces."""
    depth, start = 0, 0
    parts = []
    for at, character in enumerate(tree + ","):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(tree[start:at].strip())
            start = at + 1
    for part in filter(None, parts):
        head, brace, rest = part.partition("{")
        path = before + tuple(word.split(" as ")[0].strip() for word in head.split("::") if word.strip())
        if brace:
            yield from used(rest.rpartition("}")[0], path)
        else:
            yield path


def of_rust(folder: Path) -> dict[Name, set[Name]]:
    """What each file of a crate uses of the others."""
    files = [file for file in folder.rglob("*.rs") if "test" not in file.name]
    named = {(() if file.stem == "lib" else file.relative_to(folder).with_suffix("").parts): file for file in files}

    def found(path: Name) -> Name | None:
        return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in named), None)

    uses: dict[Name, set[Name]] = {}
    for name, file in named.items():
        text = COMMENT.sub("", TESTS.sub("", file.read_text()))
        paths = {path for tree in USE.findall(text) for path in used(tree)}
        paths |= {tuple(path.split("::")) for path in PATH.findall(text)}
        targets = set()
        for path in paths:
            base, rest = name, path
            if path[0] == "crate":
                base, rest = (), path[1:]
            else:
                while rest[:1] in (("super",), ("self",)):
                    base, rest = (base[:-1] if rest[0] == "super" else base), rest[1:]
                if rest == path and (*name, path[0]) not in named:
                    continue
            target = found((*base, *rest))
            if target is not None and name[: len(target)] != target:
                targets.add(target)
        uses[name] = targets
    return uses


def of_python(folder: Path) -> dict[Name, set[Name]]:
    """What each module of a package imports of the others when it runs."""
    files = {file.relative_to(folder.parent).with_suffix("").parts: file for file in folder.rglob("*.py")}
    named = {(name[:-1] if name[-1] == "__init__" else name): file for name, file in files.items()}
    uses: dict[Name, set[Name]] = {}
    for name, file in named.items():
        tree = ast.parse(file.read_text())
        typing = [
            node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ]
        skipped = {id(inner) for node in typing for inner in ast.walk(node)}
        imported: set[Name] = set()
        for node in ast.walk(tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Import):
                imported |= {tuple(alias.name.split(".")) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                package = name if file.name == "__init__.py" else name[:-1]
                base = package[: len(package) - node.level + 1] if node.level else ()
                whole = (*base, *(node.module.split(".") if node.module else ()))
                imported |= {whole, *((*whole, alias.name) for alias in node.names)}
        uses[name] = {target for target in imported if target in named and name[: len(target)] != target}
    return uses


def circles(uses: dict[Name, set[Name]]) -> Iterator[list[Name]]:
    """The groups of files of which each one leads to each other (Tarjan, "Depth-first search and linear graph
    algorithms", 1972)."""
    index: dict[Name, int] = {}
    lowest: dict[Name, int] = {}
    open_: list[Name] = []

    def visit(name: Name) -> Iterator[list[Name]]:
        index[name] = lowest[name] = len(index)
        open_.append(name)
        for target in sorted(uses[name]):
            if target not in index:
                yield from visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in open_:
                lowest[name] = min(lowest[name], index[target])
        if lowest[name] == index[name]:
            group = open_[open_.index(name) :]
            del open_[open_.index(name) :]
            if len(group) > 1:
                yield sorted(group)

    for name in sorted(uses):
        if name not in index:
            yield from visit(name)


def shown(groups: Iterable[list[Name]]) -> list[str]:
    return sorted(" ".join("/".join(name) for name in group) for group in groups)


@pytest.mark.parametrize("crate", CRATES)
def test_circles_of_a_crate_have_reasons(crate: str) -> None:
    uses = of_rust(ROOT / crate / "src")
    assert len(uses) > 0
    assert shown(circles(uses)) == sorted(REASONS.get(crate, {}))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_of_python_imports_itself(package: str) -> None:
    uses = of_python(ROOT / package)
    assert len(uses) > 20
    assert shown(circles(uses)) == sorted(REASONS.get(package, {}))


def test_a_circle_is_found() -> None:
    uses = {("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("a",)}, ("d",): {("a",)}}
    assert shown(circles(uses)) == ["a b c"]
    assert list(used("crate::{a, b::{self, C as D}}")) == [("crate", "a"), ("crate", "b", "self"), ("crate", "b", "C")]
