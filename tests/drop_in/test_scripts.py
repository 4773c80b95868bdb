"""Ordinary scripts end with the same numbers when only their import is changed.

`make test-drop-in` runs all of them, with scikit-learn, ConnectorX and PyMySQL; `make test` those that need neither.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

import pytest

from tests.drop_in import tables
from tests.drop_in.running import SCRIPTS, Script, differences
from tests.testbed import mariadb
from tests.testbed import postgres as pg

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "drop-in.md"
CASES = [
    (script, source)
    for script in map(Script, SCRIPTS)
    for source in ("postgresql", "mariadb", "sqlite")
    if script.reads(source)
]
#: What each library needs to read from a source.
DRIVERS = {
    ("pandas", "postgresql"): {"sqlalchemy", "psycopg2"},
    ("pandas", "mariadb"): {"sqlalchemy", "pymysql"},
    ("pandas", "sqlite"): {"sqlalchemy"},
}


@pytest.fixture(scope="module")
def postgresql_uris(stock: pg.Cluster) -> dict[str, str]:
    return tables.in_postgres(stock)


@pytest.fixture(scope="module")
def mariadb_uris(maria: mariadb.Server) -> dict[str, str]:
    return tables.in_mariadb(maria)


@pytest.fixture(scope="module")
def sqlite_uris(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return tables.in_sqlite(tmp_path_factory.mktemp("drop_in"))


@cache
def missing(modules: frozenset[str]) -> list[str]:
    return sorted(name for name in modules if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize(("script", "source"), CASES, ids=[f"{script.name}-{source}" for script, source in CASES])
def test_a_script_ends_with_the_same_numbers(
    script: Script, source: str, request: pytest.FixtureRequest, record_property: pytest.RecordProperty
) -> None:
    drivers = DRIVERS.get((script.library, source), {script.library})
    if absent := missing(frozenset(script.needs | drivers)):
        pytest.skip(f"{', '.join(absent)} is not here; make test-drop-in runs it")
    uris: dict[str, str] = request.getfixturevalue(f"{source}_uris")
    wanted = script.run(script.library, uris[script.library])
    assert json.dumps(wanted), "a script without a result"
    assert differences(script.run("colonnade", uris["colonnade"]), wanted) == []


def test_a_difference_is_found() -> None:
    """The comparison itself."""
    wanted = {"sum": 1.0, "rows": [1.0, None, "a"]}
    assert differences({"sum": 1.0 + 1e-9, "rows": [1.0, None, "a"]}, wanted) == []
    assert differences({"sum": 1.01, "rows": [1.0, None, "a"]}, wanted)
    assert differences({"sum": 1.0, "rows": [1.0, 0.0, "a"]}, wanted)
    assert differences({"sum": 1.0, "rows": [1.0, None]}, wanted)
    assert differences({"sum": "1", "rows": [1.0, None, "a"]}, wanted)
    assert differences({"rows": [1.0, None, "a"]}, wanted)


def test_the_page_has_every_script() -> None:
    page = PAGE.read_text()
    assert len(SCRIPTS) >= 20
    for script in SCRIPTS:
        assert f"| `{script.stem}` |" in page, script.stem
