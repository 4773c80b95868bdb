"""The wheels for aarch64 in Debian's Python for this processor, which qemu runs.

qemu does not show how fast something is, and its memory model is this machine's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dist import other_python
from tests.dist.other_python import OtherPython
from tests.dist.shipped import DIST, VERSION, orders
from tests.testbed import pythons
from tests.testbed.serving import Server, own_server

PLATFORM = "manylinux2014_aarch64.manylinux_2_17_aarch64"
PACKAGE = DIST / "aarch64" / f"colonnade-{VERSION}-cp311-abi3-{PLATFORM}.whl"
DRIVER = DIST / "aarch64" / f"adbc_driver_colonnade-{VERSION}-py3-none-{PLATFORM}.whl"

server = pytest.fixture(own_server, scope="module")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> OtherPython:
    platforms = [f"manylinux{version}_aarch64" for version in ("_2_28", "_2_17", "2014")]
    python = OtherPython(tuple(pythons.emulated()), tmp_path_factory.mktemp("packages"), platforms)
    python.install(f"{PACKAGE}[pyarrow]", f"{DRIVER}[dbapi]")
    return python


def test_it_is_the_other_processor(emulated: OtherPython) -> None:
    program = "import colonnade, platform; print(colonnade.__version__, platform.machine())"
    assert emulated.run(program).split() == [VERSION, "aarch64"]


def test_sqlite(emulated: OtherPython, tmp_path: Path) -> None:
    other_python.reads_sqlite(emulated, tmp_path)


@pytest.mark.parametrize("compression", other_python.COMPRESSIONS)
def test_a_result_of_the_server(emulated: OtherPython, server: Server, tmp_path: Path, compression: str) -> None:
    other_python.reads_the_same(emulated, server, tmp_path, compression)


def test_rows_that_are_written(emulated: OtherPython, server: Server) -> None:
    other_python.writes(emulated, server)


def test_the_adbc_driver(emulated: OtherPython, tmp_path: Path) -> None:
    program = """
import sys
from adbc_driver_colonnade import dbapi
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    assert cursor.execute("select * from orders").fetch_arrow_table().num_rows == 1000
"""
    emulated.run(program, f"sqlite:///{orders(tmp_path / 'a.db')}")
