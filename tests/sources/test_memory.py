"""What reading takes at most: a table little more than itself, a stream a few chunks however long it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

MIB = 1 << 20

#: Text, numbers and NULLs: about 380 MiB as Arrow, so that the few chunks that any result takes weigh little.
SQL = """
select i, i * 7 % 1000 as small, hash(i) as random, i / 3 as fraction, (i * 12345 % 100000)::decimal(15,2) as price,
       'row number ' || i || ' of many' as text, ['red', 'green', 'blue'][i % 3 + 1] as colour,
       case when i % 3 = 0 then i end as sometimes, date '2000-01-01' + (i % 10000)::int as day
from range(4000000) t(i)
"""

READ = """
import sys
import pyarrow
import colonnade

def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

connection = colonnade.connect(sys.argv[1])
# Everything that is needed once is loaded.
connection.query("select 'x' as t, 1 as n, 1.5 as f from range(10)", compression=sys.argv[2]).to_arrow()
before = peak()
result = connection.query(sys.argv[3], compression=sys.argv[2])
{read}
print(size, peak() - before)
"""

TABLE = "table = result.to_arrow(); size = table.nbytes"
STREAM = "size = sum(batch.nbytes for batch in result)"
FIRST = "size = next(iter(result)).nbytes"


def peak(uri: str, compression: str, read: str, sql: str = SQL) -> tuple[int, int]:
    """Bytes of what was read, as Arrow, and by how much the process grew at most."""
    done = subprocess.run(
        [sys.executable, "-c", READ.format(read=read), uri, compression, sql],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    size, grown = done.stdout.split()
    return int(size), int(grown)


@pytest.mark.parametrize("compression", ["auto", "plain", "light", "light+fsst"])
@pytest.mark.parametrize("wire", ["uri", "unix_uri"])
def test_a_table_takes_little_more_than_itself(request: pytest.FixtureRequest, wire: str, compression: str) -> None:
    size, grown = peak(request.getfixturevalue(wire), compression, TABLE)
    assert size > 300 * MIB
    assert grown <= 1.15 * size


@pytest.mark.parametrize("compression", ["plain", "light", "light+zstd-1"])
def test_a_stream_takes_a_few_chunks(uri: str, compression: str) -> None:
    size, grown = peak(uri, compression, STREAM)
    assert size > 150 * MIB
    assert grown < 60 * MIB


def test_an_unread_result_takes_a_few_chunks(uri: str) -> None:
    _, grown = peak(uri, "plain", FIRST, "select i, repeat('x', 100) as t from range(100000000) t(i)")
    assert grown < 60 * MIB


def test_columns_that_are_not_asked_for_stay_encoded(uri: str) -> None:
    read = "column = result.column('small'); size = result.stats.wire_bytes"
    wire_bytes, grown = peak(uri, "light+zstd-1", read)
    # The column itself, 32 MB, and what the codec's bodies take: a part of the whole.
    assert wire_bytes < 120 * MIB
    assert grown < 300 * MIB
