"""What every source that can be read in parts does the same."""

from __future__ import annotations

from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.sources.every_source import DRIVERS, ROWS, Source


@pytest.mark.gap(*DRIVERS, error=colonnade.NotSupportedError, match="this source cannot be read in parts")
@pytest.mark.parametrize("key", ["id", None], ids=["by key", "plain"])
def test_parts_have_each_row_once(source: Source, key: str | None) -> None:
    table = colonnade.read_sql(
        source.uri, "select id, word from readings", return_type="arrow", partition_on=key, partition_num=3
    )
    assert sorted(table["id"].to_pylist()) == list(range(1, ROWS + 1))
    assert table["word"].to_pylist() == [f"word {i}" for i in table["id"].to_pylist()]


@pytest.mark.gap(*DRIVERS, error=colonnade.NotSupportedError, match="this source cannot be read in parts")
def test_a_range_of_keys_filters_nothing(source: Source) -> None:
    split: dict[str, Any] = {"partition_on": "id", "partition_num": 3, "partition_range": (1000, 2000)}
    table = colonnade.read_sql(source.uri, "select id from readings", return_type="arrow", **split)
    assert sorted(table["id"].to_pylist()) == list(range(1, ROWS + 1))


@pytest.mark.gap(*DRIVERS, error=colonnade.NotSupportedError, match="this source cannot be read in parts")
@pytest.mark.parametrize("rows", [0, 1])
def test_more_parts_than_rows(source: Source, rows: int) -> None:
    query = f"select * from readings where id <= {rows}"
    table = colonnade.read_sql(source.uri, query, return_type="arrow", partition_on="id", partition_num=5)
    assert table.schema.types == [pa.int64(), pa.utf8(), pa.decimal128(10, 2)]
    assert table.num_rows == rows


@pytest.mark.gap(*DRIVERS, error=colonnade.NotSupportedError, match="this source cannot be read in parts")
def test_a_key_that_is_no_column(source: Source) -> None:
    with pytest.raises(colonnade.InterfaceError, match='the result has no column "missing" to make parts by'):
        colonnade.read_sql(source.uri, "select * from readings", partition_on="missing", partition_num=3)


def test_one_part_is_the_whole(source: Source) -> None:
    table = colonnade.read_sql(
        source.uri, "select id from readings", return_type="arrow", partition_on="id", partition_num=1
    )
    assert sorted(table["id"].to_pylist()) == list(range(1, ROWS + 1))
