"""The fixtures `source` and `aio_place`, and marks for what a source lacks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.every_source import DUCKDB, MYSQL, POSTGRESQL, SOURCES, SQLITE, Dialect, Source
from tests.support import sqlite_files


@pytest.fixture(scope="session", params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """Each source that there is. A further one is a function in `every_source.py`."""
    _, make = SOURCES[request.param]
    with make(request.getfixturevalue, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(params=["serve", "stock", "extended", "maria", "sqlite", "duckdb"])
def aio_place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Dialect]:
    """For tests of `colonnade.aio`: a URI, and its database's SQL."""
    match request.param:
        case "serve":
            return request.getfixturevalue("uri"), DUCKDB
        case "stock" | "extended":
            return request.getfixturevalue(request.param).uri(), POSTGRESQL
        case "maria":
            return request.getfixturevalue("maria").uri(), MYSQL
        case "sqlite":
            return sqlite_files.make(tmp_path / "a.sqlite", "create table t (i INTEGER)"), SQLITE
        case _:
            return "duckdb:", DUCKDB


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "gap(*sources, error, match): at these sources the test must end with this error",
        "lack(*sources, reason): these sources lack what the test is about, and no error tells",
    ):
        config.addinivalue_line("markers", line)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Holds a test to the error that a mark `gap` expects at its source."""
    found = marks(pyfuncitem, "gap")
    if not found:
        return (yield)
    [gap] = found
    with pytest.raises(gap["error"], match=gap["match"]):
        yield
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    for lack in marks(item, "lack"):
        pytest.skip(lack["reason"])


def marks(item: pytest.Item, name: str) -> list[dict[str, Any]]:
    """The arguments of the marks of a name that are about the source of a test."""
    callspec = getattr(item, "callspec", None)
    source = callspec.params.get("source") if callspec else None
    return [dict(mark.kwargs) for mark in item.iter_markers(name) if source in mark.args]
