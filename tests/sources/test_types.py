"""Every type of DuckDB through every source, encoding and codec, against DuckDB's own Arrow export."""

from __future__ import annotations

import colonnade
import duckdb
import pyarrow as pa
import pytest
from colonnade._sources.duckdb_types.exact import exact

from tests.support.every_type import EVERY_TYPE

COMPRESSIONS = [None, "plain", "light", "light+fsst", "plain+lz4", "light+lz4", "light+fsst+zstd-1", "light+zstd-19"]
IDS = [name for name, _ in EVERY_TYPE]


@pytest.fixture(scope="module")
def truth() -> duckdb.DuckDBPyConnection:
    """DuckDB in this process, with the server's time zone."""
    plain = duckdb.connect()
    plain.execute("SET TimeZone = 'UTC'")
    return plain


def exported(truth: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return exact(truth.sql(sql)).relation.to_arrow_table()


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """Equal to the last bit, NaN and negative zero included, which the text form tells apart."""
    found.validate(full=True)
    without_notes = pa.schema([field.with_metadata(None) for field in found.schema])
    assert without_notes.equals(pa.schema([field.with_metadata(None) for field in expected.schema]))
    assert found.num_rows == expected.num_rows
    for name, column in zip(found.column_names, found.columns, strict=True):
        assert repr(column.to_pylist()) == repr(expected.column(name).to_pylist()), name


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=IDS)
def test_values_arrive_as_they_are(
    remote: colonnade.Connection, truth: duckdb.DuckDBPyConnection, name: str, sql: str, compression: str | None
) -> None:
    ordered = f"select v from ({sql}) order by k"
    assert_same(remote.query(ordered, compression=compression).to_arrow(), exported(truth, ordered))


@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=IDS)
def test_the_source_in_this_process_gives_the_same(truth: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    ordered = f"select v from ({sql}) order by k"
    with colonnade.connect("duckdb:///:memory:") as local:
        local.execute("SET TimeZone = 'UTC'")
        assert_same(local.query(ordered).to_arrow(), exported(truth, ordered))


@pytest.mark.parametrize("compression", ["plain", "light", "light+fsst+zstd-1"])
@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=IDS)
def test_many_rows_in_several_chunks(
    remote: colonnade.Connection, truth: duckdb.DuckDBPyConnection, name: str, sql: str, compression: str
) -> None:
    ordered = f"select n, k, v from ({sql}), range(400) r(n) order by n, k"
    result = remote.query(ordered, compression=compression, chunk_rows=1500)
    table = result.to_arrow()
    assert result.stats.chunks == -(-table.num_rows // 1500)
    assert_same(table, exported(truth, ordered))


@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=IDS)
def test_no_rows_still_have_columns(
    remote: colonnade.Connection, truth: duckdb.DuckDBPyConnection, name: str, sql: str
) -> None:
    nothing = f"select v from ({sql}) where false"
    table = remote.query(nothing).to_arrow()
    assert table.num_rows == 0
    assert_same(table, exported(truth, nothing))


@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=IDS)
def test_one_column_decoded_alone_is_the_same(
    remote: colonnade.Connection, truth: duckdb.DuckDBPyConnection, name: str, sql: str
) -> None:
    ordered = f"select k, v, k as again from ({sql}) order by k"
    result = remote.query(ordered, compression="light")
    expected = exported(truth, ordered)
    for index in (1, 0, 2):
        assert repr(result.column(index).to_pylist()) == repr(expected.column(index).to_pylist())


def test_all_types_side_by_side(remote: colonnade.Connection, truth: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"(select v from ({sql}) where k = 1) as c{at}" for at, (_, sql) in enumerate(EVERY_TYPE))
    sql = f"select r, {columns} from range(10) t(r) order by r"
    assert_same(remote.query(sql, compression="light").to_arrow(), exported(truth, sql))


@pytest.mark.parametrize("name", ["TIMETZ", "UHUGEINT", "BIT", "UHUGEINT[]"])
def test_text_in_place_of_a_type_says_so(connection: colonnade.Connection, name: str) -> None:
    sql = dict(EVERY_TYPE)[name]
    field = connection.query(f"select k, v from ({sql})").schema.field("v")
    expected = {"TIMETZ": b"TIME WITH TIME ZONE"}.get(name, name.encode())
    assert field.metadata[b"colonnade.type"] == expected


def test_a_type_without_an_exact_form_is_refused_by_name(connection: colonnade.Connection) -> None:
    with pytest.raises(colonnade.NotSupportedError, match=r'"u" has type UNION.*to_json') as caught:
        connection.query("select union_value(a := 1) as u")
    assert caught.value.source == connection.name
    assert connection.query("select 1").to_arrow().num_rows == 1


def test_names_may_repeat_and_be_odd(connection: colonnade.Connection) -> None:
    result = connection.query("""select 1 as a, 2 as a, 3 as " ", 4 as "x""y", 5 as "käse", 6 as "a b\nc" """)
    assert result.column_names == ["a", "a", " ", 'x"y', "käse", "a b\nc"]
    table = result.to_arrow()
    assert table.column_names == result.column_names
    assert [column[0].as_py() for column in table.columns] == [1, 2, 3, 4, 5, 6]


def test_many_columns(remote: colonnade.Connection) -> None:
    names = [f"c{index}" for index in range(1600)]
    table = remote.query(f"select {', '.join(f'{at} as {name}' for at, name in enumerate(names))}").to_arrow()
    assert table.column_names == names
    assert [column[0].as_py() for column in table.columns] == list(range(1600))


def test_a_row_larger_than_a_chunk(remote: colonnade.Connection) -> None:
    result = remote.query("select repeat('ab', i * 3000000) as t from range(4) r(i) order by i", chunk_bytes=1 << 20)
    assert [len(text) for text in result.to_arrow().column(0).to_pylist()] == [0, 6_000_000, 12_000_000, 18_000_000]
