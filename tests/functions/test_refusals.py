"""Exceptions that have an SQLSTATE, values with names, and calls of TABLE(*) without rows."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, serving
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


REFUSE = """
class Refused(Exception):
    sqlstate = '{}'
raise Refused('the value is too old: write a newer one')
"""


@pytest.mark.parametrize("state", ["22023", "55000"])
def test_an_exception_has_its_own_sqlstate(connection: psycopg.Connection, state: str) -> None:
    name = f"refuse_{state}"
    body = REFUSE.format(state)
    connection.execute(f"CREATE FUNCTION {name}(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $${body}$$".encode())
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(f"SELECT {name}(1)".encode())
    diagnosis = refused.value.diag
    assert (diagnosis.sqlstate, diagnosis.message_primary) == (state, "the value is too old: write a newer one")
    assert diagnosis.context == f'function "main.{name}", line 4'
    assert diagnosis.internal_query is None


@pytest.mark.parametrize("state", ["40001", "57014", "XX000", "x", ""])
def test_other_states_are_no_functions_to_give(connection: psycopg.Connection, state: str) -> None:
    """A client would take 40001 for a reason to try again."""
    body = REFUSE.format(state)
    connection.execute(
        f"CREATE OR REPLACE FUNCTION pretend(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $${body}$$".encode()
    )
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="Refused: the value is too old"):
        connection.execute("SELECT pretend(1)")


def test_values_have_names(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION given(*) RETURNS TABLE(name VARCHAR, value VARCHAR) LANGUAGE PYTHON AS "
        "$$ return {'name': list(_columns), 'value': [str(one) for one in _columns.values()]} $$"
    )
    query = "SELECT * FROM given((SELECT 7 AS x), 1, most => 2 + 3, Least=>$1, 'b')"
    found = connection.execute(query.replace("$1", "%s").encode(), ("a",)).fetchall()
    assert found == [("x", "[7]"), ("arg1", "1"), ("most", "5"), ("least", "a"), ("arg2", "b")]
    with pytest.raises(psycopg.errors.DuplicateColumn):
        connection.execute("SELECT * FROM given((SELECT 7 AS x), x => 1)")
    connection.execute(
        "CREATE FUNCTION typed(x INTEGER, n INTEGER) RETURNS TABLE(y INTEGER) LANGUAGE PYTHON "
        "AS $$ return {'y': x + n} $$"
    )
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="by its name"):
        connection.execute("SELECT * FROM typed((SELECT 7), n => 1)")


def test_parts_of_the_rows_get_the_values(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION added(*) RETURNS TABLE(*) LANGUAGE PYTHON_MAP "
        "AS $$ return {'y': _columns['x'] + _columns['n']} $$"
    )
    assert connection.execute("SELECT sum(y) FROM added((SELECT 1::BIGINT AS x), n => 2)").fetchall() == [(3,)]
    query = "SELECT count(*), sum(y) FROM added((SELECT i AS x FROM range(300000) t(i)), n => 2)"
    assert connection.execute(query.encode()).fetchall() == [(300_000, sum(range(300_000)) + 600_000)]
    # The columns are known from a call without rows.
    assert connection.execute("SELECT y FROM added((SELECT 1::BIGINT AS x WHERE false), n => 2)").fetchall() == []
