"""The dispatchers forget functions that were replaced or dropped, when no transaction can call them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from colonnade_serve import _core
from colonnade_serve._duckdb import function_store, known_functions
from colonnade_serve._duckdb.engine import Engine

from tests.functions.engines import Client, client, engine
from tests.support.raw_client import wait_until


@pytest.fixture
def database(processes: _core.FunctionProcesses, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    # Each CREATE looks for functions that can be forgotten.
    monkeypatch.setattr(known_functions, "CHECK_AFTER", -1_000_000)
    with engine(processes) as made:
        yield made


def defined(one: Client, step: int, name: str = "f") -> str:
    """Create a function that adds. Returns its id."""
    one.define(name, {"x": "INTEGER"}, "INTEGER", f"return x + {step}")
    assert one.session.functions is not None
    return one.session.functions.definition(None, name, None).id


def known(database: Engine) -> int:
    assert database._store is not None
    return len(database._store.known)


def test_replaced_functions_are_forgotten(database: Engine) -> None:
    with client(database) as one:
        ids = [defined(one, step) for step in range(1000, 1020)]
        assert known(database) <= 3
        assert [_core.has_function(identity) for identity in ids[:16]] == [False] * 16
        assert one.rows("SELECT f(1)") == [(1020,)]
        # The same definition again has the same id.
        assert defined(one, 1000) == ids[0]
        assert one.rows("SELECT f(1)") == [(1001,)]


def test_a_transaction_keeps_what_it_sees(database: Engine) -> None:
    with client(database) as one, client(database) as other:
        first = defined(one, 2000)
        other.run("BEGIN")
        assert other.rows("SELECT f(1)") == [(2001,)]
        for step in range(2001, 2010):
            defined(one, step)
        assert other.rows("SELECT f(2)") == [(2002,)]
        assert _core.has_function(first)
        other.run("COMMIT")
        assert other.rows("SELECT f(1)") == [(2010,)]
        for step in range(2010, 2013):
            defined(one, step)
        assert not _core.has_function(first)


def test_a_function_that_is_not_committed_is_kept(database: Engine) -> None:
    with client(database) as one, client(database) as other:
        one.run("BEGIN")
        mine = defined(one, 3000, "mine")
        for step in range(3001, 3010):
            defined(other, step)
        assert one.rows("SELECT mine(1)") == [(3001,)]
        one.run("COMMIT")
        for step in range(3010, 3014):
            defined(other, step)
        assert other.rows("SELECT mine(1)") == [(3001,)]
        one.run("BEGIN")
        gone = defined(one, 3100, "gone")
        one.run("ROLLBACK")
        for step in range(3014, 3018):
            defined(other, step)
        assert _core.has_function(mine)
        assert not _core.has_function(gone)


def test_few_functions_are_not_looked_for(database: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_functions, "CHECK_AFTER", 10)
    with client(database) as one:
        for step in range(4000, 4050):
            defined(one, step)
            assert known(database) <= 22
        assert one.rows("SELECT f(1)") == [(4050,)]


def test_processes_end_when_nobody_uses_them(
    database: Engine, monkeypatch: pytest.MonkeyPatch, processes: _core.FunctionProcesses
) -> None:
    with client(database) as one:
        defined(one, 1)
        assert one.rows("SELECT f(1)") == [(2,)]
        assert one.session.functions is not None
        (first,) = one.session.functions.processes.process_ids
        one.session.functions.processes.end_idle(60)
        assert one.session.functions.processes.process_ids == [first]
        one.session.functions.processes.end_idle(0)
        assert one.session.functions.processes.process_ids == []
        assert one.rows("SELECT f(1)") == [(2,)]
        # A thread of the server looks for them.
        monkeypatch.setattr(function_store, "IDLE_CHECK", 0.01)
        monkeypatch.setattr(function_store, "IDLE_TIME", 0)
        with engine(processes) as other_database, client(other_database) as other:
            defined(other, 1)
            assert other.rows("SELECT f(1)") == [(2,)]
            functions = other.session.functions
            assert functions is not None
            wait_until(lambda: functions.processes.process_ids == [])
            assert other.rows("SELECT f(1)") == [(2,)]
