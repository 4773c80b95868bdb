"""The wheels for musl in a Python that is built with it (`tests/testbed/musl.py`).

adbc-driver-manager has no wheel for musl, so the ADBC driver is only loaded.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dist import other_python
from tests.dist.other_python import OtherPython
from tests.dist.shipped import DIST, VERSION
from tests.testbed import musl
from tests.testbed.serving import Server, own_server

PLATFORM = "musllinux_1_2_x86_64"
PACKAGE = DIST / "musl-x86_64" / f"colonnade-{VERSION}-cp311-abi3-{PLATFORM}.whl"
DRIVER = DIST / "musl-x86_64" / f"adbc_driver_colonnade-{VERSION}-py3-none-{PLATFORM}.whl"
#: Imports the extension module, which loads all names that it needs.
PROGRAM = "import colonnade, colonnade._core, sys; print(colonnade.__version__, sys.implementation._multiarch)"

server = pytest.fixture(own_server, scope="module")


@pytest.fixture(scope="module")
def on_musl(tmp_path_factory: pytest.TempPathFactory) -> OtherPython:
    python = OtherPython(tuple(musl.interpreter()), tmp_path_factory.mktemp("packages"), [PLATFORM])
    python.install(f"{PACKAGE}[pyarrow]")
    python.install("--no-deps", DRIVER)
    return python


def test_the_c_library_is_musl(on_musl: OtherPython) -> None:
    assert on_musl.run(PROGRAM).split() == [VERSION, "x86_64-linux-musl"]


def test_the_oldest_musl_has_all_names(on_musl: OtherPython) -> None:
    program = f"{PROGRAM}; colonnade.connect('sqlite:///' + sys.argv[1]).close()"
    assert VERSION in on_musl.run(program, ":memory:", command=(str(musl.OLDEST_LOADER), on_musl.command[1]))


def test_sqlite(on_musl: OtherPython, tmp_path: Path) -> None:
    other_python.reads_sqlite(on_musl, tmp_path)


@pytest.mark.parametrize("compression", other_python.COMPRESSIONS)
def test_a_result_of_the_server(on_musl: OtherPython, server: Server, tmp_path: Path, compression: str) -> None:
    other_python.reads_the_same(on_musl, server, tmp_path, compression)


def test_rows_that_are_written(on_musl: OtherPython, server: Server) -> None:
    other_python.writes(on_musl, server)


def test_the_adbc_driver_is_loaded(on_musl: OtherPython) -> None:
    """Python loads it as a module, and finds that it is none."""
    program = """
import importlib.machinery, importlib.util, pathlib, sys
[driver] = pathlib.Path(sys.argv[1]).glob("adbc_driver_colonnade/*.so")
loader = importlib.machinery.ExtensionFileLoader("driver", str(driver))
try:
    importlib.util.module_from_spec(importlib.machinery.ModuleSpec("driver", loader, origin=str(driver)))
except ImportError as error:
    print(error)
"""
    assert "does not define module export function" in on_musl.run(program, on_musl.packages)
