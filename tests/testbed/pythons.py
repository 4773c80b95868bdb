"""Interpreters of other versions of Python than this one.

    python -m tests.testbed.pythons 3.15     # prints the path of the interpreter

This machine's own are used where there are any, also those that pyenv has installed. Debian's testing release has
others, which are fetched into a folder of their own (`tests/testbed/debian.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.testbed.debian import Release, relocate

FOLDER = Path(__file__).parents[2] / "target/pythons"
#: Those that Debian's testing release has.
DEBIAN = ("3.13", "3.14", "3.15")


def interpreter(version: str) -> Path:
    """An interpreter of this version, such as "3.14". It is fetched if this machine has none.

    Raises:
        LookupError: Neither this machine nor Debian has this version, or a program is missing that the fetch needs.
    """
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return Path(sys.executable)
    program = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = shutil.which(program)
    for python in [*([Path(found)] if found else []), *pyenv.glob(f"versions/{version}*/bin/{program}")]:
        # A program of this name in the PATH may be pyenv's script, which refuses versions that are not selected.
        if runs(python):
            return python
    if version not in DEBIAN:
        raise LookupError(f"there is no Python {version}")
    return _fetched(version)


def runs(python: Path) -> bool:
    """Whether there is an interpreter that runs."""
    return python.exists() and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def _fetched(version: str) -> Path:
    folder = FOLDER / version
    python = folder / f"usr/bin/python{version}"
    if not runs(python):
        if shutil.which("patchelf") is None:
            raise LookupError("patchelf is needed: apt-get install patchelf")
        FOLDER.mkdir(parents=True, exist_ok=True)
        Release("forky").unpack(folder, [f"python{version}"])
        relocate(folder, [python])
    return python


def emulated() -> list[str]:
    """The command of Debian 12's Python 3.11 for aarch64, which qemu runs. It cannot start other programs.

    Raises:
        LookupError: qemu is not installed.
    """
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        raise LookupError("qemu is needed: apt-get install qemu-user")
    folder = FOLDER / "aarch64"
    complete = FOLDER / "aarch64.complete"
    if not complete.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        Release("bookworm", architecture="arm64").unpack(folder, ["python3.11", "libstdc++6"])
        complete.touch()
    return [emulator, "-L", str(folder), str(folder / "usr/bin/python3.11")]


if __name__ == "__main__":
    print(interpreter(sys.argv[1]))
