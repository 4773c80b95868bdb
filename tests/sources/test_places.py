"""Errors of a query show its line and the place in it, and tables with similar names, whatever the source."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import colonnade
import pytest

from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

SETUP = "create table orders (id int)"


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture(params=["stock", "extension", "serve", "sqlite", "mariadb"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with a table `orders`."""
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
            connection.execute(SETUP)
        yield f"sqlite:///{tmp_path}/shop.db"
        return
    if request.param == "mariadb":
        server: mariadb.Server = request.getfixturevalue("maria")
        found = server.uri()
    elif request.param == "serve":
        running: Server = request.getfixturevalue("served")
        found = f"postgresql://tester@{running.host}:{running.port}/test"
    else:
        cluster: pg.Cluster = request.getfixturevalue("stock" if request.param == "stock" else "extended")
        found = cluster.uri()
    with colonnade.connect(found) as connection:
        connection.execute(SETUP)
        yield found
        connection.execute("drop table orders")


def caret(error: colonnade.Error) -> str:
    """What the caret points at."""
    assert error.place is not None
    line, below = error.place.splitlines()
    assert line.startswith("LINE ") and below.strip() == "^"
    assert f"\n{error.place}" in str(error)
    return line[len(below) - 1 :]


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("select *\n  form orders", "form orders"),
        ("  select nope\nfrom orders", "nope"),
        ("select 'é', nope from orders -- nope", "nope from orders -- nope"),
        ("select 1 from orders where id = $1 and nope = 1", "nope = 1"),
    ],
)
@pytest.mark.parametrize("ask", [colonnade.Connection.query, colonnade.Connection.execute])
def test_the_place_is_shown(uri: str, query: str, rest: str, ask: Callable[..., object]) -> None:
    with colonnade.connect(uri) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.ProgrammingError) as caught:
                ask(connection, query, [5] if "$1" in query else None)
            # DuckDB names the column, or an alias, at its end.
            assert caret(caught.value) in (rest, rest.removeprefix("form "))


def test_a_table_with_a_similar_name_is_proposed(uri: str) -> None:
    for ask in (colonnade.read_sql, lambda uri, query: colonnade.connect(uri).execute(query)):
        with pytest.raises(colonnade.ProgrammingError) as caught:
            ask(uri, "select * from ordres")
        assert caret(caught.value) == "ordres"
        hint = caught.value.hint or ""
        assert "orders" in hint
        if "colonnade tables" in hint:
            assert "orders" in colonnade.tables(uri).column("name").to_pylist()


def test_a_password_in_a_statement_is_not_shown(uri: str) -> None:
    with colonnade.connect(uri) as connection, pytest.raises(colonnade.Error) as caught:
        connection.execute("create user x passwort 'hunter2' password 'hunter2' from nope nope")
    assert caught.value.place is None


@pytest.mark.parametrize(
    ("query", "message", "rest"),
    [
        ("select 'abc", 'unterminated quoted string at or near "\'abc"', "'abc"),
        ("select (1", "syntax error at end of input", ""),
        ("select 1)", 'syntax error at or near ")"', ")"),
        ("select 1 form x y", 'syntax error at or near "x"', "x y"),
    ],
)
def test_with_the_extension_errors_are_those_of_the_query(
    either: pg.Cluster, query: str, message: str, rest: str
) -> None:
    with colonnade.connect(either.uri()) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.ProgrammingError) as caught:
                connection.query(query)
            assert caught.value.message == message
            assert caret(caught.value) == rest


@pytest.mark.parametrize(
    "query",
    [
        "update counted set n = 1",
        "insert into counted values (2)",
        "delete from counted",
        "with x as (select 1) insert into counted select * from x",
        "select n into other from counted",
    ],
)
def test_a_statement_without_rows_is_refused_by_name_and_does_not_run(either: pg.Cluster, query: str) -> None:
    setup = "create table counted (n int); insert into counted values (5)"
    with either.prepared(setup, "drop table counted"), colonnade.connect(either.uri()) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.NotSupportedError) as caught:
                colonnade.read_sql(connection, query)
            assert caught.value.message == "the statement returns no rows"
            assert "execute" in (caught.value.hint or "")
        assert connection.query("select n from counted").to_arrow().to_pylist() == [{"n": 5}]
        # What the hint says.
        connection.execute(query)
        connection.execute("drop table if exists other")
