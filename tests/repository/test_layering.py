"""Who may know whom. The crates of `core/` know no others; those of `client/` and `python/` know `core/`; those of
`serve/` know all of these, and nobody knows `serve/`. Then the parts of the Python packages, of which `colonnade`
does not know `colonnade_serve`."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

# Each crate of the workspace, and those of its neighbours that it may depend on.
MAY_KNOW = {
    "colonnade-budget": set[str](),
    "colonnade-features": set[str](),
    "colonnade-wire": set[str](),
    "colonnade-tcp": {"colonnade-wire"},
    "colonnade-login": set[str](),
    "colonnade-sql": set[str](),
    "colonnade-udf": {"colonnade-budget"},
    "colonnade-client": {"colonnade-wire", "colonnade-tcp", "colonnade-login", "colonnade-sql"},
    "colonnade-adbc": {"colonnade-features", "colonnade-sql", "colonnade-client"},
    "colonnade-duckdb-api": set[str](),
    "colonnade-duckdb-vectors": {"colonnade-duckdb-api"},
    "colonnade-interop": {"colonnade-client", "colonnade-duckdb-vectors"},
    "colonnade-python": {
        "colonnade-features",
        "colonnade-sql",
        "colonnade-client",
        "colonnade-duckdb-vectors",
        "colonnade-interop",
    },
    "colonnade-server": {"colonnade-budget", "colonnade-wire", "colonnade-tcp", "colonnade-login", "colonnade-sql"},
    "colonnade-duckdb": {"colonnade-sql", "colonnade-server"},
    "colonnade-bridge": {
        "colonnade-features",
        "colonnade-sql",
        "colonnade-client",
        "colonnade-duckdb-api",
        "colonnade-duckdb-vectors",
        "colonnade-interop",
        "colonnade-udf",
        "colonnade-server",
        "colonnade-duckdb",
    },
    "colonnade-bench": {"colonnade-wire"},
    "colonnade-shaper": set[str](),
    "colonnade-encoder": {"colonnade-wire"},
}

# What must not come in, however deep. Wire is linked into PostgreSQL backends: no I/O, no threads of its own, no
# foreign format. Client and server know no Python and no async stack.
NEVER = {
    "colonnade-wire": {"pyo3", "tokio", "mio", "socket2", "rayon", "arrow-ipc", "parquet"},
    "colonnade-login": {"pyo3", "tokio", "mio", "socket2", "rustls"},
    "colonnade-udf": {"pyo3", "tokio", "mio", "arrow-array"},
    "colonnade-client": {"pyo3", "tokio", "mio"},
    "colonnade-adbc": {"pyo3", "tokio", "mio"},
    "colonnade-duckdb-vectors": {"pyo3", "tokio", "mio"},
    "colonnade-server": {"pyo3", "tokio", "mio"},
    "colonnade-duckdb": {"pyo3", "tokio", "mio"},
    "colonnade-encoder": {"pyo3", "tokio", "mio", "socket2", "rayon"},
}

PACKAGES = {"colonnade": ROOT / "python/colonnade", "colonnade_serve": ROOT / "serve/colonnade_serve"}

# Each part of a Python package, which is a subpackage or a module at its top, and the parts above it that its modules
# may import; "" is the package itself. `_core` is the stub of the extension module. Parts of another package have its
# name in front.
CLIENT_PARTS = {
    "_system": set[str](),
    "_options": set[str](),
    "_libraries": {"_system"},
    "_core": {"_options"},
    "_secrets": set[str](),
    "_errors": {"_core", "_secrets"},
    "_files": {"_system", "_errors"},
    "_sources": {"_system", "_options", "_libraries", "_core", "_secrets", "_errors"},
    "_frames": {"_system", "_options", "_libraries", "_core", "_errors", "_files"},
    "_rows": {"_sources", "_options", "_libraries", "_core", "_secrets", "_errors", "_frames"},
    "_connection": {"_options", "_libraries", "_core", "_sources", "_frames", "_rows"},
    "_read": {"_options", "_libraries", "_core", "_errors", "_sources", "_frames", "_connection"},
    "_write": {"_options", "_errors", "_rows", "_connection"},
    "_lazy": {"_options", "_libraries", "_core", "_errors", "_sources", "_frames", "_connection", "_read"},
    "_plan": {"_options", "_libraries", "_core", "_errors", "_sources", "_frames", "_connection", "_read", "_lazy"},
    "dbapi": {"_options", "_libraries", "_core", "_errors", "_sources", "_frames"},
    "": {"_options", "_core", "_errors", "_frames", "_rows", "_connection", "_read", "_write", "_lazy", "_plan"},
    "aio": {"_options", "_errors", "_sources", "_frames", "_rows", "_connection", "_read"},
    "distributed": {"_options", "_libraries", "_errors", "_frames", "_connection", "_plan"},
    "ml": {"_libraries"},
    "_cli": {
        "_system",
        "_options",
        "_libraries",
        "_core",
        "_secrets",
        "_errors",
        "_files",
        "_sources",
        "_frames",
        "_rows",
        "_connection",
        "_read",
        "_write",
        "",
    },
    "__main__": {"_cli"},
}
SERVER_PARTS = {
    "": set[str](),
    "_udf": set[str](),
    "_core": {"_serve", "colonnade._core"},
    "_duckdb": {"_core", "colonnade._core", "colonnade._sources"},
    "_udf_tools": {
        *("_core", "_duckdb", "_udf"),
        *("colonnade._libraries", "colonnade._errors", "colonnade._files", "colonnade._connection"),
    },
    "ml": {"colonnade._libraries", "colonnade._errors", "colonnade._connection"},
    # `_udf` for functions in the server's process.
    "_serve": {
        *("_core", "_duckdb", "_udf"),
        *("colonnade._options", "colonnade._core", "colonnade._secrets", "colonnade._sources"),
    },
    "_cli": {
        *("_core", "_duckdb", "_udf", "_udf_tools", "_serve", "ml"),
        *("colonnade", "colonnade._cli", "colonnade._errors", "colonnade._files", "colonnade._options"),
        *("colonnade._secrets", "colonnade._connection", "colonnade._libraries"),
    },
}


def full(package: str, part: str) -> str:
    """The name of a part with its package's."""
    if part.partition(".")[0] in PACKAGES:
        return part
    return f"{package}.{part}" if part else package


PARTS = {
    full(package, part): {full(package, other) for other in may_know}
    for package, parts in (("colonnade", CLIENT_PARTS), ("colonnade_serve", SERVER_PARTS))
    for part, may_know in parts.items()
}


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    command = ["cargo", "metadata", "--format-version=1", "--all-features", "--locked"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def reached(metadata: dict[str, Any], crate: str) -> set[str]:
    """The crates that end up in a build of `crate`: its normal and build dependencies, not those of its tests."""
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    below = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    todo = [next(id_ for id_, name in names.items() if name == crate)]
    seen: set[str] = set()
    while todo:
        for id_ in below[todo.pop()]:
            if id_ not in seen:
                seen.add(id_)
                todo.append(id_)
    return {names[id_] for id_ in seen}


def test_every_crate_has_its_place(metadata: dict[str, Any]) -> None:
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    assert {names[id_] for id_ in metadata["workspace_members"]} == set(MAY_KNOW)


@pytest.mark.parametrize("crate", MAY_KNOW)
def test_a_crate_knows_only_its_lower_neighbours(metadata: dict[str, Any], crate: str) -> None:
    declared = next(package["dependencies"] for package in metadata["packages"] if package["name"] == crate)
    known = {dependency["name"] for dependency in declared if dependency["name"] in MAY_KNOW}
    assert known <= MAY_KNOW[crate]


@pytest.mark.parametrize("crate", ["colonnade-sql", "colonnade-budget"])
def test_some_have_no_dependencies(metadata: dict[str, Any], crate: str) -> None:
    assert reached(metadata, crate) == set()


@pytest.mark.parametrize("crate", NEVER)
def test_what_must_not_come_in_does_not(metadata: dict[str, Any], crate: str) -> None:
    assert not reached(metadata, crate) & NEVER[crate]


def modules() -> dict[str, Path]:
    """The files of the Python packages by the names of their modules."""
    files = {
        path.relative_to(folder.parent): path
        for folder in PACKAGES.values()
        for kind in ("*.py", "*.pyi")
        for path in folder.rglob(kind)
    }
    return {".".join(name.with_suffix("").parts).removesuffix(".__init__"): path for name, path in files.items()}


def imported(module: str) -> set[str]:
    """The modules of the packages that one of them imports, wherever it does."""
    known = modules()
    package = module if known[module].name == "__init__.py" else module.rpartition(".")[0]
    found = set[str]()
    for node in ast.walk(ast.parse(known[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            # A name is a module, or is in one.
            found |= {name if name in known else base for name in (f"{base}.{name.name}" for name in node.names)}
    return found & known.keys()


def part(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_every_part_of_the_packages_has_its_place() -> None:
    assert {part(module) for module in modules()} == set(PARTS)


@pytest.mark.parametrize("package", PACKAGES)
def test_parts_know_those_above(package: str) -> None:
    above = set[str]()
    for name, may_know in PARTS.items():
        known = {other for other in may_know if other.partition(".")[0] == package}
        # The stub of an extension module names the options that it takes.
        if name.partition(".")[0] == package and name != "colonnade_serve._core":
            assert known <= above, name
        above.add(name)


@pytest.mark.parametrize("module", sorted(modules()))
def test_a_module_of_the_packages_knows_only_the_parts_above(module: str) -> None:
    others = {part(name) for name in imported(module)} - {part(module)}
    # `ml` gives the public names of another package's.
    assert others <= PARTS[part(module)] | ({"colonnade_serve.ml"} if module == "colonnade.ml" else set())


def test_what_stands_in_no_subpackage_is_little() -> None:
    for folder in PACKAGES.values():
        assert len([path for path in folder.iterdir() if path.suffix in (".py", ".pyi")]) <= 9


def test_the_program_of_function_processes_needs_only_numpy() -> None:
    """Another interpreter may run it. Only what makes arrays of pyarrow imports pyarrow."""
    for path in sorted((PACKAGES["colonnade_serve"] / "_udf").glob("*.py")):
        tree = ast.parse(path.read_text())
        names = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
        needed = {name.partition(".")[0] for name in names | {node.module or "" for node in froms}}
        others = needed - sys.stdlib_module_names
        assert others <= ({"numpy", "pyarrow"} if path.name.startswith("arrow_") else {"numpy"}), path.name


def test_the_map_has_every_crate_and_package(metadata: dict[str, Any]) -> None:
    rows = re.findall(r"^\| `([^`]+)/` \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    crates = {Path(package["manifest_path"]).parent for package in metadata["packages"] if package["name"] in MAY_KNOW}
    folders = {crate.relative_to(ROOT).as_posix() for crate in crates}
    # What is in `bench/` and `pg/` has one row.
    known = {"bench" if name.startswith("bench/") else "pg" if name.startswith("pg/") else name for name in folders}
    packages = [path.parent.name for folder in PACKAGES.values() for path in folder.glob("*/__init__.py")]
    assert sorted(rows) == sorted([*known, *packages])


def test_unsafe_code_is_where_the_table_says(metadata: dict[str, Any]) -> None:
    table = (ROOT / "docs/contributing/unsafe.md").read_text()
    places = [
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall("`([^`]+)`", row.split("|")[1])
    ]
    folders = [
        Path(package["manifest_path"]).parent
        for package in metadata["packages"]
        if package["name"] in MAY_KNOW.keys() - {"colonnade-bench", "colonnade-shaper"}
    ]
    files = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (folder / "src").rglob("*.rs")
        if re.search(r"unsafe (\{|fn |impl |extern )", path.read_text()) and "test" not in path.name
    }
    assert len(files) > 30
    assert [file for file in sorted(files) if not file.startswith(tuple(places))] == []
    assert [place for place in places if not any(file.startswith(place) for file in files)] == []


def test_the_server_does_not_name_its_engine() -> None:
    files = sorted((ROOT / "serve/protocol/src").rglob("*.rs"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    # A comment may say whose behaviour is the reason for something.
    named = [line for line in lines if "duckdb" in line.partition("//")[0].lower()]
    assert len(files) > 80
    assert named == []
