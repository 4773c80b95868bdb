"""Texts that a function returns for JSON: they are what DuckDB takes for JSON."""

from __future__ import annotations

import json

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions.plans import Caller
from tests.functions.sessions import rows, server_of, value

FUNCTIONS = (
    "CREATE FUNCTION made(x VARCHAR) RETURNS JSON LANGUAGE PYTHON_MAP AS $$ return x $$",
    "CREATE FUNCTION listed(x VARCHAR) RETURNS JSON[] LANGUAGE PYTHON_MAP AS $$ return [['1', one] for one in x] $$",
    "CREATE FUNCTION mapped(x VARCHAR) RETURNS MAP(VARCHAR, STRUCT(a INTEGER, b JSON)) LANGUAGE PYTHON_MAP AS "
    "$$ return [{'k': {'a': 1, 'b': one}} for one in x] $$",
    "CREATE FUNCTION chosen(x VARCHAR) RETURNS UNION(t VARCHAR, j JSON) LANGUAGE PYTHON_MAP AS "
    "$$ return [('t', one) if one == 'text' else ('j', one) for one in x] $$",
    "CREATE FUNCTION tabled(x VARCHAR) RETURNS TABLE(i INTEGER, j JSON) LANGUAGE PYTHON AS "
    "$$ return [range(len(x)), x] $$",
    "CREATE FUNCTION whole(x VARCHAR) RETURNS JSON LANGUAGE PYTHON AS $$ return x $$",
    "CREATE FUNCTION arrow(x VARCHAR) RETURNS JSON LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS $$ return x $$",
    "CREATE AGGREGATE newest(x VARCHAR) RETURNS JSON LANGUAGE PYTHON_MAP AS $$ return x[-1] $$",
)
CALLS = (
    "SELECT made(x) FROM {}",
    "SELECT sum(json_array_length(made(x))) FROM {}",
    "SELECT listed(x) FROM {}",
    "SELECT mapped(x) FROM {}",
    "SELECT chosen(x)::VARCHAR FROM {}",
    "FROM tabled((SELECT x FROM {}))",
    "SELECT whole(x) FROM {}",
    "SELECT arrow(x) FROM {}",
    "SELECT newest(x) FROM {} GROUP BY x",
    "SELECT newest(x ORDER BY x) FROM {} GROUP BY x",
)

server = server_of(FUNCTIONS)


@pytest.mark.parametrize("call", CALLS)
def test_each_way_refuses_other_texts(session: psycopg.Connection, call: str) -> None:
    valid = "(VALUES ('[1, 2]'), (' {\"a\": null} '), (NULL)) t(x)"
    assert rows(session, call.format(valid))
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match=r"row \d+: the text is no JSON: no \[json"):
        session.execute(call.format("(VALUES ('[1, 2]'), ('no [json')) t(x)").encode())
    # The process works on.
    assert value(session, "SELECT made('{}')") == {}


def test_values_of_other_members_are_texts(session: psycopg.Connection) -> None:
    assert value(session, "SELECT chosen('text')::VARCHAR") == "text"


WORDS = st.sampled_from(
    [
        *("[", "]", "{", "}", ",", ":", '"', '"a"', '"a":', "1", "0", "-", "1.5", "e", "E+3", ".", "true", "null"),
        *("nan", "Infinity", "inf", "\\u00e9", "\\ud83d", "\\ude00", '"\\ud83d\\ude00"', "\\n", " ", "\n", "\t"),
        *("é", "\x01", "//"),
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=8).map("".join),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(exclude_characters="\0")),
        lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=3),
        max_leaves=8,
    ).map(json.dumps),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_json_is_what_duckdb_takes_for_it(plans: Caller, text: str) -> None:
    plans.define("made", {"x": "VARCHAR"}, "JSON", "return x")
    plans.connection.execute("CREATE OR REPLACE TEMP TABLE given AS SELECT $1::VARCHAR AS x", [text])
    if plans.value("SELECT json_valid(x) FROM given"):
        assert plans.value("SELECT made(x) FROM given") == text
    else:
        assert plans.failure("SELECT made(x) FROM given")["code"] == "22P02"
