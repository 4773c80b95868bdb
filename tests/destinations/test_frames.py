"""Where results go: pandas' back-ends, NumPy, DuckDB and Dask; every value as it was."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import colonnade
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from colonnade._frames import pandas as frames

from tests.testbed import postgres as pg

if TYPE_CHECKING:
    from colonnade._options.dtype import Backend

PANDAS = int(pd.__version__.partition(".")[0])
#: Name, expression of a value, and of the extremes that back-ends like to lose. PostgreSQL; NULL comes last.
VALUES = {
    "i8": ("int8", ["9007199254740993", "'-9223372036854775808'"]),
    "u4": ("oid", ["4294967295"]),
    "b": ("bool", ["true", "false"]),
    "f": ("float8", ["0.1", "'NaN'", "'-Infinity'"]),
    "d": ("numeric(38,10)", ["1234567890123456789012345678.0123456789"]),
    "n": ("numeric", ["0.1", "1e40"]),
    "t": ("text", ["'käse 🧀'", "''"]),
    "x": ("bytea", ["'\\x00ff'"]),
    "day": ("date", ["'0001-01-01'", "'5874897-12-31'"]),
    "ts": ("timestamp", ["'0001-01-01'", "'294246-12-31 23:59:59.999999'"]),
    "tz": ("timestamptz", ["'2024-02-29 12:00:00.5+05:30'"]),
    "time": ("time", ["'23:59:59.999999'"]),
    "iv": ("interval", ["'1 month 2 days 3 microseconds'"]),
    "l": ("int8[]", ["'{9007199254740993,NULL}'"]),
    "c": ("pair", ["row(9007199254740993, 'x')"]),
}


@pytest.fixture(scope="module")
def uri_of_values(stock: pg.Cluster) -> str:
    with stock.connect() as session:
        session.execute("create database destinations")
    with stock.connect("destinations") as session:
        session.execute("create type pair as (a int8, b text)")
    return stock.uri("destinations")


def query(name: str, *, null: bool = True) -> str:
    kind, values = VALUES[name]
    rows = [f"({value}::{kind}, {index})" for index, value in enumerate([*values, *(["null"] if null else [])])]
    return f"select v from (values {', '.join(rows)}) t(v, k) order by k"


def arrow(uri: str, name: str, *, null: bool = True) -> pa.ChunkedArray:
    return colonnade.read_sql(uri, query(name, null=null), return_type="arrow")["v"]


def as_text(values: object) -> list[str]:
    """Values of any library's, so that they compare: `repr` knows NaN and the sign of zero."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]  # type: ignore[attr-defined]
    return [repr(None if value is pd.NA or value is pd.NaT else value) for value in plain]


# --- pandas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_the_arrow_back_end_keeps_everything(uri_of_values: str, name: str) -> None:
    frame = colonnade.read_sql(uri_of_values, query(name), dtype_backend="pyarrow", coerce_float=False)
    column = arrow(uri_of_values, name)
    assert frame["v"].dtype == pd.ArrowDtype(column.type)
    made = pa.chunked_array(frame["v"].array.__arrow_array__())
    # Not a number equals nothing.
    assert as_text(made.to_pylist()) == as_text(column.to_pylist()) if name == "f" else made.equals(column)


TEXT = "str" if PANDAS >= 3 else "object"
EXACT = {
    "i8": "Int64",
    "u4": "UInt32",
    "b": "boolean",
    "f": "float64",
    "d": "object",
    "n": "object",
    "t": TEXT,
    "x": "object",
    "day": "datetime64[ms]",
    "ts": "datetime64[us]",
    "tz": "datetime64[us, UTC]",
    "time": "object",
    "iv": "object",
    "l": "object",
    "c": "object",
}
DTYPES = {
    "exact": EXACT,
    # An integer that no float has keeps `i8` what it is.
    "numpy": EXACT | {"u4": "float64", "b": "object", "d": "float64", "n": "float64"},
    "numpy_nullable": EXACT | {"u4": "Int64", "f": "Float64", "d": "Float64", "n": "Float64", "t": "string"},
}


@pytest.mark.parametrize("backend", DTYPES)
@pytest.mark.parametrize("name", VALUES)
def test_the_numpy_back_ends_keep_values(uri_of_values: str, name: str, backend: str) -> None:
    frame = colonnade.read_sql(uri_of_values, query(name), dtype_backend=backend)  # type: ignore[call-overload]
    column = arrow(uri_of_values, name)
    assert str(frame["v"].dtype) == DTYPES[backend][name]
    assert frame["v"].isna().iloc[-1]
    if name in ("i8", "u4", "b", "t", "d", "n", "x", "time", "l", "c"):
        found = [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in frame["v"]]
        wanted = column.to_pylist()
        if name in ("d", "n"):
            made = Decimal if backend == "exact" else float
            wanted = [None if value is None else made(value) for value in wanted]
        if name == "u4" and backend == "numpy":
            wanted = [None if value is None else float(value) for value in wanted]
        assert as_text(found) == as_text(wanted)
    if name in ("day", "ts", "tz"):
        unit = frame["v"].dtype.unit if name == "tz" else np.datetime_data(frame["v"].dtype)[0]
        whole = column.cast(pa.int32()).cast(pa.int64()) if name == "day" else column.cast(pa.int64())
        per = {"ms": 86_400_000, "us": 1}[unit]
        assert frame["v"].iloc[:-1].astype("int64").tolist() == [value * per for value in whole.to_pylist()[:-1]]


def test_without_nulls_the_types_are_numpys(uri_of_values: str) -> None:
    for name, dtype, exact in [
        ("i8", "int64", "int64"),
        ("u4", "int64", "uint32"),
        ("b", "bool", "bool"),
        ("f", "float64", "float64"),
    ]:
        frame = colonnade.read_sql(uri_of_values, query(name, null=False), dtype_backend="exact")
        assert str(frame["v"].dtype) == exact
        frame = colonnade.read_sql(uri_of_values, query(name, null=False))
        assert str(frame["v"].dtype) == dtype
        assert as_text(frame["v"].tolist()) == as_text(arrow(uri_of_values, name, null=False).to_pylist())


def test_a_frame_may_be_written_to(uri_of_values: str) -> None:
    for backend in ("numpy", "numpy_nullable", "pyarrow", "exact", "connectorx"):
        frame = colonnade.read_sql(
            uri_of_values, "select 1::int8 as i, 1.5::float8 as f, 'x' as t", dtype_backend=backend
        )  # type: ignore[call-overload]
        frame.loc[0, "i"] = 2
        frame.loc[0, "f"] = 2.5
        frame.loc[0, "t"] = "y"
        assert frame.iloc[0].tolist() == [2, 2.5, "y"]


@pytest.mark.parametrize("distinct", [7, 5000], ids=["few", "many"])
@pytest.mark.parametrize(
    ("decimal", "value"),
    [
        ("numeric(15,2)", "(i % {n} - 3) * 0.01"),
        ("numeric(15,0)", "i % {n} - 3"),
        ("numeric(38,4)", "(i % {n} - 3) * 999999999999999999999999999.9999"),
    ],
)
def test_decimals_are_exact(uri_of_values: str, decimal: str, value: str, distinct: int) -> None:
    query = f"SELECT nullif(({value})::{decimal}, 0) AS d FROM generate_series(1, 5000) AS i".format(n=distinct)
    values = colonnade.read_sql(uri_of_values, query, dtype_backend="exact")["d"].tolist()
    expected = colonnade.read_sql(uri_of_values, query, return_type="arrow")["d"].to_pylist()
    assert [str(value) for value in values] == [str(value) for value in expected]
    assert None in values


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "exact", "connectorx"])
def test_nulls_stay_in_their_rows(uri_of_values: str, backend: str) -> None:
    """Also where batches, and parts of them, begin amid a byte of the bitmap."""
    query = (
        "SELECT i, nullif(i % 3, 0)::int2 AS n, nullif(i % 5, 0)::float8 AS f, nullif(i % 7, 0) = 1 AS b, "
        "date '2024-01-01' + nullif(i % 11, 0) AS d FROM generate_series(0, 9999) t(i)"
    )
    whole = colonnade.read_sql(uri_of_values, query, dtype_backend=backend, chunk_rows=5003)  # type: ignore[call-overload]
    parts = colonnade.read_sql(uri_of_values, query, dtype_backend=backend, chunk_rows=5003, chunksize=999)  # type: ignore[call-overload]
    for frame in (whole, pd.concat(parts, ignore_index=True)):
        rows = frame["i"].to_numpy("int64")
        assert rows.tolist() == list(range(10_000))
        for name, every in {"n": 3, "f": 5, "b": 7, "d": 11}.items():
            assert (frame[name].isna().to_numpy() == (rows % every == 0)).all()
        for name, every in {"n": 3, "f": 5}.items():
            assert frame[name].dropna().tolist() == [row % every for row in range(10_000) if row % every]
        assert frame["b"].dropna().tolist() == [row % 7 == 1 for row in range(10_000) if row % 7]


def test_a_time_that_python_does_not_have(uri_of_values: str) -> None:
    sql = "select '24:00:00'::time as v"
    for backend in ("numpy", "numpy_nullable", "exact"):
        with pytest.raises(colonnade.DataError, match="column 'v' has the time 24:00:00"):
            colonnade.read_sql(uri_of_values, sql, dtype_backend=backend)  # type: ignore[call-overload]
    made = colonnade.read_sql(uri_of_values, sql, return_type="numpy")["v"]
    assert made.tolist() == [datetime.timedelta(days=1)]


def test_repeated_empty_and_no_columns(uri_of_values: str) -> None:
    for backend in ("numpy", "numpy_nullable", "pyarrow", "exact", "connectorx"):
        frame = colonnade.read_sql(uri_of_values, "select 1 as a, null::int8 as a, 'x' as b", dtype_backend=backend)  # type: ignore[call-overload]
        assert list(frame.columns) == ["a", "a", "b"]
        frame = colonnade.read_sql(uri_of_values, "select from generate_series(1, 3)", dtype_backend=backend)  # type: ignore[call-overload]
        assert frame.shape == (3, 0)
        frame = colonnade.read_sql(uri_of_values, "select 1 as a, 'x' as t where false", dtype_backend=backend)  # type: ignore[call-overload]
        assert frame.shape == (0, 2)


def test_the_arrow_memory_is_let_go(uri_of_values: str) -> None:
    """The peak is that of the frame and of the column that is being converted, not twice the result."""
    code = """
import sys
import colonnade, pandas, pyarrow
columns = ", ".join(f"i + {n} as c{n}" for n in range(40)) + ", i::text as t"
from colonnade._cli.bench_client import peak_bytes
colonnade.read_sql(sys.argv[1], f"select {columns} from generate_series(1::int8, 1000) t(i)")
before = peak_bytes()
frame = colonnade.read_sql(sys.argv[1], f"select {columns} from generate_series(1::int8, 500000) t(i)")
print((peak_bytes() - before) / (40 * 8 * 500000))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, uri_of_values], capture_output=True, text=True, check=True, timeout=240
    )
    # About 1.1, and 1.9 before version 3: there the texts become Python's strings, and pyarrow keeps a hash table of
    # them while it converts. If the whole Arrow result were kept, it would be 1 more.
    assert float(done.stdout) < (1.6 if PANDAS >= 3 else 2.4)


# --- NumPy ------------------------------------------------------------------------------------------------------------


def test_numpy_arrays(uri_of_values: str) -> None:
    dtypes = {}
    for name in VALUES:
        made = colonnade.read_sql(uri_of_values, query(name), return_type="numpy")["v"]
        dtypes[name] = str(made.dtype)
        column = arrow(uri_of_values, name)
        assert len(made) == len(column)
        if np.ma.isMaskedArray(made):
            assert made.mask.tolist() == column.is_null().to_pylist()
            assert as_text(made[:-1].tolist()) == as_text(column.to_pylist()[:-1])
        elif made.dtype == object:
            assert as_text(made) == as_text(column.to_pylist())
        else:
            assert np.isnat(made).tolist() == column.is_null().to_pylist()
            whole = column.cast(pa.int32() if name == "day" else pa.int64()).to_pylist()
            assert made[:-1].astype("int64").tolist() == whole[:-1]
        made[0] = made[-1]
    assert dtypes == {
        "i8": "int64",
        "u4": "uint32",
        "b": "bool",
        "f": "float64",
        "d": "object",
        "n": "object",
        "t": "object",
        "x": "object",
        "day": "datetime64[D]",
        "ts": "datetime64[us]",
        "tz": "datetime64[us]",
        "time": "timedelta64[us]",
        "iv": "object",
        "l": "object",
        "c": "object",
    }


def test_numpy_without_nulls_has_no_mask(connection: colonnade.Connection) -> None:
    made = connection.query("select i, i / 4 as q, 'x' as t from range(1000) t(i)").to_numpy()
    assert list(made) == ["i", "q", "t"]
    assert not any(map(np.ma.isMaskedArray, made.values()))
    assert made["i"].tolist() == list(range(1000))
    with pytest.raises(colonnade.InterfaceError, match="columns are called"):
        connection.query("select 1 as a, 2 as a").to_numpy()


# --- DuckDB and Dask --------------------------------------------------------------------------------------------------


def test_a_duckdb_relation(uri_of_values: str) -> None:
    with colonnade.connect(uri_of_values) as connection, duckdb.connect() as other:
        relation = connection.query(query("d")).to_duckdb(other)
        assert relation.aggregate("sum(v) as s").fetchall() == [(Decimal("1234567890123456789012345678.0123456789"),)]
        # As often as one likes.
        assert relation.aggregate("count(*)").fetchall() == [(2,)]
        assert connection.query(query("t")).to_duckdb().fetchall() == [("käse 🧀",), ("",), (None,)]
    relation = colonnade.read_sql(uri_of_values, query("i8"), return_type="duckdb")
    assert relation.fetchall() == [(9007199254740993,), (-9223372036854775808,), (None,)]


def test_a_dask_frame(uri_of_values: str) -> None:
    sql = "select i, i % 7 as k from generate_series(1, 2500000) t(i)"
    frame = colonnade.read_sql(uri_of_values, sql, return_type="dask")
    assert frame.npartitions == 3
    assert frame["i"].sum().compute() == 2500000 * 2500001 // 2
    assert frame.groupby("k")["i"].count().compute().sum() == 2500000
    assert colonnade.read_sql(uri_of_values, "select 1 as a where false", return_type="dask").compute().shape == (0, 1)
    with pytest.raises(ValueError, match="Dask has no index of several columns"):
        colonnade.read_sql(uri_of_values, "select 1 as a, 2 as b", return_type="dask", index_col=["a", "b"])
    frame = colonnade.read_sql(uri_of_values, "select 1 as a, 2 as b", return_type="dask", index_col=["a"])
    assert frame.compute().index.tolist() == [1]


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "pyarrow", "exact"])
def test_dask_changes_no_object(stock: pg.Cluster, backend: Any) -> None:
    """Dask makes text of objects, if nobody forbids it."""
    sql = """select * from (values (1, true, '\\x61'::bytea, array[1, 2], 1.50::numeric(5, 2), 'a', time '01:02:03'),
             (2, null, '\\xff', null, null, null, null)) t(i, b, y, l, d, s, t) order by i"""
    frame = colonnade.read_sql(stock.uri(), sql, return_type="dask", dtype_backend=backend).compute()
    expected = colonnade.read_sql(stock.uri(), sql, dtype_backend=backend)
    pd.testing.assert_frame_equal(frame, expected)
    assert list(map(type, frame["y"])) == [bytes, bytes]


@pytest.mark.parametrize(
    ("hidden", "return_type", "message"),
    [
        ("dask", "dask", "return_type 'dask' needs dask: pip install 'colonnade[dask]'"),
        ("modin", "modin", "return_type 'modin' needs modin: pip install 'colonnade[modin]'"),
        ("duckdb", "duckdb", "return_type 'duckdb' needs duckdb: pip install 'colonnade[duckdb]'"),
        ("numpy", "numpy", "return_type 'numpy' needs numpy: pip install 'colonnade[numpy]'"),
        ("pyarrow", "numpy", "return_type 'numpy' needs pyarrow: pip install 'colonnade[numpy]'"),
        ("pandas", "dask", "return_type 'dask' needs pandas: pip install 'colonnade[dask]'"),
        ("pandas", "pandas", "return_type 'pandas' needs pandas: pip install 'colonnade[pandas]'"),
    ],
)
def test_a_missing_library_is_named(hidden: str, return_type: str, message: str, uri: str) -> None:
    code = f"""
import sys
sys.modules[{hidden!r}] = None
import colonnade
try:
    colonnade.read_sql(sys.argv[1], "select 1", return_type={return_type!r})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, uri], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == message


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "connectorx", "exact"])
@pytest.mark.parametrize("nulls", [(), (0,), (0, 9_999), (9_000, 20_000), (29_999,), (8_191, 8_192, 25_000)])
def test_nulls_in_some_of_many_batches(kind: str, backend: Backend, nulls: tuple[int, ...]) -> None:
    info = np.iinfo(kind)
    values: list[int | None] = [(row * 7919) % (min(info.max, 2**53) + 1) for row in range(30_000)]
    for row in nulls:
        values[row] = None
    schema = pa.schema([pa.field("v", pa.type_for_alias(kind))])
    batches = pa.record_batch([pa.array(values, schema.field(0).type)], schema=schema)
    parts = [batches.slice(0, 9_000), batches.slice(9_000, 3), batches.slice(9_003, 15_997), batches.slice(25_000)]
    found = frames.frame(schema, parts, frames.Layout(backend))["v"]
    assert [None if pd.isna(value) else int(value) for value in found] == values
    if backend == "numpy":
        assert found.dtype == ("float64" if nulls else "int64")
