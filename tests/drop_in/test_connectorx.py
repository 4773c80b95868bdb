"""A script that was written for connectorx.read_sql runs with its import changed.

The cases are those of ConnectorX's own tests for PostgreSQL, MySQL and SQLite; docs/how-to/drop-in.md lists where the
answer differs on purpose. What does not depend on one source runs on every one that has the tables.
"""

from __future__ import annotations

from typing import Any

import colonnade
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from tests.support.shop import BY_ID, EXPECTED, Place, read

# --- ConnectorX's cases -----------------------------------------------------------------------------------------------


def test_a_whole_table(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings"), place.expected())


@pytest.mark.parametrize("limit", [3, 10])
def test_a_limit(place: Place, limit: int) -> None:
    assert_frame_equal(read(place, f"select * from readings order by id limit {limit}"), place.expected(BY_ID[:limit]))


@pytest.mark.parametrize(
    "query",
    [
        "select * from readings",
        "select * from readings where 1 = 3 or 2 = 2",
        "with chosen as (select * from readings) select * from chosen",
    ],
)
@pytest.mark.parametrize("partitions", [{"partition_range": (0, 2000), "partition_num": 3}, {"partition_num": 2}])
def test_partitions(place: Place, query: str, partitions: dict[str, Any]) -> None:
    frame = read(place, query, partition_on="id", **partitions)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), place.expected(BY_ID))


@pytest.mark.parametrize("tail", ["limit 10", "order by id"])
def test_what_parts_could_not_keep_is_refused(place: Place, tail: str) -> None:
    """ConnectorX gives each part rows of its own, or fails with an error of the database's."""
    if not place.parts:
        frame = read(place, f"select * from readings {tail}", partition_on="id", partition_num=2)
        assert_frame_equal(frame.sort_values("id", ignore_index=True), place.expected(BY_ID))
        return
    with pytest.raises(colonnade.NotSupportedError, match=tail.split()[0].upper()):
        read(place, f"select * from readings {tail}", partition_on="id", partition_num=2)


def test_a_partitioned_key_keeps_its_nulls(place: Place) -> None:
    """ConnectorX loses these rows."""
    frame = read(place, "select id, amount from readings", partition_on="amount", partition_num=2)
    assert sorted(frame["id"].tolist()) == BY_ID


def test_partitions_of_a_projection_a_selection_and_nothing(place: Place) -> None:
    arguments = {"partition_on": "id", "partition_num": 3}
    frame = read(place, "select id, amount, label from readings", **arguments)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), place.expected(BY_ID, ["id", "amount", "label"]))
    frame = read(place, "select * from readings where ratio > 3", **arguments)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), place.expected([0, 4]))
    assert_frame_equal(read(place, "select * from readings where id < 1", **arguments), place.expected([0]))
    assert len(read(place, "select * from readings where id < -100", **arguments)) == 0


def test_a_join_and_its_aggregates(place: Place) -> None:
    query = "select r.id, r.flag, w.language from readings r join words w on r.id = w.id"
    frame = read(place, query, partition_on="id", partition_num=3).sort_values("id", ignore_index=True)
    assert frame["language"].tolist() == ["English", "中文", "日本語", "русский", "Emoji"]
    assert frame["flag"].dtype == place.flag
    query = (
        f"select flag, avg(ratio) as avg, cast(sum(r.id) as {place.bigint}) as sum"
        " from readings r join words w on r.id = w.id"
        " where amount is not null group by flag order by sum"
    )
    wanted = pd.DataFrame(
        {
            "flag": pd.array([True, False, None], dtype="boolean").astype(place.flag),
            "avg": pd.Series([None, 3, 5.45], dtype="float64"),
            "sum": pd.array([1, 3, 4], dtype="Int64"),
        }
    )
    assert_frame_equal(read(place, query), wanted)


def test_aggregates(place: Place) -> None:
    frame = read(place, "select flag, sum(ratio) as total from readings group by flag order by total")
    assert_frame_equal(
        frame,
        pd.DataFrame(
            {
                "flag": pd.array([True, False, None], dtype="boolean").astype(place.flag),
                "total": pd.Series([-10.0, 5.2, 10.9], dtype="float64"),
            }
        ),
    )
    frame = read(place, "select max(id), min(id) from readings", return_type="pandas")
    assert frame.iloc[0].tolist() == [1314, 0]
    assert set(read(place, "select distinct(flag) from readings")["flag"].tolist()) == {True, False, pd.NA}


def test_a_list_of_queries(place: Place) -> None:
    queries = ["select * from readings where id < 2;", "select * from readings where id >= 2;"]
    assert_frame_equal(read(place, queries), place.expected([1, 0, 2, 3, 4, 1314]))
    assert_frame_equal(read(place, [queries[0]]), place.expected([1, 0]))


def test_unicode(place: Place) -> None:
    frame = read(place, "select * from words order by id")
    assert frame.dtypes.tolist() == [pd.Int64Dtype(), object, object]
    assert frame["hello"].tolist() == [
        *("Hello", "你好", "こんにちは", "Здра́вствуйте", "😁😂😜", "¥§¤®ð", "y̆"),
        None,
    ]


def test_an_index_column(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings", index_col="id"), place.expected().set_index("id"))


def test_a_case_that_is_null_elsewhere(place: Place) -> None:
    frame = read(place, "select id, case when id = 1 or id = 2 then 'yes' end as said from readings")
    assert frame["said"].tolist() == ["yes", "yes", None, None, None, None]


def test_a_semicolon_at_the_end(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings;"), place.expected())


def test_an_empty_result_keeps_its_types(place: Place) -> None:
    frame = read(place, "select * from readings where id < -100")
    assert (len(frame), frame.dtypes.tolist()) == (0, place.expected().dtypes.tolist())


def test_arrow_and_streams(place: Place) -> None:
    table = colonnade.read_sql(place.uri, "select * from readings", return_type="arrow")
    assert table.column_names == list(EXPECTED)
    reader = colonnade.read_sql(place.uri, "select * from readings", return_type="arrow_stream", batch_size=2)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [2, 2, 2]
    assert [row for batch in batches for row in batch.to_pylist()] == table.to_pylist()


def test_polars_and_dask(place: Place) -> None:
    assert colonnade.read_sql(place.uri, "select * from readings", return_type="polars").height == 6
    frame = read(place, "select * from readings", return_type="dask", index_col="id")
    assert frame.index.name == "id"
    assert frame["ratio"].sum().compute() == pytest.approx(6.1)


@pytest.mark.parametrize("protocol", ["binary", "csv", "cursor", "simple", "text"])
def test_a_protocol_changes_nothing(place: Place, protocol: str) -> None:
    assert_frame_equal(read(place, "select * from readings", protocol=protocol), place.expected())


def test_a_statement_without_rows_is_refused(shop: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
        read(shop, "create temporary table other (id int)")


def test_mysqls_settings_before_the_query(mysql_place: Place) -> None:
    before = ["set session max_statement_time = 2151", "set session wait_timeout = 2252"]
    query = "select cast(@@max_statement_time as signed) as a, @@wait_timeout as b, {} as k from readings"
    for arguments in ({}, {"partition_on": "k", "partition_num": 2}):
        frame = read(mysql_place, query.format("id"), pre_execution_query=before, **arguments)
        assert set(zip(frame["a"], frame["b"], strict=True)) == {(2151, 2252)}
    assert read(mysql_place, query.format(1), pre_execution_query=before[0])["a"].tolist() == [2151] * 6


@pytest.mark.parametrize("partitions", [{}, {"partition_on": "id", "partition_num": 3}])
def test_an_sqlite_file_by_its_path(sqlite_place: Place, partitions: dict[str, Any]) -> None:
    """Whether or not its space is written as %20."""
    for uri in (sqlite_place.uri, sqlite_place.uri.replace("%20", " ")):
        frame = read(uri, "select * from readings", **partitions)
        assert_frame_equal(frame.sort_values("id", ignore_index=True), sqlite_place.expected(BY_ID))


def test_a_table_that_is_missing(place: Place) -> None:
    with pytest.raises(colonnade.Error, match="nothing_there"):
        read(place, "select * from nothing_there")
    with pytest.raises(colonnade.Error, match="nothing_there"):
        read(place, "select * from nothing_there", partition_on="id", partition_num=2)


def test_names_with_spaces(place: Place) -> None:
    quote = "`" if place.uri.startswith("mysql") else '"'
    query = f"select id as {quote}the id{quote} from readings"
    frame = read(place, query, partition_on="the id", partition_num=2)
    assert sorted(frame["the id"].tolist()) == BY_ID


def test_parts_that_are_empty(place: Place) -> None:
    query = "select * from readings where id > 1000"
    frame = read(place, query, partition_on="id", partition_num=3, partition_range=(0, 300))
    assert_frame_equal(frame, place.expected([1314]))
    frame = read(place, "select * from readings where id > 5000", partition_on="id", partition_num=3)
    assert (len(frame), frame.dtypes.tolist()) == (0, place.expected().dtypes.tolist())


def test_settings_before_the_query(shop: str) -> None:
    before = ["set statement_timeout = 2151", "set idle_in_transaction_session_timeout = 2252"]
    query = (
        "select cast(setting as integer) as setting from pg_settings"
        " where name in ('statement_timeout', 'idle_in_transaction_session_timeout') order by setting"
    )
    assert read(shop, query, pre_execution_query=before)["setting"].tolist() == [2151, 2252]
    assert read(shop, query, pre_execution_query=before[0])["setting"].tolist() == [0, 2151]


def test_a_function(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        connection.execute(
            "create or replace function increment(i integer) returns integer language sql immutable as 'select i + 1'"
        )
    frame = read(shop, "select increment(id) as id from readings", partition_on="id", partition_num=2)
    assert sorted(frame["id"].tolist()) == [1, 2, 3, 4, 5, 1315]


def test_duplicate_and_empty_names(place: Place) -> None:
    frame = read(place, "select id as a, label as a from readings order by id limit 1")
    assert (list(frame.columns), frame.dtypes.tolist()) == (["a", "a"], [pd.Int64Dtype(), object])
    assert frame.iloc[0].tolist() == [0, "a"]
