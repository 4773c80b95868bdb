"""What `make dist` has built, and environments without compilers in which it is installed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
VERSION = re.search(r'(?m)^version = "(.+)"$', (ROOT / "Cargo.toml").read_text())[1]
PACKAGE = DIST / f"colonnade-{VERSION}-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
SERVER = DIST / f"colonnade_serve-{VERSION}-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
DRIVER = DIST / f"adbc_driver_colonnade-{VERSION}-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
#: Whether `make dist` has run.
IS_BUILT = (DIST / "SHA256SUMS").exists()
#: With those for aarch64, if `make dist-aarch64` has built them.
WHEELS = (*((PACKAGE, SERVER, DRIVER) if IS_BUILT else ()), *sorted(DIST.glob(f"aarch64/*-{VERSION}-*.whl")))
#: Those for other systems, if they were built.
OTHER_WHEELS = tuple(sorted(wheel for name in ("musl", "macos") for wheel in DIST.glob(f"{name}-*/*-{VERSION}-*.whl")))
SDIST = DIST / f"colonnade-{VERSION}.tar.gz"
SERVER_SDIST = DIST / f"colonnade_serve-{VERSION}.tar.gz"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A requirement of the server's wheel.
OF_SERVER = re.compile(r"colonnade-serve\[(\w+)\]==([^;]*)(?:;.*)?")


def extras(project: Path) -> dict[str, list[str]]:
    """The requirements of each extra of a project."""
    return tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]


EXTRAS = extras(ROOT)
SERVER_EXTRAS = extras(ROOT / "serve")


@dataclass(frozen=True)
class Environment:
    """A virtual environment. Its PATH has its own programs alone: neither Rust nor a C compiler."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, python: str | Path = sys.executable) -> Environment:
        # Debian's interpreters come without pip. One of a virtual environment stands for the interpreter below it.
        has_pip = (
            subprocess.run([python, "-I", "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0
        )
        option = [] if has_pip else ["--without-pip"]
        subprocess.run([python, "-I", "-m", "venv", *option, folder], check=True, timeout=120)
        made = cls(folder)
        assert all(shutil.which(name, path=str(made.folder / "bin")) is None for name in ("cargo", "cc", "gcc"))
        if not has_pip:
            made.bring_pip()
        return made

    def bring_pip(self) -> None:
        """Installs the newest pip, whose wheel can be run."""
        download = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
        subprocess.run([*download, "--dest", self.folder, "pip"], check=True, timeout=120)
        [wheel] = self.folder.glob("pip-*.whl")
        self.run("python", wheel / "pip", "install", "--quiet", wheel)

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

    def bring_shells(self) -> None:
        """Puts shells on the PATH, which tests use to run programs in pipes, and what makes a full disk."""
        for name in ("sh", "bash", "mount", "umount"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")

    def install(self, *requirements: str | Path, timeout: float = 600) -> None:
        """Installs with pip, which finds the wheels of `make dist` too. A package without a wheel would have to be
        compiled, which fails here."""
        command = ["python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--find-links", DIST]
        self.run(*command, *requirements, timeout=timeout)


def with_extra(extra: str | None) -> str:
    """The requirement for the wheel with an extra."""
    return f"{PACKAGE}[{extra}]" if extra else str(PACKAGE)


def oldest(extra: str) -> list[str]:
    """The packages of an extra of other projects, each at the lowest version that it allows."""
    wanted = {*EXTRAS[extra]}
    for requirement in EXTRAS[extra]:
        if ours := OF_SERVER.fullmatch(requirement):
            assert ours[2] == VERSION
            wanted = wanted - {requirement} | {*SERVER_EXTRAS[ours[1]]}
    found = [re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:,.*)?", one) for one in sorted(wanted)]
    assert found and all(found), wanted
    return [f"{one[1]}=={one[2]}" for one in found]


def orders(file: Path) -> Path:
    """Makes an SQLite file with a table of 1,000 rows."""
    with sqlite3.connect(file) as connection:
        connection.execute(
            "create table orders as with recursive n(id) as (select 1 union all select id + 1 from n "
            "where id < 1000) select id, 'customer ' || id as name from n"
        )
    connection.close()
    return file


def first_example(environment: Environment, folder: Path) -> None:
    """Runs README's first command and first program in a folder. They must print what README says."""
    (_, command), (_, program), (_, printed) = BLOCK.findall((ROOT / "README.md").read_text())[:3]
    environment.run(*command.split(), cwd=folder)
    found = environment.run("python", "-c", program, cwd=folder)
    assert [line.rstrip() for line in found.splitlines()] == printed.splitlines()
