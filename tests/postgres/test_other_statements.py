"""Statements that return rows and are no queries. COPY has no place for them: they come in PostgreSQL's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import colonnade
import pytest

from tests.testbed import postgres as pg

SCHEMA = """
create schema beside;
create table beside.t as select i as a, i::numeric(9, 2) / 4 as n from generate_series(1, 100) i;
create procedure beside.next(inout a int, inout b text) language sql as 'select a + 1, b';
"""


@pytest.fixture(scope="module")
def cluster(either: pg.Cluster) -> Iterator[pg.Cluster]:
    with either.prepared(SCHEMA, "drop schema beside cascade"):
        yield either


@pytest.fixture
def connection(cluster: pg.Cluster) -> Iterator[colonnade.Connection]:
    with colonnade.connect(cluster.uri()) as opened:
        yield opened


STATEMENTS: list[tuple[str, list[dict[str, Any]]]] = [
    ("explain (costs off) select 1", [{"QUERY PLAN": "Result"}]),
    ("/* a */ EXPLAIN (costs off) select $1::int", [{"QUERY PLAN": "Result"}]),
    ("show work_mem -- b", [{"work_mem": "4MB"}]),
    ("call beside.next(1, 'x');", [{"a": 2, "b": "x"}]),
]


@pytest.mark.parametrize(("sql", "expected"), STATEMENTS)
def test_they_are_read(cluster: pg.Cluster, sql: str, expected: list[dict[str, Any]]) -> None:
    parameters = [7] if "$1" in sql else None
    assert colonnade.read_sql(cluster.uri(), sql, params=parameters, return_type="arrow").to_pylist() == expected
    with colonnade.connect(cluster.uri()) as connection:
        for _ in range(2):
            assert connection.query(sql, parameters).to_arrow().to_pylist() == expected
            assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_cursors_and_prepared_statements(connection: colonnade.Connection) -> None:
    whole = connection.query("select * from beside.t order by a").to_arrow()
    connection.execute("begin")
    connection.execute("declare c cursor for select * from beside.t order by a")
    fetched = [connection.query("fetch 60 from c").to_arrow() for _ in range(3)]
    connection.execute("commit")
    assert [table.num_rows for table in fetched] == [60, 40, 0]
    assert fetched[0].schema.equals(whole.schema, check_metadata=True)
    assert fetched[0].to_pylist() + fetched[1].to_pylist() == whole.to_pylist()
    connection.execute("prepare p (int) as select * from beside.t where a > $1 order by a")
    assert connection.query("execute p (90)").to_arrow().to_pylist() == whole.slice(90).to_pylist()


def test_an_explained_statement_runs(connection: colonnade.Connection) -> None:
    connection.execute("begin")
    plan = connection.query("explain (analyze, costs off, timing off) delete from beside.t").to_arrow()
    assert "Delete on t" in plan["QUERY PLAN"][0].as_py()
    assert connection.query("select * from beside.t").to_arrow().num_rows == 0
    connection.execute("rollback")


@pytest.mark.parametrize(
    "sql", ["create table beside.never ()", "truncate beside.t", "set work_mem to '5MB'", "do $$begin end$$"]
)
def test_statements_without_rows_do_not_run(connection: colonnade.Connection, sql: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="returns no rows") as caught:
        connection.query(sql)
    assert caught.value.sqlstate == "0A000"
    assert "execute" in str(caught.value.hint)
    state = connection.query(
        "select count(*) as n, to_regclass('beside.never') is null as gone from beside.t"
    ).to_arrow()
    assert state.to_pylist() == [{"n": 100, "gone": True}]
    assert connection.query("show work_mem").to_arrow().to_pylist() == [{"work_mem": "4MB"}]
