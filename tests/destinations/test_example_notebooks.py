"""The notebooks of docs/examples/ run as they are, and show what their files show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import notebooks

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
FILES = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(FILES) == 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_shows_what_its_file_shows(file: Path, tmp_path: Path) -> None:
    cells = [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
    with notebooks.kernel(tmp_path) as (_, client):
        for cell in cells:
            shown = notebooks.outputs(client, "".join(cell["source"]))
            assert shown == [without_number(output) for output in cell["outputs"]], "".join(cell["source"])


def without_number(output: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in output.items() if name != "execution_count"}
