"""The round trips of functions in this version of Python, and in the newest one: `make test-bodies`.

`tests/testbed/pythons.py` finds the newest version or fetches it. Its packages come from PyPI into a folder of
their own.
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

from tests.testbed import pythons
from tests.testbed.serving import function_options, serve

ROOT = Path(__file__).parents[2]
#: The newest version for which the pip of Python 3.11 installs anything.
NEWEST = "3.14"
#: What the program needs, of tools/requirements/test.txt.
PACKAGES = ("hypothesis", "numpy", "pyarrow")


def packages(python: Path) -> Path:
    """A folder with the packages for an interpreter."""
    folder = pythons.FOLDER / f"packages-{python.name}"
    if not folder.exists():
        pinned = (ROOT / "tools/requirements/test.txt").read_text().splitlines()
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
    other = pythons.interpreter(NEWEST)
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
