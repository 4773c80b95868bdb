"""Files, lazy frames and parts as data, and whose error is raised when the data fails."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet
import pytest
from colonnade._rows.data import DataStream

from tests.writes.places import Place

TABLE = pa.table({"a": pa.array(range(1000), pa.int64()), "b": [f"row {number}" for number in range(1000)]})


def parquet(directory: Path, table: pa.Table = TABLE) -> Path:
    path = directory / "no_suffix"
    pyarrow.parquet.write_table(table, path, row_group_size=100)
    return path


def arrow_file(directory: Path) -> Path:
    path = directory / "t.csv"
    with pyarrow.ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE, 100)
    return path


def arrow_stream(directory: Path) -> Path:
    path = directory / "t.parquet"
    with pyarrow.ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE, 100)
    return path


DATA: dict[str, Callable[[Path], Any]] = {
    "path of Parquet": parquet,
    "text of a path": lambda directory: str(parquet(directory)),
    "Arrow file": arrow_file,
    "Arrow stream": arrow_stream,
    "ParquetFile": lambda directory: pyarrow.parquet.ParquetFile(parquet(directory)),
    "dataset": lambda directory: pyarrow.dataset.dataset(parquet(directory)),
    "scanner": lambda directory: pyarrow.dataset.dataset(parquet(directory)).scanner(),
    "lazy polars": lambda _: pl.LazyFrame(pl.from_arrow(TABLE)),
    "lazy polars of a file": lambda directory: pl.scan_parquet(parquet(directory)),
    "frames": lambda _: (part for part in pl.DataFrame(pl.from_arrow(TABLE)).iter_slices(300)),
    "pandas frames": lambda _: [TABLE.slice(at, 500).to_pandas() for at in (0, 500)],
    "tables": lambda _: iter([TABLE.slice(0, 0), TABLE.slice(0, 900), TABLE.slice(900)]),
}


@pytest.mark.parametrize("kind", DATA)
def test_data_of_every_kind(place: Place, tmp_path: Path, kind: str) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    assert colonnade.write_sql(DATA[kind](directory), place.uri, "t").rows == 1000
    assert place.table().sort_by("a").equals(TABLE)


def test_data_without_rows_has_columns(place: Place, tmp_path: Path) -> None:
    empty = TABLE.slice(0, 0)
    pl.DataFrame(pl.from_arrow(empty)).lazy().sink_parquet(tmp_path / "p")
    for name, data in {"x": tmp_path / "p", "y": pl.LazyFrame(pl.from_arrow(TABLE)).filter(pl.col("a") < 0)}.items():
        assert colonnade.write_sql(data, place.uri, name).rows == 0
        assert place.table(name).column_names == ["a", "b"]


def test_a_parquet_file_keeps_its_types(in_postgres: Place, tmp_path: Path) -> None:
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16))], pa.binary(16)))
    documents = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}']))
    table = pa.table(
        {"u": ids, "j": documents, "d": pa.array(["x"]).dictionary_encode(), "n": pa.array([1], pa.uint8())}
    )
    colonnade.write_sql(parquet(tmp_path, table), in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as connection:
        sql = "select format_type(atttypid, -1) as t from pg_attribute where attrelid = 't'::regclass and attnum > 0"
        types = connection.query(f"{sql} order by attnum").to_arrow()["t"].to_pylist()
    assert types == ["uuid", "json", "text", "smallint"]


@pytest.mark.parametrize("text", ["nowhere.parquet", "select 1", "", "t.parquet/x"])
def test_a_text_that_is_no_file_says_so(in_sqlite: Place, text: str, tmp_path: Path) -> None:
    for data in (text, tmp_path / "nowhere.parquet"):
        with pytest.raises(colonnade.InterfaceError, match=r"no file|directory"):
            colonnade.write_sql(data, in_sqlite.uri, "t")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\3\4"])
def test_a_file_of_another_kind_is_refused(in_sqlite: Place, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(colonnade.InterfaceError, match="neither Parquet nor Arrow"):
        colonnade.write_sql(path, in_sqlite.uri, "t")
    with pytest.raises(colonnade.InterfaceError, match="dataset"):
        colonnade.write_sql(tmp_path, in_sqlite.uri, "t")


@pytest.mark.parametrize("make", [parquet, arrow_file, arrow_stream])
def test_a_file_that_was_cut_is_an_error(in_sqlite: Place, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    whole = make(tmp_path).read_bytes()
    path = tmp_path / "cut"
    for length in (len(whole) - 1, len(whole) - 4, len(whole) - 8, len(whole) // 2, 20):
        path.write_bytes(whole[:length])
        with pytest.raises((colonnade.Error, OSError, pa.ArrowException)):
            colonnade.write_sql(path, in_sqlite.uri, "t")
        assert not in_sqlite.exists()


def test_a_stream_that_was_cut_between_two_batches_is_an_error(in_sqlite: Place, tmp_path: Path) -> None:
    """pyarrow takes its end for the end of the rows."""
    sink = io.BytesIO()
    writer = pyarrow.ipc.new_stream(sink, TABLE.schema)
    writer.write_table(TABLE)
    cut = sink.getvalue()
    assert pyarrow.ipc.open_stream(cut).read_all().equals(TABLE)
    path = tmp_path / "cut"
    path.write_bytes(cut)
    with pytest.raises(colonnade.InterfaceError, match="without the mark of its end"):
        colonnade.write_sql(path, in_sqlite.uri, "t")
    assert not in_sqlite.exists()


#: Reads a small file and a large one as the writers do, each batch a moment after the other, as a database would.
PROGRAM = """
import resource, sys, time
from colonnade._rows.data import DataStream

def peak(path):
    rows = 0
    with DataStream(path).reading(None) as stream:
        while (batch := stream.next()) is not None:
            rows += len(batch)
            time.sleep(0.01)
    assert rows % 20_000 == 0 and rows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

small, large = map(peak, sys.argv[1:])
print(large - small)
"""


def test_memory_does_not_grow_with_a_parquet_file(tmp_path: Path) -> None:
    """The large file has 24 row groups of 20 MB. The small one has more of them than are read ahead."""
    group = pa.table({"a": ["x" * 1000] * 20_000})
    paths = [tmp_path / "small", tmp_path / "large"]
    for path, groups in zip(paths, (8, 24), strict=True):
        with pyarrow.parquet.ParquetWriter(path, group.schema) as writer:
            for _ in range(groups):
                writer.write_table(group)
    command = [sys.executable, "-c", PROGRAM, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Half of what the large file has more.
    assert int(done.stdout) < 160_000


# --- errors of the data -----------------------------------------------------------------------------------------------


def test_an_error_of_a_result_keeps_its_class_its_sqlstate_and_its_source(in_postgres: Place, in_sqlite: Place) -> None:
    sql = "select 10 / (3 - i) as a from generate_series(1, 5) i"
    for target in (in_sqlite.uri, in_postgres.uri):
        with colonnade.connect(in_postgres.uri) as source, pytest.raises(colonnade.DataError) as caught:
            colonnade.write_sql(source.query(sql), target, "t")
        assert caught.value.sqlstate == "22012" and caught.value.source == source.name
    assert not in_sqlite.exists() and not in_postgres.exists()


def test_an_error_of_duckdb_keeps_its_class(in_sqlite: Place) -> None:
    sql = "select case when i < 100000 then i else error('mine') end as a from range(200000) t(i)"
    with colonnade.connect("duckdb:///:memory:") as source:
        with pytest.raises(colonnade.DatabaseError, match="mine"):
            colonnade.write_sql(source.query(sql), in_sqlite.uri, "t")
        assert not in_sqlite.exists()
        # The source can be used again.
        assert colonnade.write_sql(source.query("select 1 as a"), in_sqlite.uri, "t").rows == 1


def test_a_value_that_dtype_cannot_hold_names_its_row(in_postgres: Place, in_sqlite: Place) -> None:
    with colonnade.connect(in_postgres.uri) as source:
        result = source.query("select i::bigint as a from generate_series(1, 300) i", dtype={"a": "int8"})
        with pytest.raises(colonnade.DataError, match='column "a", row 128'):
            colonnade.write_sql(result, in_sqlite.uri, "t")
    with pytest.raises(colonnade.DataError, match='column "a", row 129'):
        colonnade.write_sql(TABLE, in_sqlite.uri, "t", dtype={"a": "int8"})
    assert not in_sqlite.exists()


def test_a_cancelled_source_says_so(in_postgres: Place, in_sqlite: Place) -> None:
    with colonnade.connect(in_postgres.uri) as source:
        result = source.query("select i, pg_sleep(0.001) from generate_series(1, 1000000) i", as_text=["pg_sleep"])
        timer = threading.Timer(0.5, source.cancel)
        timer.start()
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.write_sql(result, in_sqlite.uri, "t")
        timer.join()
        assert caught.value.sqlstate == "57014" and caught.value.source == source.name
    assert not in_sqlite.exists()


def test_an_error_of_the_target_is_the_targets(in_postgres: Place, in_sqlite: Place) -> None:
    in_sqlite.execute("create table t (a integer primary key)")
    with colonnade.connect(in_postgres.uri) as source:
        result = source.query("select i / 2 as a from generate_series(1, 100000) i")
        with pytest.raises(colonnade.IntegrityError) as caught:
            colonnade.write_sql(result, in_sqlite.uri, "t", if_exists="append")
        assert caught.value.source is not None and caught.value.source.startswith("sqlite:")
        with pytest.raises(colonnade.InterfaceError, match="read by write_sql"):
            result.to_arrow()
        assert source.query("select 1 as a").to_arrow().num_rows == 1


def test_an_error_that_follows_the_end_of_the_write_is_not_its_reason() -> None:
    """The target has failed, and the data's code raises because its rows are wanted no more."""
    stopped = threading.Event()

    def parts() -> Iterator[pa.Table]:
        yield TABLE
        assert stopped.wait(30)
        raise LookupError("the rows are wanted no more")

    rows = DataStream(parts(), stop=stopped.set)
    with pytest.raises(colonnade.IntegrityError), rows.reading(None) as stream:
        assert stream.next() is not None
        stream.close()
        assert rows.ended(30)
        raise colonnade.IntegrityError("the target's error")


def test_an_error_of_a_lazy_frame_keeps_its_class(in_postgres: Place, in_sqlite: Place) -> None:
    lazy = colonnade.scan_sql(in_postgres.uri, "select 10 / (3 - i) as a from generate_series(1, 5) i")
    with pytest.raises(colonnade.DataError) as caught:
        colonnade.write_sql(lazy, in_sqlite.uri, "t")
    assert caught.value.sqlstate == "22012" and not in_sqlite.exists()


def test_a_scan_of_another_database(in_postgres: Place, in_sqlite: Place) -> None:
    colonnade.write_sql(TABLE, in_postgres.uri, "t")
    lazy = colonnade.scan_sql(in_postgres.uri, "select * from t").filter(pl.col("a") < 500)
    assert colonnade.write_sql(lazy, in_sqlite.uri, "t").rows == 500
    assert in_sqlite.table().equals(TABLE.slice(0, 500))


def test_a_result_whose_column_was_read(in_postgres: Place, in_sqlite: Place) -> None:
    colonnade.write_sql(TABLE, in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as source:
        result = source.query("select * from t order by a")
        assert len(result.column("a")) == 1000
        for name in ("t", "u"):
            colonnade.write_sql(result, in_sqlite.uri, name)
            assert in_sqlite.table(name).equals(TABLE)


# --- parts ------------------------------------------------------------------------------------------------------------


def test_memory_that_the_user_writes_to_is_copied(in_postgres: Place) -> None:
    numbers = np.zeros(50_000, np.int64)
    frame = pd.DataFrame({"a": numbers})

    def reused() -> Iterator[Any]:
        for number in range(20):
            if number % 2:
                frame["a"] = number
                yield frame
                frame["a"] = -1
            else:
                numbers[:] = number
                yield {"a": numbers}
                numbers[:] = -1

    colonnade.write_sql(reused(), in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as connection:
        counted = connection.query("select a, count(*) as n from t group by a order by a").to_arrow()
    assert counted.to_pylist() == [{"a": number, "n": 50_000} for number in range(20)]


def test_a_text_that_is_not_utf8_is_refused(in_sqlite: Place) -> None:
    """pyarrow keeps such bytes, and SQLite would store them."""
    offsets, data = pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")
    table = pa.table({"a": [1, 2], "t": pa.StringArray.from_buffers(2, offsets, data)})
    with pytest.raises(colonnade.DataError, match='column "t", row 2: a text that is not UTF-8') as caught:
        colonnade.write_sql(table, in_sqlite.uri, "t")
    assert caught.value.sqlstate == "22021"
    with pytest.raises(colonnade.DatabaseError, match="no such table"):
        in_sqlite.rows()
