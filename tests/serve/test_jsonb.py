"""Operators of jsonb, compared with PostgreSQL's."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.testbed import postgres as pg
from tests.testbed.serving import connected

connection = pytest.fixture(connected)


@pytest.fixture
def in_postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as postgres:
        yield postgres


FROM = 'from (select \'{"a": [1, 2, {"k": 3}], "b": {"x": 1, "yy": null}}\'::jsonb as j) as t'


@pytest.mark.parametrize(
    "query",
    [
        f"select j -> 'a' {FROM} where j->'a'->0 = '1' and t.j->'b' is not null and (j->'c') is null",
        f"select j->'a'->>1 {FROM} where j->>'a' like '[1%' and not j->'a'->0 in ('2') and '2' = j->'a'->1",
        f"select 1 {FROM} where j->'b' = '{{\"yy\" :null, \"x\":1}}' and j->'a' <> '[1]'",
        f"select case when j->'a'->0 = '5' then 1 else 2 end, j->'a'->-1->'k' {FROM}",
        "select '{\"b\":1, \"a\":2}'::jsonb = '{\"a\": 2,\"b\":1}'::jsonb, jsonb '[1, 2]' <> '[1,2]'",
        'select 1 where cast(\'{"b": [1,"x"]}\' as jsonb) = \'{ "b":[1,"x"] }\'',
        'select \'{"a":1, "b":{"x":1}}\'::jsonb || \'{"b":{"y":2},"c":null}\'::jsonb',
        "select '[1, 2]'::jsonb || '3'::jsonb || '[[4]]'::jsonb",
        "select '1'::jsonb || '{\"a\":1}', '{}'::jsonb || '[]'::jsonb, null::jsonb || '1'::jsonb",
        f"select (j->'a') || '[true]' || '{{\"z\": 1}}'::jsonb {FROM}",
        f"select j->>'b' || 'x' {FROM}",
        f"select 'x' || '{{}}'::jsonb::text {FROM} where '{{}}'::jsonb::text = '{{}}'",
    ],
)
def test_operators_are_postgresqls(connection: psycopg.Connection, in_postgres: psycopg.Connection, query: str) -> None:
    if "j->>'b' ||" in query:
        # The text of a value has no spaces here.
        assert connection.execute(query.encode()).fetchall() == [('{"x":1,"yy":null}x',)]
        return
    assert connection.execute(query.encode()).fetchall() == in_postgres.execute(query.encode()).fetchall()


def test_changes_of_a_column(connection: psycopg.Connection, in_postgres: psycopg.Connection) -> None:
    found = []
    for session in (connection, in_postgres):
        session.execute("create temp table documents (id int primary key, j jsonb)")
        session.execute(
            "insert into documents values (1, %s), (2, '[1]'::jsonb)", [Jsonb({"b": 1, "a": {"z": [1, 2]}})]
        )
        session.execute("update documents set j = j || %s::jsonb, id = id where j->'b' = '1'", ['{"c": 3}'])
        session.execute("update documents set j = '[2]'::jsonb where j = '[ 1 ]'::jsonb")
        where = "j = %s::jsonb or j->'none' = '1'"
        values = ['{"c":3, "a":{"z":[1,2]}, "b":1}']
        found.append(
            [
                session.execute("select j from documents order by id").fetchall(),
                session.execute(f"select id from documents where {where}".encode(), values).fetchall(),
            ]
        )
        session.execute("drop table documents")
    assert found[0] == found[1]


#: Few keys and scalars, so that parts are found.
DOCUMENTS = st.recursive(
    st.sampled_from([None, True, 1, 2, 1.5, "a", "1", ""]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from("ab"), values, max_size=2),
    max_leaves=6,
)


@given(pairs=st.lists(st.tuples(DOCUMENTS, DOCUMENTS), min_size=20, max_size=20))
@example([([1, [2]], [2]), ([1, 2], 2), ([[1]], 1), (1, [1]), ({"a": {"b": 1}}, {"b": 1})])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_containment_is_postgresqls(
    connection: psycopg.Connection, in_postgres: psycopg.Connection, pairs: list[tuple[object, object]]
) -> None:
    texts = [[json.dumps(value) for value in side] for side in zip(*pairs, strict=True)]
    query = """select a::jsonb @> b::jsonb, a::jsonb <@ b::jsonb, b::jsonb @> b::jsonb
               from (select unnest(%s::text[]) as a, unnest(%s::text[]) as b) as t"""
    assert connection.execute(query, texts).fetchall() == in_postgres.execute(query, texts).fetchall()


def test_containment_of_columns_parameters_and_literals(
    connection: psycopg.Connection, in_postgres: psycopg.Connection
) -> None:
    found = []
    for session in (connection, in_postgres):
        session.execute("create temp table documents (id int primary key, j jsonb, k jsonb)")
        session.execute("""insert into documents values (1, '{"a": [1.0, "x"]}', '[1]'), (2, '[]', null)""")
        query = """select id, j @> '{"a": [1]}', j->'a' @> k, k <@ '[1, 2]', j @> null, '[1]' <@ (j->'a'), j @> %s
                   from documents where j @> %s or not j @> %s order by id"""
        found.append(session.execute(query, ["[]", '{"a": ["x"]}', Jsonb({})]).fetchall())
        session.execute("drop table documents")
    assert found[0] == found[1]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute("select '[1]'::jsonb @> '[1'")
