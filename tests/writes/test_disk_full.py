"""A disk that becomes full during a write: the write is an error, and the table has the rows from before."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import colonnade
import duckdb
import psycopg
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import serve
from tests.writes.places import Place

BEFORE = pa.table({"a": pa.array([1], pa.int64()), "b": ["before"]})
#: About ten times as large as the disk, in each database's form, and not compressible.
ROWS = 500_000
MANY = pa.table({"a": pa.array(range(ROWS), pa.int64()), "b": [os.urandom(50).hex() for _ in range(ROWS)]})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB, which everybody may write to."""
    path = tmp_path / "small"
    path.mkdir()
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0777", "colonnade", path]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    # PostgreSQL's and MariaDB's users come here.
    for directory in tmp_path.parents:
        if directory.is_relative_to("/tmp") and directory != Path("/tmp"):
            directory.chmod(directory.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def check_full(place: Place) -> None:
    """The table `t` of `place` has the rows of BEFORE, and MANY does not fit."""
    with pytest.raises(colonnade.DatabaseError) as caught:
        colonnade.write_sql(MANY, place.uri, "t", if_exists="append")
    # MariaDB has no SQLSTATE for it, and DuckDB's library none at all.
    expected = "HY000" if place.is_mariadb else None if place.uri.startswith("duckdb:") else "53100"
    assert caught.value.sqlstate == expected, caught.value
    assert place.rows() == BEFORE.to_pylist()
    if place.uri.startswith("duckdb:"):
        # DuckDB keeps the blocks that the failed transaction has used.
        return
    # There is room again.
    colonnade.write_sql(BEFORE, place.uri, "t", if_exists="append")
    assert place.rows() == 2 * BEFORE.to_pylist()


def test_sqlite(small_disk: Path) -> None:
    file = small_disk / "a.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table t (a integer, b text)")
    place = Place(f"sqlite:///{file}")
    colonnade.write_sql(BEFORE, place.uri, "t", if_exists="append")
    check_full(place)


def test_duckdb(small_disk: Path) -> None:
    file = small_disk / "a.duckdb"
    duckdb.connect(file).close()
    place = Place(f"duckdb:///{file}")
    colonnade.write_sql(BEFORE, place.uri, "t")
    check_full(place)


def test_serve(small_disk: Path) -> None:
    with serve("--listen", "127.0.0.1:0", "--create", small_disk / "a.duckdb") as server:
        place = Place(f"postgresql://tester@{server.host}:{server.port}/a", is_serve=True)
        colonnade.write_sql(BEFORE, place.uri, "t")
        check_full(place)


def test_postgres(small_disk: Path, in_postgres: Place, session: psycopg.Connection) -> None:
    directory = small_disk / "space"
    directory.mkdir()
    pg.give(directory)
    session.execute(f"create tablespace small location '{directory}'")
    try:
        session.execute("create table t (a bigint, b text) tablespace small")
        colonnade.write_sql(BEFORE, in_postgres.uri, "t", if_exists="append")
        check_full(in_postgres)
    finally:
        session.execute("drop table t")
        session.execute("drop tablespace small")


def test_mariadb(small_disk: Path, in_mariadb: Place) -> None:
    directory = small_disk / "space"
    directory.mkdir(mode=0o777)
    directory.chmod(0o777)
    in_mariadb.execute(f"create table t (a bigint, b text) engine=innodb data directory='{directory}'")
    try:
        colonnade.write_sql(BEFORE, in_mariadb.uri, "t", if_exists="append")
        check_full(in_mariadb)
    finally:
        in_mariadb.execute("drop table t")
