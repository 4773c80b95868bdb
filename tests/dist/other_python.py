"""A Python of another processor or C library with the wheels, and what the wheels are used for there.

The servers are this machine's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import colonnade
import pyarrow as pa

from tests.dist.shipped import orders
from tests.testbed.serving import Server

COMPRESSIONS = ("auto", "plain", "light", "light+lz4", "light+zstd-3")
#: Columns for every layout of the format: integers by ranges and repetitions, floats, text, bits, decimals, lists.
COLUMNS = """
    select i, i % 7 as week, (i * 7919) % 100000 as spread, i / 8.0 as eighth, sqrt(i) as root, i % 3 = 0 as third,
        nullif(i % 10, 3) as some, 'customer ' || i as name, ['low', 'middle', 'high'][1 + i % 3] as size,
        (i / 100)::decimal(12, 2) as price, date '2020-01-01' + (i % 5000)::int as day,
        timestamptz '2020-01-01 00:00:00+00' + to_seconds(i) as moment, [i, i + 1] as pair,
        {'a': i, 'b': 'x' || i} as both
    from range(60000) t(i)
"""
SQLITE = """
import colonnade, sys
table = colonnade.read_sql(sys.argv[1], "select id, name, id / 8.0 as eighth from orders", return_type="arrow")
assert table.to_pydict() == {
    "id": list(range(1, 1001)),
    "name": [f"customer {i}" for i in range(1, 1001)],
    "eighth": [i / 8 for i in range(1, 1001)],
}
"""
KEPT = """
import colonnade, pyarrow, sys
uri, query, compression, file = sys.argv[1:]
with colonnade.connect(uri) as connection:
    table = connection.query(query, compression=compression).to_arrow()
with pyarrow.ipc.new_file(file, table.schema) as writer:
    writer.write_table(table)
"""
WRITTEN = """
import colonnade, sys
with colonnade.connect(sys.argv[1]) as connection:
    table = connection.query(sys.argv[2]).to_arrow()
    assert colonnade.write_sql(table, connection, "written").rows == 60_000
"""


@dataclass(frozen=True)
class OtherPython:
    """The interpreter's command, the folder of packages, and the tags of the wheels that it accepts."""

    command: tuple[str, ...]
    packages: Path
    platforms: Iterable[str]

    def install(self, *requirements: str | Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        python = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"]
        tags = [f"--platform={platform}" for platform in self.platforms]
        subprocess.run([*pip, "--target", self.packages, *python, *tags, *requirements], check=True, timeout=600)

    def run(self, program: str, *arguments: object, command: tuple[str, ...] = ()) -> str:
        """Runs a program, also by another command. Returns what it wrote; a failure shows it."""
        done = subprocess.run(
            [*(command or self.command), "-c", program, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(self.packages)},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


def reads_sqlite(python: OtherPython, folder: Path) -> None:
    python.run(SQLITE, f"sqlite:///{orders(folder / 'a.db')}")


def reads_the_same(python: OtherPython, server: Server, folder: Path, compression: str) -> None:
    """What is read there equals what is read here."""
    file = folder / "there.arrow"
    python.run(KEPT, uri_of(server), COLUMNS, compression, file)
    with colonnade.connect(uri_of(server)) as connection:
        here = connection.query(COLUMNS, compression="plain").to_arrow()
    with pa.memory_map(str(file)) as opened:
        there = pa.ipc.open_file(opened).read_all()
    assert here.num_rows == 60_000
    assert there.equals(here)


def writes(python: OtherPython, server: Server) -> None:
    """The encoder there, read by the server here."""
    python.run(WRITTEN, uri_of(server), COLUMNS)
    with colonnade.connect(uri_of(server)) as connection:
        found = connection.query(f"select count(*) as n from (({COLUMNS}) intersect (from written))").to_arrow()
    assert found["n"].to_pylist() == [60_000]


def uri_of(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/memory"
