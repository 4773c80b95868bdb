"""What the tests of MySQL share."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import colonnade
import pyarrow as pa

from tests.writes.places import Place

ONE = pa.table({"a": [1]})
DAY = datetime.datetime(2024, 1, 1)


def names(place: Place) -> list[str]:
    """All tables of the database, also those that a write has left over."""
    rows = colonnade.read_sql(place.uri, "show tables", return_type="arrow")
    return rows.column(0).to_pylist()


def append(data: Any, conn: Any, table: str = "t") -> colonnade.WriteStats:
    return colonnade.write_sql(data, conn, table, if_exists="append")


def upsert(data: Any, conn: Any, key: list[str]) -> colonnade.WriteStats:
    return colonnade.write_sql(data, conn, "t", if_exists="upsert", key=key)


def failing(error: BaseException) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"a": pa.array(range(100, 200_000))})
    raise error
