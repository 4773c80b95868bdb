"""Examples of Rust's crates, which tests run as programs."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: As `make test-rust` builds. With one package alone, Cargo would compile its dependencies again with other features.
PACKAGES = ("--workspace", "--exclude", "colonnade-bench")


@functools.cache
def example(name: str) -> Path:
    """The program of an example, which is built if it is not."""
    build = ["cargo", "build", "--quiet", "--locked", *PACKAGES, "--example", name, "--message-format=json"]
    lines = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    executables = [json.loads(line).get("executable") for line in lines]
    return Path(next(executable for executable in executables if executable))
