"""`colonnade write` and `colonnade copy`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import colonnade
import psycopg
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tests.command_line.commands import failed, run, shown_on_a_terminal
from tests.support import sqlite_files
from tests.testbed import postgres as pg

TABLE = pa.table({"i": pa.array(range(1000), pa.int64()), "name": [f"row {number}" for number in range(1000)]})


@pytest.fixture
def target(tmp_path: Path) -> str:
    """An empty SQLite file."""
    return sqlite_files.make(tmp_path / "target.db", "")


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(TABLE, path)
    return path


@pytest.fixture
def session(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    """PostgreSQL, where the table `written` is dropped afterwards."""
    with stock.connect() as opened:
        opened.autocommit = True
        yield opened
        opened.execute("drop table if exists written")


def written(uri: str, table: str = "written") -> pa.Table:
    return colonnade.read_sql(uri, f"select * from {table} order by 1", return_type="arrow")


def test_a_parquet_file(parquet: Path, target: str) -> None:
    done = run("write", parquet, target, "written")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1,000 rows in ") and done.stderr.endswith(f"into written of {target}\n")
    assert written(target).equals(TABLE)


def test_what_read_writes(stock: pg.Cluster, session: psycopg.Connection, tmp_path: Path, target: str) -> None:
    sql = "select i::bigint as i, 'row ' || i as name from generate_series(0, 999) i"
    for name in ("out.parquet", "out.arrow"):
        assert run("read", stock.uri(), sql, "-o", tmp_path / name).returncode == 0
        assert run("write", tmp_path / name, target, "written", "--if-exists", "replace").returncode == 0
        assert written(target).equals(TABLE)
    command = [sys.executable, "-m", "colonnade"]
    with subprocess.Popen(
        [*command, "read", stock.uri(), sql, "-o", "-", "--format", "arrow"], stdout=subprocess.PIPE
    ) as reader:
        assert run("write", "-", stock.uri(), "written", stdin=reader.stdout).returncode == 0
    assert reader.returncode == 0 and written(stock.uri()).equals(TABLE)


def test_a_reader_that_fails_leaves_nothing(stock: pg.Cluster, target: str) -> None:
    """An error, and a process that is killed between two batches: Arrow's format needs no mark of its end."""
    sql = "select 1000000 / (200000 - i) as n from generate_series(1, 300000) i"
    reads = f"{sys.executable} -m colonnade read '{stock.uri()}' '{sql}' -o - --format arrow 2> /dev/null"
    with subprocess.Popen(reads, shell=True, stdout=subprocess.PIPE) as reader:
        done = run("write", "-", target, "written", stdin=reader.stdout)
    assert done.returncode == 1 and done.stderr.startswith("colonnade: ")
    sink = pa.BufferOutputStream()
    writer = pyarrow.ipc.new_stream(sink, TABLE.schema)
    writer.write_table(TABLE)
    cut = run("write", "-", target, "written", input=sink.getvalue().to_pybytes(), text=False)
    assert cut.returncode == 1 and b"without the mark of its end" in cut.stderr
    assert colonnade.tables(target).num_rows == 0


def test_modes_keys_and_types(parquet: Path, target: str) -> None:
    upsert = ("--if-exists", "upsert", "--key", "i", "--dtype", "name=large_string")
    for _ in range(2):
        assert run("write", parquet, target, "written", *upsert).returncode == 0
    assert written(target).num_rows == 1000
    both = ("--if-exists", "upsert", "--key", "i", "--key", "name")
    assert run("write", parquet, target, "other", *both).returncode == 0
    assert "exists" in failed("write", parquet, target, "written")
    assert "needs the key" in failed("write", parquet, target, "written", "--if-exists", "upsert")
    assert "does not exist" in failed("write", parquet, target, "missing", "--if-exists", "append")
    assert run("write", parquet, target, "written", "--if-exists", "no").returncode == 2


def test_a_schema(parquet: Path, stock: pg.Cluster, session: psycopg.Connection) -> None:
    session.execute('drop schema if exists "Other Place" cascade; create schema "Other Place"')
    assert run("write", parquet, stock.uri(), "a.b", "--schema", "Other Place").returncode == 0
    assert session.execute('select count(*) from "Other Place"."a.b"').fetchone() == (1000,)
    session.execute('drop schema "Other Place" cascade')


def test_what_cannot_be_written(tmp_path: Path, target: str, parquet: Path) -> None:
    csv = tmp_path / "t.csv"
    csv.write_text("i\n1\n")
    assert "neither Parquet nor Arrow" in failed("write", csv, target, "t")
    assert "no file" in failed("write", tmp_path / "nowhere", target, "t")
    assert "no stream of Arrow" in run("write", "-", target, "t", input="i\n1\n").stderr
    assert "there is no such file" in failed("write", parquet, f"sqlite:///{tmp_path}/none.db", "t")
    assert "--dtype name is not NAME=TYPE" in failed("write", parquet, target, "t", "--dtype", "name")


def test_copy_from_postgresql_to_sqlite_and_back(stock: pg.Cluster, session: psycopg.Connection, target: str) -> None:
    session.execute("create table written as select i::bigint as i, 'row ' || i as name from generate_series(0, 999) i")
    done = run("copy", stock.uri(), "select * from written where i < $1::bigint", target, "written", "--param", "900")
    assert done.returncode == 0 and done.stderr.startswith("900 rows in ")
    assert written(target).equals(TABLE.slice(0, 900))
    upsert = ("--if-exists", "upsert", "--key", "i")
    for sql in ("select * from written", "-"):
        session.execute("alter table written drop constraint if exists k")
        session.execute("alter table written add constraint k primary key (i)")
        done = run("copy", target, sql, stock.uri(), "written", *upsert, input="select i, 'new' as name from written")
        assert done.returncode == 0
    assert written(stock.uri())["name"].to_pylist() == ["new"] * 900 + TABLE["name"].to_pylist()[900:]


def test_copy_from_a_server(uri: str, target: str) -> None:
    sql = "select i, 'row ' || i as name from range(1000) t(i)"
    assert run("copy", uri, sql, target, "written").returncode == 0
    assert written(target).equals(TABLE)


def test_an_error_of_the_source_is_the_sources(stock: pg.Cluster, target: str) -> None:
    sql = "select 1000000 / (200000 - i) as n from generate_series(1, 300000) i"
    said = failed("copy", stock.uri(), sql, target, "written")
    assert "division by zero (SQLSTATE 22012)" in said and said.startswith("colonnade: postgresql://")
    assert "relation" in failed("copy", stock.uri(), "select * from nowhere", target, "written")
    assert colonnade.tables(target).num_rows == 0


def test_ctrl_c_writes_nothing(stock: pg.Cluster, session: psycopg.Connection) -> None:
    sql = "select i, repeat('x', 100) as name from generate_series(1, 100000000) i"
    command = [sys.executable, "-m", "colonnade", "copy", stock.uri(), sql, stock.uri(), "written"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        counted = "select count(*) from pg_stat_progress_copy where command = 'COPY FROM' and tuples_processed > 0"
        limit = time.monotonic() + 60
        while session.execute(counted).fetchone() == (0,) and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None and process.stderr.read() == "colonnade: interrupted\n"
    assert session.execute("select to_regclass('written')").fetchone() == (None,)


def test_a_terminal_shows_the_progress(stock: pg.Cluster, session: psycopg.Connection) -> None:
    sql = "select i, repeat('x', 100) as name from generate_series(1, 500000) i"
    states = shown_on_a_terminal("copy", stock.uri(), sql, stock.uri(), "written")
    assert len(states) >= 4 and "of data" in states[2] and not any("on the wire" in state for state in states)
    assert states[-1].startswith("500,000 rows in ")


def test_a_closed_standard_input_is_named(target: str) -> None:
    command = f"{sys.executable} -m colonnade write - '{target}' t <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "standard input is closed" in done.stderr
