"""What goes wrong with SQLite files, and what the error says."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import colonnade
import pytest

from tests.support.sqlite_files import make, uri
from tests.testbed.postgres import scratch

ENDLESS = "with recursive s(i) as (select 1 union all select i + 1 from s) select {} as v from s"
ROWS = "create table t (i INTEGER, v TEXT)"


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(colonnade.OperationalError, match=r"there is no such file: .*; none is created") as caught:
        colonnade.connect(uri(tmp_path / "no.db"))
    assert caught.value.source == uri(tmp_path / "no.db")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(colonnade.OperationalError, match="this is a directory"):
        colonnade.connect(uri(tmp_path))
    (tmp_path / "text").write_text("this is not a database, but long enough for a header\n" * 100)
    with pytest.raises(colonnade.OperationalError, match="not an SQLite database, or it is encrypted"):
        colonnade.connect(uri(tmp_path / "text"))
    for wrong in [
        "sqlite:",
        "sqlite://",
        "sqlite://a.db",
        "sqlite:a?mode=rw",
        "sqlite:a?wal=1",
        "sqlite:a%zz",
        "sqlite:a%00",
    ]:
        with pytest.raises(colonnade.InterfaceError, match=r"URI|mode"):
            colonnade.connect(wrong)


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with colonnade.connect(uri(tmp_path / "empty")) as connection:
        assert connection.query("select count(*) as n from sqlite_schema").to_arrow().to_pylist() == [{"n": 0}]
    assert (tmp_path / "empty").stat().st_size == 0


@pytest.mark.parametrize(
    ("sql", "error", "sqlstate", "what"),
    [
        ("selec 1", colonnade.ProgrammingError, "42000", "syntax error"),
        ("select * from nowhere", colonnade.ProgrammingError, "42000", "no such table: nowhere"),
        ("select 1; select 2", colonnade.ProgrammingError, "42601", "more than one statement"),
        ("pragma cache_size = 1", colonnade.NotSupportedError, "0A000", "returns no rows"),
        ("select sum(9223372036854775807) from t", colonnade.DataError, "22000", "integer overflow"),
        ("select json(v) from t", colonnade.DataError, "22000", "malformed JSON"),
        ("select zeroblob(2000000000)", colonnade.OperationalError, "54000", "larger than SQLite allows"),
        ("-- nothing\n;", colonnade.InterfaceError, None, "the query is empty"),
    ],
)
def test_a_wrong_query_says_why(
    tmp_path: Path, sql: str, error: type[colonnade.Error], sqlstate: str, what: str
) -> None:
    conn = make(tmp_path / "a.db", ROWS, "t", [(1, "x"), (2, "y")])
    with colonnade.connect(conn) as connection:
        with pytest.raises(error, match=what) as caught:
            connection.query(sql).to_arrow()
        assert caught.value.sqlstate == sqlstate
        # The connection is as good as before.
        assert connection.query("select 1; -- one").to_arrow().num_rows == 1


def test_an_error_in_the_middle_of_a_result(tmp_path: Path) -> None:
    conn = make(tmp_path / "a.db", ROWS, "t", [(i, "1") for i in range(150_000)] + [(1, "{")])
    with colonnade.connect(conn) as connection:
        batches = iter(connection.query("select i, json(v) as v from t"))
        assert next(batches).num_rows == 65536
        with pytest.raises(colonnade.DataError, match="malformed JSON"):
            list(batches)
        assert connection.query("select 1").to_arrow().num_rows == 1


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process holds the file's exclusive lock."""
    script = f"""
import sqlite3, sys
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("begin exclusive")
print("locked", flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield
        process.stdin.close()


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    conn = make(tmp_path / "a.db", ROWS)
    with colonnade.connect(conn + "?timeout=0.2") as connection:
        with locked(tmp_path / "a.db"):
            with pytest.raises(colonnade.OperationalError, match="locked by another process") as caught:
                connection.query("select * from t")
            assert caught.value.sqlstate == "55P03"
            assert caught.value.hint and "timeout=" in caught.value.hint
            with pytest.raises(colonnade.OperationalError, match="locked by another process"):
                colonnade.connect(conn + "?timeout=0")
        assert connection.query("select * from t").to_arrow().num_rows == 0
    with locked(tmp_path / "a.db"):
        waiting: list[int] = []
        opener = threading.Thread(target=lambda: waiting.append(_rows(conn + "?timeout=60")))
        opener.start()
    opener.join()
    assert waiting == [0]


def _rows(conn: str) -> int:
    with colonnade.connect(conn) as connection:
        return connection.query("select * from t").to_arrow().num_rows


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conn = make(path, ROWS, "t", [(i, "x" * 100) for i in range(10_000)])
    data = bytearray(path.read_bytes())
    for page in range(3, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\x99" * 200
    path.write_bytes(data)
    with colonnade.connect(conn) as connection:
        with pytest.raises(colonnade.InternalError, match="the file is damaged") as caught:
            connection.query("select * from t").to_arrow()
        assert caught.value.sqlstate == "XX001"


def test_a_file_that_vanishes_or_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conn = make(path, ROWS, "t", [(i, "x" * 100) for i in range(400_000)])
    with colonnade.connect(conn) as connection:
        batches = iter(connection.query("select * from t"))
        rows = next(batches).num_rows
        path.unlink()
        # Its bytes are there as long as somebody has it open.
        assert rows + sum(batch.num_rows for batch in batches) == 400_000
    conn = make(path, ROWS, "t", [(i, "x" * 100) for i in range(400_000)])
    with colonnade.connect(conn) as connection:
        batches = iter(connection.query("select * from t"))
        next(batches)
        os.truncate(path, 100 * 4096)
        with pytest.raises(colonnade.DatabaseError, match=r"damaged|could not be read"):
            list(batches)


def test_a_log_that_cannot_be_made(tmp_path: Path) -> None:
    """A database in WAL mode in a directory that we may not write to. Root may, and so drops its rights."""
    script = """
import colonnade, os, pyarrow, sys
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    colonnade.connect(sys.argv[1])
except colonnade.OperationalError as error:
    assert "write-ahead log" in str(error) and "immutable=1" in error.hint, str(error)
else:
    sys.exit("no error")
with colonnade.connect(sys.argv[1] + "?immutable=1") as connection:
    print(connection.query("select count(*) as n from t").to_arrow().column(0).to_pylist())
"""
    with scratch() as directory:
        conn = make(directory / "a.db", "pragma journal_mode = wal; " + ROWS, "t", [(1, "x")])
        assert [file.name for file in directory.iterdir()] == ["a.db"]
        (directory / "a.db").chmod(0o444)
        directory.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", script, conn], capture_output=True, text=True, check=False)
        directory.chmod(0o755)
    assert (done.returncode, done.stdout) == (0, "[1]\n"), done.stderr


# --- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["i", "count(*)"])
@pytest.mark.parametrize("call", ["query(sql).to_arrow()", "execute(sql)"])
def test_ctrl_c(what: str, call: str) -> None:
    script = f"""
import colonnade, os, pyarrow, signal, threading
with colonnade.connect("sqlite::memory:") as connection:
    sql = {ENDLESS.format(what)!r}
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        connection.{call}
    except KeyboardInterrupt:
        print("interrupted", connection.query("select 1 as one").to_arrow().to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted [{'one': 1}]\n"), done.stderr


def test_closing_ends_what_runs() -> None:
    connection = colonnade.connect("sqlite::memory:")
    batches = iter(connection.query(ENDLESS.format("i")))
    next(batches)
    connection.close()
    with pytest.raises(colonnade.OperationalError, match="cancelled"):
        for _ in batches:
            pass


def test_the_end_of_the_process_waits_for_nothing() -> None:
    script = f"""
import colonnade
connection = colonnade.connect("sqlite::memory:")
batches = iter(connection.query({ENDLESS.format("i")!r}))
next(batches)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_writer_leaves_a_journal_that_a_reader_cannot_undo(tmp_path: Path) -> None:
    """Only a writer may roll a hot journal back. What is in the file by then is not a result."""
    path = tmp_path / "a.db"
    conn = make(path, ROWS, "t", [(i, "x" * 100) for i in range(10_000)])
    script = f"""
import sqlite3, sys
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("pragma cache_size = 5")
connection.execute("begin")
connection.execute("update t set v = v || 'y'")
print("written", flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    assert Path(f"{path}-journal").exists()
    with pytest.raises(colonnade.DatabaseError, match="journal"):
        _rows(conn + "?timeout=0")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select count(*) from t where v like '%y'").fetchone() == (0,)
    assert _rows(conn) == 10_000
