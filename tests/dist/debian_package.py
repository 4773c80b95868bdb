"""The Debian package of the extension, in a Debian of its own: installed, upgraded, tested and removed.

`make test-deb` runs this file. It needs root, for a root directory that mmdebstrap makes from Debian's packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import colonnade
import pytest

from tools.release import debian, versions

ROOT = Path(__file__).parents[2]
#: Debian 12, and the PostgreSQL that it has.
SUITE, POSTGRES = "bookworm", 15
PACKAGE = f"postgresql-{POSTGRES}-colonnade"
LIBRARY = f"usr/lib/postgresql/{POSTGRES}/lib/colonnade.so"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root to make a root directory")


class System:
    """A Debian in a directory, in which PostgreSQL runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages = root / "packages"

    def run(self, *command: str) -> str:
        """Runs a program there. Returns what it wrote; a failure shows it."""
        done = self.tried(*command)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def tried(self, *command: str) -> subprocess.CompletedProcess[str]:
        """The same, for a program that may fail."""
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            ["chroot", self.root, *command], env=variables, capture_output=True, text=True, check=False, timeout=600
        )

    def apt(self, *arguments: str) -> str:
        return self.run("apt-get", "-q", "-q", "-y", "--no-install-recommends", *arguments)

    def install(self, package: Path) -> None:
        """Installs a file with apt, as its user would."""
        shutil.copy(package, self.packages)
        self.apt("install", f"/packages/{package.name}")

    def psql(self, statement: str) -> str:
        return self.run("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", statement)

    @property
    def uri(self) -> str:
        """Of the server there, for programs here."""
        # /var/run is a link to /run, which would be the one of this machine.
        return f"postgresql://root@/postgres?host={self.root}/run/postgresql"

    def leftovers(self) -> list[str]:
        """Files of the extension."""
        places = ("usr/lib/postgresql", "usr/share/postgresql", "usr/share/doc", "usr/lib/debug")
        return [str(path) for place in places for path in (self.root / place).rglob("*colonnade*")]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of this checkout. lintian is part of its build."""
    [built] = debian.build(ROOT, tmp_path_factory.mktemp("old") / "built")
    return built


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the version after it, whose files and script for an upgrade `make release` would write."""
    copy = tmp_path_factory.mktemp("copy") / "colonnade"
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, copy], check=True)
    major, minor, patch = versions.parsed(versions.current(copy))
    versions.bump(copy, f"{major}.{minor}.{patch + 1}")
    [built] = debian.build(copy, tmp_path_factory.mktemp("new") / "built")
    return built


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    """A Debian with a running PostgreSQL, in which this process's user is a superuser."""
    # Users of apt and PostgreSQL enter it, and pytest's folders are for their owner alone.
    with tempfile.TemporaryDirectory(prefix="colonnade-debian-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        root = Path(name) / "root"
        command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--include=postgresql"]
        subprocess.run([*command, SUITE, root], check=True, timeout=1200)
        with running(root) as made:
            yield made


@contextmanager
def running(root: Path) -> Iterator[System]:
    """Its PostgreSQL runs for the time of the block."""
    made = System(root)
    made.packages.mkdir()
    shared = root / "dev/shm"
    shared.mkdir(exist_ok=True)
    shared.chmod(0o1777)
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    try:
        # mmdebstrap removes the lists of packages, which autopkgtest installs from.
        made.apt("update")
        made.run("pg_ctlcluster", str(POSTGRES), "main", "start")
        made.run("su", "postgres", "-c", "createuser --superuser root")
        yield made
    finally:
        made.tried("pg_ctlcluster", "-m", "immediate", str(POSTGRES), "main", "stop")
        subprocess.run(["umount", root / "proc"], check=True)


def rows(system: System) -> tuple[list[dict[str, object]], str]:
    """What a client reads, and how it describes the server."""
    with colonnade.connect(system.uri) as connection:
        return connection.query("select 7 as a, 'x' as b").to_arrow().to_pylist(), connection.server


def test_installed_upgraded_and_removed(system: System, old: Path, new: Path) -> None:
    system.install(old)
    system.psql("create extension colonnade; create table t as select 1 as a")
    assert system.psql("select extversion from pg_extension where extname = 'colonnade'").strip() in old.name
    found, server = rows(system)
    assert found == [{"a": 7, "b": "x"}] and "colonnade" in server

    with colonnade.connect(system.uri) as before:
        assert before.query("select 1 as a").to_arrow().num_rows == 1
        system.install(new)
        # The session keeps the library that it has loaded.
        assert before.query("select count(*) from t").to_arrow().num_rows == 1
    system.psql("alter extension colonnade update")
    version = system.psql("select extversion from pg_extension where extname = 'colonnade'").strip()
    assert version in new.name and version not in old.name
    assert "colonnade" in rows(system)[1]

    system.psql("drop extension colonnade")
    system.apt("purge", PACKAGE)
    assert system.leftovers() == []
    assert system.tried("psql", "-d", "postgres", "-c", "create extension colonnade").returncode != 0
    found, server = rows(system)
    assert found == [{"a": 7, "b": "x"}] and "colonnade" not in server
    assert system.psql("select a from t").strip() == "1"


def test_the_packages_own_tests(system: System, old: Path) -> None:
    """autopkgtest installs the package, and runs the regression tests on a cluster that they make."""
    [source] = old.parent.glob("*.dsc")
    command = ["autopkgtest", "--no-built-binaries", old, source, "--", "chroot", system.root]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "installcheck         PASS" in done.stdout
