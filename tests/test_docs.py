"""The examples of README.md and of docs/ run as they stand; those of README.md against a server on a free port."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from serving import Server, serve

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    shop = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with duckdb.connect(str(shop)) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, 'note ' || i AS note, (i * 1.5)::decimal(9, 2) AS total"
            " FROM range(1000) t(i)"
        )
    with serve(shop) as server:
        yield server


def here(text: str, server: Server) -> str:
    return text.replace("127.0.0.1:5433", f"{server.host}:{server.port}").replace("-p 5433", f"-p {server.port}")


def test_python_examples(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(here(block, server), "README.md", "exec"), names)
    assert len(names["frame"]) == 933  # type: ignore[arg-type]
    assert names["table"].num_rows == 1000  # type: ignore[attr-defined]
    assert names["fast"].height == 1000  # type: ignore[attr-defined]
    assert len(names["totals"]) == 1000  # type: ignore[arg-type]
    assert "rows" in capsys.readouterr().out


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_pages(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    shop = tmp_path / "shop.duckdb"
    with duckdb.connect(str(shop)) as connection:
        for table in ("orders", "orders_2024", "orders_2025"):
            connection.execute(f"CREATE TABLE {table} AS SELECT i AS id FROM range(10) t(i)")
    # What a page takes for granted.
    names: dict[str, object] = {"uri": f"duckdb:///{shop}"}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, page.name, "exec"), names)
    # Files that a page points to.
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link


def test_shell_examples(server: Server, tmp_path: Path) -> None:
    commands = re.findall(r"^    ((?:colonnade read|psql) .*)$", README, re.MULTILINE)
    assert len(commands) == 2
    read, psql = (shlex.split(here(command, server)) for command in commands)
    subprocess.run([sys.executable, "-m", *read], check=True, cwd=tmp_path, timeout=60)
    assert pq.read_table(tmp_path / "orders.parquet").num_rows == 1000
    environment = os.environ | {"PGUSER": "tester"}
    csv = subprocess.run(psql, check=True, capture_output=True, text=True, timeout=60, env=environment).stdout
    assert csv.splitlines()[:2] == ["id,note,total", "0,note 0,0.00"]
    assert len(csv.splitlines()) == 1001
