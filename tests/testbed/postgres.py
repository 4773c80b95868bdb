"""A PostgreSQL of one's own, for the time of a `with` block.

PostgreSQL finds its files relative to its executable. So a tree of links into the installed one, with a copy of the
executable and with the extension's files in it, is an installation with the extension, and nothing is installed
system-wide. The environment variable PG_CONFIG chooses the PostgreSQL; else the newest one of Debian's, or PATH's, is
taken.
"""

from __future__ import annotations

import functools
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
SUPERUSER = "tester"

#: SQLSTATEs that tell of a backend being terminated. As core has it, none was told if it waited for the client to read
#: (ProcessClientWriteInterrupt() in src/backend/tcop/postgres.c).
TERMINATED = ("57P01", None)

#: Nothing here outlives the test, and little else may run at the same time.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "lc_messages": "C",
    "log_line_prefix": "%p %a ",
    "log_min_messages": "warning",
}


@functools.cache
def pg_config() -> Path:
    """The program that knows where PostgreSQL is."""
    if chosen := os.environ.get("PG_CONFIG"):
        return Path(chosen)
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_config"), key=lambda path: int(path.parts[-3]))
    found = debian[-1] if debian else shutil.which("pg_config")
    if found is None:
        raise RuntimeError("there is no PostgreSQL here: apt-get install postgresql postgresql-server-dev-all")
    return Path(found)


def _directory(which: str) -> Path:
    answer = subprocess.run([pg_config(), f"--{which}"], check=True, capture_output=True, text=True).stdout
    return Path(answer.strip())


@functools.cache
def version() -> int:
    """The major version."""
    answer = subprocess.run([pg_config(), "--version"], check=True, capture_output=True, text=True).stdout
    # `PostgreSQL 15.18 (Debian …)`, `PostgreSQL 19rc1`.
    return int(re.split(r"\D", answer.split()[1], maxsplit=1)[0])


@functools.cache
def user(name: str = "postgres") -> pwd.struct_passwd | None:
    """Whom a server runs as that refuses to run as root: its package's user. None is whoever runs the tests."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get(name) or names["nobody"]


def drop_root(name: str = "postgres") -> Callable[[], None] | None:
    """What a child process does to become a server's user."""
    owner = user(name)
    if owner is None:
        return None

    def become() -> None:
        os.setgroups([])
        os.setgid(owner.pw_gid)
        os.setuid(owner.pw_uid)

    return become


def _run(command: list[str | Path], where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, preexec_fn=drop_root(), check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory that PostgreSQL's user may enter. Its name is short: a unix socket's path has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="colonnade-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        give(directory)
        yield directory


def give(path: Path) -> None:
    """Makes PostgreSQL's user the owner."""
    if owner := user():
        os.chown(path, owner.pw_uid, owner.pw_gid)


@dataclass(frozen=True)
class Installation:
    """Where a PostgreSQL is."""

    bin: Path
    postgres: Path


def stock() -> Installation:
    """PostgreSQL as it is installed."""
    return Installation(_directory("bindir"), _directory("bindir") / "postgres")


@contextmanager
def installed() -> Iterator[Installation]:
    """PostgreSQL with the extension, which is built if it is not. The environment variable COLONNADE_PG_FILES names a
    folder into which it was installed already (with DESTDIR), such as a build with other flags."""
    binaries = _directory("bindir")
    with scratch() as tree:
        tree.chmod(0o755)
        if built := os.environ.get("COLONNADE_PG_FILES"):
            shutil.copytree(built, tree, dirs_exist_ok=True)
        else:
            # Rust's and C's builds say on the standard output what they do.
            make = ["make", "-s", "-C", str(ROOT / "pg"), "install", f"DESTDIR={tree}", f"PG_CONFIG={pg_config()}"]
            subprocess.run(make, check=True, stdout=sys.stderr)
        for which in ("sharedir", "pkglibdir"):
            _link_all(_directory(which), under(tree, _directory(which)))
        executable = under(tree, binaries) / "postgres"
        executable.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(binaries / "postgres", executable)
        yield Installation(binaries, executable)


def under(tree: Path, path: Path) -> Path:
    return tree / path.relative_to("/")


def _link_all(source: Path, target: Path) -> None:
    """Links to all of `source` that is not in `target`, in which only folders that hold something new are folders."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        place = target / entry.name
        if not place.exists():
            place.symlink_to(entry)
        elif place.is_dir() and not place.is_symlink():
            _link_all(entry, place)


@dataclass(frozen=True)
class Cluster:
    """A running PostgreSQL."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]

    def uri(self, database: str = "postgres", user: str = SUPERUSER, *, tcp: bool = False, **parameters: str) -> str:
        """For colonnade and libpq. `parameters` are settings of the session, among others."""
        host = "127.0.0.1" if tcp else quote(str(self.directory), safe="")
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        return f"postgresql://{user}@{host}:{self.port}/{database}?{query}".rstrip("?")

    def dsn(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """For libpq, over the unix socket."""
        return f"host={self.directory} port={self.port} user={user} dbname={database}"

    def connect(self, database: str = "postgres", user: str = SUPERUSER) -> psycopg.Connection[tuple[Any, ...]]:
        """A session of psycopg's, with every statement a transaction of its own."""
        return psycopg.connect(self.dsn(database, user), autocommit=True)

    @contextmanager
    def prepared(self, setup: str, undo: str) -> Iterator[None]:
        """What `setup` makes is there for the time of the block."""
        with self.connect() as session:
            session.execute(setup)
            yield
            session.execute(f"set client_min_messages to warning; {undo}")

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def backends(self) -> list[int]:
        """The processes of sessions and of parallel workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        titles = {int(pid): _title(int(pid)) for pid in children}
        helpers = ("checkpointer", "background writer", "walwriter", "autovacuum", "logical replication", "logger")
        return [pid for pid, title in titles.items() if title and not any(helper in title for helper in helpers)]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def cluster(
    installation: Installation,
    settings: Mapping[str, str] | None = None,
    *,
    encoding: str = "UTF8",
) -> Iterator[Cluster]:
    """A new cluster that listens on a free port of 127.0.0.1 and on a unix socket in its directory. The environment
    variable COLONNADE_PG_WRAPPER may name a command that runs PostgreSQL, such as valgrind."""
    wrapper = os.environ.get("COLONNADE_PG_WRAPPER", "").split()
    with scratch() as directory:
        data = directory / "data"
        initdb = [installation.bin / "initdb", "-D", data, "-U", SUPERUSER, "-A", "trust", "-N", "--no-instructions"]
        locale = "C.UTF-8" if encoding == "UTF8" else "C"
        _run([*initdb, "-E", encoding, f"--locale={locale}"], directory)
        with _running(installation, directory, data, settings or {}, wrapper) as started:
            yield started


@contextmanager
def extended(installation: Installation, settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A new cluster with the extension in its database `postgres`."""
    with cluster(installation, settings) as running:
        with running.connect() as session:
            session.execute("create extension colonnade")
        yield running


@contextmanager
def standby(
    installation: Installation, primary: Cluster, settings: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A physical standby of `primary` that follows it."""
    with scratch() as directory:
        data = directory / "data"
        source = f"{primary.dsn()} application_name=standby"
        _run([installation.bin / "pg_basebackup", "-d", source, "-D", data, "-R", "-X", "stream"], directory)
        with _running(installation, directory, data, settings or {}, []) as started:
            yield started


@contextmanager
def _running(
    installation: Installation, directory: Path, data: Path, settings: Mapping[str, str], wrapper: list[str]
) -> Iterator[Cluster]:
    port = free_port()
    command: list[str | Path] = [*wrapper, installation.postgres, "-D", data, "-k", directory, "-p", str(port)]
    for name, value in {**SETTINGS, **settings}.items():
        command += ["-c", f"{name}={value}"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=drop_root(),
        )
    ask = [
        installation.bin / "pg_isready",
        "-q",
        "-h",
        directory,
        "-p",
        str(port),
        "-U",
        SUPERUSER,
        "-d",
        "postgres",
    ]
    try:
        if not _accepts(ask, process):
            raise RuntimeError(f"PostgreSQL did not start:\n{(directory / 'log').read_text()}")
        yield Cluster(directory, port, process)
    finally:
        _stop(ask, process)


def _accepts(ask: list[str | Path], process: subprocess.Popen[bytes]) -> bool:
    """Whether it accepts connections, when it has started or has recovered from a crash."""
    for _ in range(TIMEOUT * 20):
        if subprocess.run(ask, check=False).returncode == 0:
            return True
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    return False


def _stop(ask: list[str | Path], process: subprocess.Popen[bytes]) -> None:
    """A fast shutdown; sessions that do not end by then are a fault of whatever runs in them."""
    # One that comes at the end of a recovery is forgotten by PostgreSQL 15.
    _accepts(ask, process)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        process.wait(TIMEOUT)
        raise
