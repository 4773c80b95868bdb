"""Processes of a server that run the same interpreter."""

from __future__ import annotations

import json
import sys


def command(program: str, *arguments: str) -> list[str]:
    """The command of a program in Python, whose arguments begin with `sys.argv[2]`. It has the import path of this
    process, without the current directory."""
    start = "import json, sys; sys.path[:] = json.loads(sys.argv[1])"
    return [sys.executable, "-P", "-c", f"{start}; {program}", json.dumps(sys.path), *arguments]
