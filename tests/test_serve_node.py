"""node-postgres, and what reads and copies with it, against `colonnade serve`: tests/clients/node/pg.test.mjs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import foreign
import pytest

HERE = foreign.CLIENTS / "node"
SOURCE = HERE / "pg.test.mjs"


@pytest.fixture(scope="module")
def node() -> str:
    """The program, with what package-lock.json names installed."""
    node, npm = foreign.program("node"), foreign.program("npm")
    lock, stamp = HERE / "package-lock.json", HERE / "node_modules" / ".colonnade"
    if not stamp.exists() or stamp.read_text() != lock.read_text():
        foreign.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], HERE)
        stamp.write_text(lock.read_text())
    return node


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, dict[str, str]]]:
    with foreign.places(tmp_path_factory.mktemp("node")) as places:
        yield places


@pytest.mark.parametrize("name", foreign.names(SOURCE, r"^test\('([\w ,]+)'"))
def test_node_postgres(node: str, places: dict[bool, dict[str, str]], name: str) -> None:
    command: list[str | Path] = [node, "--test-reporter=tap", f"--test-name-pattern=^{name}$", SOURCE]
    output = foreign.run(command, HERE, **places[foreign.SECURE in name])
    assert "\n# pass 1\n" in output, output
