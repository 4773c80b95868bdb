"""Tools for Node.js: `make test-tools`. Each has its own source in tests/tools/node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import programs
from tests.testbed.postgres import Cluster
from tests.tools.places import WHICH, place, postgresql  # noqa: F401

HERE = Path(__file__).parent / "node"
SOURCES = sorted(HERE.glob("*.test.mjs"))


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
    with place(which, tmp_path, postgresql) as environment:
        output = programs.run([node, "--test-reporter=spec", source], HERE, SCRATCH=str(tmp_path), **environment)
    assert "\nℹ fail 0\n" in output, output
    assert "\nℹ pass 0\n" not in output, output
