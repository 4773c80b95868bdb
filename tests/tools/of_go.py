"""Tools for Go: `make test-tools`. Each has its own sources in tests/tools/go."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "go"
#: How the tests' names begin, after `Test`.
TOOLS = ("GoPg", "Bun")
SOURCES = [source for source in sorted(HERE.glob("*_test.go")) if source.name != "tools_test.go"]
NAMES = [name for source in SOURCES for name in programs.names(source, r"^func (Test\w+)\(")]

REFERRED = "still referenced by a foreign key"
#: Tests that fail on the server, and why. Each output has these words.
DIFFERENCES = {
    "TestBunDropsColumnsOfTablesThatOthersReferTo": "there are entries that depend on it",
    # The savepoint that bun makes.
    "TestBunGoesBackWithinATransaction": "0, and not 1",
    "TestBunMigratesByModels": 'Unrecognized option "owned" for CREATE SEQUENCE',
    "TestBunUpsertsWhatOthersReferTo": REFERRED,
    "TestGoPgUpsertsWhatOthersReferTo": REFERRED,
}


@pytest.fixture(scope="module")
def outcomes(
    postgresql: Cluster,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, str], dict[str, str]]:
    """What each test of a tool printed, in a place. Each tool runs once in each."""
    directory = tmp_path_factory.mktemp("go")
    program = directory / "tools.test"
    programs.run([programs.program("go"), "test", "-c", "-o", program], HERE)

    @cache
    def run(tool: str, which: str) -> dict[str, str]:
        command = [program, "-test.v", f"-test.run=^Test{tool}"]
        with place(which, tmp_path_factory.mktemp(tool), postgresql) as environment:
            # Go's exit status says that a test has failed; the shell's does not.
            output = programs.run(["sh", "-c", '"$@" || true', "sh", *command], directory, **environment)
        _, *said = re.split(r"^=== RUN +(\w+)\n", output, flags=re.MULTILINE)
        return dict(zip(said[::2], said[1::2], strict=True))

    return run


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("name", NAMES)
def test_go_tools(outcomes: Callable[[str, str], dict[str, str]], name: str, which: str) -> None:
    tool = next(tool for tool in TOOLS if name.startswith(f"Test{tool}"))
    output = outcomes(tool, which)[name]
    passed = f"--- PASS: {name} " in output
    if which == "serve" and (reason := DIFFERENCES.get(name)):
        assert not passed, "it passes now: it is no difference any more"
        assert reason in output, output
    else:
        assert passed, output
