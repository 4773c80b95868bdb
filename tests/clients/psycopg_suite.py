"""psycopg's own tests, on PostgreSQL and on `colonnade serve`, from a checkout that one has.

    make test-psycopg PSYCOPG=FOLDER        # the folder of psycopg's repository

A test counts if PostgreSQL passes it in the same run. Each group is a file of tests. The tests run with psycopg's own
Python implementation and this machine's libpq.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.testbed import postgres as pg
from tests.testbed.serving import serve

#: Of the tests that PostgreSQL passes, the share that `colonnade serve` has to pass. On 30 November 2026 it was 91 %.
SHARE = 0.9
#: Seconds of a test.
TIMEOUT = 60


def passed(folder: Path, python: Path, dsn: str, report: Path, options: list[str]) -> set[tuple[str, str]]:
    """Runs the tests. Returns those that pass: the file and the name of each."""
    # In one order, without what measures coverage, and with a cache of its own: it has the test that runs.
    command = [python, "-m", "pytest", "-p", "no:randomly", "-p", "no:cov", "-q", "--tb=short"]
    command += [f"--timeout={TIMEOUT}", f"--junitxml={report}", "-o", f"cache_dir={report.with_suffix('')}", *options]
    environment = os.environ | {"PSYCOPG_TEST_DSN": dsn, "PSYCOPG_IMPL": "python", "PYTHONDONTWRITEBYTECODE": "1"}
    # Failures are what is counted, so the status says nothing.
    with report.with_suffix(".log").open("w") as log:
        subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=False)
    cases = ElementTree.parse(report).iter("testcase")
    return {(case.attrib["classname"], case.attrib["name"]) for case in cases if len(case) == 0}


def shown(by_postgres: set[tuple[str, str]], by_serve: set[tuple[str, str]]) -> float:
    """Prints the groups, those with most failures first. Returns the share that passes."""
    both = by_postgres & by_serve
    wanted, found = (Counter(file for file, _ in tests) for tests in (by_postgres, both))
    print(f"{'tests':40} PostgreSQL  serve")
    for file in sorted(wanted, key=lambda file: (found[file] - wanted[file], file)):
        print(f"{file.removeprefix('tests.'):40} {wanted[file]:10} {found[file]:6}")
    share = len(both) / len(by_postgres)
    print(f"{'all':40} {len(by_postgres):10} {len(both):6}  {share:.1%}")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="psycopg's repository")
    parser.add_argument("--python", type=Path, required=True, help="one that has psycopg and its tests' needs")
    parser.add_argument("--reports", type=Path, help="the folder for reports of all tests")
    parser.add_argument("options", nargs="*", help="options for pytest, after --")
    arguments = parser.parse_args()
    if not (arguments.folder / "tests/fix_pq.py").is_file():
        parser.error(f"{arguments.folder} does not have psycopg's tests: give the folder of its repository")
    with tempfile.TemporaryDirectory() as temporary, pg.cluster(pg.stock()) as cluster, serve() as server:
        # pytest runs in psycopg's folder.
        reports = (arguments.reports or Path(temporary)).absolute()
        reports.mkdir(parents=True, exist_ok=True)

        def run(place: str, dsn: str) -> set[tuple[str, str]]:
            return passed(
                arguments.folder, arguments.python.absolute(), dsn, reports / f"{place}.xml", arguments.options
            )

        # Both at once: each takes half an hour, most of it in the tests' own process.
        with ThreadPoolExecutor() as pool:
            by_postgres, by_serve = pool.map(run, ["postgresql", "serve"], [cluster.dsn(), server.dsn])
    if not by_postgres:
        print("no test passed on PostgreSQL", file=sys.stderr)
        return 1
    return int(shown(by_postgres, by_serve) < SHARE)


if __name__ == "__main__":
    sys.exit(main())
