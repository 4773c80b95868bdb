"""A number divided by zero is an error, as in PostgreSQL; a setting makes it one for every division."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.testbed import postgres as pg
from tests.testbed.serving import Server


@pytest.fixture(params=["server", "PostgreSQL"])
def session(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A session of the server, or of PostgreSQL, which has to answer all the same."""
    if request.param == "server":
        server: Server = request.getfixturevalue("server")
        dsn = server.dsn
    else:
        stock: pg.Cluster = request.getfixturevalue("stock")
        dsn = stock.uri()
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.mark.parametrize(
    "expression",
    ["1/0", "-1.5 / 0.00", "1 % 0", "mod(1, 0)", "2 - 1/0", "1/0 + 1", "abs(1 / 0)", "case when true then 1/0 end"],
)
def test_zero_in_the_statement(session: psycopg.Connection, expression: str) -> None:
    with pytest.raises(errors.DivisionByZero, match="division by zero"):
        session.execute(f"select {expression}".encode())
    copied = pytest.raises(errors.DivisionByZero)
    with copied, session.cursor().copy(f"copy (select {expression}) to stdout".encode()) as copy:
        list(copy)


@pytest.mark.parametrize("zero", [0, 0.0])
def test_zero_as_a_parameter(session: psycopg.Connection, zero: float) -> None:
    query = "select 10 / %s"
    with pytest.raises(errors.DivisionByZero):
        session.execute(query, [zero])
    assert session.execute(query, [5]).fetchone() == (2,)
    assert session.execute(query, [None]).fetchone() == (None,)
    with pytest.raises(errors.DivisionByZero):
        session.execute(query, [zero], prepare=True)


@pytest.mark.parametrize(
    "query",
    [
        "select case when a = 0 then 7 else 10/0 end from (values (0)) t(a)",
        "select coalesce(7, 1/0)",
        "select 7 where 7 > 0 or 1/0 > 0",
    ],
)
def test_what_is_not_computed_is_no_error(session: psycopg.Connection, query: str) -> None:
    assert session.execute(query.encode()).fetchone() == (7,)
    assert session.execute("select case when %s = 0 then 7 else 10/%s end", [0, 0]).fetchone() == (7,)


def test_the_quotient_keeps_its_type(server: Server) -> None:
    query = "select typeof(case when false then 1/0 end), typeof(case when false then 1.5/0.0 end)"
    with psycopg.connect(server.dsn, autocommit=True) as session:
        assert session.execute(query).fetchone() == ("DOUBLE", "DOUBLE")
        session.execute("set integer_division = true")
        assert session.execute("select typeof(case when false then 1/0 end)").fetchone() == ("INTEGER",)


def test_a_setting_makes_each_division_by_zero_an_error(server: Server) -> None:
    queries = ["a/b", "a::double/b", "a::numeric/b", "a % b", "1/(b + 0)", "a/0"]
    with psycopg.connect(server.dsn, autocommit=True) as session:
        assert session.execute("select a/b from (values (1, 0)) t(a, b)").fetchone() == (float("inf"),)
        session.execute("set ieee_floating_point_ops = false")
        for query in queries:
            with pytest.raises(errors.DivisionByZero):
                session.execute(f"select {query} from (values (1, 0)) t(a, b)".encode())
        assert session.execute("select a/0 from (values (null::int)) t(a)").fetchone() == (None,)
