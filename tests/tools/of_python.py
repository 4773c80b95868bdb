"""Tools in Python: `make test-tools`, which makes their environment. Each has its own source in tests/tools/python.
COLONNADE_TOOLS names the environment's interpreter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "python"
SOURCES = sorted(HERE.glob("with_*.py"))


@pytest.fixture(scope="module")
def python() -> str:
    interpreter = Path(os.environ.get("COLONNADE_TOOLS", HERE.parents[2] / ".venv-tools/bin/python"))
    if not interpreter.exists():
        pytest.skip(f"{interpreter} is not there: make test-tools")
    return str(interpreter)


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("source", SOURCES, ids=[source.stem.removeprefix("with_") for source in SOURCES])
def test_python_tools(python: str, postgresql: Cluster, tmp_path: Path, source: Path, which: str) -> None:  # noqa: F811
    with place(which, tmp_path, postgresql) as environment:
        quiet = {"RUNTIME__DLTHUB_TELEMETRY": "false", "DLT_DATA_DIR": str(tmp_path / "dlt")}
        output = programs.run([python, source], HERE, SCRATCH=str(tmp_path), **quiet, **environment)
    assert " passed\n" in output, output
