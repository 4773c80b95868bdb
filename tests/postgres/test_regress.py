"""The extension's own regression tests, `make -C pg installcheck`, on a private server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.testbed import postgres as pg


def test_regression_tests(postgres: pg.Cluster, tmp_path: Path) -> None:
    address = {"PGHOST": str(postgres.directory), "PGPORT": str(postgres.port), "PGUSER": pg.SUPERUSER}
    command = ["make", "-s", "-C", str(pg.ROOT / "pg"), "installcheck", f"PG_CONFIG={pg.pg_config()}"]
    command.append(f"EXTRA_REGRESS_OPTS=--outputdir={tmp_path}")
    done = subprocess.run(command, env=os.environ | address, capture_output=True, text=True, check=False)
    differences = tmp_path / "regression.diffs"
    assert done.returncode == 0, (differences.read_text() if differences.exists() else "") + done.stdout + done.stderr
