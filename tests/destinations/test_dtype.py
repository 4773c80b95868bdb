"""`dtype`: columns in other types, from every source and for every way to read; no value changes without leave."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg

SQL = "select i::bigint as id, (i * 0.25)::decimal(10, 2) as price, i::text as word from {rows} order by 1"
ROWS = {"colonnade": "range(3000) t(i)", "postgresql": "generate_series(0, 2999) t(i)"}


@pytest.fixture(params=["tcp", "duckdb", "stock"])
def source(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A URI, and a query there."""
    if request.param == "stock":
        cluster: pg.Cluster = request.getfixturevalue("stock")
        return cluster.uri(), SQL.format(rows=ROWS["postgresql"])
    uri = "duckdb:///:memory:" if request.param == "duckdb" else request.getfixturevalue("uri")
    return uri, SQL.format(rows=ROWS["colonnade"])


def test_types_by_any_name(source: tuple[str, str]) -> None:
    uri, sql = source
    with colonnade.connect(uri) as connection:
        for given, wanted in [
            ("large_string", pa.large_string()),
            (pa.large_string(), pa.large_string()),
            (pd.ArrowDtype(pa.large_string()), pa.large_string()),
            ("dictionary(int16, utf8)", pa.dictionary(pa.int16(), pa.string())),
            ("category", pa.dictionary(pa.int32(), pa.string())),
            (np.float64, pa.float64()),
            (np.dtype("int32"), pa.int32()),
            (np.dtype(">i4"), pa.int32()),
            (np.str_, pa.string()),
            ("u2", pa.uint16()),
            ("<f8", pa.float64()),
            ("int64[pyarrow]", pa.int64()),
            (pl.UInt16, pa.uint16()),
            (pl.Float64(), pa.float64()),
            (pl.Decimal(12, 1), pa.decimal128(12, 1)),
            (pl.String, pa.string()),
            (pl.Categorical, pa.dictionary(pa.int32(), pa.string())),
            (pd.Int64Dtype(), pa.int64()),
            (float, pa.float64()),
            (int, pa.int64()),
            ("decimal(12, 1)", pa.decimal128(12, 1)),
        ]:
            result = connection.query(sql, dtype={"word": given})
            assert result.schema.field("word").type == wanted
            assert result.to_arrow()["word"].cast(pa.string()).to_pylist()[2999] in ("2999", "2999.0")


def test_a_value_that_would_change(source: tuple[str, str]) -> None:
    uri, sql = source
    for dtype, place in [
        ({"price": "int32"}, r'column "price", row 2: 0.25 is not exact as int32'),
        ({"price": "decimal(10, 1)"}, r'column "price", row 2: 0.25 is not exact as decimal128\(10, 1\)'),
        ({"id": "int8"}, r'column "id", row 129: 128 is no value of int8'),
        ({"word": "bool"}, r'column "word", row 3: "2" is no value of bool'),
    ]:
        with colonnade.connect(uri) as connection:
            for read in (lambda r: r.to_arrow(), list, lambda r: [r.column(name) for name in r.column_names]):
                with pytest.raises(colonnade.DataError, match=place):
                    read(connection.query(sql, dtype=dtype))
            # Arrow's stream has a text for its error, and no class.
            with pytest.raises(OSError, match=place):
                pa.table(connection.query(sql, dtype=dtype))
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
    with pytest.raises(colonnade.DataError) as caught:
        colonnade.read_sql(uri, sql, dtype={"price": "int32"})
    assert "lossy:int32" in str(caught.value.hint)


def test_the_row_is_counted_over_all_batches(source: tuple[str, str]) -> None:
    uri, sql = source
    with colonnade.connect(uri) as connection, pytest.raises(colonnade.DataError, match="row 2501: 2500 is no value"):
        list(
            connection.query(
                sql.replace("i::bigint", "(case when i >= 2500 then i else 0 end)::bigint"),
                dtype={"id": "int8"},
                chunk_rows=1024,
            )
        )


def test_loss_by_name(source: tuple[str, str]) -> None:
    uri, sql = source
    for given in ("lossy:int32", colonnade.lossy("int32"), colonnade.lossy(pa.int32()), colonnade.lossy(np.int32)):
        table = colonnade.read_sql(uri, sql, return_type="arrow", dtype={"price": given})
        assert table["price"].to_pylist() == [number // 4 for number in range(3000)]
    # A number that is out of range has nothing near.
    with pytest.raises(colonnade.DataError, match="row 129"):
        colonnade.read_sql(uri, sql, dtype={"id": "lossy:int8"})


def test_what_makes_no_sense(source: tuple[str, str]) -> None:
    uri, sql = source
    for dtype, error, message in [
        ({"pricee": "float64"}, colonnade.InterfaceError, r"'pricee'.*columns are 'id', 'price', 'word'"),
        ({"price": "floaty"}, colonnade.InterfaceError, "no type"),
        ({"price": "float"}, colonnade.InterfaceError, "float64"),
        ({"price": object()}, colonnade.InterfaceError, "no type"),
        ({"price": "date32"}, colonnade.NotSupportedError, r'"price" is decimal128\(10, 2\) and cannot be date32'),
        ({"price": pa.list_(pa.int32())}, colonnade.NotSupportedError, "cannot be"),
    ]:
        with colonnade.connect(uri) as connection:
            with pytest.raises(error, match=message):
                connection.query(sql, dtype=dtype)
            # The query is given up, and the connection free.
            assert connection.query("select 1 as one").to_arrow().num_rows == 1


def test_an_empty_result_and_repeated_names(source: tuple[str, str]) -> None:
    uri, _ = source
    table = colonnade.read_sql(uri, "select 1 as n where false", return_type="arrow", dtype={"n": "utf8"})
    assert table.schema.equals(pa.schema([("n", pa.string())]))
    table = colonnade.read_sql(uri, "select 1 as n, 2 as n, 3 as m", return_type="arrow", dtype={"n": "utf8"})
    assert [column.to_pylist() for column in table.columns] == [["1"], ["2"], [3]]


def test_postgresql_numbers_that_come_as_text(stock: pg.Cluster) -> None:
    rows = "(0.1::numeric, 1), (12345678901234567890.5, 2), ('NaN', 3), (null, 4)"
    sql = f"select v from (values {rows}) t(v, k) order by k"

    def read(dtype: object) -> list:
        return colonnade.read_sql(stock.uri(), sql, return_type="arrow", dtype={"v": dtype})["v"].to_pylist()

    with pytest.raises(colonnade.DataError, match=r'row 2: "12345678901234567890\.5" is not exact as float64'):
        read("float64")
    assert str(read("lossy:float64")) == "[0.1, 1.2345678901234567e+19, nan, None]"
    with pytest.raises(colonnade.DataError, match='row 3: "NaN" is no value of decimal'):
        read("decimal(38, 2)")


def test_dtype_on_the_command_line(uri: str, tmp_path: object) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "colonnade", "read", uri, "select 0.25 as price, 'x' as \"a=b\"", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    path = f"{tmp_path}/out.arrow"
    assert run("-o", path, "--dtype", "price=lossy:int32").returncode == 0
    assert pa.ipc.open_file(path).schema.field("price").type == pa.int32()
    failed = run("-o", path, "--dtype", "price=int32")
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert 'column "price", row 1: 0.25 is not exact as int32' in failed.stderr
    assert "lossy:int32" in failed.stderr
    assert "NAME=TYPE" in run("--dtype", "price").stderr
    assert "no type" in run("--dtype", "price=money").stderr


def test_postgresql_options_on_the_command_line(stock: pg.Cluster, tmp_path: object) -> None:
    path = f"{tmp_path}/out.arrow"
    sql = "select 1.5::numeric as n, array[[1,2]] as a"
    command = [
        sys.executable,
        "-m",
        "colonnade",
        "read",
        stock.uri(),
        sql,
        "-o",
        path,
        "--numeric",
        "10,2",
        "--as-text",
        "a",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    schema = pa.ipc.open_file(path).schema
    assert (schema.field("n").type, schema.field("a").type) == (pa.decimal128(10, 2), pa.string())


@pytest.mark.parametrize("backend", [None, "exact", "numpy_nullable", "pyarrow"])
@pytest.mark.parametrize(
    "dtype",
    ["Float64", "Float32", pd.Float64Dtype(), pd.ArrowDtype(pa.float64()), pd.ArrowDtype(pa.float32())],
    ids=str,
)
def test_nan_is_not_null_in_pandas_nullable_types(uri: str, dtype: Any, backend: Any) -> None:
    sql = "select * from (values (1, 1.5::double), (2, 'nan'), (3, null)) t(k, v) order by k"
    for given in ({"v": dtype}, dtype):
        values = colonnade.read_sql(uri, sql, dtype=given, dtype_backend=backend)["v"]
        assert values.dtype == pd.api.types.pandas_dtype(dtype)
        assert values[0] == 1.5 and values[1] != values[1] and values[2] is pd.NA


@pytest.mark.parametrize("backend", [None, "exact", "numpy_nullable", "pyarrow"])
def test_categories_with_null(uri: str, backend: Any) -> None:
    sql = "select * from (values (1, 'a'), (2, null)) t(k, v) order by k"
    values = colonnade.read_sql(uri, sql, dtype={"v": "category"}, dtype_backend=backend)["v"]
    assert values.dtype == "category" and values.isna().tolist() == [False, True] and values[0] == "a"


def test_lists_are_no_categories(uri: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "v": its values cannot be categories'):
        colonnade.read_sql(uri, "select [1, 2] as v", dtype={"v": "category"})


def test_a_refused_result_leaves_the_connection_free(source: tuple[str, str]) -> None:
    rows = "generate_series(1, 3000000) t(i)"
    kept = []  # As a notebook keeps the last exception, and its frames the result.
    with colonnade.connect(source[0]) as connection:
        for sql, arguments in [
            (f"select interval '1 day' as v from {rows}", {"return_type": "polars"}),
            (f"select i from {rows}", {"dtype": {"nothing": "category"}}),
        ]:
            with pytest.raises(colonnade.Error) as caught:
                colonnade.read_sql(connection, sql, **arguments)
            kept.append(caught.value)
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
