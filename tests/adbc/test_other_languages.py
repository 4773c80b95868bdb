"""The driver by the driver managers of other languages, which find it by its name: tests/adbc/go, tests/adbc/r."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adbc.databases import Database
from tests.support import programs
from tests.support.adbc_driver import installed

HERE = Path(__file__).parent
GO = HERE / "go"
GO_TESTS = programs.names(GO / "driver_test.go", r"^func (Test\w+)\(")


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which driver managers find the driver."""
    return installed(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def go_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of all tests in Go."""
    path = tmp_path_factory.mktemp("go") / "adbc.test"
    programs.run([programs.go_with_cxx(), "test", "-c", "-o", path], GO)
    return path


@pytest.mark.parametrize("name", GO_TESTS)
@pytest.mark.parametrize("server", ["postgresql", "extension"])
def test_go(go_tests: Path, by_name: dict[str, str], server: str, name: str, request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(server)
    command = [go_tests, "-test.v", f"-test.run=^{name}$"]
    output = programs.run(command, GO, COLONNADE_URI=database.uri, **by_name)
    assert f"--- PASS: {name}" in output, output


@pytest.mark.parametrize("server", ["postgresql", "extension"])
def test_r(by_name: dict[str, str], server: str, request: pytest.FixtureRequest) -> None:
    rscript = programs.r_with("adbcdrivermanager")
    database: Database = request.getfixturevalue(server)
    output = programs.run([rscript, HERE / "r/driver.r"], COLONNADE_URI=database.uri, **by_name)
    assert output.endswith("read by R\n")
