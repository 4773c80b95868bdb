"""An SQLite file that another library of this process holds, and that another process writes: nobody loses a lock.

POSIX locks belong to a table of descriptors. If this package shared that of the process, its first close would release
the other library's locks, and neither library would see the other's (docs/reference/sqlite.md).
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import colonnade
import duckdb
import polars
import pyarrow as pa
import pytest

from tests.support.sqlite_files import make, uri
from tests.support.sqlite_holders import HOLDERS, LOCKED, Holder, elsewhere

#: More than the first batch, for which a result is read at once.
ROWS = 100_000
MODES = ["delete", "wal"]
SUM = "select count(*), sum(i) from t"


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def path(tmp_path: Path, mode: str) -> Path:
    path = tmp_path / "a.db"
    make(
        path, f"pragma journal_mode = {mode}; create table t (i INTEGER, v TEXT)", "t", [(i, "x") for i in range(ROWS)]
    )
    return path


@pytest.fixture(params=HOLDERS)
def holder(request: pytest.FixtureRequest, path: Path) -> Iterator[Holder]:
    made = request.param(path)
    yield made
    made.close()


def read(conn: str) -> None:
    assert colonnade.read_sql(conn, "select i from t", return_type="arrow").num_rows == ROWS


def scan(conn: str) -> None:
    assert colonnade.scan_sql(conn, "select i from t").collect().height == ROWS


#: It needs polars 2, and `make test-dist` runs this with the oldest version too.
scans = [] if polars.__version__.startswith("1.") else [scan]


def read_in_parts(conn: str) -> None:
    options = {"partition_on": "i", "partition_num": 3}
    assert colonnade.read_sql(conn, "select i from t", return_type="arrow", **options).num_rows == ROWS


def describe(conn: str) -> None:
    with colonnade.connect(conn) as connection:
        assert connection.schema("t").names == ["i", "v"]


def drop(conn: str) -> None:
    connection = colonnade.connect(conn)
    next(iter(connection.query("select i from t", chunk_rows=10)))


def take_for_duckdb(conn: str) -> None:
    with pytest.raises(colonnade.OperationalError, match="is an SQLite database"):
        colonnade.connect(conn.replace("sqlite", "duckdb", 1))


@pytest.mark.parametrize("use", [read, *scans, read_in_parts, describe, drop, take_for_duckdb])
def test_an_open_transaction_keeps_its_lock(path: Path, holder: Holder, use: Callable[[str], None]) -> None:
    holder.execute("update t set i = i + 1")
    use(uri(path))
    # Another process would write rows that the commit overwrites.
    assert elsewhere(path, "insert into t values (1, 'other')") == LOCKED
    holder.commit()
    assert elsewhere(path, "insert into t values (0, 'other')") == []
    total = sum(range(ROWS)) + ROWS
    assert elsewhere(path, SUM, "pragma integrity_check") == [[ROWS + 1, total], ["ok"]]
    assert holder.execute(SUM) == [(ROWS + 1, total)]


def test_a_result_that_is_read_keeps_its_state(path: Path, mode: str, holder: Holder) -> None:
    with colonnade.connect(uri(path)) as connection:
        batches = iter(connection.query("select i from t", chunk_rows=100))
        values = next(batches).column("i").to_pylist()
        holder.execute("update t set i = -1")
        if mode == "wal":
            holder.commit()
            assert elsewhere(path, "insert into t values (-1, 'other')") == []
        else:
            with pytest.raises(Exception, match=LOCKED):
                holder.commit()
        # Closing the other library's file releases none of our locks.
        holder.close()
        if mode == "delete":
            assert elsewhere(path, "insert into t values (-1, 'other')") == LOCKED
        for batch in batches:
            values += batch.column("i").to_pylist()
        assert values == list(range(ROWS))
        after = connection.query(SUM).to_arrow().to_pylist()[0].values()
    assert list(after) == ([ROWS + 1, -ROWS - 1] if mode == "wal" else [ROWS, sum(range(ROWS))])


def test_a_write_waits_for_the_other_library(path: Path, mode: str, holder: Holder) -> None:
    holder.execute("insert into t values (0, 'held')")
    rows = pa.table({"i": [5], "v": ["ours"]})
    with pytest.raises(colonnade.OperationalError, match="locked by another process, or by another library") as caught:
        colonnade.write_sql(rows, uri(path) + "?timeout=0", "t", if_exists="append")
    assert caught.value.sqlstate == "55P03"
    holder.commit()
    assert colonnade.write_sql(rows, uri(path), "t", if_exists="append").rows == 1
    assert elsewhere(path, SUM, "pragma integrity_check") == [[ROWS + 2, sum(range(ROWS)) + 5], ["ok"]]


def test_a_write_waits_for_the_other_librarys_reading(path: Path, mode: str, holder: Holder) -> None:
    rows, before = pa.table({"i": [5], "v": ["ours"]}), [(ROWS, sum(range(ROWS)))]
    holder.execute("begin")
    assert holder.execute(SUM) == before
    if mode == "delete":
        with pytest.raises(colonnade.OperationalError, match="locked by another process, or by another library"):
            colonnade.write_sql(rows, uri(path) + "?timeout=0", "t", if_exists="append")
    else:
        assert colonnade.write_sql(rows, uri(path), "t", if_exists="append").rows == 1
    assert holder.execute(SUM) == before
    holder.commit()
    assert colonnade.write_sql(rows, uri(path), "t", if_exists="append").rows == 1
    assert holder.execute("select count(*) from t") == [(ROWS + (1 if mode == "delete" else 2),)]


def test_the_other_library_waits_for_a_write(path: Path, holder: Holder) -> None:
    with colonnade.connect(uri(path)) as connection:
        with connection.append("t") as writing:
            # After more parts than those that wait for it, the transaction is open.
            for _ in range(20):
                writing.write(pa.table({"i": [5], "v": ["ours"]}))
            with pytest.raises(Exception, match=LOCKED):
                holder.execute("insert into t values (0, 'theirs')")
            # Before, this released the lock of the transaction, which then wrote over the other's rows.
            holder.close()
            assert elsewhere(path, "insert into t values (1, 'other')") == LOCKED
        assert elsewhere(path, "insert into t values (1, 'other')") == []
        assert connection.query(SUM).to_arrow().to_pylist()[0]["count(*)"] == ROWS + 21
    assert elsewhere(path, "pragma integrity_check") == [["ok"]]


def test_a_transaction_in_the_file_already_is_waited_for(tmp_path: Path) -> None:
    """A transaction that exceeds the cache writes into the file. Its journal is not one that a killed process left."""
    path = tmp_path / "a.db"
    conn = make(path, "create table t (i INTEGER, v TEXT)", "t", [(i, "x" * 100) for i in range(10_000)])
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("pragma cache_size = 5")
    held.execute("begin")
    held.execute("update t set v = v || 'y'")
    for call in (
        lambda: colonnade.read_sql(conn + "?timeout=0", "select * from t"),
        lambda: colonnade.write_sql(pa.table({"i": [1], "v": ["z"]}), conn + "?timeout=0", "t", if_exists="append"),
    ):
        with pytest.raises(colonnade.OperationalError, match="locked"):
            call()
    held.execute("rollback")
    held.close()
    frame = colonnade.read_sql(conn, "select v from t")
    assert len(frame) == 10_000 and set(frame["v"]) == {"x" * 100}


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_the_index_of_a_log_is_shared(tmp_path: Path, first: str) -> None:
    """Whoever opens the log's index first makes it anew, and nobody else while it is open."""
    path = tmp_path / "a.db"
    conn = make(path, "pragma journal_mode = wal; create table t (i INTEGER)")
    held = sqlite3.connect(path, isolation_level=None, timeout=0) if first == "theirs" else None
    if held is not None:
        held.execute("insert into t values (0)")
    with colonnade.connect(conn) as connection:
        held = held or sqlite3.connect(path, isolation_level=None, timeout=0)
        for number in range(1, 21):
            held.execute("insert into t values (?)", (number,))
            ours = connection.query("select max(i) from t").to_arrow().column(0).to_pylist()
            assert ours == [number] and elsewhere(path, "select max(i) from t") == [[number]]
        # The other library is not the last to close the file, and leaves the log to us.
        held.close()
        assert Path(f"{path}-wal").exists()
        assert elsewhere(path, "insert into t values (21)") == []
        assert connection.query("select max(i) from t").to_arrow().column(0).to_pylist() == [21]
    assert elsewhere(path, "select max(i) from t", "pragma integrity_check") == [[21], ["ok"]]


def test_a_forked_process_has_locks_of_its_own(tmp_path: Path) -> None:
    """SQLite's list of open files, with their locks, is copied by a fork. The locks are not."""
    path = tmp_path / "a.db"
    conn = make(path, "create table t (i INTEGER)", "t", [(i,) for i in range(ROWS)])
    script = f"""
import os, sqlite3, sys, warnings
import colonnade, pyarrow
from tests.support.sqlite_holders import LOCKED, elsewhere
from pathlib import Path

warnings.simplefilter("ignore", DeprecationWarning)
conn, path = {conn!r}, Path({str(path)!r})
row = pyarrow.table({{"i": [7]}})
connection = colonnade.connect(conn)
batches = iter(connection.query("select i from t", chunk_rows=10))
rows = next(batches).num_rows
if os.fork() == 0:
    own = iter(colonnade.connect(conn).query("select i from t", chunk_rows=10))
    next(own)
    try:
        colonnade.write_sql(row, conn + "?timeout=0", "t", if_exists="append")
    except colonnade.OperationalError as error:
        print(error.sqlstate, flush=True)
    os.kill(os.getpid(), 9)
os.wait()
assert elsewhere(path, "insert into t values (1)") == LOCKED
print(rows + sum(batch.num_rows for batch in batches))
assert elsewhere(path, "insert into t values (1)") == []
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"55P03\n{ROWS}\n"), done.stderr


def test_a_killed_write_leaves_no_lock_in_a_forked_process(path: Path) -> None:
    """A lock of an open file description would stay as long as the other process has the descriptor or a mapping."""
    script = f"""
import os, time, warnings
import colonnade, pyarrow

warnings.simplefilter("ignore", DeprecationWarning)
with colonnade.connect({uri(path)!r}) as connection, connection.append("t") as writing:
    # After more parts than those that wait for it, the transaction is open.
    for _ in range(20):
        writing.write(pyarrow.table({{"i": [5], "v": ["ours"]}}))
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    os.kill(os.getpid(), 9)
"""
    # The forked process has the standard output too, so its end does not come.
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        child = int(writer.stdout.readline())
        try:
            assert writer.wait(timeout=60) == -signal.SIGKILL
            assert elsewhere(path, "insert into t values (0, 'other')") == []
            rows = [ROWS + 1, sum(range(ROWS))]
            assert elsewhere(path, SUM, "pragma integrity_check") == [rows, ["ok"]]
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_duckdb_file_keeps_its_lock(tmp_path: Path) -> None:
    """DuckDB locks its file in the same way, and its URI is checked for SQLite's header."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as held:
        held.execute("create table t as select 1 as i")
        assert colonnade.read_sql(f"duckdb:///{path}", "select i from t", return_type="arrow").num_rows == 1
        script = "import duckdb, sys; duckdb.connect(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
        assert "Could not set lock" in done.stderr


def _descriptors() -> dict[str, int]:
    """The descriptors of the process, and those of the threads that have others."""
    found = {"process": len(list(Path("/proc/self/fd").iterdir()))}
    for thread in Path("/proc/self/task").iterdir():
        if (thread / "comm").read_text() == "colonnade-files\n":
            found["files"] = max(found.get("files", 0), len(list((thread / "fd").iterdir())))
    return found


def test_descriptors_do_not_pile_up(path: Path) -> None:
    held = sqlite3.connect(path)
    held.execute("insert into t values (1, 'held')")
    read(uri(path))
    before = _descriptors()
    for _ in range(20):
        read(uri(path))
        drop(uri(path))
    held.rollback()
    held.close()
    read(uri(path))
    after = _descriptors()
    assert after["files"] <= before["files"]
    assert after["process"] <= before["process"]


def test_other_descriptors_of_the_process_are_not_kept(tmp_path: Path) -> None:
    conn = make(tmp_path / "a.db", "create table t (i INTEGER)")
    script = f"""
import os, colonnade, pyarrow
ours, theirs = os.pipe()
colonnade.read_sql({conn!r}, "select * from t", return_type="arrow")
os.close(theirs)
print(os.read(ours, 1))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60, input=""
    )
    assert (done.returncode, done.stdout) == (0, "b''\n"), done.stderr


#: Lets the kernel refuse system calls by their numbers, as a container's profile does.
_REFUSE = """
import ctypes, struct, sys
def refuse(*numbers):
    # <linux/filter.h>: load the number, compare, return EPERM or allow.
    load, jump, done = (0x20, 0, 0, 0), 0x15, 0x06
    program = [load]
    for number in numbers:
        program += [(jump, 0, 1, number), (done, 0, 0, 0x00050000 | 1)]
    program.append((done, 0, 0, 0x7FFF0000))
    code = b"".join(struct.pack("=HBBI", *one) for one in program)
    held = ctypes.create_string_buffer(code, len(code))
    filter = struct.pack("=H6xQ", len(program), ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, filter, 0, 0) == 0
"""
CLOSE_RANGE = 436
UNSHARE = {"x86_64": 272, "aarch64": 97}.get(os.uname().machine, 272)


@pytest.mark.parametrize(("refused", "works"), [([CLOSE_RANGE], True), ([CLOSE_RANGE, UNSHARE], False)])
def test_a_system_that_gives_no_descriptors_of_ones_own(tmp_path: Path, refused: list[int], works: bool) -> None:
    conn = make(tmp_path / "a.db", "create table t (i INTEGER)", "t", [(1,)])
    script = f"""
{_REFUSE}
import colonnade, pyarrow
refuse(*{refused})
try:
    print(colonnade.read_sql({conn!r}, "select * from t", return_type="arrow").num_rows)
except colonnade.NotSupportedError as error:
    print("close_range" in error.hint)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1\n" if works else "True\n"), done.stderr
