"""citext, which is received as text is and compares in another way: with the extension and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def citext(either: pg.Cluster) -> Iterator[pg.Cluster]:
    with either.connect() as session:
        if session.execute("select from pg_available_extensions where name = 'citext'").fetchone() is None:
            pytest.skip("this server has no citext")
    setup = (
        "create schema letters; create extension citext schema letters; create domain letters.word as letters.citext "
        "check (value <> 'no'); "
        "create table letters.t (k letters.citext primary key, v letters.citext[], w letters.word)"
    )
    with either.prepared(setup, "drop schema letters cascade"):
        yield either


WORDS = pa.table({"k": ["Ab", "b", ""], "v": [["X", None, "x"], [], None], "w": ["One", None, "oNe"]})


def stored(cluster: pg.Cluster) -> list[dict[str, Any]]:
    return colonnade.read_sql(cluster.uri(), "select * from letters.t order by k", return_type="arrow").to_pylist()


def test_types_that_are_received_as_text_take_texts(citext: pg.Cluster) -> None:
    colonnade.write_sql(WORDS, citext.uri(), "t", schema="letters", if_exists="truncate")
    assert stored(citext) == WORDS.take([2, 0, 1]).to_pylist()
    for value, sqlstate in (("no", "23514"), ("a\0", "22021")):
        with pytest.raises(colonnade.Error) as caught:
            colonnade.write_sql(
                pa.table({"k": ["z"], "w": [value]}), citext.uri(), "t", schema="letters", if_exists="append"
            )
        assert caught.value.sqlstate == sqlstate
    assert len(stored(citext)) == 3


def test_keys_that_ignore_case_are_written_as_they_are(citext: pg.Cluster) -> None:
    colonnade.write_sql(WORDS, citext.uri(), "t", schema="letters", if_exists="truncate")
    changed = pa.table({"k": ["aB", "new"], "w": ["two", "three"]})
    colonnade.write_sql(changed, citext.uri(), "t", schema="letters", if_exists="upsert", key=["k"])
    assert [(row["k"], row["w"]) for row in stored(citext)] == [
        ("", "oNe"),
        ("aB", "two"),
        ("b", None),
        ("new", "three"),
    ]
    with pytest.raises(colonnade.DatabaseError, match="two rows of the data have the key"):
        twice = pa.table({"k": ["q", "Q"], "w": ["x", "y"]})
        colonnade.write_sql(twice, citext.uri(), "t", schema="letters", if_exists="upsert", key=["k"])
