"""Every function, PRAGMA, view, setting and kind of statement of this DuckDB is decided, and the decision holds.

A new version of DuckDB fails these tests until each new name has a line in serve/duckdb/src/fence/allowed.txt.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from colonnade_serve._core import Fence, Refused

from tests.attacks.attackers import Target, target

LISTS = Path(__file__).parents[2] / "serve/duckdb/src/fence/allowed.txt"
CLASSES = {"all", "writers", "files", "writers-with-files", "never"}
#: The server's own functions, which its macros and statements call.
NAMES = ("advisory", "aggregate", "attributes", "listing", "notifications", "rows", "session", "signal")
OWN = {f"colonnade_{name}" for name in NAMES}
#: The functions of ranges, which DuckDB has in the server alone.
RANGES = {"-|-", "isempty", "range_merge"} | {
    f"{end}_{what}" for end in ("lower", "upper") for what in ("bound", "inc", "inf")
}
#: What DuckDB knows and does not list, and the functions that it has in the server alone.
UNLISTED = {
    "functions": OWN | RANGES,
    "settings": {"extension_directory"},
    "kinds": {"update_extensions"},
}


def lists() -> dict[str, dict[str, str]]:
    """The decisions, by list and name."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in LISTS.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, class_ = line.rpartition(" ")
            assert found.setdefault(section, {}).setdefault(name, class_) == class_, f"{name} is decided twice"
    return found


CATALOGS = {
    "functions": "select distinct lower(function_name) from duckdb_functions()",
    "pragmas": "select distinct lower(function_name) from duckdb_functions() where function_type = 'pragma'",
    "views": "select distinct lower(view_name) from duckdb_views() where internal",
    "settings": "select distinct lower(name) from duckdb_settings()",
}


def engines(section: str) -> set[str]:
    if section == "kinds":
        return {kind.name.lower() for kind in duckdb.StatementType}
    # In a process of its own: tests of functions give this one's DuckDB functions of the server.
    program = "import duckdb, sys; print(*(name for name, in duckdb.execute(sys.argv[1]).fetchall()), sep='\\n')"
    return set(output_of("-c", program, CATALOGS[section]).splitlines())


def output_of(*arguments: str | Path) -> str:
    """What another interpreter prints."""
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("section", [*CATALOGS, "kinds"])
def test_everything_is_decided_and_nothing_else(section: str) -> None:
    decided = lists()[section]
    assert engines(section) - set(decided) == set(), "decide these in allowed.txt"
    assert set(decided) - engines(section) == UNLISTED.get(section, set()), "DuckDB has these no more"
    assert set(decided.values()) <= CLASSES


def test_what_is_not_decided_is_refused() -> None:
    fence = Fence(["of_tomorrow"], 1000)
    fence.check("select of_today()", True, True)
    for statement in (
        "select of_tomorrow()",
        "select OF_tomorrow /* */ ()",
        "set of_tomorrow = 1",
        "pragma of_tomorrow",
    ):
        with pytest.raises(Refused):
            fence.check(statement, True, True)


def test_what_is_decided_is_what_is_in_force() -> None:
    fence = Fence([], 1000)
    for section, names in lists().items():
        for name, class_ in names.items():
            assert fence.decision(section, name) == class_


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with target(tmp_path_factory.mktemp("catalog")) as running:
        yield running


@pytest.fixture(scope="module", params=["reader", "writer"])
def client(attacked: Target, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with attacked.connect(request.param) as connection:
        yield connection


def code(client: psycopg.Connection, statement: str) -> str | None:
    """The error's class, or None."""
    try:
        client.execute(statement)
    except psycopg.Error as error:
        assert not client.closed, statement
        return error.sqlstate
    return None


def is_for(client: psycopg.Connection, class_: str) -> bool:
    return class_ == "all" or (class_ == "writers" and client.info.user == "writer")


def test_functions_are_called_or_refused_as_decided(client: psycopg.Connection) -> None:
    for name, class_ in lists()["functions"].items():
        quoted = '"' + name.replace('"', '""') + '"'
        for call in (f"select {quoted}()", f"select {quoted} /* ( */ (i, i) from t", f"from system.main.{quoted}(1)"):
            # Whatever it is told, it has been asked.
            assert (code(client, call) == "42501") == (not is_for(client, class_)), call
    assert client.execute("select 1").fetchone() == (1,)


def test_pragmas_run_or_are_refused_as_decided(client: psycopg.Connection) -> None:
    for name, class_ in lists()["pragmas"].items():
        for statement in (f"pragma {name}", f"pragma {name}('t')"):
            if not is_for(client, class_):
                assert code(client, statement) == "42501", statement
            else:
                assert code(client, statement) != "42501", statement


def test_views_are_read_or_refused_as_decided(client: psycopg.Connection) -> None:
    for name, class_ in lists()["views"].items():
        for statement in (f"from {name}", f'select 1 from "{name}" limit 0'):
            assert (code(client, statement) == "42501") == (not is_for(client, class_)), statement


def test_settings_are_set_or_refused_as_decided(client: psycopg.Connection) -> None:
    refused = {name for name, class_ in lists()["settings"].items() if not is_for(client, class_)}

    def values() -> list[tuple[object, ...]]:
        rows = client.execute("select lower(name), value, scope from duckdb_settings() order by all").fetchall()
        return [row for row in rows if row[0] in refused]

    before = values()
    for name in refused:
        for statement in (f"set {name} = 'x'", f'set session "{name}" = 1', f"reset {name}", f"pragma {name} = 1"):
            assert code(client, statement) == "42501", statement
            assert code(client, statement.replace("set ", "set global ", 1)) == "42501", statement
    assert values() == before


#: A statement of each kind that clients can write.
KINDS = {
    "select": "select 1",
    "insert": "insert into t select 1 where false",
    "update": "update t set i = 1 where false",
    "delete": "delete from t where false",
    "merge_into": "merge into t using (select 1 as i where false) u on t.i = u.i when matched then delete",
    "create": "create temp table decided (i int)",
    "alter": "alter table decided add column j int",
    "drop": "drop table decided",
    "explain": "explain select 1",
    "prepare": "prepare decided as select 1",
    "execute": "execute decided",
    "set": "set TimeZone = 'UTC'",
    "pragma": "pragma version",
    "transaction": "begin",
    "multi": "from (pivot (select 1 as i) on i using count(*))",
    "call": "call pragma_version()",
    "vacuum": "vacuum",
    "analyze": "analyze",
    "attach": "attach ':memory:' as decided",
    "detach": "detach temp",
    "export": "export database 'decided'",
    "copy": "copy t to 'decided.csv'",
    "copy_database": "copy from database shop to temp",
    "load": "load json",
    "update_extensions": "update extensions",
    "extension": "install json",
}
#: No text becomes one of these.
INNER = {"create_func", "invalid", "logical_plan", "relation", "variable_set"}


def test_kinds_of_statements_run_or_are_refused_as_decided(client: psycopg.Connection) -> None:
    decided = lists()["kinds"]
    assert set(KINDS) | INNER == set(decided)
    for kind, statement in KINDS.items():
        found = code(client, statement)
        if is_for(client, decided[kind]):
            # A reader's transaction is what keeps it from writing.
            assert found in (None, "25006"), statement
        else:
            assert found == "42501", statement
        if kind == "transaction":
            client.execute("rollback")


def test_the_fuzzers_words_are_this_duckdbs() -> None:
    fuzz = Path(__file__).parents[1] / "fuzz"
    program = "import runpy, sys; print(runpy.run_path(sys.argv[1])['words'](), end='')"
    assert (fuzz / "words.txt").read_text("utf-8") == output_of("-c", program, fuzz / "words.py"), (
        "run tests/fuzz/words.py"
    )
