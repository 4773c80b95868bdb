"""What is large, odd or broken: the right answer, or an error that says which."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pytest

from tests.testbed import mariadb

MB = 1 << 20
#: The most that a server's max_allowed_packet can be.
LARGEST_PACKET = 1 << 30
CELL = 900 * MB
#: For the server, and for a client that holds the cell as it came and as Arrow.
NEEDED = 6 * CELL


def available() -> int:
    """Bytes of memory that the system could give."""
    with Path("/proc/meminfo").open() as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.fixture(scope="module")
def generous() -> Iterator[mariadb.Server]:
    """A server that sends as large values as MariaDB can."""
    if available() < NEEDED:
        pytest.skip("a cell of 900 MB needs more memory than there is")
    with mariadb.server([f"--max-allowed-packet={LARGEST_PACKET}"]) as running:
        yield running


READ = """
import hashlib, sys
import colonnade
from colonnade._cli.bench_client import peak_bytes
table = colonnade.read_sql(sys.argv[1], sys.argv[2], return_type="arrow")
assert table.num_rows == 2
(cell,) = (value.as_buffer() for value in table.column("v") if len(value.as_buffer()) > 1)
print(len(cell), hashlib.md5(cell).hexdigest(), peak_bytes())
"""


@pytest.mark.parametrize("kind", ["", "binary"])
def test_a_cell_of_900_mb(generous: mariadb.Server, kind: str) -> None:
    query = f"select {kind} if(seq = 1, repeat('0123456789', {CELL // 10}), 'x') as v from seq_1_to_2"
    command = [sys.executable, "-c", READ, generous.uri(), query]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    expected = hashlib.md5(b"0123456789" * (CELL // 10), usedforsecurity=False).hexdigest()
    length, digest, peak = done.stdout.split()
    assert (int(length), digest) == (CELL, expected)
    # The row as it came, and the column.
    assert int(peak) < 2.5 * CELL, int(peak) / CELL


def test_a_cell_above_the_servers_limit_is_what_it_makes_of_it(mysql: colonnade.Connection) -> None:
    """MariaDB makes NULL of it, with a warning."""
    (limit,) = mysql.query("select @@max_allowed_packet as n").to_arrow().column("n").to_pylist()
    table = mysql.query(f"select repeat('x', {limit}) as v, repeat('x', {limit + 1}) as w").to_arrow()
    assert len(table.column("v")[0].as_buffer()) == limit
    assert table.column("w").to_pylist() == [None]


@pytest.mark.parametrize("count", [1017, 4096])
def test_as_many_columns_as_there_can_be(maria: mariadb.Server, mysql: colonnade.Connection, count: int) -> None:
    if count == 1017:  # of a table
        columns = ", ".join(f"c{number} int" for number in range(count))
        maria.run(f"create table broad ({columns})", mariadb.DATABASE)
        maria.run(f"insert into broad values ({', '.join(map(str, range(count)))})", mariadb.DATABASE)
        query = "select * from broad"
    else:  # of a result
        query = f"select {', '.join(f'{number} as c{number}' for number in range(count))}"
    table = mysql.query(query).to_arrow()
    assert table.to_pylist() == [{f"c{number}": number for number in range(count)}]
    if count == 1017:
        maria.run("drop table broad", mariadb.DATABASE)


def test_names_that_repeat_or_are_empty(maria: mariadb.Server) -> None:
    query = "select 1 as a, 'x' as a, '', 2 as `A`"
    table = colonnade.read_sql(maria.uri(), query, return_type="arrow")
    assert table.column_names == ["a", "a", "", "A"]
    assert [column[0].as_py() for column in table.columns] == [1, "x", "", 2]
    frame = colonnade.read_sql(maria.uri(), query)
    assert (list(frame.columns), frame.iloc[0].tolist()) == (["a", "a", "", "A"], [1, "x", "", 2])


def test_text_with_a_nul(mysql: colonnade.Connection) -> None:
    table = mysql.query("select concat('a', char(0 using utf8mb4), 'b') as v, char(0 using utf8mb4) as w").to_arrow()
    assert table.to_pylist() == [{"v": "a\0b", "w": "\0"}]


def test_text_that_is_none_is_refused(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    """Somebody has written to the file of a table: the server sends what is there."""
    maria.run(
        "create table damaged (k int, v char(8) character set utf8mb4) engine MyISAM; "
        "insert into damaged values (1, 'whole'), (2, 'qqqq'); flush tables damaged",
        mariadb.DATABASE,
    )
    try:
        rows = maria.directory / "data" / mariadb.DATABASE / "damaged.MYD"
        data = rows.read_bytes()
        assert data.count(b"qqqq") == 1
        rows.write_bytes(data.replace(b"qqqq", b"q\xff\xc3q"))
        maria.run("flush tables damaged", mariadb.DATABASE)
        with pytest.raises(colonnade.DataError, match=r'column "v".*not UTF-8') as caught:
            mysql.query("select k, v from damaged").to_arrow()
        assert caught.value.sqlstate == "22021"
        table = mysql.query("select k, cast(v as binary) as v from damaged order by k").to_arrow()
        assert table.column("v").to_pylist() == [b"whole", b"q\xff\xc3q"]
    finally:
        maria.run("drop table damaged", mariadb.DATABASE)
