"""`colonnade read … -o -`, and the texts of values in CSV and NDJSON."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import colonnade
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pytest

from tests.command_line.commands import failed, run
from tests.testbed import postgres as pg

SQL = "select i, 'row ' || i as name, case when i % 2 = 0 then i / 4 end as quarter from range(1000) t(i) order by i"
ENDLESS = "select i from range(1000000000000) t(i)"
FAILS = "select case when i < 999999 then i else error('half-way') end as n from range(1000000) t(i)"


@pytest.fixture(scope="module")
def expected(uri: str) -> pa.Table:
    return colonnade.read_sql(uri, SQL, return_type="arrow")


def piped(uri: str, sql: str, format: str) -> bytes:
    """What the command writes to standard output."""
    done = run("read", uri, sql, "-o", "-", "--format", format, text=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(b"\n") == 1
    return done.stdout


def test_an_arrow_stream(uri: str, expected: pa.Table) -> None:
    with pyarrow.ipc.open_stream(piped(uri, SQL, "arrow")) as stream:
        assert stream.read_all().equals(expected)


def test_csv(uri: str, expected: pa.Table) -> None:
    assert pyarrow.csv.read_csv(io.BytesIO(piped(uri, SQL, "csv"))).equals(expected)


def test_ndjson(uri: str, tmp_path: Path, expected: pa.Table) -> None:
    written = piped(uri, SQL, "ndjson")
    assert [json.loads(line) for line in written.splitlines()] == expected.to_pylist()
    for name in ("out.ndjson", "out.jsonl"):
        assert run("read", uri, SQL, "-o", tmp_path / name).returncode == 0
        assert (tmp_path / name).read_bytes() == written


@pytest.mark.parametrize("format", ["csv", "ndjson"])
def test_timestamps_are_in_utc(format: str) -> None:
    """Also if DuckDB has another time zone, by default that of the machine."""
    sql = "select timestamptz '2024-07-01 02:00:00+02' as a, [timestamptz '2024-07-01 02:00:00+02'] as b"
    done = run("read", "duckdb:///:memory:", sql, "-o", "-", "--format", format, env=os.environ | {"TZ": "Asia/Tokyo"})
    assert (done.returncode, done.stdout.count("2024-07-01 00:00:00.000000Z")) == (0, 2)


@pytest.mark.parametrize("format", ["arrow", "csv", "ndjson"])
def test_no_rows(uri: str, format: str) -> None:
    written = piped(uri, "select 1 as a where false", format)
    if format == "arrow":
        assert pyarrow.ipc.open_stream(written).read_all().schema.names == ["a"]
    else:
        assert written == {"csv": b'"a"\n', "ndjson": b""}[format]


def test_the_format_has_to_be_named(uri: str, tmp_path: Path) -> None:
    assert "csv, arrow or ndjson" in failed("read", uri, SQL, "-o", "-")
    assert "csv, arrow or ndjson" in failed("read", uri, SQL, "-o", "-", "--format", "parquet")
    assert "need -o FILE" in failed("read", uri, SQL, "--format", "csv")
    assert run("read", uri, SQL, "-o", tmp_path / "plain", "--format", "csv").returncode == 0
    assert pyarrow.csv.read_csv(tmp_path / "plain").num_rows == 1000


def test_arrow_is_not_for_a_terminal(uri: str) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "colonnade", "read", uri, SQL, "-o", "-", "--format", "arrow"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(terminal)
    os.close(controller)
    assert (done.returncode, "not text for a terminal" in done.stderr) == (1, True)


@pytest.mark.parametrize("format", ["arrow", "csv", "ndjson"])
def test_an_error_half_way_is_not_a_result(uri: str, format: str) -> None:
    done = run("read", uri, FAILS, "-o", "-", "--format", format, text=False)
    assert done.returncode == 1
    assert b"half-way" in done.stderr
    if format == "arrow" and done.stdout:
        with pytest.raises((pa.ArrowInvalid, OSError)):
            pyarrow.ipc.open_stream(done.stdout).read_all()


@pytest.mark.parametrize("format", ["arrow", "csv", "ndjson"])
def test_a_reader_that_has_seen_enough(uri: str, format: str) -> None:
    command = [sys.executable, "-m", "colonnade", "read", uri, ENDLESS, "-o", "-", "--format", format]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert len(process.stdout.read(100_000)) == 100_000
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (1, b"")


def test_ctrl_c(uri: str) -> None:
    command = [sys.executable, "-m", "colonnade", "read", uri, ENDLESS, "-o", "-", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(1000)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (130, b"colonnade: interrupted\n")


def test_closed_streams(uri: str, tmp_path: Path) -> None:
    def command(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "colonnade", "read", uri, *arguments]
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirections}', "sh", *words], capture_output=True, text=True, timeout=60
        )

    done = command("2>&-", "select 1 as n", "-o", "-", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, '"n"\n1\n')
    done = command(">&-", "select 1 as n", "-o", "-", "--format", "csv")
    assert (done.returncode, done.stderr) == (1, "colonnade: -o -: standard output is closed\n")
    done = command("<&-", "-")
    assert (done.returncode, done.stderr) == (1, "colonnade: the query is -, and standard input is closed\n")
    done = command("<&- >&- 2>&-", "select 1 as n", "-o", str(tmp_path / "n.csv"))
    assert (done.returncode, (tmp_path / "n.csv").read_text()) == (0, '"n"\n1\n')


def test_a_disk_that_takes_no_more_is_an_error(uri: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run(
            "read", uri, SQL, "-o", "-", "--format", "csv", stdout=full, stderr=subprocess.PIPE, capture_output=False
        )
    assert (done.returncode, "No space left" in done.stderr) == (1, True)


# --- the texts of values ----------------------------------------------------------------------------------------------

VALUES = (
    "select '{1,NULL}'::int[] as numbers, array['a\"b', E'\\n', NULL] as words, '\\x00ff'::bytea as data,"
    " array['\\x01'::bytea] as more, 12.30::numeric(10,2) as price, 'NaN'::float8 as nothing, 5::float8 as whole,"
    " timestamptz '2024-02-29 12:00:00.5+00' as at, NULL::int[] as none, NULL::bytea as no_data"
)


def test_values_of_ndjson(stock: pg.Cluster) -> None:
    assert json.loads(piped(stock.uri(), VALUES, "ndjson"), parse_float=str) == {
        "numbers": [1, None],
        "words": ['a"b', "\n", None],
        "data": "\\x00ff",
        "more": ["\\x01"],
        "price": "12.30",
        "nothing": "NaN",
        "whole": "5.0",
        "at": "2024-02-29 12:00:00.500000Z",
        "none": None,
        "no_data": None,
    }


def test_values_of_csv(stock: pg.Cluster) -> None:
    _, row = csv.reader(io.StringIO(piped(stock.uri(), VALUES, "csv").decode()))
    assert json.loads(row[0]) == [1, None]
    assert json.loads(row[1]) == ['a"b', "\n", None]
    assert bytes.fromhex(row[2].removeprefix("\\x")) == b"\0\xff"
    assert json.loads(row[3]) == ["\\x01"]
    assert Decimal(row[4]) == Decimal("12.30")
    assert row[5:] == ["nan", "5", "2024-02-29 12:00:00.500000Z", "", ""]


def test_postgresql_reads_its_bytes_back(stock: pg.Cluster) -> None:
    sql = "select 1 as i, '\\x00ff'::bytea as data union all select 2, '' union all select 3, NULL order by i"
    written = piped(stock.uri(), sql, "csv")
    with psycopg.connect(stock.uri()) as session:
        session.execute("create temp table back (i int, data bytea)")
        with session.cursor().copy("copy back from stdin (format csv, header)") as copy:
            copy.write(written)
        assert session.execute("select data from back order by i").fetchall() == [(b"\0\xff",), (b"",), (None,)]


def test_ndjson_needs_different_names(uri: str) -> None:
    done = run("read", uri, "select 1 as a, 2 as a", "-o", "-", "--format", "ndjson")
    assert (done.returncode, done.stdout, "2 columns are called 'a'" in done.stderr) == (1, "", True)
