"""A script that was written for pandas.read_sql with a URI runs with its import changed."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import colonnade
import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from tests.support.shop import BY_ID, Place

# --- pandas.read_sql(sql, uri) ----------------------------------------------------------------------------------------


def test_both_orders_and_all_names(place: Place) -> None:
    query = "select id from readings order by id"
    for frame in (
        colonnade.read_sql(place.uri, query),
        colonnade.read_sql(query, place.uri),
        colonnade.read_sql(query, con=place.uri),
        colonnade.read_sql(sql=query, con=place.uri),
        colonnade.read_sql(conn=place.uri, query=query),
        colonnade.read_sql(place.uri, sql=query),
    ):
        assert frame["id"].tolist() == BY_ID
    with colonnade.connect(place.uri) as connection:
        assert colonnade.read_sql(query, connection)["id"].tolist() == BY_ID
        assert colonnade.read_sql(query, con=connection)["id"].tolist() == BY_ID
        assert connection.is_open


def test_what_is_no_connection(place: Place) -> None:
    for wrong in (object(), 5, duckdb):
        with pytest.raises(colonnade.InterfaceError, match="give a URI"):
            colonnade.read_sql("select 1", wrong)  # type: ignore[call-overload]
    with pytest.raises(colonnade.ProgrammingError) as caught:
        colonnade.read_sql("readings", place.uri)
    assert caught.value.hint == "a name is no query: write select * from readings, or use read_sql_table"
    with pytest.raises(TypeError, match="a connection and a query"):
        colonnade.read_sql(place.uri)
    with pytest.raises(TypeError, match="two names"):
        colonnade.read_sql(place.uri, "select 1", con=place.uri)
    with pytest.raises(colonnade.NotSupportedError, match="one connection"):
        colonnade.read_sql({"a": place.uri, "b": place.uri}, "select 1")  # type: ignore[call-overload]


def test_a_statement_of_sqlalchemy(place: Place) -> None:
    marks = "5 % of ':a' \\ %s"
    query = sa.select(sa.column("label"), sa.literal(marks)).select_from(sa.table("readings"))
    query = query.where(sa.column("label").like("str%"))
    for arguments in ((query, place.uri), (place.uri, query)):
        with pytest.raises(colonnade.InterfaceError, match="the query is a Select: give text") as caught:
            colonnade.read_sql(*arguments)  # type: ignore[call-overload]
    # The hint is code: it gives the query's text, with the database's escapes.
    assert caught.value.hint is not None
    scheme = place.uri.partition(":")[0].replace("mariadb", "mysql").replace("duckdb", "postgresql")
    engine = SimpleNamespace(dialect=sa.dialects.registry.load(scheme)())
    text = eval(caught.value.hint.removeprefix("its text is "), {"query": query, "engine": engine})
    frame = colonnade.read_sql(text, place.uri)
    assert sorted(map(tuple, frame.values)) == [("str1", marks), ("str2", marks)]


def test_pandas_arguments(place: Place) -> None:
    query = "select id, label, '2024-02-29 12:00:00' as moment, '20240229' as day from readings order by id"
    frame = colonnade.read_sql(query, place.uri, index_col=["id", "label"], parse_dates=["moment"])
    assert frame.index.names == ["id", "label"]
    assert frame["moment"].iloc[0] == pd.Timestamp("2024-02-29 12:00")
    frame = colonnade.read_sql(query, place.uri, parse_dates={"day": "%Y%m%d"}, dtype={"id": "Int16"})
    assert (frame["day"][0], str(frame["id"].dtype)) == (pd.Timestamp("2024-02-29"), "Int16")
    frame = colonnade.read_sql("select id from readings where id < $1", place.uri, params=[2])
    assert sorted(frame["id"]) == [0, 1]
    decimal = "select cast(0.25 as decimal(5, 2)) as d"
    for arguments in ({}, {"coerce_float": True}, {"dtype_backend": "exact", "coerce_float": True}):
        frame = colonnade.read_sql(decimal, place.uri, **arguments)
        assert (frame["d"].dtype, frame["d"][0]) == ("float64", 0.25)
    if not place.uri.startswith("sqlite"):
        # SQLite makes a float of it.
        for arguments in ({"coerce_float": False}, {"dtype_backend": "exact"}):
            frame = colonnade.read_sql(decimal, place.uri, **arguments)
            assert (frame["d"].dtype, frame["d"][0]) == (object, Decimal("0.25"))
    frame = colonnade.read_sql("select * from readings", place.uri, dtype_backend="pyarrow")
    assert [str(dtype) for dtype in frame.dtypes] == [
        f"{name}[pyarrow]" for name in (place.integer, place.integer, "string", "double", place.boolean)
    ]
    frame = colonnade.read_sql("select * from readings", place.uri, dtype_backend="numpy_nullable")
    flag = "boolean" if place.boolean == "bool" else "Int64"
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "Int64", "string", "Float64", flag]


def test_one_type_for_all_columns(place: Place) -> None:
    query = "select id, ratio from readings order by id"
    frame = colonnade.read_sql(query, place.uri, dtype="float64")
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "float64"]
    assert frame["id"].tolist() == BY_ID
    frame = colonnade.read_sql(query, place.uri, dtype=object)
    assert frame.dtypes.tolist() == [object, object]
    assert frame["id"].tolist() == BY_ID
    frame = colonnade.read_sql(query, place.uri, dtype={"ratio": object, "id": "Int32"})
    assert [str(dtype) for dtype in frame.dtypes] == ["Int32", "object"]
    frame = colonnade.read_sql(query, place.uri, dtype={"id": "category"}, chunksize=2)
    assert [piece["id"].cat.categories.tolist() for piece in frame] == [sorted(BY_ID[at : at + 2]) for at in (0, 2, 4)]
    table = colonnade.read_sql(query, place.uri, dtype="utf8", return_type="arrow")
    assert table["id"].to_pylist() == [str(number) for number in BY_ID]
    with pytest.raises(colonnade.DataError, match="label"):
        colonnade.read_sql("select id, label from readings", place.uri, dtype="float64")


def test_categories_as_pandas_makes_them(place: Place) -> None:
    query = "select id, label, ratio, flag, cast(id as decimal(6, 2)) as price from readings order by id desc"
    plain = colonnade.read_sql(query, place.uri)
    for dtype in ("category", pd.CategoricalDtype(), pd.CategoricalDtype(ordered=True)):
        pd.testing.assert_frame_equal(colonnade.read_sql(query, place.uri, dtype=dtype), plain.astype(dtype))
    # Each frame has the categories of its own rows.
    pieces = colonnade.read_sql(query, place.uri, dtype={"label": "category"}, chunksize=3)
    assert [piece["label"].cat.categories.tolist() for piece in pieces] == [["b", "c"], ["a", "str1", "str2"]]


def test_named_categories(place: Place) -> None:
    query = "select id, label from readings order by id"
    ids = pd.CategoricalDtype([*reversed(BY_ID), 77], ordered=True)
    frame = colonnade.read_sql(query, place.uri, dtype={"id": ids})
    assert (frame["id"].dtype, frame["id"].tolist()) == (ids, BY_ID)
    for kind in ("category", object, ids, "Int64"):
        with pytest.raises(colonnade.InterfaceError, match=r"'nothing'.*columns are 'id', 'label'"):
            colonnade.read_sql(query, place.uri, dtype={"nothing": kind})
    # pandas makes NULL of the other values.
    for wrong in (pd.CategoricalDtype(BY_ID[1:]), pd.CategoricalDtype([str(number) for number in BY_ID])):
        with pytest.raises(colonnade.DataError, match=f'column "id": {BY_ID[0]} is not one of the categories'):
            colonnade.read_sql(query, place.uri, dtype={"id": wrong})


def test_dates_as_pandas_reads_them(place: Place) -> None:
    query = "select id, '2024-02-29' as day, 'soon' as later from readings where id = 1"
    for parse_dates in ("day", ["day"], ["day", "nothing"], {"day": None}, {"day": "%Y-%m-%d"}):
        frame = colonnade.read_sql(query, place.uri, parse_dates=parse_dates)
        assert frame["day"][0] == pd.Timestamp("2024-02-29")
        assert frame["later"][0] == "soon"
    for parse_dates in (True, False, None, []):
        assert colonnade.read_sql(query, place.uri, parse_dates=parse_dates)["day"][0] == "2024-02-29"
    # No moment is NaT, unless pandas.to_datetime's arguments are given, which raise.
    assert pd.isna(colonnade.read_sql(query, place.uri, parse_dates=["later"])["later"][0])
    with pytest.raises(ValueError, match="soon"):
        colonnade.read_sql(query, place.uri, parse_dates={"later": {"format": "%Y"}})


def test_frames_of_a_given_size(place: Place) -> None:
    query = "select id from readings order by id"
    frames = list(colonnade.read_sql(query, place.uri, chunksize=4))
    assert [frame["id"].tolist() for frame in frames] == [BY_ID[:4], BY_ID[4:]]
    frames = list(colonnade.read_sql(place.uri, ["select id from readings order by id"] * 2, chunksize=5))
    assert [len(frame) for frame in frames] == [5, 5, 2]
    assert pd.concat(frames)["id"].tolist() == BY_ID * 2
    assert [
        len(frame) for frame in colonnade.read_sql("select id from readings where 1 = 0", place.uri, chunksize=5)
    ] == [0]
    with colonnade.connect(place.uri) as connection:
        next(colonnade.read_sql(query, connection, chunksize=1)).equals(pd.DataFrame({"id": [0]}))
        assert connection.is_open


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"columns": ["id"]}, colonnade.NotSupportedError, "name the columns in the query"),
        ({"return_type": "arrow", "chunksize": 5}, ValueError, "chunksize"),
        ({"chunksize": 0}, ValueError, "at least 1"),
        ({"batch_size": 5}, ValueError, "batch_size"),
        ({"return_type": "polars", "dtype_backend": "pyarrow"}, ValueError, "dtype_backend needs"),
        ({"dtype_backend": "cudf"}, ValueError, "not 'cudf'"),
        ({"index_col": "nothing"}, colonnade.InterfaceError, "'nothing': the columns are"),
        ({"dtype": "floaty"}, colonnade.InterfaceError, "no type"),
    ],
)
def test_arguments_that_are_refused(place: Place, arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        colonnade.read_sql("select * from readings", place.uri, **arguments)


def test_no_error_shows_the_password(place: Place) -> None:
    if not place.secret:
        return
    with pytest.raises(colonnade.Error) as caught:
        colonnade.read_sql("select * from nothing", place.secret)
    assert "hunter2" not in f"{caught.value}{caught.value!r}"


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("dtype", [np.float64, "float64", "int64", np.int32, {"id": "float32", "price": "float64"}])
def test_a_type_of_numpy_is_numpys_with_every_backend(place: Place, dtype: Any, backend: Any) -> None:
    query = "select id, id as price from readings"
    frame = colonnade.read_sql(query, place.uri, dtype=dtype, dtype_backend=backend)
    wanted = pd.DataFrame({"id": [1], "price": [1]}).astype(dtype).dtypes
    assert list(frame.dtypes) == list(wanted)
