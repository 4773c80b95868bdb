"""`colonnade demo`: the sample data that the documentation's examples read."""

from __future__ import annotations

from pathlib import Path

import colonnade
import pytest
from colonnade._cli.main import main


def test_demo_makes_the_same_rows_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = []
    for name in ("one.duckdb", "two.duckdb"):
        file = tmp_path / name
        assert main(["demo", str(file)]) == 0
        frames.append(colonnade.read_sql(f"duckdb:///{file}", "select * from orders order by id", return_type="arrow"))
    assert capsys.readouterr().out.startswith(f"{tmp_path}/one.duckdb: orders (100,000 rows), customers (1,000 rows)\n")
    assert frames[0].equals(frames[1])
    assert frames[0].num_rows == 100_000
    assert frames[0].column_names == ["id", "customer_id", "day", "total", "note"]
    assert frames[0]["note"].null_count == 2_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.duckdb", "two.duckdb"]


def test_demo_every_order_has_a_customer(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    assert main(["demo", str(file), "--rows", "5000"]) == 0
    query = "select count(*) as n from orders join customers on customers.id = customer_id"
    assert colonnade.read_sql(f"duckdb:///{file}", query, return_type="arrow").to_pydict() == {"n": [5000]}


def test_demo_leaves_a_file_that_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.duckdb"
    file.write_bytes(b"mine")
    assert main(["demo", str(file)]) == 1
    assert "exists: name another file" in capsys.readouterr().err
    assert file.read_bytes() == b"mine"


@pytest.mark.parametrize("arguments", [["missing/shop.duckdb"], ["shop.duckdb", "--rows", "0"]])
def test_demo_refuses_in_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "is not a directory: make it first" in error or "--rows" in error
    assert list(tmp_path.iterdir()) == []
