"""Arrow's extension types, at every depth and from every library: exact, converted, or refused by name."""

from __future__ import annotations

import uuid
from typing import Any

import colonnade
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.writes.places import Place

UUIDS = [uuid.UUID(int=number) for number in (1, 2**127)]
PERIODS = pd.period_range("2020-01", periods=2, freq="M")


def extended(kind: Any, storage: Any) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


def uuids() -> pa.Array:
    return extended(pa.uuid(), pa.array([value.bytes for value in UUIDS], pa.binary(16)))


def periods() -> pa.Array:
    return pa.Table.from_pandas(pd.DataFrame({"v": PERIODS}))["v"].combine_chunks()


def booleans() -> pa.Array:
    return extended(pa.bool8(), pa.array([1, 0], pa.int8()))


def opaque() -> pa.Array:
    return extended(pa.opaque(pa.binary(), "point", "PostgreSQL"), pa.array([b"a", b"b"]))


def within(kind: str, array: pa.Array) -> pa.Table:
    """A table of the array, or of a column that contains it."""
    match kind:
        case "dictionary":
            array = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), array)
        case "list":
            array = pa.ListArray.from_arrays([0, 1, 2], array)
        case "struct":
            array = pa.StructArray.from_arrays([array], ["s"])
        case "list of dictionaries":
            array = pa.ListArray.from_arrays([0, 1, 2], pa.DictionaryArray.from_arrays([1, 0], array))
        case "map":
            array = pa.MapArray.from_arrays([0, 1, 2], pa.array(["k", "k"]), array)
    return pa.table({"v": array})


PLACES = ["plain", "dictionary", "list", "struct", "list of dictionaries", "map"]
REFUSED: dict[str, Any] = {
    **{f"{kind} of periods": within(kind, periods()) for kind in PLACES},
    **{f"{kind} of unknown bytes": within(kind, opaque()) for kind in PLACES},
    "categories of periods": pd.DataFrame({"v": pd.Categorical(PERIODS)}),
    "categories of intervals": pd.DataFrame({"v": pd.cut([1, 2], 2)}),
    "a series of polars": {"v": pl.from_arrow(within("plain", periods()))["v"]},
    "lists in a series of polars": {"v": pl.from_arrow(within("list", periods()))["v"]},
    "periods of polars": pl.DataFrame(pl.from_arrow(within("plain", periods()))),
    "lazy periods of polars": pl.DataFrame(pl.from_arrow(within("plain", periods()))).lazy(),
    "lists of periods of polars": pl.DataFrame(pl.from_arrow(within("list", periods()))),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("parts", [False, True])
def test_values_that_would_lose_their_meaning_are_refused(place: Place, kind: str, parts: bool) -> None:
    data = [REFUSED[kind]] if parts and "lazy" not in kind else REFUSED[kind]
    with pytest.raises(colonnade.NotSupportedError, match=r'column "v": .*(pandas\.|arrow\.opaque)') as caught:
        colonnade.write_sql(data, place.uri, "t")
    assert caught.value.sqlstate == "0A000" and not place.exists()
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(colonnade.NotSupportedError, match='column "v"'):
            colonnade.write_sql(data, connection, "t")
        if "lazy" not in kind:
            with (
                pytest.raises(colonnade.NotSupportedError, match='column "v"'),
                connection.append("t", if_exists="create_append") as rows,
            ):
                rows.write(REFUSED[kind])
    assert not place.exists()


def test_the_ways_out_are_ways_out(in_postgres: Place) -> None:
    frame = pd.DataFrame({"v": pd.Categorical(PERIODS)})
    with pytest.raises(colonnade.NotSupportedError) as caught:
        colonnade.write_sql(frame, in_postgres.uri, "t")
    assert 'astype("str")' in str(caught.value) and 'dtype={"v": "int64"}' in str(caught.value)
    colonnade.write_sql(frame.astype("str"), in_postgres.uri, "t")
    assert in_postgres.rows() == [{"v": "2020-01"}, {"v": "2020-02"}]
    for data in (frame, [frame], pl.DataFrame(pl.from_arrow(within("plain", periods())))):
        colonnade.write_sql(data, in_postgres.uri, "t", dtype={"v": "int64"}, if_exists="replace")
        assert in_postgres.rows() == [{"v": 600}, {"v": 601}]
    with pytest.raises(colonnade.NotSupportedError, match="binary"):
        colonnade.write_sql(within("plain", opaque()), in_postgres.uri, "u")
    colonnade.write_sql(within("plain", opaque()), in_postgres.uri, "u", dtype={"v": "binary"})
    assert in_postgres.rows("u") == [{"v": b"a"}, {"v": b"b"}]


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
def test_uuids_within_dictionaries_are_uuids(place: Place, kind: str) -> None:
    data = within(kind, uuids())
    expected = UUIDS if kind == "plain" else UUIDS[::-1]
    for given in (data, [data]):
        colonnade.write_sql(given, place.uri, "t", if_exists="replace")
        assert [str(row["v"]) for row in place.rows()] == list(map(str, expected))
        colonnade.write_sql(given, place.uri, "t", if_exists="append")


def test_categories_of_uuids(in_postgres: Place) -> None:
    colonnade.write_sql(pd.DataFrame({"v": pd.Categorical(UUIDS)}), in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as connection:
        assert connection.query("select pg_typeof(v)::text as t from t limit 1").to_arrow()["t"].to_pylist() == ["uuid"]


@pytest.mark.parametrize("kind", ["list", "struct", "list of dictionaries", "map"])
def test_uuids_within_other_types_are_uuids(in_duckdb: Place, kind: str) -> None:
    colonnade.write_sql(within(kind, uuids()), in_duckdb.uri, "t")
    with colonnade.connect(in_duckdb.uri) as connection:
        [[type_]] = [row.values() for row in connection.query("select typeof(v) from t limit 1").to_arrow().to_pylist()]
    assert "UUID" in type_


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
def test_booleans_of_a_byte_are_booleans(place: Place, kind: str) -> None:
    for data in (within(kind, booleans()), [within(kind, booleans())]):
        colonnade.write_sql(data, place.uri, "t", if_exists="replace")
        assert place.rows() == ([{"v": True}, {"v": False}] if kind == "plain" else [{"v": False}, {"v": True}])
    frame = pl.DataFrame(pl.from_arrow(within("plain", booleans())))
    colonnade.write_sql(frame, place.uri, "t", if_exists="replace")
    assert place.rows() == [{"v": True}, {"v": False}]


@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_booleans_of_a_byte_within_other_types(in_duckdb: Place, kind: str) -> None:
    colonnade.write_sql(within(kind, booleans()), in_duckdb.uri, "t")
    plain = within(kind, pa.array([True, False]))
    assert in_duckdb.rows() == plain.to_pylist()


class Odd:
    """A stream whose column says that it is of a type that its values cannot be of."""

    def __init__(self, name: str, array: pa.Array) -> None:
        field = pa.field("v", array.type, metadata={"ARROW:extension:name": name, "ARROW:extension:metadata": ""})
        # pyarrow itself would refuse to import it.
        self._table = pa.table([array], schema=pa.schema([field]))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__()


@pytest.mark.parametrize(("name", "array"), [("arrow.uuid", pa.array([1])), ("arrow.json", pa.array([1.5]))])
def test_an_odd_column_is_an_error_of_this_package(place: Place, name: str, array: pa.Array) -> None:
    for data in (Odd(name, array), [Odd(name, array)]):
        with pytest.raises(colonnade.Error, match='column "v"'):
            colonnade.write_sql(data, place.uri, "t")
    assert not place.exists()
    colonnade.write_sql(Odd(name, array), place.uri, "t", dtype={"v": array.type})
    assert [row["v"] for row in place.rows()] == array.to_pylist()
