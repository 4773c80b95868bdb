"""`read_sql` and `Result`: what they give and what they refuse."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import colonnade
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.testbed.serving import Server

SQL = "select i, 'row ' || i as name, i / 4 as quarter from range(1000) t(i) order by i"


def expected() -> pa.Table:
    numbers = range(1000)
    return pa.table({"i": numbers, "name": [f"row {i}" for i in numbers], "quarter": [i / 4 for i in numbers]})


# --- read_sql ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["tcp", "unix", "duckdb"])
def any_uri(request: pytest.FixtureRequest) -> str:
    if request.param == "duckdb":
        return "duckdb:///:memory:"
    return request.getfixturevalue("uri" if request.param == "tcp" else "unix_uri")


def test_the_default_is_pandas(any_uri: str) -> None:
    frame = colonnade.read_sql(any_uri, SQL)
    pd.testing.assert_frame_equal(frame, expected().to_pandas())


def test_each_return_type(any_uri: str) -> None:
    assert colonnade.read_sql(any_uri, SQL, return_type="arrow").equals(expected())
    assert colonnade.read_sql(any_uri, SQL, return_type="polars").equals(pl.DataFrame(expected()))
    reader = colonnade.read_sql(any_uri, SQL, return_type="arrow_stream")
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().equals(expected())


@pytest.mark.parametrize("arguments", [{"index_col": "a"}, {"index_col": ["b", "a"]}, {"parse_dates": ["a"]}])
def test_a_name_of_several_columns_is_an_error(any_uri: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(colonnade.InterfaceError, match="names 'a', and 2 columns are called so"):
        colonnade.read_sql(any_uri, "select 1 as a, 2 as a, 3 as b", **arguments)
    with pytest.raises(colonnade.InterfaceError, match="index_col is empty"):
        colonnade.read_sql(any_uri, "select 1 as a", index_col=[])


def test_an_index_column(any_uri: str) -> None:
    frame = colonnade.read_sql(any_uri, SQL, index_col="name")
    pd.testing.assert_frame_equal(frame, expected().to_pandas().set_index("name"))


def test_queries_follow_one_another(any_uri: str) -> None:
    queries = [f"{SQL} limit 400", f"{SQL} limit 400 offset 400", f"{SQL} offset 800"]
    for return_type in ("arrow", "arrow_stream"):
        found = colonnade.read_sql(any_uri, queries, return_type=return_type)
        table = found if isinstance(found, pa.Table) else found.read_all()
        assert table.equals(expected())
    pd.testing.assert_frame_equal(colonnade.read_sql(any_uri, queries), expected().to_pandas())
    assert colonnade.read_sql(any_uri, queries, return_type="polars").equals(pl.DataFrame(expected()))


def test_queries_must_have_the_same_columns(any_uri: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match="different columns"):
        colonnade.read_sql(any_uri, ["select 1 as a", "select 'x' as a"])
    reader = colonnade.read_sql(any_uri, ["select 1 as a", "select 1 as b"], return_type="arrow_stream")
    with pytest.raises(colonnade.InterfaceError, match="different columns"):
        reader.read_all()


def test_partition_arguments_change_nothing(any_uri: str) -> None:
    table = colonnade.read_sql(
        any_uri, SQL, return_type="arrow", partition_on="i", partition_num=4, partition_range=(0, 10), protocol="binary"
    )
    assert table.equals(expected())


def test_statements_before_the_query(any_uri: str) -> None:
    before = ["set timezone = 'Asia/Kolkata'", "set integer_division = true"]
    table = colonnade.read_sql(
        any_uri, "select current_setting('TimeZone') as z", return_type="arrow", pre_execution_query=before
    )
    assert table["z"].to_pylist() == ["Asia/Kolkata"]


def test_an_open_connection_stays_open(connection: colonnade.Connection) -> None:
    connection.execute("create temp table mine as select 5 as n")
    assert colonnade.read_sql(connection, "select n from mine", return_type="arrow").num_rows == 1
    assert colonnade.read_sql(connection, "select n from mine", return_type="arrow_stream").read_all().num_rows == 1
    assert connection.query("select n from mine").to_arrow()["n"].to_pylist() == [5]


def test_parameters_by_order_and_by_name(any_uri: str) -> None:
    sql = "select $1 + 1 as n, '$1' as quoted -- $2"
    assert colonnade.read_sql(any_uri, sql, params=[41]).to_dict("list") == {"n": [42], "quoted": ["$1"]}
    assert colonnade.read_sql(any_uri, "select $a || $b as t", params={"a": "x'", "b": "$a"})["t"].tolist() == ["x'$a"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"return_type": "excel"}, ValueError, "not 'excel'"),
        ({"return_type": "arrow", "index_col": "i"}, ValueError, "index_col"),
        ({"partition_range": (1, 5)}, ValueError, "needs partition_on"),
        ({"partition_on": "i", "partition_num": 0}, ValueError, "at least 1"),
        ({"partition_on": "i", "partition_range": (5, 1)}, ValueError, "low, high"),
        ({"query": []}, ValueError, "empty"),
        ({"query": ["select 1", "select 2"], "partition_on": "i"}, ValueError, "cannot be partitioned"),
        ({"protocol": "carrier pigeon"}, ValueError, "protocol"),
        ({"strategy": "pushdown"}, colonnade.NotSupportedError, "federated"),
        ({"conn": {"a": "postgresql://x"}}, colonnade.NotSupportedError, "one connection"),
        ({"compression": "gzip"}, colonnade.InterfaceError, "or auto"),
    ],
)
def test_arguments_that_make_no_sense(uri: str, arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        colonnade.read_sql(**{"conn": uri, "query": "select 1", **arguments})


def test_the_arguments_are_connectorxs() -> None:
    parameters = list(inspect.signature(colonnade.read_sql).parameters.values())
    names = [parameter.name for parameter in parameters]
    assert names == [
        *("conn", "query", "pandas", "return_type", "protocol", "partition_on", "partition_range", "partition_num"),
        *("index_col", "strategy", "pre_execution_query", "params", "consistent", "batch_size"),
        # pandas.read_sql's
        *("con", "sql", "dtype_backend", "coerce_float", "parse_dates", "chunksize", "columns", "options"),
    ]
    assert [parameter.kind for parameter in parameters[:2]] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
    assert parameters[2].kind == inspect.Parameter.VAR_POSITIONAL
    assert {parameter.kind for parameter in parameters[3:-1]} == {inspect.Parameter.KEYWORD_ONLY}
    assert parameters[-1].kind == inspect.Parameter.VAR_KEYWORD


# --- Result -----------------------------------------------------------------------------------------------------------


def test_a_result_knows_its_columns_before_its_rows(connection: colonnade.Connection) -> None:
    result = connection.query(SQL)
    assert result.column_names == ["i", "name", "quarter"]
    assert result.schema.equals(expected().schema)
    with pytest.raises(colonnade.InterfaceError, match="after the last"):
        _ = result.num_rows
    assert result.to_arrow().num_rows == result.num_rows == 1000


def test_batches_are_the_table(connection: colonnade.Connection) -> None:
    result = connection.query("select i from range(300000) t(i) order by i")
    batches = list(result)
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert len(batches) > 1
    assert pa.Table.from_batches(batches).column("i").to_pylist() == list(range(300000))
    assert result.num_rows == 300000


@pytest.mark.parametrize("compression", ["plain", "light"])
def test_columns_are_decoded_when_asked_for(remote: colonnade.Connection, compression: str) -> None:
    result = remote.query(SQL, compression=compression, chunk_rows=100)
    assert result.column("name").equals(expected().column("name"))
    assert result.column(0).equals(expected().column(0))
    assert result.column(-1).equals(expected().column(-1))
    assert result.column("name") is result.column(1)
    assert result.num_rows == 1000
    # Everything was kept, so the rest can follow, more than once.
    assert result.to_arrow().equals(expected())
    assert result.to_arrow().equals(expected())
    assert pa.Table.from_batches(list(result)).equals(expected())
    assert pl.DataFrame(result).equals(pl.DataFrame(expected()))


def test_a_result_is_read_once(connection: colonnade.Connection) -> None:
    for first, name in (
        (lambda r: r.to_arrow(), "to_arrow"),
        (lambda r: r.to_pandas(), "to_pandas"),
        (lambda r: r.to_polars(), "to_polars"),
        (list, "iteration"),
        (lambda r: pl.DataFrame(r), "__arrow_c_stream__"),
        (lambda r: r.close(), "close"),
    ):
        result = connection.query(SQL)
        first(result)
        for second in (lambda r: r.to_arrow(), list, lambda r: r.column("i"), pl.DataFrame):
            with pytest.raises(colonnade.InterfaceError, match=name):
                second(result)


def test_a_half_read_result_is_no_table(connection: colonnade.Connection) -> None:
    result = connection.query("select i from range(300000) t(i)")
    batches = iter(result)
    next(batches)
    with pytest.raises(colonnade.InterfaceError, match="unfinished iteration"):
        result.to_arrow()
    assert sum(batch.num_rows for batch in batches) > 0
    assert result.num_rows == 300000


def test_other_libraries_read_it_directly(connection: colonnade.Connection) -> None:
    assert pl.DataFrame(connection.query(SQL)).equals(pl.DataFrame(expected()))
    assert pa.table(connection.query(SQL)).equals(expected())
    assert pa.RecordBatchReader.from_stream(connection.query(SQL)).read_all().equals(expected())
    assert pa.schema(connection.query(SQL)).equals(expected().schema)


def test_statistics(remote: colonnade.Connection) -> None:
    result = remote.query("select i, 1 as one from range(100000) t(i)", compression="light+zstd-1", chunk_rows=10000)
    assert (result.stats.rows, result.stats.chunks, result.stats.choice) == (0, 0, "")
    result.to_arrow()
    stats = result.stats
    assert (stats.rows, stats.chunks, stats.codecs) == (100000, 10, {"zstd": 10})
    assert [name for name, _ in stats.encodings] == ["i", "one"]
    assert dict(stats.encodings)["one"] == {"constant": 10}
    assert (stats.configurations, stats.configuration) == ({"light+zstd": 10}, "light+zstd")
    assert stats.choice.startswith("light+zstd ×10, at ")
    assert 10 * 64 < stats.wire_bytes < 100000 * 8
    assert 0 < stats.seconds_to_schema <= stats.seconds
    assert stats.source == remote.name
    assert "Colonnade" in stats.server


def test_pandas_gets_its_own_types(connection: colonnade.Connection) -> None:
    sql = "select date '2024-02-29' as d, timestamp '2024-02-29 12:00:00' as t, 1.5::double as f, true as b"
    frame = connection.query(sql).to_pandas()
    assert [dtype.kind for dtype in frame.dtypes] == ["M", "M", "f", "b"]


# --- without the optional libraries -----------------------------------------------------------------------------------

WITHOUT = """
import sys
for name in sys.argv[2].split(","):
    sys.modules[name] = None
import colonnade
connection = colonnade.connect(sys.argv[1])
{body}
"""


def without(libraries: str, uri: str, body: str) -> str:
    code = WITHOUT.format(body=body)
    done = subprocess.run(
        [sys.executable, "-c", code, uri, libraries], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


def test_nothing_is_imported_that_is_not_needed(server: Server, uri: str) -> None:
    body = """
connection.query("select 1").column(0)
list(connection.query("select 1"))
connection.query("select 1").to_arrow()
print(sorted(name for name in ("pandas", "polars", "duckdb") if name in sys.modules))
"""
    code = f"import sys, colonnade\nconnection = colonnade.connect(sys.argv[1])\n{body}"
    done = subprocess.run([sys.executable, "-c", code, uri], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"


def test_reading_without_pyarrow(uri: str) -> None:
    body = """
result = connection.query("select i from range(10) t(i)", chunk_rows=4)
assert [batch.num_rows for batch in result] == [4, 4, 2]
column = connection.query("select i from range(10) t(i)").column("i")
assert (len(column), column.null_count, column.name) == (10, 0, "i")
import polars
assert polars.DataFrame(connection.query("select i from range(10) t(i)"))["i"].to_list() == list(range(10))
assert polars.Series(column).to_list() == list(range(10))
assert connection.query("select 1 as a").to_polars()["a"].to_list() == [1]
for read in ("to_arrow", "to_pandas"):
    try:
        getattr(connection.query("select 1"), read)()
    except ImportError as error:
        print(error)
"""
    # DuckDB is not needed either, towards a server.
    out = without("pyarrow,duckdb", uri, body)
    assert out.count("pip install 'colonnade[") == 2


def test_a_missing_library_is_named_before_the_result_is_spent(uri: str) -> None:
    body = """
result = connection.query("select 1 as a")
for read in ("to_pandas", "to_polars"):
    try:
        getattr(result, read)()
    except ImportError as error:
        print(error)
print(result.to_arrow().num_rows)
"""
    assert without("pandas,polars", uri, body).splitlines() == [
        "to_pandas() needs pandas: pip install 'colonnade[pandas]'",
        "to_polars() needs polars: pip install 'colonnade[polars]'",
        "1",
    ]
