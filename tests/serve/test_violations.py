"""Errors of violated constraints name the table, the column and the constraint, as PostgreSQL's do."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server

SCHEMA = """
create schema violated;
create table violated.parent
    (id int primary key, n int not null, u int unique, v int check (v > 0), "B c" int, unique (u, v));
create unique index named on violated.parent ("B c");
create table violated.child (id int primary key, p int references violated.parent (id));
insert into violated.parent values (1, 1, 1, 1, 1), (2, 2, 2, 2, 2);
insert into violated.child values (1, 1)
"""
WRONG = (
    "insert into violated.parent values (1, 3, 3, 3, 3)",
    "insert into violated.parent values (3, null, 3, 3, 3)",
    "insert into violated.parent values (3, 3, 1, 3, 3)",
    "insert into violated.parent values (3, 3, 3, 3, 1)",
    "insert into violated.parent values (3, 3, 3, -3, 3)",
    "with q as (select 1 as id) insert into violated.parent select id, 3, 3, 3, 3 from q",
    "update violated.parent set v = -1 where id = 2",
    "insert into violated.child values (1, 2)",
    "insert into violated.child values (2, 7)",
    "delete from violated.parent where id = 1",
    'insert into "violated"."parent" (id, n) values (9, null)',
)


@pytest.fixture(scope="module")
def sessions(server: Server, stock: pg.Cluster) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    """A session of the server and one of PostgreSQL, with the same tables."""
    with psycopg.connect(server.dsn, autocommit=True) as ours, psycopg.connect(stock.uri(), autocommit=True) as theirs:
        for session in (ours, theirs):
            for statement in SCHEMA.split(";"):
                session.execute(statement.encode())
        yield ours, theirs
        for statement in ("drop table violated.child", "drop table violated.parent", "drop schema violated"):
            ours.execute(statement)
        theirs.execute("drop schema violated cascade")


def named(session: psycopg.Connection, statement: str) -> tuple[str | None, ...]:
    """What the error of a statement names."""
    with pytest.raises(psycopg.IntegrityError) as failed:
        session.execute(statement.encode())
    diag = failed.value.diag
    return diag.sqlstate, diag.schema_name, diag.table_name, diag.column_name, diag.constraint_name


@pytest.mark.parametrize("statement", WRONG)
@pytest.mark.parametrize("is_prepared", [False, True])
def test_errors_name_what_postgresqls_name(
    sessions: tuple[psycopg.Connection, psycopg.Connection], statement: str, is_prepared: bool
) -> None:
    for session in sessions:
        session.prepare_threshold = 0 if is_prepared else None
    ours, theirs = (named(session, statement) for session in sessions)
    assert theirs[1] == "violated"
    assert ours == theirs


@pytest.mark.parametrize("statement", WRONG)
def test_in_a_transaction(sessions: tuple[psycopg.Connection, psycopg.Connection], statement: str) -> None:
    ours, theirs = sessions
    expected = named(theirs, statement)
    ours.execute("begin")
    try:
        assert named(ours, statement) == expected
    finally:
        ours.execute("rollback")


def test_copy(sessions: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    found = []
    for session in sessions:
        refused = pytest.raises(psycopg.errors.UniqueViolation)
        with refused as failed, session.cursor().copy("copy violated.parent from stdin") as copy:
            copy.write_row((2, 3, 3, 3, 3))
        diag = failed.value.diag
        found.append((diag.schema_name, diag.table_name, diag.constraint_name))
    assert found == [("violated", "parent", "parent_pkey")] * 2


def test_names_are_those_of_the_catalog(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute("create temp table tested (a int constraint mine check (a = 1), b int not null)")
        query = "select conname from pg_constraint where conrelid = 'tested'::regclass"
        rows = session.execute(query).fetchall()
        state = ("23514", "pg_temp_1", "tested", None, "mine")
        assert named(session, "insert into tested values (2, 2)") == state
        assert rows == [("mine",)]
        assert named(session, "insert into tested values (1, null)") == ("23502", "pg_temp_1", "tested", "b", None)
        # Nobody else sees a temporary table, and an aborted transaction sees nothing.
        session.execute("begin")
        assert named(session, "insert into tested values (2, 2)") == ("23514", None, "tested", None, None)
        session.execute("rollback")


NAMED = """
create table named.parent (
    "Id" int constraint parent_id primary key, a int not null constraint "a of 'p'" unique,
    b int constraint b_above check (b > 0), unique (a, b), check (b < 10), constraint both_of check (a + b < 15));
create table named.child (
    p int constraint child_parent references named.parent on update no action, a int references named.parent (a),
    constraint child_both unique (p, a))
"""
CATALOG = """
    select relname, conname, contype, pg_get_constraintdef(c.oid) like '%constraint names%'
    from pg_constraint c join pg_class r on r.oid = conrelid join pg_namespace n on n.oid = relnamespace
    where nspname = 'named'
"""
NAMES = (
    CATALOG,
    """select relname, relchecks from pg_class
       where relnamespace = 'named'::regnamespace and relkind = 'r'""",
    """select table_name, constraint_name, constraint_type from information_schema.table_constraints
       where table_schema = 'named' and constraint_name not like '%not_null'""",
    """select constraint_name, column_name from information_schema.key_column_usage
       where table_schema = 'named'""",
    "select indexname from pg_indexes where schemaname = 'named'",
)


def test_constraints_keep_the_names_that_users_give(server: Server, stock: pg.Cluster) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as ours, psycopg.connect(stock.uri(), autocommit=True) as theirs:
        try:
            for session in (ours, theirs):
                session.execute("create schema named")
                for statement in NAMED.split(";"):
                    session.execute(statement.encode())
                session.execute("insert into named.parent values (1, 1, 1)")
                session.execute("insert into named.child values (1, 1)")
            for wrong in (
                "insert into named.parent values (1, 2, 2)",
                "insert into named.parent values (2, 1, 2)",
                "insert into named.parent values (2, 2, -1)",
                "insert into named.parent values (2, 2, 10)",
                "insert into named.parent values (2, 7, 9)",
                "insert into named.child values (2, 1)",
                "insert into named.child values (1, 1)",
            ):
                assert named(ours, wrong) == named(theirs, wrong), wrong
            for query in NAMES:
                found, expected = (session.execute(query.encode()).fetchall() for session in (ours, theirs))
                # Not every text is sorted by the same collation.
                assert sorted(found) == sorted(expected), query
            # They are the table's, whatever happens to it. Names of keys that come later are PostgreSQL's.
            for session in (ours, theirs):
                session.execute("alter table named.parent add column c int")
                session.execute("create table named.late (a int constraint late_check check (a > 0), b int not null)")
                session.execute("alter table named.late rename column a to z")
                session.execute("alter table named.late rename to later")
                session.execute("alter table named.later add primary key (b)")
            found, expected = (set(session.execute(CATALOG.encode()).fetchall()) for session in (ours, theirs))
            assert found == expected
        finally:
            for table in ("child", "parent", "late", "later"):
                ours.execute(f"drop table if exists named.{table}".encode())
            ours.execute("drop schema if exists named")
            theirs.execute("drop schema if exists named cascade")


def test_a_check_that_only_looks_like_one_that_keeps_names(server: Server) -> None:
    """Plain DuckDB may have written it."""
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute(
            """create table odd (a int check ('constraint names {"c":[' is not null), b int check (b > 0))"""
        )
        query = "select conname from pg_constraint where conrelid = 'odd'::regclass"
        assert session.execute(query).fetchall() == [("odd_b_check",)]
        session.execute("drop table odd")
