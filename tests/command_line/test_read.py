"""`colonnade read` and what the command says."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import colonnade
import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from colonnade._cli.progress import scaled

from tests.command_line.commands import failed, run, shown_on_a_terminal
from tests.support import disks

SQL = "select i, 'row ' || i as name, case when i % 2 = 0 then i / 4 end as quarter from range(1000) t(i) order by i"


@pytest.mark.parametrize(
    "command", ["", "read", "write", "copy", "serve", "bench", "doctor", "user", "user add", "user list", "user remove"]
)
def test_every_command_explains_itself(command: str) -> None:
    done = run(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: colonnade {command}".strip() in done.stdout


def test_as_texts_help_names_its_sources() -> None:
    with colonnade.connect("duckdb:") as connection, pytest.raises(colonnade.NotSupportedError) as caught:
        connection.query("select 1", as_text=["x"])
    _, _, sources = caught.value.message.partition("the option as_text is for ")
    assert f"--as-text NAME {sources}: " in " ".join(run("read", "--help").stdout.split())


@pytest.fixture(scope="module")
def expected(uri: str) -> pa.Table:
    return colonnade.read_sql(uri, SQL, return_type="arrow")


def test_the_version() -> None:
    assert run("--version").stdout == f"colonnade {colonnade.__version__}\n"


def test_rates() -> None:
    rates = [scaled(number, " rows") for number in (0, 999, 1000, 2_500_000)]
    assert rates == ["0 rows", "999 rows", "1 k rows", "2.5 M rows"]
    assert [scaled(number, "B") for number in (5, 5000)] == ["5 B", "5 kB"]


def test_parquet(uri: str, tmp_path: Path, expected: pa.Table) -> None:
    path = tmp_path / "out.parquet"
    done = run("read", uri, SQL, "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1,000 rows in ")
    assert "on the wire" in done.stderr
    assert pyarrow.parquet.read_table(path).equals(expected)
    assert list(tmp_path.iterdir()) == [path]


def test_csv(unix_uri: str, tmp_path: Path, expected: pa.Table) -> None:
    path = tmp_path / "out.csv"
    assert run("read", unix_uri, SQL, "-o", path).returncode == 0
    assert pyarrow.csv.read_csv(path).equals(expected)


def test_arrow(uri: str, tmp_path: Path, expected: pa.Table) -> None:
    path = tmp_path / "OUT.ARROW"
    assert run("read", uri, SQL, "-o", path).returncode == 0
    with pyarrow.ipc.open_file(path) as file:
        assert file.read_all().equals(expected)


def test_a_duckdb_file_needs_no_server(tmp_path: Path) -> None:
    uri = f"duckdb:///{tmp_path}/data.duckdb"
    with duckdb.connect(f"{tmp_path}/data.duckdb") as connection:
        connection.execute("create table t as select 42 as answer")
    assert run("read", uri, "from t").stdout == "answer\n------\n42\n(1 rows)\n"


def test_a_small_table_on_the_terminal(uri: str) -> None:
    done = run("read", uri, "select i as n, case when i = 1 then 'a\x1b[31mb' end as t from range(2) r(i) order by i")
    assert done.stdout == "n | t\n--+-----------\n0 | NULL\n1 | a\\x1b[31mb\n(2 rows)\n"


def test_no_more_than_the_first_rows_are_fetched(uri: str) -> None:
    done = run("read", uri, "select i from range(1000000000000) t(i)")
    lines = done.stdout.splitlines()
    assert lines[2:4] == ["0", "1"]
    assert lines[-1] == "(the first 20 rows; -o FILE writes all)"
    assert len(lines) == 23


def test_no_rows_and_long_values(uri: str) -> None:
    assert run("read", uri, "select 1 as a where false").stdout == "a\n-\n(0 rows)\n"
    assert "x" * 59 + "…" in run("read", uri, "select repeat('x', 100) as t").stdout


def test_parameters(uri: str) -> None:
    assert "it's" in run("read", uri, "select $1 || $2 as t", "--param", "it", "--param", "'s").stdout
    done = run("read", uri, "select $a || $b as t", "--param", "a=x=", "--param", "b=y")
    assert "x=y" in done.stdout
    assert "NAME=" in failed("read", uri, "select $1", "--param", "a=1", "--param", "2")


def test_the_query_may_come_from_standard_input(uri: str) -> None:
    assert "\n7\n" in run("read", uri, "-", input="select 7 as n;\n").stdout


def test_verbose_tells_what_was_chosen(uri: str, tmp_path: Path) -> None:
    done = run("read", "-v", uri, SQL, "-o", tmp_path / "out.csv", "--compression", "light+lz4")
    assert "codecs lz4 ×1" in done.stderr
    assert "\nlight+lz4 ×1, at " in done.stderr
    assert "  i: " in done.stderr
    assert run("-v", "read", uri, "select 1 as n").stderr.count("\n") == 4


def test_errors_are_one_line_that_says_what_to_do(uri: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert "SQLSTATE 42P01" in failed("read", uri, "select * from no_such_table", "-o", out)
    assert "SQLSTATE 42601" in failed("read", uri, "selec 1")
    assert "refused" in failed("read", "postgresql://127.0.0.1:1/", "select 1")
    assert "use postgresql://" in failed("read", "nosuch://h/", "select 1")
    assert "ODBC driver" in failed("read", "oracle://h/", "select 1")
    assert ".parquet, .csv, .arrow" in failed("read", uri, "select 1", "-o", tmp_path / "out.xlsx")
    no = tmp_path / "no"
    for arguments in (["-o", no / "out.csv"], ["-o", no / "out", "--partition-by", "n"]):
        assert f"{no} is not a directory: make it first" in failed("read", uri, "select 1 as n, 2 as m", *arguments)
    assert "plain, light" in failed("read", uri, "select 1", "--compression", "gzip")
    assert list(tmp_path.iterdir()) == []


def test_verbose_shows_where_an_error_came_from(uri: str) -> None:
    done = run("read", "-v", uri, "selec 1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_wrong_arguments_are_another_status() -> None:
    assert run("serve", "--encode-cpu", "2").returncode == run("serve", "--encode-cpu", "x").returncode == 2
    assert run().returncode == run("read").returncode == run("fly").returncode == 2
    done = run("read", "duckdb:", "select 1", "--numeric", "1")
    assert done.returncode == 2
    assert "--numeric: 1 is not P,S, such as 38,10" in done.stderr


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.arrow"])
def test_nothing_half_written_has_the_final_name(uri: str, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    out.write_bytes(b"what was there before")
    sql = "select case when i < 999999 then i else error('half-way') end as n from range(1000000) t(i)"
    assert "half-way" in failed("read", uri, sql, "-o", out)
    assert out.read_bytes() == b"what was there before"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("suffix", [".arrow", ".csv", ".parquet"])
def test_a_disk_that_takes_no_more_is_an_error(uri: str, tmp_path: Path, suffix: str) -> None:
    done = run(
        *("read", uri, "select hash(i) as h from range(300000) t(i)", "-o", tmp_path / f"out{suffix}"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_only_regular_files_are_replaced(uri: str, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert run("read", uri, "select 1 as n", "-o", tmp_path / "link.csv").returncode == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == '"n"\n1\n'
    (tmp_path / "directory.csv").mkdir()
    assert "not a regular file" in failed("read", uri, "select 1", "-o", tmp_path / "directory.csv")


def test_progress_on_a_terminal(uri: str, tmp_path: Path) -> None:
    out = tmp_path / "out.arrow"
    states = shown_on_a_terminal("read", uri, "select i from range(3000000) t(i)", "-o", out)
    # At least one state under way, wiped before the summary.
    assert len(states) >= 3
    assert "rows in" in states[1]
    assert states[-1].startswith("3,000,000 rows in ")


def test_a_reader_that_has_seen_enough(uri: str) -> None:
    command = f"{sys.executable} -m colonnade read '{uri}' 'select i from range(1000) t(i)' | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [(), ("--partition-by", "k")])
def test_a_folder_without_permission_is_an_error_about_the_file_that_was_named(more: tuple[str, ...]) -> None:
    """Nobody makes files there, not even root."""
    done = run("read", "duckdb:///:memory:", "select 1 as k, 2 as v", "-o", "/sys/named", "--format", "parquet", *more)
    assert done.returncode == 1 and "/sys/named" in done.stderr and ".colonnade-" not in done.stderr
    assert "[Errno " in done.stderr


def test_a_full_disk_is_an_error_about_the_file_that_was_named(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", "64k") as disk:
        for name, more in {"t.parquet": (), "t.csv": (), "t": ("--partition-by", "k")}.items():
            sql = "select i % 2 as k, random() as r, uuid()::varchar as u from range(200000) t(i)"
            done = run("read", "duckdb:///:memory:", sql, "-o", str(disk / name), *more)
            assert done.returncode == 1 and str(disk / name) in done.stderr and ".colonnade-" not in done.stderr
            assert "No space left" in done.stderr and not any(disk.iterdir())
