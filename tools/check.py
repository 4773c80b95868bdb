"""`make check`: what a change needs before it is committed, in less than a minute for most changes.

    make check                  # what differs from the last commit, or the last commit itself if nothing does
    make check SINCE=HEAD~3     # what has changed since another commit

The packages are built before. This checks formatting, lints and types of what has changed, and runs the tests that
belong to it: those of each changed crate, each changed file of tests, and files of the folders in `TESTS`, the shortest
first, for `SECONDS` by the times of their last run, and for less if a crate was built before. What is left out is
counted. `make test` runs everything.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
#: The folders of tests for each folder, of which the longest that has a file counts.
TESTS = {
    "client/adbc": ["adbc"],
    "client/duckdb_api": ["functions", "serve"],
    "client/duckdb_vectors": ["serve"],
    "client/src/mysql": ["mysql"],
    "client/src/postgres": ["postgres"],
    "client/src/sqlite": ["sqlite"],
    "client/src/write": ["writes"],
    "client": ["sources", "sqlite"],
    "core/sql": ["sql"],
    "core/wire": ["spec"],
    "core": ["sources"],
    "docs": ["repository"],
    "pg": ["postgres"],
    "python/colonnade/_cli": ["command_line"],
    "python/colonnade/_frames": ["destinations"],
    "python/colonnade/_lazy": ["sources"],
    "python/colonnade/_plan": ["plans"],
    "python/colonnade/_rows": ["writes"],
    "python/colonnade/_sources": ["sources"],
    "python/colonnade/_write": ["writes"],
    "python/colonnade/distributed": ["plans"],
    "python": ["sources", "destinations"],
    "serve/colonnade_serve/_udf_tools": ["devudf"],
    "serve/colonnade_serve/_udf": ["functions"],
    "serve/colonnade_serve/ml": ["ml"],
    "serve/udf": ["functions"],
    "serve": ["serve"],
    "spec": ["spec"],
    "tools/release": ["dist"],
}
#: What the tests of these folders may take, and how much less if a crate has changed: the packages were built anew.
SECONDS, BUILDING = 25.0, 15.0
#: Written by tests/conftest.py: the seconds of each file of tests.
TIMES = ROOT / ".pytest_cache/v/colonnade/seconds"


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make check")
    parser.add_argument("--since", help="a commit")
    changed = changed_files(parser.parse_args().since)
    print(f"{len(changed)} changed files", flush=True)
    begin = time.monotonic()
    failed = [name for name, command in steps(changed) if not passes(name, command)]
    print(f"{time.monotonic() - begin:.0f} s; " + (f"failed: {', '.join(failed)}" if failed else "all passed"))
    return 1 if failed else 0


def changed_files(since: str | None) -> list[str]:
    """The files that differ from a commit and still exist."""
    found = _git("diff", "--name-only", since or "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    if not found and since is None:
        found = _git("diff", "--name-only", "HEAD~1")
    return sorted({name for name in found if (ROOT / name).is_file()})


def steps(changed: list[str]) -> list[tuple[str, list[str]]]:
    """The commands, each with a name."""
    found: list[tuple[str, list[str]]] = []
    python = [name for name in changed if name.endswith((".py", ".pyi"))]
    if python:
        found.append(("ruff", [str(BIN / "ruff"), "check", *python]))
        found.append(("formatting", [str(BIN / "ruff"), "format", "--check", *python]))
    if any(name.endswith(".rs") for name in changed):
        found.append(("formatting of Rust", ["cargo", "fmt", "--all", "--check"]))
    packages = [option for crate in changed_crates(changed) for option in ("-p", crate)]
    if packages:
        found.append(
            ("clippy", ["cargo", "clippy", "-q", "--locked", "--all-targets", *packages, "--", "-D", "warnings"])
        )
        found.append(("tests of crates", ["cargo", "test", "-q", "--locked", *packages]))
    typed = [name for name in python if name.startswith(("python/colonnade/", "serve/colonnade_serve/"))]
    if typed:
        found.append(("types", [str(BIN / "pyright"), "--pythonpath", sys.executable, *typed]))
    if tests := chosen_tests(changed):
        found.append(("tests", [sys.executable, "-m", "pytest", "-q", "--timeout=300", *tests]))
    return found


def changed_crates(changed: list[str]) -> list[str]:
    """The crates that have a changed file."""
    rust = [name for name in changed if name.endswith((".rs", ".toml", ".txt", ".sql"))]
    if not rust:
        return []
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    folders = {
        Path(package["manifest_path"]).parent.relative_to(ROOT).as_posix(): package["name"]
        for package in metadata["packages"]
    }
    return sorted({folders[folder] for name in rust if (folder := _longest(folders, name)) is not None})


def chosen_tests(changed: list[str]) -> list[str]:
    """The files of tests that belong to the changed files, and for the rest of their folders what there is time for."""
    own = [name for name in changed if Path(name).name.startswith("test_") and name.endswith(".py")]
    layering = "tests/repository/test_layering.py"
    if any(name.endswith((".py", ".pyi", ".rs")) for name in changed):
        own.append(layering)
    folders = {tests for name in changed if (folder := _longest(TESTS, name)) is not None for tests in TESTS[folder]}
    folders |= {name.split("/")[1] for name in changed if name.startswith("tests/") and name.count("/") > 1}
    times: dict[str, float] = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    stems = {f"test_{Path(name).stem.strip('_')}.py" for name in changed}
    files = [
        path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / "tests" / name).glob("test_*.py")
    ]
    # Those of the same name come first.
    files.sort(key=lambda name: (Path(name).name not in stems, times.get(name, SECONDS)))
    left, chosen = SECONDS - BUILDING * any(name.endswith(".rs") for name in changed), [*own]
    for name in files:
        if name not in chosen and (Path(name).name in stems or times.get(name, SECONDS) <= left):
            left -= times.get(name, SECONDS)
            chosen.append(name)
    if missing := [name for name in files if name not in chosen]:
        print(f"{len(missing)} of {len(files)} files of tests are left out: make test-python PYTEST_ARGS=…", flush=True)
    return chosen


def passes(name: str, command: list[str]) -> bool:
    """Runs a command. Its output is shown if it fails."""
    begin = time.monotonic()
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print(f"  {name}: {'passed' if done.returncode == 0 else 'FAILED'}, {time.monotonic() - begin:.0f} s", flush=True)
    if done.returncode != 0:
        print(done.stdout, flush=True)
    return done.returncode == 0


def _longest(folders: Iterable[str], name: str) -> str | None:
    """The deepest of the folders that a file is in."""
    return max((folder for folder in folders if name.startswith(f"{folder}/")), key=len, default=None)


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
