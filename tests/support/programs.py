"""Programs in other languages, and the tools that build them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

#: Seconds; the first build of a program compiles all that it needs.
TIMEOUT = 280


def program(name: str) -> str:
    """Where a program is. The tests that need it are skipped on machines that have none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def go_with_cxx() -> str:
    """Where Go's tool is, on machines with a compiler of C++, which ADBC's driver manager for Go needs."""
    program("c++")
    return program("go")


def r_with(package: str) -> str:
    """Where R's interpreter is, with a package. The tests that need it are skipped on machines without either."""
    rscript = program("Rscript")
    if subprocess.run([rscript, "-e", f"library({package})"], capture_output=True, check=False).returncode:
        pytest.skip(f"R's package {package} is not installed")
    return rscript


def run(command: list[str | Path], directory: Path | None = None, **environment: str) -> str:
    """What a program says; it must succeed."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}"
    return done.stdout


def names(source: Path, pattern: str) -> list[str]:
    """The names of a source's tests."""
    found = re.findall(pattern, source.read_text(), re.MULTILINE)
    assert found
    return found
