"""An SQLite file of another user. Even a reader of a write-ahead log makes files, and must not lock the owner out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pytest

from tests.support.sqlite_files import uri
from tests.testbed.postgres import scratch

OWNER, READER, GROUP = 64123, 64124, 64125
#: Takes the rights of a user after everything is imported, because the interpreter's files may be root's.
_AS_USER = """
import sqlite3, sys
import colonnade, colonnade._read.read_sql, pyarrow, os
user, group, place, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
os.setgroups([])
os.setgid(group)
os.setuid(user)
"""
_WRITE = """
connection = sqlite3.connect(place, timeout=0)
connection.executescript("pragma journal_mode = wal; create table if not exists t (i INTEGER)")
connection.execute("insert into t values (1)")
connection.commit()
print(connection.execute("select count(*) from t").fetchone()[0], flush=True)
if what == "stay":
    sys.stdin.read()
    connection.execute("insert into t values (1)")
    connection.commit()
    print(connection.execute("select count(*) from t").fetchone()[0])
"""
_READ = """
try:
    print(colonnade.read_sql(place, "select count(*) as n from t", return_type="arrow").column(0)[0])
except colonnade.Error as error:
    print(error.sqlstate, error.hint)
"""

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root becomes other users")


def start(user: int, script: str, place: str, what: str = "", group: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _AS_USER + script, str(user), str(group or user), place, what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(user: int, script: str, place: str, group: int | None = None) -> str:
    with start(user, script, place, group=group) as process:
        printed = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    return printed


@pytest.fixture
def path() -> Iterator[Path]:
    """A database of the owner, with a write-ahead log, in a directory in which everybody may write."""
    with scratch() as directory:
        directory.chmod(0o777)
        assert run(OWNER, _WRITE, str(directory / "a.db")) == "1\n"
        yield directory / "a.db"


def files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def test_a_reader_makes_no_files_that_the_owner_cannot_write(path: Path) -> None:
    assert run(READER, _READ, uri(path)).startswith("58030 even a reader needs")
    assert files(path) == ["a.db"]
    assert run(OWNER, _WRITE, str(path)) == "2\n"
    # What the hint says.
    assert run(READER, _READ, uri(path) + "?immutable=1") == "2\n"
    assert run(OWNER, _READ, uri(path)) == "2\n"
    assert run(OWNER, _WRITE, str(path)) == "3\n"


def test_a_reader_beside_the_owner(path: Path) -> None:
    with start(OWNER, _WRITE, str(path), "stay") as owner:
        assert owner.stdout is not None and owner.stdout.readline() == "2\n"
        assert run(READER, _READ, uri(path)) == "2\n"
        assert owner.communicate("", timeout=60)[0] == "3\n"
    assert files(path) == ["a.db"]


def test_root_gives_the_files_to_the_owner(path: Path) -> None:
    assert colonnade.read_sql(uri(path), "select count(*) as n from t", return_type="arrow").column(0)[0].as_py() == 1
    assert files(path) == ["a.db", "a.db-shm", "a.db-wal"]
    assert run(OWNER, _WRITE, str(path)) == "2\n"


def test_users_of_one_group_share_a_file(path: Path) -> None:
    """The files of the log get the database's mode, and in this directory its group."""
    os.chown(path.parent, OWNER, GROUP)
    path.parent.chmod(0o2770)
    os.chown(path, OWNER, GROUP)
    path.chmod(0o660)
    assert run(READER, _READ, uri(path), group=GROUP) == "1\n"
    assert run(OWNER, _WRITE, str(path), group=GROUP) == "2\n"


def test_a_file_without_permission(path: Path) -> None:
    path.chmod(0)
    script = """
try:
    colonnade.connect(place)
except colonnade.OperationalError as error:
    print(error)
"""
    assert "the file cannot be opened: Permission denied" in run(READER, script, uri(path))
    path.chmod(0o644)
    path.parent.chmod(0o700)
    assert "Permission denied" in run(READER, script, uri(path))
