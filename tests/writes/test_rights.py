"""`write_sql` to PostgreSQL by users with few rights, and row-level security."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.writes.places import Place


@pytest.fixture
def guest(session: psycopg.Connection, in_postgres: Place) -> Iterator[str]:
    """The URI of a user without rights."""
    session.execute("create role guest login")
    session.execute("do $$ begin execute format('grant usage on schema %I to guest', current_schema()); end $$")
    yield in_postgres.uri.replace("tester@", "guest@")
    session.execute("drop owned by guest; drop role guest")


def test_rights_are_the_servers(in_postgres: Place, session: psycopg.Connection, guest: str) -> None:
    session.execute("create table t (a int)")
    for table, mode in [("t", "append"), ("u", "fail"), ("t", "truncate"), ("t", "replace")]:
        with pytest.raises(colonnade.ProgrammingError) as caught:
            colonnade.write_sql(pa.table({"a": [1]}), guest, table, if_exists=mode)  # type: ignore[arg-type]
        assert caught.value.sqlstate == "42501"
    # INSERT alone suffices to append.
    session.execute("grant insert on t to guest")
    colonnade.write_sql(pa.table({"a": [1]}), guest, "t", if_exists="append")
    assert in_postgres.rows() == [{"a": 1}]


def test_rights_on_columns_are_the_servers(in_postgres: Place, session: psycopg.Connection, guest: str) -> None:
    """As COPY, which needs INSERT on the columns that it names."""
    session.execute("create table t (a int, b text, secret text); grant insert (a, b) on t to guest")
    colonnade.write_sql(pa.table({"a": [1], "b": ["x"]}), guest, "t", if_exists="append")
    with pytest.raises(colonnade.ProgrammingError) as caught:
        colonnade.write_sql(pa.table({"a": [2], "secret": ["y"]}), guest, "t", if_exists="append")
    assert caught.value.sqlstate == "42501" and in_postgres.rows() == [{"a": 1, "b": "x", "secret": None}]


def test_row_security_is_that_of_insert(in_postgres: Place, session: psycopg.Connection, guest: str) -> None:
    """COPY FROM refuses such a table."""
    session.execute("create table t (a int, b text default 'd', c int generated always as identity)")
    session.execute("alter table t enable row level security; grant insert, truncate on t to guest")
    session.execute("create policy p on t using (a < 3)")
    with colonnade.connect(guest) as connection:
        connection.execute("begin")
        for number in (1, 2):
            colonnade.write_sql(pa.table({"c": [-number], "a": [number]}), connection, "t", if_exists="append")
        with pytest.raises(colonnade.ProgrammingError, match="row-level security") as caught:
            colonnade.write_sql(pa.table({"a": [1, 3]}), connection, "t", if_exists="append")
        assert caught.value.sqlstate == "42501"
        with pytest.raises(colonnade.ProgrammingError, match='no column "d"'):
            colonnade.write_sql(pa.table({"a": [1], "d": [3]}), connection, "t", if_exists="append")
        connection.execute("commit")
    expected = [{"a": 1, "b": "d", "c": -1}, {"a": 2, "b": "d", "c": -2}]
    assert in_postgres.rows() == expected
    # The owner's rows go by COPY, and no policy applies to them.
    colonnade.write_sql(pa.table({"a": [4], "c": [9]}), in_postgres.uri, "t", if_exists="append")
    assert in_postgres.rows() == [*expected, {"a": 4, "b": "d", "c": 9}]
    session.execute("create function skip() returns trigger language plpgsql as 'begin return null; end'")
    session.execute("create trigger skips before insert on t for each row execute function skip()")
    with pytest.raises(colonnade.DatabaseError, match="stored 0"):
        colonnade.write_sql(pa.table({"a": [1]}), guest, "t", if_exists="append")
    assert len(in_postgres.rows()) == 3
    session.execute("drop trigger skips on t")
    colonnade.write_sql(pa.table({"a": [2]}), guest, "t", if_exists="truncate")
    assert [row["a"] for row in in_postgres.rows()] == [2]
