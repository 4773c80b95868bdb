"""PostgreSQL's catalog is made once for each installation; whatever is in the cache, a server starts and is right."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.testbed.serving import serve


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which servers keep catalogs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "colonnade"


def schemas(*options: str | os.PathLike[str]) -> list[str]:
    """The schemas that a new server shows, and that it can be asked for its types."""
    with serve(*options) as server, psycopg.connect(server.dsn) as session:
        assert session.execute("select typname from pg_type where oid = 23").fetchall() == [("int4",)]
        query = "select nspname from pg_namespace where nspname !~ '^pg_|information' order by 1"
        return [name for (name,) in session.execute(query).fetchall()]


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_the_second_server_takes_what_the_first_one_made(cache: Path) -> None:
    assert schemas() == ["public"]
    [kept] = cache.iterdir()
    before = kept.stat()
    os.utime(kept, (0, 0))
    assert schemas() == ["public"]
    after = kept.stat()
    assert names(cache) == [kept.name] and after.st_ino == before.st_ino and after.st_mtime >= before.st_mtime


def test_servers_that_allow_files_have_another_one(cache: Path) -> None:
    assert schemas() == schemas("--allow-files") == ["public"]
    assert len(names(cache)) == 2


def test_a_damaged_one_is_made_again(cache: Path) -> None:
    schemas()
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert schemas() == ["public"]
    [again] = cache.iterdir()
    assert again.stat().st_size == len(whole)


def test_those_that_nobody_uses_are_removed(cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    old, new = cache / "catalog-of-last-year.duckdb", cache / "catalog-of-today.duckdb"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    schemas()
    assert not old.exists() and new.exists() and len(names(cache)) == 2


def test_a_directory_that_others_can_write_is_not_used(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert schemas() == ["public"]
    assert names(cache) == []


def test_a_server_starts_where_there_can_be_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert schemas() == ["public"]


def test_a_file_with_a_schema_public_has_its_own_names(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "served.duckdb"
    with duckdb.connect(path) as file:
        file.execute("create schema public")
    assert schemas(path) == ["main", "public"]
    assert len(names(cache)) == 1
