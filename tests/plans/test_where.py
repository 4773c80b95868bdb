"""`columns`, `where` and `limit` of a part give what polars makes of the whole part."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import reduce
from operator import and_, or_
from typing import Any

import colonnade
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.testbed import postgres as pg

QUERY = 'select id, sort, price, word, at, flag, day, "Odd ""name" from plans.readings where id <= 400'


@pytest.fixture(scope="module")
def part(cluster: pg.Cluster) -> Iterator[colonnade.Part]:
    with colonnade.plan(cluster.uri(), QUERY, 2, "id") as plan:
        yield plan.parts[0]


@pytest.fixture(scope="module")
def whole(part: colonnade.Part) -> pl.DataFrame:
    return part.read("polars")


COMPARED = st.one_of(
    st.integers(-1, 401).map(lambda value: pl.col("id") > value),
    st.integers(-1, 7).map(lambda value: pl.col("sort") == value),
    st.lists(st.integers(0, 6), min_size=1).map(lambda values: pl.col("sort").is_in(values)),
    st.integers(0, 400).map(lambda days: pl.col("day") >= dt.date(2024, 1, 1) + dt.timedelta(days)),
    st.sampled_from("0123456789abcdef").map(lambda digit: pl.col("word").str.starts_with(digit)),
    st.just(pl.col("flag")),
    st.just(pl.col("sort").is_null()),
)
WHERE = st.recursive(
    COMPARED,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda all_of: reduce(and_, all_of)),
        st.lists(inner, min_size=2, max_size=3).map(lambda any_of: reduce(or_, any_of)),
        inner.map(lambda predicate: ~predicate),
    ),
    max_leaves=4,
)
NAMES = ["id", "sort", "price", "word", "at", "flag", "day", 'Odd "name']


@given(where=st.none() | WHERE, columns=st.none() | st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_chosen_is_what_polars_chooses(
    part: colonnade.Part, whole: pl.DataFrame, where: pl.Expr | None, columns: list[str] | None
) -> None:
    expected = whole if where is None else whole.filter(where)
    expected = expected if columns is None else expected.select(columns)
    assert part.read("polars", columns=columns, where=where).equals(expected)
    assert part.read("polars", columns=columns, where=where, limit=3).equals(expected.head(3))


@pytest.mark.parametrize(
    "where",
    [
        pl.col("id") > pl.col("id").mean(),
        pl.col("id").shift(1) > 1,
        pl.col("id").is_unique(),
        pl.lit(True),
        pl.all() > 1,
    ],
)
def test_a_predicate_of_several_rows_is_refused(part: colonnade.Part, where: pl.Expr) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="predicate of single rows"):
        part.read("arrow", where=where)


@pytest.mark.parametrize(
    "arguments",
    [{"columns": ["nothing"]}, {"columns": "id"}, {"columns": ["id", "id"]}, {"limit": -1}, {"where": "id > 5"}],
)
def test_wrong_choices_are_refused(part: colonnade.Part, arguments: Any) -> None:
    with pytest.raises(colonnade.InterfaceError):
        part.read("arrow", **arguments)


def test_rows_are_counted_without_columns(part: colonnade.Part, whole: pl.DataFrame) -> None:
    assert part.read("arrow", columns=[]).num_rows == len(whole)
