"""`duckdb:` URIs whose rows are gathered from DuckDB's vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import polars as pl
import pyarrow as pa
import pytest

from tests.support.every_type import EVERY_TYPE
from tests.support.gathered_queries import Query, check, numbered, queries, write

ROWS = 40_000
#: Queries for each number of threads. All are different, so more of them find more.
COUNT = int(os.environ.get("COLONNADE_GATHERED_QUERIES", "100"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gathered") / "g.duckdb"
    write(path, ROWS)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[colonnade.Connection]:
    with colonnade.connect(f"duckdb:///{path}?access_mode=read_only") as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


@pytest.fixture
def own(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(path), config={"access_mode": "read_only"}) as own:
        own.execute("set timezone = 'UTC'")
        yield own


def gathered(connection: Any) -> bool:
    """Whether the last result was gathered."""
    return connection._source._gathering._last is not None


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_rows_are_those_of_duckdb(
    connection: colonnade.Connection, own: duckdb.DuckDBPyConnection, threads: int
) -> None:
    connection.execute(f"set threads = {threads}")
    count = 0
    for query in islice(queries(threads), COUNT):
        check(query, connection.query(query.sql).to_arrow(), own)
        count += gathered(connection)
    assert count > COUNT * 0.6


def test_frames_of_polars_have_the_same_rows(connection: colonnade.Connection) -> None:
    for query in islice(queries(5), COUNT):
        table = connection.query(query.sql).to_arrow()
        # polars has names once.
        table = numbered(table) if len(set(table.column_names)) == table.num_columns else None
        if table is None or not query.is_ordered:
            continue
        names = ", ".join(f"'{number}'" for number in range(table.num_columns))
        assert names
        frame = colonnade.read_sql(connection, query.sql, return_type="polars")
        frame.columns = table.column_names
        expected = pl.DataFrame(table)
        casts = [pl.col(name).cast(pl.String) for name in frame.columns if frame[name].dtype == pl.Enum]
        assert frame.with_columns(casts).equals(expected), query.sql


@pytest.mark.parametrize(("type_name", "values"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_each_type_arrives_as_in_the_stream(type_name: str, values: str) -> None:
    query = f"select v from ({values}) order by k"
    with colonnade.connect("duckdb:///:memory:") as connection:
        first = connection.query(query).to_arrow()
        # The first result was small, so this is DuckDB's stream.
        second = connection.query(query).to_arrow()
        assert not gathered(connection)
    assert first.schema.equals(second.schema, check_metadata=True)
    if type_name not in ("FLOAT", "DOUBLE"):
        assert first.equals(second)
    else:
        assert str(first["v"].to_pylist()) == str(second["v"].to_pylist())


def test_texts_of_every_length(connection: colonnade.Connection) -> None:
    columns = "repeat('ä', (i % 9)::int) || repeat('x', (i % 20)::int) as t, nullif(i % 5, 0) || 'b' as u"
    texts = f"select {columns} from range(50000) r(i)"
    table = connection.query(texts).to_arrow()
    frame = colonnade.read_sql(connection, texts + " where i >= 0;", return_type="polars")
    assert gathered(connection)
    assert frame.equals(pl.DataFrame(table)) and frame["t"].str.len_bytes().max() == 35
    assert frame.schema == {"t": pl.String, "u": pl.String}


def test_errors_are_those_of_the_query(connection: colonnade.Connection, own: duckdb.DuckDBPyConnection) -> None:
    failing = "select k,\n  cast(case when k = 39999 then 'x' else '1' end as int) as i\nfrom wide"
    with pytest.raises(duckdb.ConversionException) as expected:
        own.sql(failing).to_arrow_table()
    with pytest.raises(colonnade.DatabaseError) as found:
        connection.query(failing).to_arrow()
    assert str(expected.value) in str(found.value)
    assert "LINE 2:" in str(found.value)


def test_a_result_may_be_left(connection: colonnade.Connection, own: duckdb.DuckDBPyConnection) -> None:
    rows = "select a.k, a.many, b.few from wide a, range(100) r, (select few from wide limit 10) b"
    for _ in range(3):
        reader = pa.RecordBatchReader.from_stream(connection.query(rows))
        assert reader.read_next_batch().num_rows > 0
        del reader
        assert connection.query("select count(*) as n from small").to_arrow()["n"].to_pylist() == [100]
    query = Query("select * from wide where k < 30000", True)
    check(query, connection.query(query.sql).to_arrow(), own)
    assert gathered(connection)


def test_a_setting_of_the_user_stays(connection: colonnade.Connection) -> None:
    setting = "select current_setting('streaming_buffer_size') as s"
    connection.execute("set streaming_buffer_size = '3 MiB'")
    result = connection.query("select * from wide")
    assert result.to_arrow().num_rows == ROWS and result.stats.rows_from == "vectors"
    assert connection.query(setting).to_arrow()["s"].to_pylist() == ["3.0 MiB"]


#: A program that has the file open before this package knows DuckDB.
OPEN_BEFORE = """
import sys, duckdb
own = duckdb.connect(sys.argv[1], config={"access_mode": "read_only"})
import colonnade
with colonnade.connect(f"duckdb:///{sys.argv[1]}?access_mode=read_only") as connection:
    print(connection.query("select * from wide").to_arrow().num_rows)
    print(connection._source._gathering._last)
"""


def test_a_database_that_was_open_before_is_read_by_its_stream(path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", OPEN_BEFORE, str(path)], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == (f"{ROWS}\nNone\n", 0), ran.stderr
