"""Inputs of functions whose parameters have types that the wire or an aggregate's memory has in other forms: UNION,
MAP, and nested types of aggregates."""

from __future__ import annotations

import json
from typing import Any

import colonnade
import psycopg
import pytest

from tests.devudf.projects import Project
from tests.testbed.serving import Server

Session = psycopg.Connection[Any]

UNION = "UNION(num INTEGER, str VARCHAR)"
NESTED = 'STRUCT(u UNION(num INTEGER, str VARCHAR)[], m MAP(VARCHAR, UNION(b BIT, "a b" MAP(INTEGER, DATE))))'
FUNCTIONS = [
    f"mapped(u {UNION}) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ return [repr(one) for one in u.tolist()] $$",
    f"given(u {UNION}) RETURNS {UNION} LANGUAGE PYTHON_MAP AS $$ "
    "return [('str', one) if isinstance(one, str) else ('num', one) for one in u.tolist()] $$",
    f"nested(x {NESTED}) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ return [repr(one) for one in x.tolist()] $$",
    f"whole(u {UNION}) RETURNS VARCHAR LANGUAGE PYTHON AS $$ return [repr(u.tolist())] * len(u) $$",
    f"listed(u {UNION}, x {NESTED}) RETURNS TABLE(t VARCHAR) LANGUAGE PYTHON "
    "AS $$ return {'t': [repr(one) for one in u.tolist()]} $$",
    f"single(i INTEGER, u {UNION}) RETURNS TABLE(t VARCHAR) LANGUAGE PYTHON "
    "AS $$ return {'t': [repr(u)] * len(i)} $$",
    f"passed(u {UNION}) RETURNS TABLE(u {UNION}) LANGUAGE PYTHON "
    "AS $$ return {'u': [('str', one) if isinstance(one, str) else ('num', one) for one in u.tolist()]} $$",
]
AGGREGATES = [
    f"gathered(u {UNION}, l INTEGER[], s STRUCT(a VARCHAR, b DOUBLE[2]), m MAP(VARCHAR, INTEGER)) RETURNS VARCHAR "
    "LANGUAGE PYTHON_MAP AS $$ return repr([v.tolist() for v in (u, l, s, m)]) $$",
]
STATEMENTS = [
    *(f"CREATE FUNCTION {function}" for function in FUNCTIONS),
    *(f"CREATE AGGREGATE {aggregate}" for aggregate in AGGREGATES),
    f"""CREATE TABLE t AS SELECT i::INTEGER AS i, i % 2 AS g,
        CASE i WHEN 3 THEN NULL WHEN 4 THEN union_value(str := NULL::VARCHAR)
          WHEN 1 THEN union_value(str := 'text ' || i) ELSE union_value(num := i::INTEGER) END::{UNION} AS u,
        CASE i WHEN 2 THEN NULL ELSE {{'u': [union_value(num := 1)::{UNION}, NULL],
          'm': MAP {{'k': union_value("a b" := MAP {{1: DATE '2020-01-01'}})}}}} END::{NESTED} AS x
        FROM range(5) r(i)""",
]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("mapped", "SELECT mapped(u) FROM t"),
        ("mapped", "SELECT mapped(u) FROM t WHERE false"),
        ("given", "SELECT given(u) FROM t"),
        ("nested", "SELECT nested(x) FROM t"),
        ("whole", "SELECT whole(u) FROM t"),
        ("listed", "SELECT * FROM listed((SELECT u, x FROM t ORDER BY i))"),
        ("single", f"SELECT * FROM single((SELECT i FROM t), union_value(str := 'x')::{UNION})"),
        ("passed", "SELECT * FROM passed((SELECT u FROM t ORDER BY i))"),
        (
            "gathered",
            "SELECT gathered(u, CASE WHEN i < 3 THEN [i, NULL] END, {'a': u::VARCHAR, 'b': [i, 0.5]}, MAP {'k': i}) "
            "FROM t GROUP BY g",
        ),
    ],
)
def test_local_results_are_those_of_the_server(pulled: Project, session: Session, name: str, query: str) -> None:
    found = json.loads(pulled.done("run", name, "--sql", query, "--check", "--json"))
    assert found["difference"] is None
    if name not in ("given", "passed"):
        served = session.execute(query.encode()).fetchall()
        assert found["results"] == len(served)
        first = [one if isinstance(one, list) else [one] for one in found["first"]]
        assert sorted(first) == sorted(map(list, served))


@pytest.mark.usefixtures("session")
def test_a_union_is_a_struct_of_its_member_and_all_values(server: Server) -> None:
    expected = [
        {"member": "num", "values": {"num": 0, "str": None}},
        {"member": "str", "values": {"num": None, "str": "text 1"}},
        {"member": "num", "values": {"num": 2, "str": None}},
        None,
        {"member": "str", "values": {"num": None, "str": None}},
    ]
    with colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/") as connection:
        table = connection.query("EXPLAIN (INPUTS mapped) SELECT mapped(u) FROM t").to_arrow()
        assert table.column("u").to_pylist() == expected
        query = "SELECT * FROM passed((SELECT u FROM t ORDER BY i))"
        table = connection.query(f"EXPLAIN (INPUTS passed) {query}").to_arrow()
        # The first row has the arguments that are values.
        assert table.column("u").to_pylist() == [None, *expected]


def test_a_sample_of_an_aggregate_has_whole_nested_values(session: Session) -> None:
    query = "SELECT gathered(u, [i, i + 1], {'a': i::VARCHAR, 'b': [i, i]}, MAP {'k': i}) FROM t GROUP BY g"
    found = session.execute(f"EXPLAIN (INPUTS gathered, SAMPLE 3, SEED 1) {query}".encode()).fetchall()
    assert len(found) == 3
    for _, numbers, struct, entries, *_ in found:
        (i, _) = numbers
        assert str(i) in str(struct) and str(i) in str(entries)
        assert numbers == [i, i + 1]
