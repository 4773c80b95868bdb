"""Users of `colonnade serve --users FILE`, made as an operator makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def user_command(*arguments: str | Path, password: str = "") -> subprocess.CompletedProcess[str]:
    """`colonnade user …`."""
    command = [sys.executable, "-m", "colonnade", "user", *map(str, arguments)]
    return subprocess.run(command, input=password + "\n", text=True, capture_output=True, check=False)


def add_user(users: Path, name: str, password: str, *options: str) -> None:
    """Adds a user to the file `users`, which is made if it is not there."""
    done = user_command("add", name, "--users", users, *options, password=password)
    assert done.returncode == 0, done.stderr
