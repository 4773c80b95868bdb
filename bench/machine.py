"""The environment of a measurement: the machine, versions, the commit.

    python bench/machine.py

prints the state of the memory, for measurements by a program that does not read it itself.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from colonnade._cli.memory_state import memory_report

ROOT = Path(__file__).parents[1]


def command(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def described(*written: str) -> dict[str, str]:
    """One line each. The file that the measurement writes, given by its path from the root, does not count as an
    uncommitted change."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith(("model name", "CPU part"))
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "numpy"))
    dirty = command("git", "status", "--porcelain", "--untracked-files=no", ".", *(f":!{path}" for path in written))
    changed = " with uncommitted changes" if dirty else ""
    return {
        "Machine": f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}",
        "Software": f"{command('rustc', '--version')}, Python {platform.python_version()}, {packages}",
        "Commit": f"{command('git', 'rev-parse', '--short', 'HEAD')}{changed}",
    }


if __name__ == "__main__":
    print(memory_report())
