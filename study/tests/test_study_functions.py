"""The study's chapter about functions in Python, at its smallest size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from study import functions, report
from study.experiment import SIZES, Context, Row


def test_every_system_is_measured_and_right(tmp_path: Path) -> None:
    rows = functions.run(Context(SIZES["tiny"], "", Path(), tmp_path))
    assert {row["system"] for row in rows} == {system.name for system in functions.SYSTEMS}
    # PL/Python is a package of its own, which the tests do not install.
    assert all("PL/Python" in row["system"] for row in rows if "error" in row)
    it: dict[str, Any] = {"experiment": "it", "size": "tiny", "seconds": 1, "machine": {"Machine": "the tests'"}}
    page = report.write(tmp_path, [(functions.EXPERIMENT, {**it, "rows": rows})]).read_text()
    assert "colonnade serve, PYTHON_MAP" in page
    assert len(functions.findings(rows)) == 3


def test_findings_follow_from_the_rows() -> None:
    def row(system: str, nanoseconds: float) -> Row:
        return {"system": system, "nanoseconds": nanoseconds}

    rows = [row("PostgreSQL, built-in", 10), row("PostgreSQL, PL/Python", 100), row("SQLite, built-in", 50)]
    rows += [row("SQLite, create_function", 75), row("PostgreSQL, PL/Python, vectorized", 70)]
    rows += [row("colonnade serve, built-in", 4), row("colonnade serve, PYTHON_MAP", 8)]
    rows += [row("DuckDB, built-in", 4), row("DuckDB, create_function over Arrow", 20)]
    single, vectorized, at_once = functions.findings(rows)
    assert (single.holds, vectorized.holds, at_once.holds) == (False, True, True)
    assert "1.5 to 10" in single.today and "2.0 times" in vectorized.today and "0.70" in at_once.today
    assert [finding.holds for finding in functions.findings([])] == [None] * 3


def test_a_wrong_answer_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="gives 7, not 8"):
        list(functions.readings(lambda query: 7, functions.SYSTEMS[:1], [1], 8))
