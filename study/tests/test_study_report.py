"""The study's page, made from the measurements in docs/study."""

from __future__ import annotations

from pathlib import Path

from study import report
from study.__main__ import EXPERIMENTS, measurements

MEASURED = Path(__file__).parents[2] / "docs/study"


def test_the_page_and_the_kept_figures_are_made_from_the_measurements(tmp_path: Path) -> None:
    measured = measurements(MEASURED)
    assert len(measured) == len(EXPERIMENTS)
    page = report.write(tmp_path, measured).read_text()
    assert all(f'id="{found["experiment"]}"' in page for _, found in measured)
    figures = sorted(path.name for path in MEASURED.glob("*.svg"))
    assert figures == sorted(path.name for path in tmp_path.glob("*.svg"))
    for name in figures:
        assert (tmp_path / name).read_bytes() == (MEASURED / name).read_bytes(), name
