"""Runs the extension's tests on each version of PostgreSQL, and prints a table of what ran.

    python -m tests.postgres.versions --only 17 18

A version has a folder of its own for the server (`tests.testbed.versions`) and for the extension built against it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import outcomes
from tests.testbed import postgres, versions

#: All versions that the extension's source supports, except those whose headers no package registry carries.
VERSIONS = (15, 16, 17, 18, 19)
BUILDS = postgres.ROOT / "target/extension"
#: Those of PostgreSQL's flags that its macros need. The others are for the compiler that built the server, and
#: so is what 19's headers know of `typeof`.
FLAGS = "-O2 -g -fno-strict-aliasing -fwrapv -fexcess-precision=standard -Dtypeof_unqual=__typeof__"


def main(arguments: list[str] | None = None) -> int:
    """Runs the tests. Returns the exit status: 1 if a test failed, or if a version had no tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.postgres.versions", description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--processes", type=int, default=1, help="of pytest")
    parser.add_argument("tests", nargs="*", default=["tests/postgres"], help="which tests (default: tests/postgres)")
    given, options = parser.parse_known_args(arguments)
    found = [run(version, [*given.tests, *options], given.processes) for version in given.only]
    print(f"\n{outcomes.table('PostgreSQL', found)}")
    return int(not all(one.is_good for one in found))


def run(version: int, tests: list[str], processes: int) -> outcomes.Outcome:
    """Builds the extension against this version, and runs the tests there."""
    config = versions.postgres_config(version)
    name = subprocess.run([config, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"== {name}", flush=True)
    files = build(version, config)
    report = BUILDS / f"postgres-{version}.xml"
    variables = {"PG_CONFIG": str(config), "COLONNADE_PG_FILES": str(files)}
    return outcomes.run(name.removeprefix("PostgreSQL "), report, tests, processes, variables)


def build(version: int, config: Path) -> Path:
    """Builds the extension in a folder of its own. Returns the folder in which it is installed."""
    folder = BUILDS / f"postgres-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    # Not the objects and the library, which are for another version.
    built = shutil.ignore_patterns("*.o", "*.so", "encoder", "results")
    shutil.copytree(postgres.ROOT / "pg", folder / "pg", ignore=built)
    files = folder / "files"
    make = ["make", "-s", "-C", folder / "pg", f"ROOT={postgres.ROOT}", f"PG_CONFIG={config}", f"DESTDIR={files}"]
    subprocess.run([*make, f"CFLAGS={FLAGS}", "install"], check=True)
    return files


if __name__ == "__main__":
    sys.exit(main())
