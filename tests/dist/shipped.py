"""What `make dist` has built, and environments without compilers in which it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
VERSION = re.search(r'(?m)^version = "(.+)"$', (ROOT / "Cargo.toml").read_text())[1]
PACKAGE = DIST / f"colonnade-{VERSION}-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
DRIVER = DIST / f"adbc_driver_colonnade-{VERSION}-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
WHEELS = (PACKAGE, DRIVER)
SDIST = DIST / f"colonnade-{VERSION}.tar.gz"


@dataclass(frozen=True)
class Environment:
    """A virtual environment. Its PATH has its own programs alone: neither Rust nor a C compiler."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, python: str = sys.executable) -> Environment:
        # Of a virtual environment, the interpreter below it.
        subprocess.run([python, "-I", "-m", "venv", str(folder)], check=True, timeout=120)
        made = cls(folder)
        assert all(shutil.which(name, path=str(made.folder / "bin")) is None for name in ("cargo", "cc", "gcc"))
        return made

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    def run(self, *command: str | Path, cwd: Path | None = None, timeout: float = 600) -> str:
        """Runs a program of the environment. Returns what it wrote; a failure shows it."""
        done = self.tried(*command, cwd=cwd, timeout=timeout)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def tried(
        self, *command: str | Path, cwd: Path | None = None, timeout: float = 600
    ) -> subprocess.CompletedProcess[str]:
        """The same, for a program that may fail."""
        program = self.folder / "bin" / command[0]
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.folder if cwd is None else cwd,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    @property
    def variables(self) -> dict[str, str]:
        """The user's own variables, for pip's configuration, without those that lead to this checkout."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "RUST"))}
        return kept | {"PATH": str(self.folder / "bin")}

    def install(self, *requirements: str | Path, timeout: float = 600) -> None:
        """Installs with pip. A package without a wheel would have to be compiled, which fails here."""
        self.run(
            "python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *requirements, timeout=timeout
        )


def with_extra(extra: str | None) -> str:
    """The requirement for the wheel with an extra."""
    return f"{PACKAGE}[{extra}]" if extra else str(PACKAGE)
