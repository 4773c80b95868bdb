"""Tests of the client in the Python for Windows with the shipped wheels, without those in `windows_skips.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dist.windows_wheels import with_wheels
from tests.testbed import remote, wine

FOLDERS = ("sqlite", "mysql", "postgres", "writes", "sources", "drop_in", "destinations")
#: Tests that name no encoding of files mean UTF-8. The package names it (tests/repository/test_systems_of_python.py).
VARIABLES = {"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
#: Seconds of a test, and of a folder.
TIMEOUT, FOLDER_TIMEOUT = 300, 7200


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> wine.Windows:
    return with_wheels(tmp_path_factory.mktemp("packages"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_tests_of_a_folder(windows: wine.Windows, folder: str, tmp_path: Path) -> None:
    driver = windows.packages[0] / "adbc_driver_colonnade/adbc_driver_colonnade.dll"
    options = ["-p", "tests.dist.windows_plugin", "-p", "no:cacheprovider", "-q", "--tb=short", f"--timeout={TIMEOUT}"]
    # On Linux the tests find sockets and files that stay open.
    for leak in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
        options += ["-W", f"ignore::{leak}"]
    # Below a path that Linux has too.
    options += [f"--basetemp={wine.windows_path(tmp_path / 'base')}", f"tests/{folder}"]
    with remote.Host() as host:
        variables = VARIABLES | host.environment | {"COLONNADE_ADBC_DRIVER": wine.windows_path(driver)}
        windows.run("-m", "pytest", *options, env=variables, timeout=FOLDER_TIMEOUT)
