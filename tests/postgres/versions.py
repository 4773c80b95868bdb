"""Runs the extension's tests on each version of PostgreSQL, and prints a table of what ran.

    python -m tests.postgres.versions --only 17 18

A version has a folder of its own for the server (`testbed.versions`) and for the extension that is built against it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from testbed import postgres, versions

#: All versions that the extension's source supports, except those whose headers no package registry carries.
VERSIONS = (15, 16, 17, 18, 19)
BUILDS = postgres.ROOT / "target/extension"
#: Those of PostgreSQL's flags that its macros need. The others are for the compiler that built the server, and
#: so is what 19's headers know of `typeof`.
FLAGS = "-O2 -g -fno-strict-aliasing -fwrapv -fexcess-precision=standard -Dtypeof_unqual=__typeof__"


@dataclass(frozen=True)
class Outcome:
    """What the tests of one version gave."""

    server: str
    passed: int
    failed: int
    skipped: dict[str, int]
    """The number of tests that were skipped, by reason."""
    seconds: float


def main(arguments: list[str] | None = None) -> int:
    """Runs the tests. Returns the exit status: 1 if a test failed, or if a version had no tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.postgres.versions", description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--processes", type=int, default=1, help="of pytest")
    parser.add_argument("tests", nargs="*", default=["tests/postgres"], help="which tests (default: tests/postgres)")
    given, options = parser.parse_known_args(arguments)
    outcomes = [run(version, [*given.tests, *options], given.processes) for version in given.only]
    print("\n| PostgreSQL | passed | failed | skipped | seconds |\n|---|---|---|---|---|")
    for one in outcomes:
        reasons = "; ".join(f"{count}: {reason}" for reason, count in one.skipped.items())
        print(f"| {one.server} | {one.passed} | {one.failed} | {reasons or 0} | {one.seconds:.0f} |")
    return int(any(one.failed or not one.passed for one in outcomes))


def run(version: int, tests: list[str], processes: int) -> Outcome:
    """Builds the extension against this version, and runs the tests there."""
    config = versions.postgres_config(version)
    name = subprocess.run([config, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"== {name}", flush=True)
    files = build(version, config)
    report = BUILDS / f"postgres-{version}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=600", f"--junitxml={report}", *tests]
    command += [f"--numprocesses={processes}", "--dist=loadfile"] if processes > 1 else []
    environment = os.environ | {"PG_CONFIG": str(config), "COLONNADE_PG_FILES": str(files)}
    subprocess.run(command, cwd=postgres.ROOT, env=environment, check=False)
    return read(report, name.removeprefix("PostgreSQL "))


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


def read(report: Path, server: str) -> Outcome:
    """The numbers in pytest's report, which does not exist if pytest could not begin."""
    if not report.exists():
        return Outcome(server, 0, 1, {}, 0)
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")
    total, skips = int(suite.get("tests", 0)), list(suite.iter("skipped"))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    reasons: dict[str, int] = {}
    for skip in skips:
        reason = skip.get("message", "")
        reasons[reason] = reasons.get(reason, 0) + 1
    return Outcome(server, total - failed - len(skips), failed, reasons, float(suite.get("time", 0)))


if __name__ == "__main__":
    sys.exit(main())
