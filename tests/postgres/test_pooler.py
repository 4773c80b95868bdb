"""Through pgbouncer, which may give every transaction another backend."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support import fronts, poolers
from tests.testbed import postgres as pg

pytestmark = poolers.needs_pgbouncer


@contextmanager
def pooled(cluster: pg.Cluster, mode: str, **settings: object) -> Iterator[str]:
    """The URI of a pgbouncer before the cluster."""
    with poolers.pooled(f"host={cluster.directory} port={cluster.port}", mode, **settings) as uri:
        yield uri


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_results_through_a_pooler(postgres: pg.Cluster, mode: str) -> None:
    with pooled(postgres, mode, default_pool_size=2) as uri, colonnade.connect(uri) as connection:
        for _ in range(5):
            table = connection.query("select i, 'row ' || i as t from generate_series(1, 100000) i").to_arrow()
            assert table.column("i").to_pylist() == list(range(1, 100_001))
            with pytest.raises(colonnade.DataError):
                connection.query("select 1 / (i - 50000) as q from generate_series(1, 100000) i").to_arrow()


#: From 19 on, the server itself refuses the other kind of strings.
REFUSED = "how statements are read" if pg.version() < 19 else "non-standard string literals are not supported"


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_in_front_of_a_pooler(stock: pg.Cluster, mode: str) -> None:
    """What one client changes reaches no other one through the pool, and ends its own session."""
    with pooled(stock, mode, default_pool_size=1) as uri, fronts.front(uri) as front:
        for _ in range(3):
            with fronts.connect(front.server) as client:
                assert client.execute("select '\\', %s, %s", ["\\'", [1, 2]]).fetchall() == [("\\", "\\'", [1, 2])]
                with pytest.raises(psycopg.Error, match=REFUSED):
                    client.execute("select set_config('standard_conforming_strings', 'off', false)")


def test_every_query_on_a_fresh_backend(postgres: pg.Cluster) -> None:
    """The extension is loaded again where it has to be, with the query and before it."""
    with pooled(postgres, "transaction", server_lifetime=0) as uri, colonnade.connect(uri) as connection:
        backends = set()
        for number in range(10):
            [row] = connection.query("select pg_backend_pid() as pid, $1 as n", [number]).to_arrow().to_pylist()
            assert row["n"] == number
            backends.add(row["pid"])
        assert len(backends) == 10


def test_a_pinned_backend_within_a_transaction(postgres: pg.Cluster) -> None:
    with pooled(postgres, "transaction", server_lifetime=0) as uri, colonnade.connect(uri) as connection:
        for _ in range(3):
            connection.execute("begin")
            # In a transaction block nothing could be tried again, so the extension is loaded with each query.
            for number in (1, 100_000):
                table = connection.query(f"select generate_series(1, {number}) as i").to_arrow()
                assert table["i"].to_pylist() == list(range(1, number + 1))
            with pytest.raises(colonnade.DataError) as caught:
                connection.query("select 1 / 0 as q")
            assert caught.value.sqlstate == "22012"
            connection.execute("rollback")
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


@pytest.mark.parametrize("lifetime", [0, 3600])
@pytest.mark.parametrize("key", ["a", None])
def test_parts_on_fresh_backends(postgres: pg.Cluster, lifetime: int, key: str | None) -> None:
    """Each part has a backend of the pool, and needs the extension there."""
    setup = "create table parted as select i as a, 'row ' || i as b from generate_series(1, 20000) i"
    with (
        postgres.prepared(setup, "drop table parted"),
        pooled(postgres, "transaction", server_lifetime=lifetime, default_pool_size=8) as uri,
    ):
        for _ in range(2):
            table = colonnade.read_sql(
                uri, "select * from parted", partition_on=key, partition_num=4, return_type="arrow"
            )
            assert sorted(table["a"].to_pylist()) == list(range(1, 20_001))
        with colonnade.plan(uri, "select * from parted", partition_on=key, parts=3) as plan:
            counts = [part.read("arrow").num_rows for part in plan.parts]
        assert sum(counts) == 20_000
        assert len(counts) == 3


def test_writes_on_a_fresh_backend(postgres: pg.Cluster) -> None:
    """Each one asks its own backend whether it receives columns, and loads the extension into it."""
    logging = ("alter role tester set log_statement = 'mod'", "alter role tester reset log_statement")
    table = pa.table({"a": range(1000), "b": ["x"] * 1000})
    before = len(postgres.log.read_text())
    with (
        postgres.prepared(*logging),
        postgres.prepared("create table written (a bigint, b text)", "drop table written"),
        pooled(postgres, "transaction", server_lifetime=0) as uri,
        colonnade.connect(uri) as connection,
    ):
        for _ in range(3):
            colonnade.write_sql(table, connection, "written", if_exists="append")
        # Also within a transaction of the user, where a query cannot load it.
        connection.execute("begin")
        colonnade.write_sql(table, connection, "written", if_exists="append")
        connection.execute("commit")
        assert connection.query("select count(*) as n from written").to_arrow().to_pylist() == [{"n": 4000}]
    assert postgres.log.read_text()[before:].count("FROM STDIN (FORMAT colonnade") == 4


def test_clients_at_the_same_time(postgres: pg.Cluster) -> None:
    failures: list[BaseException] = []

    def read(uri: str) -> None:
        try:
            with colonnade.connect(uri) as connection:
                for _ in range(10):
                    assert connection.query("select generate_series(1, 10000) as i").to_arrow().num_rows == 10_000
        except BaseException as error:
            failures.append(error)

    with pooled(postgres, "transaction", default_pool_size=2) as uri:
        threads = [threading.Thread(target=read, args=(uri,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(pg.TIMEOUT)
    assert failures == []


def test_cancelling_through_a_pooler(postgres: pg.Cluster) -> None:
    with pooled(postgres, "transaction", default_pool_size=1) as uri, colonnade.connect(uri) as connection:
        result = connection.query("select generate_series(1, 1000000000) as i")
        next(iter(result))
        result.close()
        assert connection.query("select 1 as one").to_arrow().num_rows == 1
