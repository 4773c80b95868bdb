"""Runs the command `colonnade`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    """The command with these arguments, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "colonnade", *map(str, arguments)],
        **{"capture_output": True, "text": True, "timeout": 120, "check": False, **options},
    )


def failed(*arguments: Any) -> str:
    """The one line that says what is wrong."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("colonnade: ")
    return done.stderr
