"""node-postgres, what reads and copies with it, Sequelize and Knex, against `colonnade serve`: tests/clients/node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import foreign
from tests.support import programs

HERE = foreign.CLIENTS / "node"
SOURCES = sorted(HERE.glob("*.test.mjs"))


@pytest.fixture(scope="module")
def node() -> str:
    """The program, with what package-lock.json names installed."""
    node, npm = programs.program("node"), programs.program("npm")
    lock, stamp = HERE / "package-lock.json", HERE / "node_modules" / ".colonnade"
    if not stamp.exists() or stamp.read_text() != lock.read_text():
        programs.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], HERE)
        stamp.write_text(lock.read_text())
    return node


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, dict[str, str]]]:
    with foreign.places(tmp_path_factory.mktemp("node")) as places:
        yield places


TESTS = [(source, name) for source in SOURCES for name in programs.names(source, r"^test\('([\w ,]+)'")]


@pytest.mark.parametrize(("source", "name"), TESTS, ids=[name for _, name in TESTS])
def test_node_clients(node: str, places: dict[bool, dict[str, str]], source: Path, name: str) -> None:
    command: list[str | Path] = [node, "--test-reporter=tap", f"--test-name-pattern=^{name}$", source]
    output = programs.run(command, HERE, **places[foreign.SECURE in name])
    assert "\n# pass 1\n" in output, output
