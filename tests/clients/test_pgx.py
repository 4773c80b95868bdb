"""pgx, Go's driver, against `colonnade serve`: tests/clients/go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import foreign
from tests.support import programs

HERE = foreign.CLIENTS / "go"
SOURCES = sorted(HERE.glob("*_test.go"))


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of all tests."""
    path = tmp_path_factory.mktemp("go") / "pgx.test"
    programs.run([programs.program("go"), "test", "-c", "-o", path], HERE)
    return path


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, dict[str, str]]]:
    with foreign.places(tmp_path_factory.mktemp("pgx")) as places:
        yield places


@pytest.mark.parametrize("name", [name for source in SOURCES for name in programs.names(source, r"^func (Test\w+)\(")])
def test_pgx(tests: Path, places: dict[bool, dict[str, str]], name: str) -> None:
    output = programs.run([tests, "-test.v", f"-test.run=^{name}$"], HERE, **places[foreign.SECURE in name])
    assert f"--- PASS: {name}" in output, output
