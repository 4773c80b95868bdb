"""The memory that a write needs does not grow with its rows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.writes.places import Place

#: Prints the growth of the peak, in KiB, from a short write to one of `BATCHES` batches of about 2 MB.
PROGRAM = """
import resource, sys
import colonnade, pyarrow as pa

def batches(count):
    for number in range(count):
        yield pa.record_batch({"a": pa.array(range(20_000)), "b": [f"{number:080}"] * 20_000})

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

colonnade.write_sql(batches(8), sys.argv[1], "t")
before = peak()
stats = colonnade.write_sql(batches(int(sys.argv[2])), sys.argv[1], "t", if_exists="append")
assert stats.rows == 20_000 * int(sys.argv[2])
print(peak() - before)
"""
BATCHES = 100
#: A fifth of the data.
LIMIT = 40_000


@pytest.mark.parametrize("which", ["postgres", "extended", "sqlite", "mariadb", "duckdb", "serve"])
def test_memory_does_not_grow_with_the_rows(which: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"in_{which}")
    command = [sys.executable, "-c", PROGRAM, place.uri, str(BATCHES)]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < LIMIT
