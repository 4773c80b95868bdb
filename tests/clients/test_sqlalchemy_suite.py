"""SQLAlchemy's own tests of a dialect (tests/clients/sqlalchemy_suite) against `colonnade serve`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.testbed.serving import serve

SUITE = Path(__file__).parent / "sqlalchemy_suite"
#: So many pass at least; fewer would mean that the suite was not found.
TESTS = 250
#: Tests that do not pass, and why; docs/reference/clients.md says so as well.
DIFFERENT = {
    "test_check_constraint": "DuckDB names check constraints itself",
    "test_string_length_reflection": "DuckDB does not keep the length of a VARCHAR",
    "test_reflect_covering_index": "DuckDB's indexes include no other columns",
    "test_float_custom_scale": "NUMERIC alone is DECIMAL(18,3) in DuckDB",
}
TIMEOUT = 900


@pytest.mark.timeout(TIMEOUT)
@pytest.mark.long
def test_the_dialects_own_tests_pass() -> None:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA test_schema")
        uri = f"postgresql+psycopg://tester@{server.host}:{server.port}/test"
        command = [sys.executable, "-B", "-m", "pytest", "--quiet", "--tb=short", "-p", "plugin"]
        command += ["-p", "no:cacheprovider", "-c", "setup.cfg"]
        command += ["--rootdir", str(SUITE), "--confcutdir", str(SUITE), "--dburi", uri, "suite.py"]
        command += ["-k", " and ".join(f"not {name}" for name in DIFFERENT)]
        path = os.pathsep.join([str(SUITE), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": path}
        result = subprocess.run(command, cwd=SUITE, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    found = re.search(r"(\d+) passed", result.stdout)
    assert result.returncode == 0, result.stdout[-20_000:]
    assert found is not None
    assert int(found[1]) >= TESTS
