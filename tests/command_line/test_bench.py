"""`colonnade bench`: a query of one's own, with the libraries that are installed next to Colonnade."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.shop import Place
from tests.testbed import postgres as pg

SQL = "select id, amount, label from readings"


def bench(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "bench", *arguments]
    return subprocess.run(command, **{"capture_output": True, "text": True, "timeout": 240, "check": False, **options})


def lines(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """What each client took, by its name."""
    header, *rest, memory = done.stdout.splitlines()
    assert memory.startswith("Memory before the measurement: ")
    assert header.split() == ["seconds", "rows/s", "CPU", "s", "peak", "MB", "rows", "columns"]
    return {name: figures for name, *figures in (line.split() for line in rest)}


def test_all_that_is_installed_reads_the_same(stock: pg.Cluster, stock_place: Place) -> None:
    del stock_place
    done = bench(stock.uri("shop", tcp=True), SQL, "--rounds", "2")
    assert (done.returncode, done.stderr) == (0, "")
    found = lines(done)
    assert list(found) == ["colonnade", "adbc", "pandas"]
    for seconds, rate, cpu, peak, *shape in found.values():
        assert shape == ["6", "3"]
        assert float(seconds) >= 0 and float(cpu) >= 0 and float(peak) > 10 and float(rate.replace(",", "")) > 0


@pytest.mark.parametrize("return_type", ["arrow", "polars", "pandas"])
def test_what_is_made(return_type: str, tmp_path: Path) -> None:
    # A path that every library takes as it is.
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table readings as select 1 as id, 2 as amount, 'x' as label")
    uri = f"sqlite:///{path}"
    done = bench(uri, "-", "--rounds", "1", "--return-type", return_type, input=SQL)
    assert done.returncode == 0, done.stdout
    assert {tuple(figures[4:]) for figures in lines(done).values()} == {("1", "3")}
    assert list(lines(done)) == ["colonnade", "adbc", "pandas"]


def test_parts(stock: pg.Cluster, stock_place: Place) -> None:
    del stock_place
    uri, parts = stock.uri("shop"), ("--partition-on", "id", "--partition-num", "2")
    done = bench(uri, SQL, "--rounds", "1", "--clients", "colonnade", *parts)
    assert lines(done)["colonnade"][4:] == ["6", "3"]


def test_who_cannot_read_it_says_why_and_shows_no_password(stock: pg.Cluster, stock_place: Place) -> None:
    done = bench(stock_place.secret, "select nope from readings", "--rounds", "1")
    assert done.returncode == 1
    _header, *remarks, _memory = done.stdout.splitlines()
    assert [remark.partition(":")[0] for remark in remarks] == ["colonnade", "adbc", "pandas"]
    assert all("nope" in remark for remark in remarks[:2])
    assert "hunter2" not in done.stdout + done.stderr
    missing = bench(stock.uri("shop"), SQL, "--clients", "connectorx", "--rounds", "1")
    assert missing.returncode == 0 and "connectorx" in missing.stdout
    assert bench(stock.uri("shop"), SQL, "--rounds", "0").stderr == "colonnade: --rounds must be at least 1\n"
