"""The study's chapter about databases in the client's process and over a socket, at its smallest size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import data
import duckdb
import pytest

from study import embedded, report, tpch
from study.experiment import SIZES, Context, Row
from tests.testbed import postgres as pg

LINEITEM = """
    SELECT i // 4 AS l_orderkey, (i % 50 + 1)::DECIMAL(15, 2) AS l_quantity, DATE '1992-01-02' + (i % 2500)::INTEGER
        AS l_shipdate, ['AIR', 'RAIL', NULL][i % 3 + 1] AS l_shipmode FROM range(3000) AS t(i)
"""


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Without the peers' environment."""
    duckdb.sql(f"COPY ({LINEITEM}) TO '{tmp_path}/lineitem.parquet'")
    monkeypatch.setattr(data, "DIRECTORY", tmp_path)
    monkeypatch.setattr(data, "ACS_ROWS", 300)
    monkeypatch.delenv("COLONNADE_PUMS", raising=False)
    monkeypatch.setitem(embedded.DATA, "acs", ("acs", 300))
    with pg.scratch() as scratch:
        scratch.chmod(0o755)
        yield Context(SIZES["tiny"], "", Path(), scratch)


@pytest.mark.study
def test_every_part_is_measured_and_right(context: Context, tmp_path: Path) -> None:
    rows = embedded.run(context)
    measured = [row for row in rows if not row.get("paper")]
    for row in measured:
        # Colonnade does not write to every database yet. No result is wrong.
        assert "error" not in row or "NotSupportedError" in row["error"], row
    ours = {name.name for _, name in embedded.WRITERS if not name.other}
    for table in ("lineitem", "acs"):
        assert {row["system"] for row in measured if (row["part"], row["table"]) == ("write", table)} == ours
    read = {row["system"] for row in measured if row["part"] == "read"}
    assert {*embedded.ENGINES} <= read
    queried = {(row["system"], row["table"]) for row in measured if row["part"] == "query"}
    assert queried == {(engine, query) for engine in embedded.ENGINES for query in tpch.QUERIES}
    it: dict[str, Any] = {"experiment": "it", "size": "tiny", "seconds": 1, "machine": {"Machine": "the tests'"}}
    page = report.write(tmp_path, [(embedded.EXPERIMENT, {**it, "rows": rows})]).read_text()
    assert all(f"{name} (thesis)" in page for name in tpch.TABLE_6_1) and "What this chapter does not tell" in page
    assert len(embedded.findings(rows)) == 4


def row(part: str, system: str, table: str = "lineitem", **more: Any) -> Row:
    return {"part": part, "system": system, "table": table, "wall": 1.0, "rows": 1_000_000, **more}


def test_findings_are_judged_from_the_rows() -> None:
    rows = [row("write", name) for name in embedded.EMBEDDED]
    rows += [row("write", name, rows=10_000) for name in embedded.INSERTS]
    rows += [row("read", "DuckDB in process"), row("read", "SQLite, pandas + sqlite3", wall=4.0)]
    rows += [row("query", engine, "Q1", wall=20.0) for engine in embedded.ROW_STORES]
    rows += [row("query", "DuckDB in process", "Q1"), row("query", "DuckDB in process", "Q2")]
    inserted, exported, queried, survey = embedded.findings(rows)
    assert inserted.holds is True and "INSERT statements take 100 s" in inserted.today
    assert exported.holds is False and "4 times as long as DuckDB" in exported.today
    assert queried.holds is True and survey.holds is None
    assert [finding.holds for finding in embedded.findings([])] == [None] * 4


def test_a_stopped_query_is_shown_with_its_limit() -> None:
    rows = [
        row("query", "SQLite, Colonnade", "Q8", error="took more than 25 s", limit=20, wall=None),
        row(
            "query",
            "PostgreSQL as it is, Colonnade",
            "Q8",
            error="canceling statement due to statement timeout",
            limit=20,
        ),
        row("query", "MariaDB as it is, Colonnade", "Q8", error="no such table", limit=20, wall=None),
    ]
    del rows[1]["wall"]
    shown = [embedded.of_query(rows, one["system"], "Q8") for one in rows]
    assert shown == ["over 20 s", "over 20 s", "no such table"]
