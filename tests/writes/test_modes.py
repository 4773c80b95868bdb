"""`if_exists`, names, columns of the table, and the kinds of data."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import colonnade
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from tests.writes.places import Place

ONE = pa.table({"a": [1]})
TWO = pa.table({"a": [2]})


@pytest.mark.parametrize("mode", ["fail", "replace", "create_append"])
def test_a_missing_table_is_created(place: Place, mode: Any) -> None:
    stats = colonnade.write_sql(ONE, place.uri, "t", if_exists=mode)
    assert place.rows() == [{"a": 1}]
    assert (stats.rows, stats.table) == (1, "t") and stats.seconds > 0 and stats.server


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_a_missing_table_is_an_error(place: Place, mode: Any) -> None:
    with pytest.raises(colonnade.ProgrammingError, match=r"does not exist") as caught:
        colonnade.write_sql(ONE, place.uri, "t", if_exists=mode)
    assert caught.value.sqlstate == "42P01" and not place.exists()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("append", [1, 2]), ("create_append", [1, 2]), ("truncate", [2]), ("replace", [2])],
)
def test_an_existing_table(place: Place, mode: Any, expected: list[int]) -> None:
    colonnade.write_sql(ONE, place.uri, "t")
    colonnade.write_sql(TWO, place.uri, "t", if_exists=mode)
    assert [row["a"] for row in place.rows()] == expected


def test_an_existing_table_is_an_error_by_default(place: Place) -> None:
    colonnade.write_sql(ONE, place.uri, "t")
    with pytest.raises(colonnade.ProgrammingError, match="exists") as caught:
        colonnade.write_sql(TWO, place.uri, "t")
    assert caught.value.sqlstate == "42P07" and place.rows() == [{"a": 1}]


def test_a_replaced_table_has_the_new_columns(place: Place) -> None:
    colonnade.write_sql(ONE, place.uri, "t")
    colonnade.write_sql(pa.table({"b": ["x"]}), place.uri, "t", if_exists="replace")
    assert place.rows() == [{"b": "x"}]


@pytest.mark.parametrize("name", ["UPPER", "a.b", 'quo"te', "o'clock", "ä ö", "select", "back\\slash", "%"])
def test_names_are_exact(place: Place, name: str) -> None:
    table = pa.table({name: [1], f"{name}2": ["x"]})
    colonnade.write_sql(table, place.uri, name)
    colonnade.write_sql(table, place.uri, name, if_exists="append")
    assert place.rows(name) == table.to_pylist() * 2


def test_no_rows_make_an_empty_table(place: Place) -> None:
    stats = colonnade.write_sql(ONE.slice(0, 0), place.uri, "t")
    assert stats.rows == 0 and place.table().column_names == ["a"] and place.rows() == []


def test_no_columns_are_refused(place: Place) -> None:
    with pytest.raises(colonnade.InterfaceError, match="no columns"):
        colonnade.write_sql(pa.table({}), place.uri, "t")


def test_two_columns_of_one_name_are_refused(place: Place) -> None:
    with pytest.raises(colonnade.InterfaceError, match='two columns "a"'):
        colonnade.write_sql(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), place.uri, "t")
    assert not place.exists()


@pytest.mark.parametrize("which", ["duckdb", "serve"])
def test_rows_after_none_in_one_transaction(which: str, request: pytest.FixtureRequest) -> None:
    """DuckDB 2.0.0 lost them at the commit: an INSERT without rows, then one of a whole row group."""
    place: Place = request.getfixturevalue(f"in_{which}")
    place.execute("create table t (a bigint)")
    with colonnade.connect(place.uri) as connection:
        connection.execute("begin")
        connection.write(pa.table({"a": pa.array([], pa.int64())}), "t", if_exists="append")
        for start in (0, 200_000):
            connection.write(pa.table({"a": range(start, start + 200_000)}), "t", if_exists="append")
        connection.execute("commit")
    assert sorted(place.table()["a"].to_pylist()) == list(range(400_000))


def test_columns_are_found_by_name_and_others_get_their_defaults(place: Place) -> None:
    identity, kind, how = "bigint generated always as identity", "varchar(9)", " stored"
    if place.is_sqlite:
        identity, kind = "integer primary key", "text"
    if place.is_mariadb:
        identity = "bigint primary key auto_increment"
    if place.is_duckdb:
        # It computes such columns when they are read.
        how = ""
        place.execute("create sequence numbers")
        identity = "bigint primary key default nextval('numbers')"
    place.execute(
        f"create table t (id {identity}, a bigint, b {kind} default 'x', c bigint generated always as (a + 1){how})"
    )
    colonnade.write_sql(pa.table({"a": [1, 2]}), place.uri, "t", if_exists="append")
    colonnade.write_sql(pa.table({"b": ["y"], "a": [3]}), place.uri, "t", if_exists="append")
    assert [tuple(row.values())[1:] for row in place.rows()] == [(1, "x", 2), (2, "x", 3), (3, "y", 4)]
    # MariaDB may leave numbers out.
    assert place.is_mariadb or [row["id"] for row in place.rows()] == [1, 2, 3]
    with pytest.raises(colonnade.ProgrammingError):
        colonnade.write_sql(pa.table({"a": [1], "c": [2]}), place.uri, "t", if_exists="append")
    with pytest.raises(colonnade.ProgrammingError, match='no column "A"') as caught:
        colonnade.write_sql(pa.table({"A": [1]}), place.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "42703" and len(place.rows()) == 3


def test_a_schema_is_exact(in_postgres: Place, session: psycopg.Connection) -> None:
    session.execute('create schema "Odd.Schema"')
    try:
        colonnade.write_sql(ONE, in_postgres.uri, "t", schema="Odd.Schema")
        assert session.execute('select a from "Odd.Schema".t').fetchall() == [(1,)]
        with pytest.raises(colonnade.ProgrammingError) as caught:
            colonnade.write_sql(ONE, in_postgres.uri, "t", schema="odd.schema")
        assert caught.value.sqlstate == "3F000"
    finally:
        session.execute('drop schema "Odd.Schema" cascade')


def test_a_temporary_table_is_found_before_others(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("create table t (a int); create temporary table t (a int)")
        colonnade.write_sql(ONE, connection, "t", if_exists="append")
        assert connection.query("select count(*) n from pg_temp.t").to_arrow().to_pylist() == [{"n": 1}]
    assert in_postgres.rows() == []


def test_the_search_path_does_not_change_the_types_of_a_new_table(in_postgres: Place) -> None:
    in_postgres.execute("create domain text as varchar(1)")
    in_postgres.execute("create domain int8 as smallint")
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("select set_config('search_path', current_schema() || ', pg_catalog', false)")
        colonnade.write_sql(pa.table({"a": [2**40], "b": ["long"]}), connection, "t")
    assert in_postgres.rows() == [{"a": 2**40, "b": "long"}]


def test_a_name_that_postgresql_would_cut_is_refused(in_postgres: Place) -> None:
    for table, name in [("t", "c" * 64), ("t" * 64, "c")]:
        with pytest.raises(colonnade.ProgrammingError):
            colonnade.write_sql(pa.table({name: [1]}), in_postgres.uri, table)
        assert not in_postgres.exists(table[:63])


@pytest.mark.parametrize("which", ["in_sqlite", "in_duckdb"])
def test_names_that_differ_in_case_are_one_table(which: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(which)
    colonnade.write_sql(ONE, place.uri, "t")
    for mode in ("append", "replace"):
        with pytest.raises(colonnade.ProgrammingError, match='called "t"'):
            colonnade.write_sql(ONE, place.uri, "T", if_exists=mode)
    assert place.rows() == [{"a": 1}]


DATA: dict[str, Callable[[], Any]] = {
    "pyarrow": lambda: pa.table({"a": [1, 2], "b": ["x", None]}),
    "batch": lambda: pa.record_batch({"a": [1, 2], "b": ["x", None]}),
    "reader": lambda: pa.table({"a": [1, 2], "b": ["x", None]}).to_reader(),
    "polars": lambda: pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "duckdb": lambda: duckdb.connect().sql("select * from (values (1::bigint, 'x'), (2, null)) t(a, b)"),
    "pandas": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "iterator": lambda: iter(pa.table({"a": [1, 2], "b": ["x", None]}).to_batches(1)),
    "list of batches": lambda: pa.table({"a": [1, 2], "b": ["x", None]}).to_batches(1),
}


@pytest.mark.parametrize("kind", DATA)
def test_data_of_every_kind(place: Place, kind: str) -> None:
    assert colonnade.write_sql(DATA[kind](), place.uri, "t").rows == 2
    assert place.rows() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_numpy_arrays(place: Place) -> None:
    data = {"a": np.array([1, 2]), "b": np.array([0.5, 1e300]), "c": np.array(["x", "y"])}
    colonnade.write_sql(data, place.uri, "t")
    assert place.rows() == [{"a": 1, "b": 0.5, "c": "x"}, {"a": 2, "b": 1e300, "c": "y"}]


def test_a_result_of_another_database(in_postgres: Place, in_sqlite: Place) -> None:
    table = pa.table({"a": pa.array(range(100_000)), "b": pa.array([datetime.date(2024, 1, 1)] * 100_000)})
    colonnade.write_sql(table, in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as source:
        colonnade.write_sql(source.query("select * from t order by a"), in_sqlite.uri, "t")
    with colonnade.connect(in_sqlite.uri) as source:
        colonnade.write_sql(source.query("select * from t order by a"), in_postgres.uri, "back")
    assert in_postgres.table("back").sort_by("a").equals(table)


def test_the_index_of_a_frame(place: Place) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    with pytest.raises(colonnade.InterfaceError, match="reset_index"):
        colonnade.write_sql(frame, place.uri, "t")
    colonnade.write_sql(frame, place.uri, "t", index=False)
    assert place.table().column_names == ["a"]


def test_nan_of_pandas_is_null_and_nan_of_arrow_is_not(in_postgres: Place) -> None:
    colonnade.write_sql(pd.DataFrame({"a": [1.0, float("nan")]}), in_postgres.uri, "t")
    assert in_postgres.rows() == [{"a": 1.0}, {"a": None}]
    colonnade.write_sql(pa.table({"a": [None, float("nan")]}), in_postgres.uri, "u")
    with colonnade.connect(in_postgres.uri) as connection:
        counted = connection.query("select count(*) n from u where a = 'NaN'").to_arrow()
    assert counted.to_pylist() == [{"n": 1}]


def test_dtype_changes_columns_before_they_are_written(place: Place) -> None:
    colonnade.write_sql(pa.table({"a": ["1", "2"]}), place.uri, "t", dtype={"a": "int64"})
    assert place.rows() == [{"a": 1}, {"a": 2}]
    with pytest.raises(colonnade.DataError):
        colonnade.write_sql(pa.table({"a": ["1", "x"]}), place.uri, "t", dtype={"a": "int64"}, if_exists="append")
    assert len(place.rows()) == 2


@pytest.mark.parametrize("data", [None, 3, "text", b"text", [1], ["text"], iter([])])
def test_other_data_is_refused(place: Place, data: Any) -> None:
    with pytest.raises(colonnade.InterfaceError):
        colonnade.write_sql(data, place.uri, "t")
    assert not place.exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"if_exists": "upsort"}, ValueError),
        ({"key": "a"}, TypeError),
        ({"key": [1]}, TypeError),
        ({"progress": 3}, TypeError),
        ({"schema": 3}, TypeError),
        ({"table": None}, TypeError),
        ({"conn": 3}, colonnade.InterfaceError),
        ({"index": False}, TypeError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        colonnade.write_sql(**({"data": ONE, "conn": "sqlite:///nowhere.db", "table": "t"} | arguments))


def test_a_database_in_sqlites_memory_is_refused_by_name() -> None:
    uri = "sqlite:///:memory:"
    with pytest.raises(colonnade.NotSupportedError) as caught:
        colonnade.write_sql(ONE, uri, "t")
    assert caught.value.sqlstate == "0A000" and caught.value.source == uri
