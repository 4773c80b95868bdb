"""Types that users and extensions define, with the extension and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import colonnade
import pytest

from tests.testbed import postgres as pg

#: `colon` is as PostGIS's geometry: a colon separates the items of its arrays. `"box"` has the name of the built-in
#: type whose arrays have a semicolon. Neither has a binary form.
SCHEMA = """
create schema own;
set search_path to own, public;
create type colon;
create function colon_in(cstring) returns colon language internal immutable strict as 'textin';
create function colon_out(colon) returns cstring language internal immutable strict as 'textout';
create type colon (input = colon_in, output = colon_out, delimiter = ':');
create type own."box";
create function own_in(cstring) returns own."box" language internal immutable strict as 'textin';
create function own_out(own."box") returns cstring language internal immutable strict as 'textout';
create type own."box" (input = own_in, output = own_out);
create domain colons as colon[];
create domain covered as colon;
create domain boxes as pg_catalog.box[];
create table own.text (a int);
create type mixed as (a colon[], b pg_catalog.box[], c own."box"[], d covered[], e inet[]);
"""


@pytest.fixture(scope="module")
def connection(either: pg.Cluster) -> Iterator[colonnade.Connection]:
    with either.prepared(SCHEMA, "drop schema own cascade"), colonnade.connect(either.uri()) as opened:
        yield opened


COLON = r"""'{a:"b:c":NULL:"NULL":"":"x,y":"q\"\\":"{"}'"""
COLON_ITEMS = ["a", "b:c", None, "NULL", "", "x,y", 'q"\\', "{"]
BOX = "'{(1,1),(0,0);(3,3),(2,2)}'"
BOX_ITEMS = ["(1,1),(0,0)", "(3,3),(2,2)"]
OWN_BOX = """'{a;b,"c,d;","(1,1),(0,0)"}'"""
OWN_BOX_ITEMS = ["a;b", "c,d;", "(1,1),(0,0)"]

ARRAYS = [
    (f"{COLON}::own.colon[]", COLON_ITEMS),
    (f"{COLON}::own.colons", COLON_ITEMS),
    (f"{COLON}::own.covered[]", COLON_ITEMS),
    ("array[null, 'a:b']::own.colon[]", [None, "a:b"]),
    ("'{}'::own.colon[]", []),
    (f"array[{COLON}::own.colons]", [COLON_ITEMS]),
    (f"{BOX}::pg_catalog.box[]", BOX_ITEMS),
    (f"array[{BOX}::own.boxes, null::own.boxes]", [BOX_ITEMS, None]),
    (f'{OWN_BOX}::own."box"[]', OWN_BOX_ITEMS),
    (
        f"row({COLON}, {BOX}, {OWN_BOX}, {COLON}, '{{::1,10.0.0.1}}')::own.mixed",
        {"a": COLON_ITEMS, "b": BOX_ITEMS, "c": OWN_BOX_ITEMS, "d": COLON_ITEMS, "e": ["::1", "10.0.0.1"]},
    ),
]


@pytest.mark.parametrize(("value", "expected"), ARRAYS)
@pytest.mark.parametrize("path", ["public", "own, pg_catalog"])
def test_items_are_separated_by_what_their_type_says(
    connection: colonnade.Connection, value: str, expected: Any, path: str
) -> None:
    connection.execute(f"set search_path to {path}")
    assert connection.query(f"select {value} as v").to_arrow()["v"].to_pylist() == [expected]
