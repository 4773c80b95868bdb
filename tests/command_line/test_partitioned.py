"""`colonnade read … --partition-by`."""

from __future__ import annotations

import datetime as dt
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import colonnade
import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from colonnade._frames.partitioned import write_partitioned

from tests.command_line.commands import failed, run

SQL = (
    "select i, 'row ' || i as name, case when i % 3 < 2 then 'k/' || i % 3 end as word,"
    " date '2024-01-01' + (i % 2)::int as day from range(50000) t(i)"
)
KEYS = pa.schema([("word", pa.string()), ("day", pa.date32())])


def read(path: Path, keys: pa.Schema) -> pa.Table:
    return pyarrow.dataset.dataset(path, partitioning=pyarrow.dataset.partitioning(keys, flavor="hive")).to_table()


def test_a_directory_for_each_value(uri: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("read", uri, SQL, "-o", out, "--partition-by", "word", "--partition-by", "day")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("50,000 rows in ")
    names = {str(path.parent.relative_to(out)) for path in out.rglob("*.parquet")}
    words = ("k%2F0", "k%2F1", "__HIVE_DEFAULT_PARTITION__")
    assert names == {f"word={word}/day=2024-01-0{day}" for word in words for day in (1, 2)}
    expected = colonnade.read_sql(uri, SQL, return_type="arrow").sort_by("i")
    assert read(out, KEYS).select(expected.column_names).sort_by("i").equals(expected)
    assert list(tmp_path.iterdir()) == [out]
    (tmp_path / "other").mkdir()
    assert out.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_duckdb_reads_it(uri: str, tmp_path: Path) -> None:
    assert run("read", uri, SQL, "-o", tmp_path / "out", "--partition-by", "day").returncode == 0
    found = duckdb.sql(
        f"select day, count(*), sum(i) from read_parquet('{tmp_path}/out/*/*.parquet') group by 1 order by 1"
    )
    total = sum(range(50_000))
    assert found.fetchall() == [
        (dt.date(2024, 1, 1), 25_000, total // 2 - 12_500),
        (dt.date(2024, 1, 2), 25_000, total // 2 + 12_500),
    ]


def test_texts_that_are_no_names_of_files(tmp_path: Path) -> None:
    texts = ["", ".", "..", "a/b", "a=b", "a%2Fb", "x y", "ß漢", "~", "\n", None]
    table = pa.table({"k": texts, "n": range(len(texts))})
    write_partitioned(tmp_path / "out", ["k"], table.schema, table.to_batches())
    found = read(tmp_path / "out", pa.schema([("k", pa.string())])).sort_by("n")
    assert found["k"].to_pylist() == texts


def test_a_batch_of_many_values(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    batches = [pa.record_batch([[n % 1_500 for n in some], list(some)], schema) for some in (range(2_000), range(9))]
    write_partitioned(tmp_path / "out", ["k"], schema, batches)
    found = read(tmp_path / "out", pa.schema([("k", pa.int64())]))
    assert sorted(found["n"].to_pylist()) == sorted([*range(2_000), *range(9)])
    assert all(row["k"] == row["n"] % 1_500 for row in found.to_pylist())


def test_no_rows_are_an_empty_directory(uri: str, tmp_path: Path) -> None:
    assert (
        run("read", uri, "select 1 as a, 2 as b where false", "-o", tmp_path / "out", "--partition-by", "a").returncode
        == 0
    )
    assert list((tmp_path / "out").iterdir()) == []


def test_an_empty_directory_is_replaced(uri: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert run("read", uri, "select 1 as a, 2 as b", "-o", tmp_path / "out", "--partition-by", "a").returncode == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a=1"]
    assert "not an empty directory" in failed(
        "read", uri, "select 1 as a, 2 as b", "-o", tmp_path / "out", "--partition-by", "a"
    )


@pytest.mark.parametrize(
    ("sql", "keys", "message"),
    [
        ("select 1 as a, 2 as b", ["c"], "no column"),
        ("select 1 as a, 2 as a, 3 as b", ["a"], "several columns"),
        ("select 1 as a, 2 as b", ["a", "a"], "each column once"),
        ("select 1 as a", ["a"], "must leave one for the files"),
        ("select 0.5::double as a, 2 as b", ["a"], "the type double"),
        ("select [1] as a, 2 as b", ["a"], "the name of a directory"),
        ("select '__HIVE_DEFAULT_PARTITION__' as a, 2 as b", ["a"], "is the directory of NULL"),
        ("select 'x' || chr(0) || 'y' as a, 2 as b", ["a"], "column 'a' has a text with a NUL"),
        ("select 1 as \"x/y\", 2 as b", ["x/y"], "a name without /"),
        ("select 1 as \"x=y\", 2 as b", ["x=y"], "a name without /"),
        ("select 1 as \"x%20y\", 2 as b", ["x%20y"], "a name without /"),
        ("select date '12024-01-01' as a, 2 as b", ["a"], "the year 12024"),
        ("select interval 1 day as a, 2 as b", ["b"], "column 'a' has the type interval"),
        ("select if(i < 999999, i, error('half-way')) as n, 1 as k from range(1000000) t(i)", ["k"], "half-way"),
    ],
)  # fmt: skip
def test_an_error_leaves_nothing(uri: str, tmp_path: Path, sql: str, keys: list[str], message: str) -> None:
    options = [option for key in keys for option in ("--partition-by", key)]
    assert message in failed("read", uri, sql, "-o", tmp_path / "out", *options)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_leaves_nothing(uri: str, tmp_path: Path) -> None:
    done = run(
        *(
            "read",
            uri,
            "select hash(i) as h, i % 2 as k from range(300000) t(i)",
            "-o",
            tmp_path / "out",
            "--partition-by",
            "k",
        ),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert (done.returncode, "File too large" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_writing_does_not_abort_the_process(tmp_path: Path) -> None:
    """A thread of pyarrow that waited for a further batch used Python's objects while the interpreter ended."""
    limit = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20,) * 2); " + (
        "os.execv(sys.executable, sys.argv[1:])"
    )
    sql = "select i % 3 as k, md5(i::varchar) as m from range(3000000) t(i)"
    read = ["read", "duckdb:///:memory:", sql, "-o", tmp_path / "out", "--partition-by", "k"]
    command = [sys.executable, "-c", limit, sys.executable, "-m", "colonnade", *map(str, read)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_nothing(uri: str, tmp_path: Path) -> None:
    endless = "select i, i % 3 as k from range(1000000000000) t(i)"
    command = [sys.executable, "-m", "colonnade", "read", uri, endless, "-o", tmp_path / "out", "--partition-by", "k"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.rglob("*.parquet")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "colonnade: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_the_options_fit_together(uri: str, tmp_path: Path) -> None:
    assert "writes Parquet, not csv" in failed(
        "read", uri, "select 1", "-o", tmp_path / "x", "--partition-by", "a", "--format", "csv"
    )
    assert "need -o FILE" in failed("read", uri, "select 1", "--partition-by", "a")
    assert "needs --format" in failed("read", uri, "select 1", "-o", "-", "--partition-by", "a")
