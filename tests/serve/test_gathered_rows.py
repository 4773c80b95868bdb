"""COPY … (FORMAT colonnade) whose rows are gathered from DuckDB's vectors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import colonnade
import duckdb
import psycopg
import pyarrow as pa
import pytest

from tests.support.every_type import EVERY_TYPE
from tests.support.gathered_queries import Query, check, queries, write
from tests.support.metrics import base, numbers
from tests.testbed.serving import Server, serve

ROWS = 40_000
#: Queries for each number of threads. All are different, so more of them find more.
COUNT = int(os.environ.get("COLONNADE_GATHERED_QUERIES", "150"))


@dataclass(frozen=True)
class Place:
    """One file, read by a server and by DuckDB."""

    server: Server
    metrics: str
    uri: str
    duckdb: duckdb.DuckDBPyConnection

    def gathered(self) -> int:
        """How many results have been gathered."""
        return numbers(self.metrics)["gathered_results_total"]

    def check(self, connection: colonnade.Connection, query: Query) -> None:
        """Compare the rows with DuckDB's own, and their order if there is one."""
        # The server names expressions as PostgreSQL does.
        check(query, connection.query(query.sql).to_arrow(), self.duckdb)


@pytest.fixture(scope="module", params=[1, 2, 8])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = tmp_path_factory.mktemp("gathered") / "g.duckdb"
    write(path, ROWS)
    options = ("--read-only", "--threads", str(request.param), "--metrics", "127.0.0.1:0")
    with serve(path, *options) as server, duckdb.connect(str(path), read_only=True) as own:
        own.execute("set timezone = 'UTC'")
        yield Place(server, base(server), f"postgresql://tester@{server.host}:{server.port}/g", own)


def test_rows_are_those_of_duckdb(place: Place) -> None:
    before = place.gathered()
    with colonnade.connect(place.uri) as connection:
        for query in islice(queries(48), COUNT):
            place.check(connection, query)
    # Those of small tables, and PIVOT, whose columns are not known before it runs, take the stream.
    assert place.gathered() - before > COUNT * 0.6


def test_a_result_says_how_its_rows_were_taken(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        for query, way in (("select * from wide", "vectors"), ("select 1 as one", "stream")):
            result = connection.query(query)
            assert result.to_arrow().num_rows > 0
            assert result.stats.rows_from == way


def test_one_stream_has_the_rows_of_many_executors(place: Place) -> None:
    branches = " union all ".join(f"select k, few, d18 from short where k % 300 = {branch}" for branch in range(300))
    with colonnade.connect(place.uri) as connection:
        place.check(connection, Query(branches, True))
        short = (
            "select a.k, a.few, b.many from short a join (select k, max(many) as many from wide group by k) b using (k)"
        )
        for _ in range(10):
            place.check(connection, Query(short, False))


@pytest.mark.parametrize(("type_name", "values"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_each_type_arrives_as_in_the_stream(uri: str, type_name: str, values: str) -> None:
    query = f"select v from ({values}) order by k"
    with colonnade.connect(uri) as connection:
        gathered = connection.query(query).to_arrow()
        # The first result was small, so this is DuckDB's stream.
        streamed = connection.query(query).to_arrow()
    assert gathered.schema.equals(streamed.schema, check_metadata=True)
    if type_name not in ("FLOAT", "DOUBLE"):
        assert gathered.equals(streamed)
    else:
        assert str(gathered["v"].to_pylist()) == str(streamed["v"].to_pylist())


#: It fails in a row that is computed late.
FAILING = "select k,\n  cast(case when k = 39999 then 'x' else '1' end as int) as i\nfrom wide"


def test_errors_point_into_the_clients_text(place: Place) -> None:
    with psycopg.connect(place.server.dsn, autocommit=True) as client, pytest.raises(psycopg.Error) as streamed:
        client.execute(FAILING).fetchall()
    before, copy = place.gathered(), "copy ("
    with (
        psycopg.connect(place.server.dsn, autocommit=True) as client,
        pytest.raises(psycopg.Error) as gathered,
        client.cursor().copy(f"{copy}{FAILING}) to stdout (format colonnade)") as rows,
    ):
        assert all(rows)
    assert place.gathered() == before + 1
    found, expected = gathered.value.diag, streamed.value.diag
    assert (found.sqlstate, found.message_primary) == (expected.sqlstate, expected.message_primary)
    assert expected.statement_position is not None and found.statement_position is not None
    assert int(found.statement_position) == int(expected.statement_position) + len(copy)


def test_a_result_may_be_left_or_cancelled(place: Place) -> None:
    rows = "select a.k, a.many, b.few from wide a, range(100) r, (select few from wide limit 10) b"
    with colonnade.connect(place.uri) as connection:
        for _ in range(3):
            reader = pa.RecordBatchReader.from_stream(connection.query(rows))
            assert reader.read_next_batch().num_rows > 0
            del reader
            assert connection.query("select count(*) as n from small").to_arrow()["n"].to_pylist() == [100]
        result = connection.query(rows)
        canceller = threading.Timer(0.2, connection.cancel)
        canceller.start()
        with pytest.raises(colonnade.OperationalError) as caught:
            result.to_arrow()
        canceller.join()
        assert caught.value.sqlstate == "57014"
        place.check(connection, Query("select * from wide where k < 5000", True))


def test_transactions_see_their_own_rows(connection: colonnade.Connection) -> None:
    connection.execute("create temp table gathered_own as select i, 'v' || i % 3 as v from range(50000) r(i)")
    connection.execute("begin")
    connection.execute("update gathered_own set v = null where i % 2 = 0")
    rows = connection.query("select v, count(*) as c from gathered_own group by v order by v nulls first").to_arrow()
    assert rows["v"].to_pylist() == [None, "v0", "v1", "v2"] and rows["c"][0].as_py() == 25_000
    assert connection.query("select * from gathered_own").to_arrow()["v"].null_count == 25_000
    connection.execute("rollback")
    assert connection.query("select * from gathered_own order by i").to_arrow()["v"].null_count == 0
    connection.execute("begin")
    with pytest.raises(colonnade.ProgrammingError) as caught:
        connection.query("select nothing_such from gathered_own").to_arrow()
    assert "nothing_such" in str(caught.value)
    connection.execute("rollback")
    connection.execute("drop table gathered_own")


def test_a_repeated_query_follows_its_table(server: Server, uri: str) -> None:
    with colonnade.connect(uri) as connection:
        connection.execute("create temp table followed as select i as a from range(30000) r(i)")
        query = "select * from followed"
        assert connection.query(query).to_arrow().num_rows == 30_000
        connection.execute("alter table followed add column b varchar default 'x'")
        assert connection.query(query).to_arrow().column_names == ["a", "b"]
        connection.execute("alter table followed rename column b to c")
        assert connection.query(query).to_arrow().column_names == ["a", "c"]
        connection.execute("delete from followed where a > 10")
        for _ in range(3):
            assert connection.query(query).to_arrow().num_rows == 11
        connection.execute("insert into followed select i, 'y' from range(100000) r(i)")
        for _ in range(3):
            assert connection.query(query).to_arrow().num_rows == 100_011


@pytest.mark.parametrize(
    "call", ["colonnade_vectors('x', 1)", "system.main.colonnade_vectors('x', i) from range(3) r(i)"]
)
def test_nobody_else_calls_the_function(server: Server, call: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as client, pytest.raises(psycopg.Error) as caught:
        client.execute(f"select {call}")
    assert caught.value.sqlstate in ("42501", "42883")
