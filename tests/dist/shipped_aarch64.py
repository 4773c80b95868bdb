"""The wheels for aarch64 in Debian's Python for this processor, which qemu runs. The servers are this machine's.

qemu does not show how fast something is, and its memory model is this machine's.
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
from tests.testbed import pythons
from tests.testbed.serving import Server, own_server

PLATFORM = "manylinux2014_aarch64.manylinux_2_17_aarch64"
PACKAGE = DIST / "aarch64" / f"colonnade-{VERSION}-cp311-abi3-{PLATFORM}.whl"
DRIVER = DIST / "aarch64" / f"adbc_driver_colonnade-{VERSION}-py3-none-{PLATFORM}.whl"
#: Columns for every layout of the format: integers by ranges and repetitions, floats, text, bits, decimals, lists.
COLUMNS = """
    select i, i % 7 as week, (i * 7919) % 100000 as spread, i / 8.0 as eighth, sqrt(i) as root, i % 3 = 0 as third,
        nullif(i % 10, 3) as some, 'customer ' || i as name, ['low', 'middle', 'high'][1 + i % 3] as size,
        (i / 100)::decimal(12, 2) as price, date '2020-01-01' + (i % 5000)::int as day,
        timestamptz '2020-01-01 00:00:00+00' + to_seconds(i) as moment, [i, i + 1] as pair,
        {'a': i, 'b': 'x' || i} as both
    from range(60000) t(i)
"""
COMPRESSIONS = ("auto", "plain", "light", "light+lz4", "light+zstd-3")

server = pytest.fixture(own_server, scope="module")


class Emulated:
    """A Python with the wheels and pyarrow."""

    def __init__(self, packages: Path) -> None:
        self.command = pythons.emulated()
        self.packages = packages
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--target", packages]
        tags = [f"--platform=manylinux{version}_aarch64" for version in ("_2_28", "_2_17", "2014")]
        python = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", *tags]
        subprocess.run([*pip, *python, f"{PACKAGE}[pyarrow]", f"{DRIVER}[dbapi]"], check=True, timeout=600)

    def run(self, program: str, *arguments: object) -> str:
        """Runs a program. Returns what it wrote; a failure shows it."""
        done = subprocess.run(
            [*self.command, "-c", program, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(self.packages)},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return Emulated(tmp_path_factory.mktemp("packages"))


def uri_of(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/memory"


def test_it_is_the_other_processor(emulated: Emulated) -> None:
    program = "import colonnade, platform; print(colonnade.__version__, platform.machine())"
    assert emulated.run(program).split() == [VERSION, "aarch64"]


def test_sqlite(emulated: Emulated, tmp_path: Path) -> None:
    program = """
import colonnade, sys
table = colonnade.read_sql(sys.argv[1], "select id, name, id / 8.0 as eighth from orders", return_type="arrow")
assert table.to_pydict() == {
    "id": list(range(1, 1001)),
    "name": [f"customer {i}" for i in range(1, 1001)],
    "eighth": [i / 8 for i in range(1, 1001)],
}
"""
    emulated.run(program, f"sqlite:///{orders(tmp_path / 'a.db')}")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_result_of_the_server(emulated: Emulated, server: Server, tmp_path: Path, compression: str) -> None:
    """What is read there equals what is read here, in each way to encode it."""
    program = """
import colonnade, pyarrow.feather, sys
uri, query, compression, file = sys.argv[1:]
with colonnade.connect(uri) as connection:
    table = connection.query(query, compression=compression).to_arrow()
pyarrow.feather.write_feather(table, file, compression="uncompressed")
"""
    file = tmp_path / "there.arrow"
    emulated.run(program, uri_of(server), COLUMNS, compression, file)
    with colonnade.connect(uri_of(server)) as connection:
        here = connection.query(COLUMNS, compression="plain").to_arrow()
    with pa.memory_map(str(file)) as opened:
        there = pa.ipc.open_file(opened).read_all()
    assert here.num_rows == 60_000
    assert there.equals(here)


def test_rows_that_are_written(emulated: Emulated, server: Server) -> None:
    """The encoder of the other processor, read by the server here."""
    program = """
import colonnade, sys
with colonnade.connect(sys.argv[1]) as connection:
    table = connection.query(sys.argv[2]).to_arrow()
    assert colonnade.write_sql(table, connection, "written").rows == 60_000
"""
    emulated.run(program, uri_of(server), COLUMNS)
    with colonnade.connect(uri_of(server)) as connection:
        found = connection.query(f"select count(*) as n from (({COLUMNS}) intersect (from written))").to_arrow()
    assert found["n"].to_pylist() == [60_000]


def test_the_adbc_driver(emulated: Emulated, tmp_path: Path) -> None:
    program = """
import sys
from adbc_driver_colonnade import dbapi
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    assert cursor.execute("select * from orders").fetch_arrow_table().num_rows == 1000
"""
    emulated.run(program, f"sqlite:///{orders(tmp_path / 'a.db')}")
