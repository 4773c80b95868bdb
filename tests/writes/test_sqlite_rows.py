"""Rows of SQLite are inserted in groups: each error still names the row that the database has refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.writes.places import Place

ROWS = 10_000


def numbers(**columns: Any) -> pa.Table:
    return pa.table({"a": pa.array(range(ROWS), pa.int64()), **columns})


@pytest.mark.parametrize("row", [1, 2, 511, 512, 513, 4096, 4097, 9_999, ROWS])
def test_the_row_that_breaks_a_constraint_is_named(in_sqlite: Place, row: int) -> None:
    in_sqlite.execute("create table t (a integer unique, b text not null)")
    texts = ["text"] * ROWS
    texts[row - 1] = None  # type: ignore[call-overload]
    with pytest.raises(colonnade.IntegrityError) as caught:
        colonnade.write_sql(numbers(b=pa.array(texts)), in_sqlite.uri, "t", if_exists="append")
    assert "NOT NULL constraint failed: t.b" in str(caught.value)
    assert f"row {row}" in str(caught.value).splitlines()[-1] and in_sqlite.rows() == []


def test_a_row_that_is_there_already_is_named(in_sqlite: Place) -> None:
    in_sqlite.execute("create table t (a integer primary key); insert into t values (7777)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        colonnade.write_sql(numbers(), in_sqlite.uri, "t", if_exists="append")
    assert "row 7778" in str(caught.value) and in_sqlite.rows() == [{"a": 7777}]


@pytest.mark.parametrize("action", ["ABORT", "FAIL", "ROLLBACK"])
def test_a_trigger_that_refuses_a_row(in_sqlite: Place, action: str) -> None:
    """FAIL keeps the rows before it, and ROLLBACK ends the transaction: neither may leave a row."""
    in_sqlite.execute(
        "create table t (a integer unique); create trigger refuse after insert on t when new.a = 5000 "
        f"begin select raise({action}, 'no'); end"
    )
    with pytest.raises(colonnade.Error) as caught:
        colonnade.write_sql(numbers(), in_sqlite.uri, "t", if_exists="append")
    assert "no" in str(caught.value) and "row 5001" in str(caught.value) and in_sqlite.rows() == []


def test_a_trigger_that_drops_rows_is_an_error(in_sqlite: Place) -> None:
    in_sqlite.execute(
        "create table t (a integer); create trigger skip before insert on t when new.a = 5000 "
        "begin select raise(IGNORE); end"
    )
    with pytest.raises(colonnade.Error, match=f"stored {ROWS - 1} of {ROWS} rows"):
        colonnade.write_sql(numbers(), in_sqlite.uri, "t", if_exists="append")
    assert in_sqlite.rows() == []


def test_values_of_a_group_do_not_mix(in_sqlite: Place) -> None:
    """Each row has its own texts and moments, also in the last and smaller group."""
    day = dt.date(1969, 12, 25)
    data = numbers(
        b=[None if number % 3 == 0 else f"text {number}" for number in range(ROWS)],
        c=[None if number % 5 == 0 else day + dt.timedelta(number) for number in range(ROWS)],
        d=pa.array([number * 86_399_999_999 for number in range(ROWS)], pa.timestamp("us")),
    )
    for part in (
        data,
        data.slice(0, 1),
        data.slice(0, 4097),
        pa.concat_tables([data.slice(3, 700), data.slice(9, 90)]),
    ):
        colonnade.write_sql(part, in_sqlite.uri, "t", if_exists="replace")
        assert in_sqlite.table().to_pylist() == part.to_pylist()


def test_a_table_of_many_columns(in_sqlite: Place) -> None:
    """One row has more values than a group."""
    data = pa.table({f"c{column}": pa.array([column, column + 1, None], pa.int64()) for column in range(1500)})
    colonnade.write_sql(data, in_sqlite.uri, "t")
    assert in_sqlite.table().to_pylist() == data.to_pylist()
