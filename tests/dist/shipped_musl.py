"""The wheels for musl in a Python that is built with it (`tests/testbed/musl.py`). The servers are this machine's.

adbc-driver-manager has no wheel for musl, so the ADBC driver is only loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import colonnade
import pyarrow as pa
import pytest

from tests.dist.shipped import DIST, VERSION, orders
from tests.dist.shipped_aarch64 import COLUMNS, COMPRESSIONS, uri_of
from tests.testbed import musl
from tests.testbed.serving import Server, own_server

PACKAGE = DIST / "musl-x86_64" / f"colonnade-{VERSION}-cp311-abi3-musllinux_1_2_x86_64.whl"
DRIVER = DIST / "musl-x86_64" / f"adbc_driver_colonnade-{VERSION}-py3-none-musllinux_1_2_x86_64.whl"
#: Imports the extension module, which loads all names that it needs.
PROGRAM = "import colonnade, colonnade._core, sys; print(colonnade.__version__, sys.implementation._multiarch)"

server = pytest.fixture(own_server, scope="module")


class OnMusl:
    """A Python with the wheels and pyarrow."""

    def __init__(self, packages: Path) -> None:
        self.command = musl.interpreter()
        self.packages = packages
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--target", packages]
        pip += [
            "--only-binary=:all:",
            "--implementation=cp",
            "--python-version=3.11",
            "--platform=musllinux_1_2_x86_64",
        ]
        subprocess.run([*pip, f"{PACKAGE}[pyarrow]"], check=True, timeout=600)
        subprocess.run([*pip, "--no-deps", DRIVER], check=True, timeout=600)

    def run(self, program: str, *arguments: object, command: list[str] | None = None) -> str:
        """Runs a program. Returns what it wrote; a failure shows it."""
        done = subprocess.run(
            [*(command or self.command), "-c", program, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(self.packages)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def on_musl(tmp_path_factory: pytest.TempPathFactory) -> OnMusl:
    return OnMusl(tmp_path_factory.mktemp("packages"))


def test_the_c_library_is_musl(on_musl: OnMusl) -> None:
    assert on_musl.run(PROGRAM).split() == [VERSION, "x86_64-linux-musl"]


def test_the_oldest_musl_has_all_names(on_musl: OnMusl) -> None:
    program = f"{PROGRAM}; colonnade.connect('sqlite:///' + sys.argv[1]).close()"
    assert VERSION in on_musl.run(program, ":memory:", command=[str(musl.OLDEST_LOADER), on_musl.command[1]])


def test_sqlite(on_musl: OnMusl, tmp_path: Path) -> None:
    program = """
import colonnade, sys
table = colonnade.read_sql(sys.argv[1], "select id, name, id / 8.0 as eighth from orders", return_type="arrow")
assert table.to_pydict() == {
    "id": list(range(1, 1001)),
    "name": [f"customer {i}" for i in range(1, 1001)],
    "eighth": [i / 8 for i in range(1, 1001)],
}
"""
    on_musl.run(program, f"sqlite:///{orders(tmp_path / 'a.db')}")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_result_of_the_server(on_musl: OnMusl, server: Server, tmp_path: Path, compression: str) -> None:
    """What is read there equals what is read here, in each way to encode it."""
    program = """
import colonnade, pyarrow, sys
uri, query, compression, file = sys.argv[1:]
with colonnade.connect(uri) as connection:
    table = connection.query(query, compression=compression).to_arrow()
with pyarrow.ipc.new_file(file, table.schema) as writer:
    writer.write_table(table)
"""
    file = tmp_path / "there.arrow"
    on_musl.run(program, uri_of(server), COLUMNS, compression, file)
    with colonnade.connect(uri_of(server)) as connection:
        here = connection.query(COLUMNS, compression="plain").to_arrow()
    with pa.memory_map(str(file)) as opened:
        there = pa.ipc.open_file(opened).read_all()
    assert here.num_rows == 60_000
    assert there.equals(here)


def test_rows_that_are_written(on_musl: OnMusl, server: Server) -> None:
    program = """
import colonnade, sys
with colonnade.connect(sys.argv[1]) as connection:
    table = connection.query(sys.argv[2]).to_arrow()
    assert colonnade.write_sql(table, connection, "written").rows == 60_000
"""
    on_musl.run(program, uri_of(server), COLUMNS)
    with colonnade.connect(uri_of(server)) as connection:
        found = connection.query(f"select count(*) as n from (({COLUMNS}) intersect (from written))").to_arrow()
    assert found["n"].to_pylist() == [60_000]


def test_the_adbc_driver_is_loaded(on_musl: OnMusl) -> None:
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
