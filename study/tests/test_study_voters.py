"""The study's chapter about machine learning in the database."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from study import report, voters, voters_tables
from study.experiment import SIZES, Context, Row


def test_labels_follow_the_votes() -> None:
    places = voters_tables.precincts()
    table = voters_tables.voters(20_000, places)
    kinds = [str(field.type) for field in table.schema]
    assert (kinds.count("int32"), kinds.count("string")) == (40, 56)
    precinct = table.column("precinct").to_numpy()
    dem, rep = (places.column(name).to_numpy() for name in ("dem", "rep"))
    expected = (dem / (dem + rep))[precinct].mean()
    assert voters_tables.labels(table, places).mean() == pytest.approx(expected, abs=0.02)
    assert (dem + rep).max() * voters_tables.DRAWS < 2**31
    assert np.isin(table.column("party").to_numpy(), ["DEM", "REP", "UNA"]).all()


def test_every_system_has_the_right_labels(tmp_path: Path) -> None:
    if voters.INTERPRETER not in os.environ:
        pytest.skip(f"{voters.INTERPRETER} names no interpreter with scikit-learn; make test-ml runs this")
    context = Context(SIZES["tiny"], "", Path(), tmp_path)
    rows = voters.run(context)
    assert {row["system"] for row in rows} == {*voters.CLIENTS, voters.DATABASE, voters.AS_ONNX}
    assert [row for row in rows if "error" in row] == []
    assert all(0 <= row["load_cpu"] <= row["client_cpu"] + row["server_cpu"] + 0.5 for row in rows)
    sums = {row["system"]: row["predicted"] for row in rows if row["columns"] == "needed"}
    # The order of the rows is not defined, so forests differ a little.
    assert max(sums.values()) - min(sums.values()) < 0.15 * 1_000
    it: dict[str, Any] = {"experiment": "it", "size": "tiny", "seconds": 1, "machine": {"Machine": "the tests'"}}
    page = report.write(tmp_path, [(voters.EXPERIMENT, {**it, "rows": rows})]).read_text()
    assert voters.DATABASE in page


def test_training_is_compared_with_arrays_in_memory(tmp_path: Path) -> None:
    if voters.INTERPRETER not in os.environ:
        pytest.skip(f"{voters.INTERPRETER} names no interpreter with scikit-learn; make test-ml runs this")
    command = [os.environ[voters.INTERPRETER], str(voters.ROOT / "bench/ml.py")]
    command += ["--rows", "3000", "--rounds", "1", "--trees", "2", "--markdown", str(tmp_path / "ml.md")]
    subprocess.run(command, check=True, timeout=300)
    lines = (tmp_path / "ml.md").read_text().splitlines()
    assert len([line for line in lines if line.endswith("x |")]) == 12


def test_findings_follow_from_the_rows() -> None:
    def row(system: str, load: float, wall: float, columns: str = "all", peak: float = 3e9) -> Row:
        columns = "needed" if system == voters.DATABASE else columns
        return {"system": system, "columns": columns, "load": load, "load_cpu": load, "wall": wall, "peak": peak}

    rows = [row(voters.DATABASE, 0.1, 1.0), *(row(name, 2.0, 3.0) for name in voters.SOCKETS)]
    rows += [row("CSV, pyarrow", 1.5, 2.5), row("Parquet, pyarrow", 0.5, 1.5), row("npy, a file for each column", 2, 3)]
    holds = [finding.holds for finding in voters.findings(rows)]
    assert holds == [True, True, False, True, True, False, None]
    rows += [row(voters.SERVED, 0.4, 1.0), row("CSV, pyarrow", 1.5, 2.5, "needed", 3.1e9)]
    assert [finding.holds for finding in voters.findings(rows)] == [True, True, False, False, False, False, True]
    assert [finding.holds for finding in voters.findings([])] == [None] * 7


def test_a_wrong_label_is_no_measurement() -> None:
    assert voters.judged({"labels": 3}, 4) == {"error": "3 labels are DEM, not 4"}
