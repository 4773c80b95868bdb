"""Tools in Python: `make test-tools`, which makes their environment. Each has its own source in tests/tools/python.
COLONNADE_TOOLS names the environment's interpreter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.differences import check
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "python"
SOURCES = sorted(HERE.glob("with_*.py"))

#: Tests that fail on the server, by tool, and why. The output has these words.
DIFFERENCES: dict[str, dict[str, str]] = {
    "dlt": {"test_replaces_by_each_strategy": 'syntax error at or near "SCHEMA"'},
    "tortoise": {
        # A row to which another one refers, with an unchanged value of a unique column.
        "test_updates_and_deletes": "still referenced by a foreign key",
        "test_saves_whole_rows": "still referenced by a foreign key",
        "test_migrates_up_again_on_and_down": "there are entries that depend on it",
    },
}


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
        # Its status says that a test has failed; the shell's does not.
        command: list[str | Path] = ["sh", "-c", '"$@" || true', "sh", python, source]
        output = programs.run(command, HERE, SCRATCH=str(tmp_path), **quiet, **environment)
    assert " passed\n" in output, output
    known = DIFFERENCES.get(source.stem.removeprefix("with_"), {}) if which == "serve" else {}
    check(output, r"^(test_\w+) FAILED$", known)
