"""How many round trips connecting and reading a small result take. Connecting the socket is not counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import colonnade
import colonnade.dbapi
import pytest

from tests.support.turns import Turns
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

ROW = [{"one": 1}]


@contextmanager
def counted(cluster: pg.Cluster, database: str = "postgres") -> Iterator[tuple[str, Turns]]:
    """A URI of the database, and the turns of its connections."""
    turns = Turns("127.0.0.1", cluster.port)
    try:
        yield f"postgresql://{pg.SUPERUSER}@127.0.0.1:{turns.port}/{database}?sslmode=disable", turns
    finally:
        turns.close()


def rows(connection: colonnade.Connection, query: str = "select 1 as one") -> list[dict[str, object]]:
    return connection.query(query).to_arrow().to_pylist()


def test_stock_postgres(stock: pg.Cluster) -> None:
    with counted(stock) as (uri, turns), colonnade.connect(uri) as connection:
        assert turns.taken() == 1
        # The question for the extension and the description; the rows.
        assert rows(connection) == ROW
        assert turns.taken() == 2
        # The description was remembered.
        assert rows(connection) == ROW
        assert turns.taken() == 1
        assert rows(connection, "select 2 as two") == [{"two": 2}]
        assert turns.taken() == 2
        assert connection.execute("set search_path to public") is None
        assert turns.taken() == 1


def test_stock_postgres_with_tls_that_is_not_offered(stock: pg.Cluster) -> None:
    with counted(stock) as (uri, turns), colonnade.connect(uri.replace("disable", "prefer")) as connection:
        assert turns.taken() == 2
        assert rows(connection) == ROW
        assert turns.taken() == 2


def test_the_extension(extended: pg.Cluster) -> None:
    """It is not announced. This process does not know the server before."""
    with counted(extended) as (uri, turns):
        with colonnade.connect(uri) as connection:
            assert rows(connection) == ROW
            # Start-up; the question and the description; loading and COPY.
            assert turns.taken() == 3
            assert rows(connection) == ROW
            assert turns.taken() == 1
        with colonnade.connect(uri) as connection:
            # Loading and COPY are sent together.
            assert rows(connection) == ROW
            assert turns.taken() == 2
            assert connection.server.endswith(" with colonnade 1")


def test_an_extension_that_is_gone(extended: pg.Cluster) -> None:
    """What this process remembers of the server is wrong then, and the result is the same."""
    with extended.connect() as session:
        session.execute("create database visited")
    try:
        with extended.connect("visited") as session, counted(extended, "visited") as (uri, turns):
            session.execute("create extension colonnade")
            with colonnade.connect(uri) as connection:
                assert rows(connection) == ROW
                assert " with colonnade " in connection.server
            session.execute("drop extension colonnade")
            for expected in (5, 3):
                with colonnade.connect(uri) as connection:
                    assert rows(connection) == ROW
                    assert turns.taken() == expected
                    assert "colonnade" not in connection.server
    finally:
        with extended.connect() as session:
            session.execute("drop database visited with (force)")


def test_preloaded(preloaded: pg.Cluster) -> None:
    with counted(preloaded) as (uri, turns), colonnade.connect(uri) as connection:
        assert rows(connection) == ROW
        assert turns.taken() == 2


def test_the_server(server: Server) -> None:
    assert server.host is not None and server.port is not None
    turns = Turns(server.host, server.port)
    with colonnade.connect(f"postgresql://tester@127.0.0.1:{turns.port}/?sslmode=disable") as connection:
        assert rows(connection) == ROW
        assert turns.taken() == 2
        assert rows(connection) == ROW
        assert turns.taken() == 1
    turns.close()


def test_a_transaction_of_dbapi(stock: pg.Cluster) -> None:
    with counted(stock) as (uri, turns), colonnade.dbapi.connect(uri) as connection:
        cursor = connection.cursor()
        assert cursor.execute("select 1").fetchall() == [(1,)]
        # Start-up, the question, BEGIN, the description, the rows.
        assert turns.taken() == 5
        assert cursor.execute("select 1").fetchall() == [(1,)]
        assert turns.taken() == 1


@pytest.mark.parametrize("is_slow", [False, True])
def test_columns_that_have_changed(stock: pg.Cluster, is_slow: bool) -> None:
    """The new description decides how the rows are read, also if the old one was expected."""
    wait = ", pg_sleep(0.02)::text as slept" if is_slow else ""
    query = f"select *{wait} from changing.t"
    with (
        stock.prepared("create schema changing", "drop schema changing cascade"),
        stock.connect() as session,
        counted(stock) as (uri, turns),
        colonnade.connect(uri) as connection,
    ):
        for definition, expected in [
            ("1 as a", {"a": 1}),
            ("2::bigint as a, 'x'::text as b", {"a": 2, "b": "x"}),
            ("1.5::float8 as other", {"other": 1.5}),
        ]:
            session.execute(f"drop table if exists changing.t; create table changing.t as select {definition}".encode())
            for _ in range(2):
                [row] = rows(connection, query)
                row.pop("slept", None)
                assert row == expected
        turns.taken()
        # The form of its values is text.
        session.execute("drop table changing.t; create table changing.t as select '10.0.0.1'::inet as a")
        with pytest.raises(colonnade.DatabaseError, match="columns of this statement have changed") as caught:
            rows(connection, query)
        assert "has run" in (caught.value.hint or "")
        assert turns.taken() == 1
        [row] = rows(connection, query)
        assert row["a"] == "10.0.0.1"
        session.execute("drop table changing.t")
        for _ in range(2):
            with pytest.raises(colonnade.ProgrammingError, match="does not exist"):
                rows(connection, query)
        assert rows(connection) == ROW


def test_literals_are_read_anew_each_time(stock: pg.Cluster) -> None:
    query = "select '2024-01-02 00:00'::timestamptz as t, '01/02/2024'::date as d, current_setting('timezone') as z"
    with counted(stock) as (uri, _), colonnade.connect(uri) as connection:
        found = []
        for zone, style in [("UTC", "mdy"), ("Asia/Tokyo", "dmy"), ("UTC", "dmy")]:
            connection.execute(f"set timezone to '{zone}'")
            connection.execute(f"set datestyle to 'iso, {style}'")
            [row] = rows(connection, query)
            found.append((row["t"], str(row["d"]), row["z"]))
        assert len(set(found)) == 3
        assert [date for _, date, _ in found] == ["2024-01-02", "2024-02-01", "2024-02-01"]


def test_short_and_long_results_alternate(stock: pg.Cluster, extended: pg.Cluster) -> None:
    """The beginning of a result is received on the caller's thread, and the rest of a long one on another."""
    for cluster in (stock, extended):
        with colonnade.connect(cluster.uri(tcp=True)) as connection:
            for count in [1, 100_000, 3000, 0, 2000, 50_000, 1] * 2:
                table = connection.query(f"select i, i::text as t from generate_series(1, {count}) as i").to_arrow()
                assert table.num_rows == count
                assert table["i"].to_pylist() == list(range(1, count + 1))
                assert table["t"].to_pylist() == [str(number) for number in range(1, count + 1)]


def test_an_unread_short_result_leaves_the_connection_free(stock: pg.Cluster) -> None:
    with counted(stock) as (uri, turns), colonnade.connect(uri) as connection:
        for _ in range(3):
            assert rows(connection) == ROW
        turns.taken()
        for _ in range(5):
            connection.query("select 1 as one").close()
        # No cancel request, which would be another connection, and no wait.
        assert turns.taken() == 5
