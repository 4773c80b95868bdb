"""What type checkers know of the package, by pyright."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent / "typing"


def test_types_are_known(tmp_path: Path) -> None:
    settings = {
        "include": ["reads.py"],
        "stubPath": str(HERE),
        "extraPaths": [str(HERE.parents[2] / "python")],
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": "error",
        "pythonVersion": "3.11",
    }
    shutil.copy(HERE / "reads.py", tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    pyright = Path(sys.executable).with_name("pyright")
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, "--project", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    found = [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in report["generalDiagnostics"]]
    assert found == []
