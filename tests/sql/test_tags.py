"""The server reports statements done with the tags of PostgreSQL, in front of PostgreSQL and of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support import fronts
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

#: Statements in an order in which PostgreSQL and DuckDB run them, in one session.
COMMON = [
    *[
        "create table tagged (i int, t text)",
        "insert into tagged values (1, 'a'), (2, 'b')",
        "(select 1)",
        "values (1), (2)",
    ],
    *["with a as (select 3 as i) insert into tagged select i, 'c' from a", "update tagged set t = 'd' where i > 1"],
    *[
        "insert into tagged values (4, 'e') returning i",
        "delete from tagged where i = 9",
        "select * from tagged where false",
    ],
    *["create view tagged_view as select 1", "create or replace view tagged_view as select 1", "drop view tagged_view"],
    *["create table tagged_copy as select * from tagged", "drop table tagged_copy", "create schema tagged_schema"],
    *["drop schema tagged_schema", "create sequence tagged_sequence", "drop sequence tagged_sequence", "table tagged"],
    *["create index tagged_index on tagged (i)", "drop index tagged_index", "alter table tagged add column j int"],
    *[
        "comment on table tagged is 'x'",
        "truncate tagged",
        "set timezone = 'UTC'",
        "set search_path to public",
        "reset timezone",
    ],
    *[
        "show timezone",
        "explain select 1",
        "explain analyze select 1",
        "begin",
        "commit",
        "start transaction",
        "rollback",
    ],
    *[
        "begin",
        "abort",
        "begin",
        "end",
        "begin",
        "savepoint a",
        "release a",
        "savepoint a",
        "rollback to savepoint a",
        "commit",
    ],
    *[
        "begin",
        "declare c cursor for select 1",
        "fetch c",
        "move c",
        "close c",
        "declare c cursor for select 1",
        "close all",
    ],
    *["commit", "prepare tagged_plan as select 1", "execute tagged_plan", "deallocate tagged_plan", "deallocate all"],
    *[
        "discard plans",
        "discard all",
        "unlisten *",
        "analyze tagged",
        "vacuum tagged",
        "checkpoint",
        "drop table tagged",
    ],
]
#: The same for PostgreSQL alone.
OF_POSTGRESQL = [
    *["create unlogged table tagged as select 7 as i", "select 1 as i into tagged_into", "drop table tagged_into"],
    *["with recursive as (select 7 as i) delete from tagged where i in (select i from recursive)"],
    *[
        "begin",
        "insert into tagged values (1)",
        "prepare transaction 'tagged'",
        "commit prepared 'tagged'",
        "table tagged",
    ],
    *[
        "begin",
        "insert into tagged values (2)",
        "prepare transaction 'tagged'",
        "rollback prepared 'tagged'",
        "table tagged",
    ],
    *[
        "merge into tagged using (values (1)) v (i) on v.i = tagged.i when matched then delete",
        "insert into tagged values (3)",
    ],
    *["create materialized view tagged_view as select 1", "refresh materialized view tagged_view"],
    *["drop materialized view tagged_view", "grant select on tagged to public", "revoke select on tagged from public"],
    *["do 'begin end'", "begin", "lock table tagged", "commit", "set role none", "reset role", "reindex table tagged"],
    *[
        "create function tagged_f() returns int language sql as 'select 1'",
        "drop function tagged_f",
        "drop table tagged",
    ],
    *[
        "create domain tagged_d as int",
        "drop domain tagged_d",
        "create procedure tagged_p() language sql as 'select 1'",
    ],
    *[
        "call tagged_p()",
        "drop procedure tagged_p",
        "create table tagged (i int) partition by range (i)",
        "drop table tagged",
    ],
]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[pg.Cluster]:
    with pg.cluster(pg.stock(), {"max_prepared_transactions": "2"}) as running:
        yield running


def tags(dsn: str, statements: list[str]) -> list[tuple[str, str | None]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return [(statement, connection.execute(statement.encode()).statusmessage) for statement in statements]


def test_tags_of_a_source_are_its_own(postgresql: pg.Cluster) -> None:
    statements = [*COMMON, *OF_POSTGRESQL]
    with fronts.front(postgresql.uri()) as front:
        assert tags(front.server.dsn, statements) == tags(postgresql.dsn(), statements)


def test_tags_over_duckdb_are_postgresqls(postgresql: pg.Cluster, server: Server) -> None:
    assert tags(server.dsn, COMMON) == tags(postgresql.dsn(), COMMON)
