"""Commands on a terminal, with what is typed at their prompts."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

#: What is typed follows it.
PROMPT = "(Pdb) "
#: The place of examples for their readers.
HOME = "/home/ada/shop"
TIMEOUT = 60


def shown(words: list[str], typed: list[str], directory: Path, environment: Mapping[str, str]) -> str:
    """What a command shows on a terminal. At each prompt the next line is typed."""
    controller, terminal = pty.openpty()
    environment = {**environment, "TERM": "dumb", "NO_COLOR": "1", "PYTHON_COLORS": "0"}
    with subprocess.Popen(
        words, cwd=directory, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        seen, left, end = "", list(typed), time.monotonic() + TIMEOUT
        answered = 0
        while time.monotonic() < end:
            try:
                part = os.read(controller, 4096)
            except OSError:
                break
            seen += part.decode(errors="replace")
            if left and seen.count(PROMPT) > answered and seen.endswith(PROMPT):
                answered = seen.count(PROMPT)
                os.write(controller, f"{left.pop(0)}\n".encode())
        else:
            process.kill()
        os.close(controller)
    # What is typed at the prompt is echoed by the terminal, and some versions of Python write an empty line at the end.
    return seen.replace("\r\n", "\n").replace(str(directory), HOME).rstrip("\n") + "\n"


def typed_at_prompts(example: str) -> list[str]:
    """What an example types."""
    return [line.removeprefix(PROMPT) for line in example.splitlines() if line.startswith(PROMPT)]
