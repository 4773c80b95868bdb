"""Macros with the names of the functions that calls of functions in Python are made of."""

from __future__ import annotations

import psycopg
import pytest

from tests.functions.sessions import connected, serving, value

FUNCTIONS = (
    "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$",
    "CREATE FUNCTION m(x MAP(VARCHAR, INTEGER)) RETURNS MAP(VARCHAR, INTEGER) LANGUAGE PYTHON_MAP AS $$ return x $$",
    "CREATE AGGREGATE total(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON AS $$ return numpy.bincount(aggr_group, x) $$",
    "CREATE FUNCTION t(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [x + 1] $$",
    "CREATE FUNCTION c(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x + len(x) $$",
)
CALLS = {
    "SELECT f(1)": 2,
    "SELECT sum(f(i::INTEGER)) FROM range(3) r(i)": 6,
    "SELECT m(MAP {'a': 1})['a']": 1,
    "SELECT total(DISTINCT i::INTEGER) FROM range(3) r(i)": 3,
    "SELECT sum(j) FROM t((SELECT i::INTEGER FROM range(3) r(i)))": 6,
    "SELECT max(v) FROM (SELECT c(i::INTEGER) AS v FROM range(3) r(i))": 5,
}
MACROS = (
    "colonnade_map(i, s, x) AS 99",
    "colonnade_map_volatile(i, s, x) AS 99",
    "colonnade_aggregate(i, s, x) AS 99",
    "colonnade_collect(n, q, r, x) AS true",
    "colonnade_rows(n) AS TABLE SELECT 99 AS j",
    "colonnade_session() AS 'x'",
    "map_entries(x) AS []",
    "map_from_entries(x) AS MAP {}",
)


def test_macros_with_names_of_the_servers_functions_change_no_call() -> None:
    with serving() as server, connected(server) as creator, connected(server) as other:
        for function in FUNCTIONS:
            creator.execute(function.encode())
        assert {call: value(creator, call) for call in CALLS} == CALLS
        created = []
        for macro in MACROS:
            try:
                other.execute(f"CREATE MACRO {macro}".encode())
            except psycopg.errors.InsufficientPrivilege:
                continue
            created.append(macro.partition("(")[0])
        assert {"colonnade_session", "map_entries", "map_from_entries"} <= set(created)
        for connection in (creator, other):
            assert {call: value(connection, call) for call in CALLS} == CALLS
        with connected(server) as later:
            assert {call: value(later, call) for call in CALLS} == CALLS


@pytest.mark.parametrize("name", ["colonnade_map", "colonnade_collect"])
def test_some_names_are_refused(name: str) -> None:
    with (
        serving() as server,
        connected(server) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=name),
    ):
        connection.execute(f"CREATE MACRO {name}(i, s, x) AS 99".encode())
