"""UPDATE … RETURNING of rows to which foreign keys refer."""

from __future__ import annotations

import psycopg
import pytest

from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture(autouse=True)
def tables(connection: psycopg.Connection) -> None:
    connection.execute("drop table if exists b; drop table if exists a")
    connection.execute("create table a (id int primary key, name text, u text unique, l int[])")
    connection.execute("create table b (a int references a)")
    connection.execute("insert into a values (1, 'x', 'p', '{1}'), (2, 'y', 'q', '{2}'), (3, null, 'r', null)")
    connection.execute("insert into b values (1)")


@pytest.mark.parametrize("prepare", [False, True])
def test_rows_are_changed_and_returned(connection: psycopg.Connection, prepare: bool) -> None:
    query = "update a as t set name = coalesce(name, '') || %s where id < %s returning t.id, name as n, 7"
    done = connection.execute(query, ("!", 3), prepare=prepare)
    assert [column.name for column in done.description or ()] == ["id", "n", "?column?"]
    assert sorted(done.fetchall()) == [(1, "x!", 7), (2, "y!", 7)]
    assert done.statusmessage == "UPDATE 2"
    assert connection.execute("update a set name = 'z' where id = 99 returning *", prepare=prepare).fetchall() == []
    # The condition does not hold any more.
    done = connection.execute("update a set name = 'w' where name = 'x!' returning id", prepare=prepare)
    assert done.fetchall() == [(1,)]


@pytest.mark.parametrize("change", ["id = 9", "u = 's'", "l = '{7}'"])
def test_changes_that_move_a_row(connection: psycopg.Connection, change: str) -> None:
    """DuckDB returns them itself, and refuses them for a row to which another one refers."""
    found = connection.execute(f"update a set {change}, name = 'moved' where id = 2 returning name").fetchall()
    assert found == [("moved",)]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute(f"update a set {change} where id = 1 returning name")


def test_it_is_undone_with_its_transaction(connection: psycopg.Connection) -> None:
    with connection.transaction(force_rollback=True):
        assert connection.execute("update a set name = 'n' where id = 1 returning name").fetchall() == [("n",)]
    assert connection.execute("select name from a where id = 1").fetchall() == [("x",)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("set ieee_floating_point_ops = false; update a set name = 'n' returning 1 / (id - id)")
    assert connection.execute("select name from a where id = 1").fetchall() == [("x",)]
