"""The round trips of functions in this version of Python, and in the newest one: `make test-bodies`.

The newest version is one of this machine, or Debian's testing release has it (`testbed/debian.py`). Its packages come
from PyPI into a folder of their own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import colonnade

from testbed.debian import Release, relocate
from testbed.serving import function_options, serve

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target/pythons"
DEBIAN = "3.14"
#: What the program needs, of requirements/test.txt.
PACKAGES = ("hypothesis", "numpy", "pyarrow")


def runs(python: str | None) -> bool:
    """Whether there is an interpreter that runs."""
    return python is not None and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def newest() -> str:
    """The newest interpreter of this machine if it is as new as Debian's, otherwise that one, which is fetched."""
    for minor in (16, 15, 14):
        python = shutil.which(f"python3.{minor}")
        if python is not None and runs(python):
            return python
    folder = FOLDER / DEBIAN
    python = folder / f"usr/bin/python{DEBIAN}"
    if not runs(str(python)) if python.exists() else True:
        if shutil.which("patchelf") is None:
            raise SystemExit("patchelf is needed: apt-get install patchelf")
        FOLDER.mkdir(parents=True, exist_ok=True)
        Release("forky").unpack(folder, [f"python{DEBIAN}"])
        relocate(folder, [python])
    return str(python)


def packages(python: str) -> Path:
    """A folder with the packages for an interpreter."""
    folder = FOLDER / f"packages-{Path(python).name}"
    if not folder.exists():
        pinned = (ROOT / "requirements/test.txt").read_text().splitlines()
        wanted = [line for line in pinned if line.partition("==")[0] in PACKAGES]
        new = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python]
        subprocess.run([*pip, "install", "--only-binary=:all:", "--target", new, *wanted], check=True)
        new.rename(folder)
    return folder


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.devudf.versions")
    parser.add_argument("--count", type=int, default=10_000, help="functions in each version")
    args = parser.parse_args()
    other = newest()
    package = Path(colonnade.__file__).parents[1]
    # The versions run at the same time, each with a server of its own.
    with ExitStack() as servers:
        running = []
        for python, paths in ((sys.executable, []), (other, [packages(other)])):
            server = servers.enter_context(serve(*function_options()))
            uri = f"postgresql://tester@{server.host}:{server.port}/"
            # The package's folder is last: with it come the packages of this version of Python.
            path = os.pathsep.join(map(str, [*paths, ROOT, package]))
            command = [python, "-m", "tests.devudf.round_trips", uri, "--count", str(args.count)]
            running.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}))
        statuses = [process.wait() for process in running]
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main())
