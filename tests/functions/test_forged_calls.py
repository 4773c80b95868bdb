"""Calls of the dispatchers that no macro makes. Their arguments may be anything."""

from __future__ import annotations

import duckdb
import pytest
from colonnade_serve import _core

from tests.functions.plans import Caller, caller


def refusal(plans: Caller, query: str) -> str:
    with pytest.raises(duckdb.Error) as caught:
        plans.rows(query)
    assert plans.value("SELECT 1") == 1
    return str(caught.value)


def test_another_session_cannot_be_named(processes: _core.FunctionProcesses) -> None:
    with caller(processes) as one, caller(processes) as other:
        identity = one.define("rest", {"x": "INTEGER"}, "INTEGER", "return x % 100")
        assert one.token != other.token
        for token in (
            f"'{one.token}'",
            f"'{other.token}'",
            f"(SELECT '{other.token}')",
            f"CASE WHEN colonnade_session() = '{one.token}' THEN '{other.token}' END",
            f"replace(colonnade_session(), '{one.token}', '{other.token}')",
            "NULL",
            "''",
        ):
            text = refusal(one, f"SELECT colonnade_map('{identity}', {token}, 1::INTEGER)")
            assert "error" in text.lower(), text
        assert one.value(f"SELECT colonnade_map('{identity}', colonnade_session(), 101::INTEGER)") == 1
        assert other.session.process_ids == []


def test_ids_and_arguments_are_checked(plans: Caller) -> None:
    identity = plans.define("rest", {"x": "INTEGER"}, "INTEGER", "return x % 100")
    volatile = plans.define("lots", {"x": "INTEGER"}, "INTEGER", "return x", volatility="v")
    aggregate = plans.define("total", {"x": "INTEGER"}, "INTEGER", "return [1]", kind="aggregate")
    session = "colonnade_session()"
    for unknown in ("0123456789abcdef", "", "x", identity.upper() + "F", "é" * 16):
        failure = plans.failure(f"SELECT colonnade_map('{unknown}', {session}, 1)")
        assert (failure["code"], failure["unknown"]) == ("42883", unknown)
    assert "must have the type INTEGER" in refusal(plans, f"SELECT colonnade_map('{identity}', {session}, 'a')")
    assert "must have the type INTEGER" in refusal(plans, f"SELECT colonnade_map('{identity}', {session}, [1])")
    assert "takes 1 arguments, and 0" in refusal(plans, f"SELECT colonnade_map('{identity}', {session})")
    assert "takes 1 arguments, and 2" in refusal(plans, f"SELECT colonnade_map('{identity}', {session}, 1, 2)")
    for wrong in (volatile, aggregate):
        assert "is called by colonnade_" in refusal(plans, f"SELECT colonnade_map('{wrong}', {session}, 1::INTEGER)")
    assert "is called by colonnade_map" in refusal(
        plans, f"SELECT colonnade_aggregate('{identity}', {session}, 1::INTEGER)"
    )
    assert refusal(plans, f"SELECT colonnade_map(x, {session}, 1) FROM (VALUES ('{identity}')) t(x)")
    assert refusal(plans, f"SELECT colonnade_map(NULL, {session}, 1)")


def test_a_definition_never_changes(plans: Caller) -> None:
    identity = plans.define("rest", {"x": "INTEGER"}, "INTEGER", "return x % 100")
    with pytest.raises(ValueError, match="another function"):
        _core.define_function(identity, "main.rest", "scalar", [("x", "INTEGER", False)], "INTEGER", "return x")
    with pytest.raises(ValueError, match="no id"):
        _core.define_function("x", "main.rest", "scalar", [], "INTEGER", "return 1")
    with pytest.raises(ValueError, match="token"):
        _core.FunctionSession(_core.FunctionProcesses(isolation="process"), "0" * 32)


def test_each_type_of_a_text_is_known_or_refused() -> None:
    with pytest.raises(NotImplementedError, match="BIGNUM"):
        _core.define_function("00000000000000aa", "main.t", "scalar", [("x", "BIGNUM", False)], "INTEGER", "return 1")
    with pytest.raises(NotImplementedError, match=r"DECIMAL\(39,0\)"):
        _core.define_function("00000000000000aa", "main.t", "scalar", [], "DECIMAL(39,0)", "return 1")


def test_the_installed_library_is_one_that_was_checked() -> None:
    """The declarations of version 2 of DuckDB's interface hold for 2.0 only."""
    assert duckdb.__version__.startswith("2.0.")
    _core.register_functions()
    _core.register_functions()
