"""Definitions that are one statement in PostgreSQL and several in DuckDB, or would do more there."""

from __future__ import annotations

import psycopg
import pytest

from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture(autouse=True)
def empty(connection: psycopg.Connection) -> None:
    connection.execute("drop schema if exists own cascade; create schema own; set search_path = own")


def indexes(connection: psycopg.Connection) -> list[tuple[str, str]]:
    query = "select indexname, indexdef from pg_indexes where schemaname = 'own' order by 1"
    return [(name, text.partition(" btree ")[2]) for name, text in connection.execute(query).fetchall()]


@pytest.mark.parametrize(
    ("kind", "use"), [("type thing as enum ('a')", "a thing"), ("sequence thing", "a int default nextval('thing')")]
)
def test_cascade_drops_no_table(connection: psycopg.Connection, kind: str, use: str) -> None:
    connection.execute(f"create {kind}")
    connection.execute(f"create table used ({use}, b int)")
    connection.execute("insert into used (b) values (7)")
    word = kind.partition(" ")[0]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as caught:
        connection.execute(f"drop {word} if exists thing cascade")
    assert "CASCADE" not in str(caught.value)
    assert connection.execute("select b from used").fetchall() == [(7,)]
    connection.execute("drop table used")
    assert connection.execute(f"drop {word} thing cascade").statusmessage == f"DROP {word.upper()}"


def test_several_objects_are_dropped(connection: psycopg.Connection) -> None:
    connection.execute("create table a (i int primary key)")
    connection.execute("create table b (i int primary key, a int references a)")
    connection.execute("create table c (b int references b)")
    # A table that others refer to comes after them.
    assert connection.execute("drop table a, own.b, c cascade").statusmessage == "DROP TABLE"
    connection.execute("create table d (i int)")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("drop table d, nothing")
    assert connection.execute("select count(*) from d").fetchall() == [(0,)]
    assert connection.execute("drop table if exists d, nothing").statusmessage == "DROP TABLE"


def test_several_commands_alter_a_table_or_none(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (1)")
    done = connection.execute("alter table if exists only t add b text, add column c numeric(9, 2) default 1.5")
    assert done.statusmessage == "ALTER TABLE"
    assert connection.execute("select * from t").fetchone() is not None
    with pytest.raises(psycopg.errors.DuplicateColumn):
        connection.execute("alter table t add d int, add a int")
    names = [column.name for column in connection.execute("select * from t").description or ()]
    assert names == ["a", "b", "c"]


def test_a_unique_constraint_beside_an_index(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int, b text)")
    connection.execute("create index t_a on t (a)")
    connection.execute("alter table t add constraint t_uq unique (b, a), add unique (b)")
    assert indexes(connection) == [("t_a", "(a)"), ("t_b_key", "(b)"), ("t_uq", "(b, a)")]
    connection.execute("insert into t values (1, 'x')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("insert into t values (1, 'x')")
    connection.execute("alter table t drop constraint t_uq, drop constraint t_b_key")
    connection.execute("insert into t values (1, 'x')")
    connection.execute("alter table t drop constraint if exists t_uq")
    with pytest.raises(psycopg.errors.UndefinedObject, match='constraint "t_uq" of relation "t" does not exist'):
        connection.execute("alter table t drop constraint t_uq")


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("rename column c to d", "(b, d)"),
        ("rename a to d", "(b, c)"),
        ("add k int not null default 1", "(b, c)"),
        ("add column if not exists k int not null default 1", "(b, c)"),
        ("alter a set not null", "(b, c)"),
        ("alter column a set data type bigint", "(b, c)"),
        ("rename to u", "(b, c)"),
    ],
)
def test_a_table_with_an_index_is_altered(connection: psycopg.Connection, command: str, after: str) -> None:
    connection.execute("create table t (x int primary key, a int, b text, c int)")
    connection.execute("create unique index t_bc on t (b, c)")
    connection.execute("insert into t values (1, 2, 'x', 3)")
    assert connection.execute(f"alter table t {command}").statusmessage == "ALTER TABLE"
    table = "u" if command.endswith("to u") else "t"
    assert ("t_bc", after) in indexes(connection)
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(f"insert into {table} (x, b, {after[-2]}) values (2, 'x', 3)")
    assert connection.execute(f"select x, b from {table}").fetchall() == [(1, "x")]


def test_a_failed_change_leaves_the_index(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int, b int)")
    connection.execute("create index t_b on t (b)")
    connection.execute("insert into t values (null, 1)")
    with pytest.raises(psycopg.errors.NotNullViolation):
        connection.execute("alter table t alter a set not null")
    assert indexes(connection) == [("t_b", "(b)")]


def test_the_same_type_changes_nothing(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int primary key, b varchar(10) unique, check (length(b) > 0))")
    connection.execute("alter table t alter column b set data type varchar(31), alter a type integer")
    with pytest.raises(psycopg.Error, match="UNIQUE or PRIMARY KEY"):
        connection.execute("alter table t alter a type bigint")


def test_tables_are_truncated(connection: psycopg.Connection) -> None:
    connection.execute("create table a (i serial, b int)")
    connection.execute("create table c (i bigserial, b int)")
    for statement, first in (
        ("truncate a restart identity", 1),
        ("truncate table only a continue identity restrict", 4),
        ("truncate own.a, c restart identity cascade", 1),
    ):
        for table in ("a", "c"):
            connection.execute(f"insert into {table} (b) values (1), (2)")
        assert connection.execute(statement).statusmessage == "TRUNCATE TABLE"
        assert connection.execute("insert into a (b) values (1) returning i").fetchall() == [(first,)]
    assert connection.execute("insert into c (b) values (1) returning i").fetchall() == [(1,)]


def test_identity_columns_name_their_sequence(connection: psycopg.Connection) -> None:
    options = 'sequence name own."g_id_seq" increment by 5 minvalue 1 start with 10 cache 1'
    connection.execute(f"create table g (id int primary key generated by default as identity ({options}), b int)")
    assert connection.execute("insert into g (b) values (1), (2) returning id").fetchall() == [(10,), (15,)]


def test_arrays_may_be_empty_by_default(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int, b text[] not null default '{}', c int[] default '{1,2}')")
    connection.execute("insert into t (a) values (1)")
    assert connection.execute("select * from t").fetchall() == [(1, [], [1, 2])]


def test_a_temporary_table_hides_another_one(connection: psycopg.Connection) -> None:
    connection.execute("create table hidden (a int, b int)")
    connection.execute("create index hidden_b on hidden (b)")
    connection.execute("create temp table hidden (a int, b int)")
    try:
        connection.execute("alter table hidden rename a to c, add d int")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("truncate hidden restart identity")
        names = [column.name for column in connection.execute("select * from hidden").description or ()]
        assert names == ["c", "b", "d"]
    finally:
        connection.execute("drop table temp.hidden")
    assert indexes(connection) == [("hidden_b", "(b)")]
    names = [column.name for column in connection.execute("select * from hidden").description or ()]
    assert names == ["a", "b"]


def test_an_index_without_a_name_gets_postgresqls(connection: psycopg.Connection) -> None:
    connection.execute("create table t (a int, b text)")
    for _ in range(2):
        assert connection.execute("create index on t (a, lower(b))").statusmessage == "CREATE INDEX"
    connection.execute("create unique index concurrently on own.t using btree (b text_pattern_ops)")
    connection.execute("create index concurrently named on t (b); drop index concurrently named")
    assert [name for name, _ in indexes(connection)] == ["t_a_lower_idx", "t_a_lower_idx1", "t_b_idx"]
    connection.execute("insert into t values (1, 'x')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("insert into t values (2, 'x')")
