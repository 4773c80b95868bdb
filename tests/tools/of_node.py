"""Tools for Node.js: `make test-tools`. Each has its own source in tests/tools/node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.differences import check
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "node"
SOURCES = sorted(HERE.glob("*.test.mjs"))

#: Tests that fail on the server, by tool, and why. The output has these words.
DIFFERENCES: dict[str, dict[str, str]] = {
    # An identity is a default by a sequence in DuckDB, as that of serial.
    "drizzle": {"pushes the schema, twice": "No changes detected"},
    "postgresjs": {
        "upserts": "still referenced by a foreign key",
        "selects by helpers and fragments": "Expected values to be strictly deep-equal",
        "updates and deletes": "still referenced by a foreign key",
        "commits, rolls back, saves and pipelines": "Expected values to be strictly",
    },
}


@pytest.fixture(scope="module")
def node() -> str:
    """Node.js, with what package-lock.json names installed. That is also a Node.js, because MikroORM and Kysely need a
    newer one than Debian's."""
    npm = programs.program("npm")
    lock, stamp = HERE / "package-lock.json", HERE / "node_modules" / ".colonnade"
    if not stamp.exists() or stamp.read_text() != lock.read_text():
        programs.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], HERE)
        stamp.write_text(lock.read_text())
    (node,) = HERE.glob("node_modules/node-linux-*/bin/node")
    return str(node)


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("source", SOURCES, ids=[source.name.partition(".")[0] for source in SOURCES])
def test_node_tools(node: str, postgresql: Cluster, tmp_path: Path, source: Path, which: str) -> None:  # noqa: F811
    # Its status says that a test has failed; the shell's does not.
    command: list[str | Path] = ["sh", "-c", '"$@" || true', "sh", node, "--test-reporter=spec", source]
    with place(which, tmp_path, postgresql) as environment:
        output = programs.run(command, HERE, SCRATCH=str(tmp_path), **environment)
    assert re.search(r"^ℹ pass [1-9]", output, re.MULTILINE), output
    known = DIFFERENCES.get(source.name.partition(".")[0], {}) if which == "serve" else {}
    check(output, r"^✖ (.+) \([\d.]+ms\)$", known)
