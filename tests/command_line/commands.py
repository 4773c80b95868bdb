"""Runs the command `colonnade`."""

from __future__ import annotations

import os
import pty
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
    """The one line that says what is wrong. Below it, only the place in a query is shown."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    said, *place = done.stderr.splitlines()
    assert not place or (len(place) == 2 and place[0].startswith("LINE ") and place[1].strip() == "^")
    assert said.startswith("colonnade: ")
    return f"{said}\n"


def shown_on_a_terminal(*arguments: Any) -> list[str]:
    """What the command shows on standard error if that is a terminal: the states of one line, and what comes after."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "colonnade", *map(str, arguments)]
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.DEVNULL) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += os.read(controller, 4096)
            except OSError:
                break
    os.close(controller)
    assert process.returncode == 0
    return shown.decode().split("\r\x1b[K")
