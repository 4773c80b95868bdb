"""SQLite's results in parts: each row once, and all from one state of the file."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import colonnade
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlite_files import fetched, make

COLUMNS = "i INTEGER, r REAL, t TEXT, n TEXT COLLATE NOCASE, b BLOB, d DATE, u"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [
        (
            number * 7 % 5000,
            None if number % 10 == 0 else number / 3,
            f"it's {number % 800}",
            "aBc"[number % 3] * (number % 5),
            bytes([number % 256]),
            f"20{number % 40:02}-01-{number % 28 + 1:02}",
            [None, number, number / 2, f"t{number}", bytes([number % 7])][number % 5] if number % 50 else "a\0b",
        )
        for number in range(10_000)
    ]
    make(tmp_path / "a.db", f"create table t ({COLUMNS})", "t", rows)
    return tmp_path / "a.db"


def read(path: Path, sql: str, **options: Any) -> list[tuple[Any, ...]]:
    table = colonnade.read_sql(f"sqlite://{path}", sql, return_type="arrow", **options)
    table.validate(full=True)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _sorted(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("key", ["i", "r", "t", "n", "b", "d", "u", "I"])
@pytest.mark.parametrize("number", [2, 5])
def test_every_row_arrives_once(path: Path, key: str, number: int) -> None:
    sql = "select i, r, t, n, b, cast(d as text) as x, d, u from t where i % 3 = 0 -- odd"
    got = read(path, sql, partition_on=key, partition_num=number, as_text=["u"])
    expected = fetched(path, sql)
    assert _sorted([row[:5] for row in got]) == _sorted([row[:5] for row in expected])


@pytest.mark.parametrize(
    ("key", "between"),
    [("i", (0, 5000)), ("i", (-9, 10)), ("r", (0.5, 3000.25)), ("d", ("2000-01-01", "2039-12-31")), ("u", (0, 100))],
)
def test_a_range_filters_nothing(path: Path, key: str, between: tuple[Any, Any]) -> None:
    options = {"partition_on": key, "partition_num": 4, "partition_range": between}
    got = read(path, "select rowid as k, i, r, d, u from t", as_text=["u"], **options)
    assert sorted(row[0] for row in got) == list(range(1, 10_001))


def test_what_cannot_be_cut(path: Path) -> None:
    for sql, options, why in [
        ("select * from t order by i", {}, "ORDER BY would be lost"),
        ("select * from t limit 5", {}, "LIMIT"),
        ("select i, random() as x from t", {}, "random gives another value"),
        ("select i from t where d < date('now')", {}, "'now' gives another value"),
        ("select i from t", {"partition_on": None}, "cut by a column"),
        ("select i from t", {"partition_on": "t"}, "no column"),
        ("select i, t from t", {"partition_on": "t", "partition_range": ("a", "b")}, "numbers or dates"),
    ]:
        with pytest.raises(colonnade.Error, match=why):
            read(path, sql, **{"partition_on": "i", "partition_num": 2, **options})
    assert (
        len(read(path, "select i, random() as x from t", partition_on="i", partition_num=2, consistent=False)) == 10_000
    )


def test_what_others_cannot_see(path: Path) -> None:
    with colonnade.connect(f"sqlite://{path}") as connection:
        connection.execute("create temp table k (i)")
        with pytest.raises(colonnade.NotSupportedError, match="temporary tables"):
            colonnade.read_sql(connection, "select i from t", partition_on="i", partition_num=2)
    with colonnade.connect(f"sqlite://{path}") as connection:
        connection.execute("begin")
        with pytest.raises(colonnade.NotSupportedError, match="within a transaction"):
            colonnade.read_sql(connection, "select i from t", partition_on="i", partition_num=2)
    with pytest.raises(colonnade.NotSupportedError, match="in memory"):
        colonnade.read_sql("sqlite::memory:", "select 1 as i", partition_on="i", partition_num=2)
    sql = "select i from t"
    other = f"attach '{path}' as other"
    with pytest.raises(colonnade.NotSupportedError, match="several databases"):
        read(path, sql, partition_on="i", partition_num=2, pre_execution_query=other)
    sql = "select i from other.t"
    assert (
        len(read(path, sql, partition_on="i", partition_num=2, pre_execution_query=other, consistent=False)) == 10_000
    )


WRITER = """
import sqlite3, sys, threading
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
while not ended.is_set():
    connection.execute("begin immediate")
    connection.execute("update t set a = a - 1 where k = 1")
    connection.execute("update t set a = a + 1 where k = 20000")
    connection.execute("commit")
    print(flush=True)
"""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Another process moves an amount between two rows, over and over: the sum is always the same."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        output = process.stdout
        assert output.readline() == b"\n"
        # Nothing is to wait for a reader of what it says.
        drain = threading.Thread(target=output.read)
        drain.start()
        try:
            yield
        finally:
            process.stdin.close()
            drain.join()
    assert process.returncode == 0


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate"])
def test_all_parts_see_one_state(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    script = f"pragma journal_mode = {mode}; create table t (k INTEGER primary key, a INTEGER)"
    make(path, script, "t", [(k, 100) for k in range(1, 20_001)])
    with writing(path):
        whole = 0
        for _ in range(10):
            try:
                rows = read(path, "select k, a from t", partition_on="k", partition_num=4)
            except colonnade.NotSupportedError as error:
                # Whoever writes without a pause may leave no moment for four to begin.
                assert "one state" in str(error)
                continue
            assert (len(rows), sum(a for _, a in rows)) == (20_000, 2_000_000)
            whole += 1
        assert whole > 0
        assert len(read(path, "select k, a from t", partition_on="k", partition_num=4, consistent=False)) == 20_000
    rows = read(path, "select k, a from t", partition_on="k", partition_num=4)
    assert (len(rows), sum(a for _, a in rows)) == (20_000, 2_000_000)


def test_a_cancellation_reaches_the_parts(path: Path) -> None:
    endless = "with recursive s(i) as (select 1 union all select i + 1 from s) select i, i % 100 as k from s"
    split: dict[str, Any] = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 99)}
    with colonnade.connect(f"sqlite://{path}") as connection:
        reader = colonnade.read_sql(connection, endless, return_type="arrow_stream", **split)
        reader.read_next_batch()
        connection.cancel()
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in reader:
                pass
        assert caught.value.sqlstate == "57014"
        assert connection.query("select 1").to_arrow().num_rows == 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text("aA b'\0ü"), st.binary()),
        max_size=60,
    ),
    st.sampled_from(["", "TEXT", "INTEGER", "NUMERIC", "REAL", "BLOB", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"]),
    st.integers(2, 5),
)
def test_keys_of_any_kind(tmp_path: Path, keys: list[Any], declaration: str, number: int) -> None:
    path = tmp_path / "a.db"
    rows = list(enumerate(keys))
    make(path, f"drop table if exists t; create table t (k INTEGER primary key, v {declaration})", "t", rows)
    got = read(path, "select k, v from t", partition_on="v", partition_num=number, as_text=["v"])
    assert sorted(row[0] for row in got) == list(range(len(keys)))
