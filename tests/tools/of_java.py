"""Tools for Java: `make test-tools`. Each has its own source in tests/tools/java, which runs in parts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "java"
SOURCES = sorted(HERE.glob("With*.java"))
#: The programs with a `main`; `WithHibernate` has parts in `WithHibernateQueries`, too.
TOOLS = [source.stem for source in SOURCES if "void main(" in source.read_text()]
PARTS = [
    (next(tool for tool in TOOLS if source.stem.startswith(tool)), part)
    for source in SOURCES
    for part in programs.names(source, r'Parts\.part\("(.+?)"')
]

#: Parts that fail on the server, by tool, and why. Each error has these words.
DIFFERENCES = {
    ("WithLiquibase", "generates a changelog"): "pg_identify_object does not exist",
    ("WithLiquibase", "adds a foreign key"): "FOREIGN KEY constraints cannot use CASCADE",
    # DuckDB stores no lengths of texts.
    ("WithHibernate", "has nothing to update then"): "set data type varchar(31)",
    ("WithHibernate", "locks a row"): "row locks (FOR UPDATE, FOR SHARE) are not supported",
    ("WithJooq", "upserts a row that others refer to"): "still referenced by a foreign key",
    ("WithJooq", "changes a unique value of a row that others refer to"): "still referenced by a foreign key",
    # The savepoint that jOOQ makes.
    ("WithJooq", "goes back within a transaction"): "expected 1, not 0",
    ("WithJooq", "queries: nested rows keep their digits"): "expected [10.50, 2.25, 5.00], not [10.5, 2.25, 5.0]",
    ("WithJooq", "queries: aggregates of JSON"): "expected {11:1,12:1,13:2}, not {",
    ("WithJooq", "queries: pages with ties"): 'syntax error at or near "with"',
    ("WithJooq", "queries: locks rows"): "row locks (FOR UPDATE, FOR SHARE) are not supported",
}


@pytest.fixture(scope="module")
def classpath(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pom.xml names, from Maven's repository by way of the user's own, and the programs, compiled."""
    directory = tmp_path_factory.mktemp("java")
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    programs.run([programs.program("mvn"), "--quiet", "--batch-mode", "--file", HERE / "pom.xml", *goal])
    path = f"{directory}{os.sep}*{os.pathsep}{directory}"
    javac = programs.program("javac")
    programs.run([javac, "-encoding", "UTF-8", "-cp", path, "-d", directory, *sorted(HERE.glob("*.java"))])
    return path


@pytest.fixture(scope="module")
def outcomes(
    classpath: str,
    postgresql: Cluster,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, str], dict[str, str]]:
    """What each part of a program printed, in a place. Each program runs once in each."""

    @cache
    def run(tool: str, which: str) -> dict[str, str]:
        # With no more of a compiler than a short program is worth.
        command = [programs.program("java"), "-XX:TieredStopAtLevel=1", "-cp", classpath, tool, HERE]
        directory = tmp_path_factory.mktemp(tool)
        with place(which, directory, postgresql) as environment:
            output = programs.run(command, directory, **environment)
        _, *said = re.split(r"^begins\t(.+)\n", output, flags=re.MULTILINE)
        return dict(zip(said[::2], said[1::2], strict=True))

    return run


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize(("tool", "part"), PARTS, ids=[f"{tool}: {part}" for tool, part in PARTS])
def test_java_tools(outcomes: Callable[[str, str], dict[str, str]], tool: str, part: str, which: str) -> None:
    output = outcomes(tool, which)[part]
    passed = f"passed\t{part}\n" in output
    if which == "serve" and (reason := DIFFERENCES.get((tool, part))):
        assert not passed, "it passes now: it is no difference any more"
        assert reason in output, output
    else:
        assert passed, output
