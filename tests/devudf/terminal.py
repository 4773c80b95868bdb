"""A command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import time

from tests.devudf.projects import Project


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, project: Project, *arguments: object) -> None:
        self.controller, terminal = pty.openpty()
        command, environment = project.command(*arguments)
        environment |= {"TERM": "dumb", "PYTHON_COLORS": "0", "NO_COLOR": "1"}
        self.process = subprocess.Popen(
            command, cwd=project.root, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
        )
        os.close(terminal)

    def until(self, text: str) -> str:
        """What the command writes up to this text."""
        seen, end = "", time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < end, seen
            try:
                seen += os.read(self.controller, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the command has ended: {seen}") from None
        return seen

    def say(self, line: str) -> None:
        os.write(self.controller, f"{line}\n".encode())
