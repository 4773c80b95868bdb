"""What clients of PostgreSQL write, and DuckDB has in another way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import psycopg
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server


@pytest.fixture
def session(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as opened:
        yield opened


def test_six_digits_of_seconds_are_those_of_all_times(session: psycopg.Connection) -> None:
    session.execute(
        "create temp table times (a timestamp(6) with time zone, b timestamptz(6), c time(6), d timestamp(6), "
        "e timestamp(6) without time zone default current_timestamp(6))"
    )
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 123456, dt.UTC)
    plain = moment.replace(tzinfo=None)
    session.execute("insert into times values (%s, %s, %s, %s, %s)", [moment, moment, plain.time(), plain, plain])
    assert session.execute("select * from times").fetchall() == [(moment, moment, plain.time(), plain, plain)]
    ((now, digits),) = session.execute("select current_timestamp(0), current_timestamp(3)").fetchall()
    assert now.tzinfo is not None and now.microsecond == 0 and digits.microsecond % 1000 == 0
    with pytest.raises(psycopg.Error, match="does not take any type parameters"):
        session.execute("select now()::timestamptz(3)")
    session.execute("create temp table other (a timestamp(3) with time zone)")
    session.execute("insert into other values (%s)", [moment])
    assert session.execute("select * from other").fetchall() == [(moment,)]


def test_arrays_of_json_have_any_number_of_items(session: psycopg.Connection) -> None:
    found = session.execute("select json_build_array(1, 'a', null, true), jsonb_build_array()").fetchall()
    assert found == [([1, "a", None, True], [])]
    many = ", ".join(map(str, range(40)))
    assert session.execute(f"select pg_catalog.json_build_array({many})").fetchall() == [(list(range(40)),)]


def test_a_series_among_columns_is_rows(session: psycopg.Connection) -> None:
    found = session.execute("select generate_series(1, 3), generate_series(1, 2) + 10 as other")
    assert [column.name for column in found.description or ()] == ["generate_series", "other"]
    assert found.fetchall() == [(1, 11), (2, 12), (3, None)]
    assert session.execute("select count(*) from (select generate_series(%s, %s)) t", [5, 9]).fetchall() == [(5,)]
    assert session.execute("select len(generate_series(1, 3))").fetchall() == [(3,)]


def test_a_relations_comment_by_its_number_alone(session: psycopg.Connection) -> None:
    session.execute("create temp table told (i int)")
    session.execute("comment on table told is 'of goods'")
    assert session.execute("select obj_description('told'::regclass)").fetchall() == [("of goods",)]


def test_a_time_zone_by_its_offset(session: psycopg.Connection) -> None:
    session.execute("set timezone to '-02:00'")
    assert session.execute("select '2024-01-01 00:00+00'::timestamptz::text").fetchall() == [
        ("2024-01-01 02:00:00+02",)
    ]
    for zone, east in (("-07:08", "+07:08"), ("12:00", "-12"), ("NOSUCH0", "+00"), ("<+05:30>-05:30", "+05:30")):
        session.execute(f"set timezone to '{zone}'")
        query = "select ('2024-01-01 00:00:00' || %s)::timestamptz::text, current_setting('timezone')"
        shown, name = session.execute(query, [east]).fetchone() or ("", "")
        assert shown == f"2024-01-01 00:00:00{east}"
        # The name that is shown sets the same zone.
        assert session.execute("show timezone").fetchone() == (name,)
        session.execute("select set_config('timezone', %s, false)", [name])
        assert session.execute("show timezone").fetchone() == (name,)
        assert session.execute("select '00:00'::timetz::text").fetchone() == (f"00:00:00{east}",)
    session.execute("begin; set timezone = 'UTC'; rollback")
    assert session.execute("show timezone").fetchone() == ("<+05:30>-05:30",)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="an offset"):
        session.execute("set timezone to '+05:60'")
    session.execute("reset timezone")


def shown_path(session: psycopg.Connection) -> tuple[str, str | None, list[str]]:
    """The search path as it was set, the current schema, and the schemas of the path that exist."""
    ((path,),) = session.execute("show search_path").fetchall()
    ((current, schemas),) = session.execute("select current_schema(), current_schemas(false)").fetchall()
    return path, current, schemas


def test_a_search_path_may_name_schemas_that_do_not_exist_yet(server: Server) -> None:
    options = "-csearch_path=spelled,spelled_too"
    with psycopg.connect(server.dsn, autocommit=True, options=options) as session:
        assert shown_path(session) == ("spelled, spelled_too", None, [])
        with pytest.raises(psycopg.errors.InvalidSchemaName):
            session.execute("create table goods (i int)")
        session.execute("create schema spelled_too")
        session.execute("create schema spelled")
        session.execute("create table goods (i int)")
        assert session.execute("select schemaname from pg_tables where tablename = 'goods'").fetchall() == [
            ("spelled",)
        ]
        session.execute("set search_path to nowhere, spelled_too")
        assert shown_path(session) == ("nowhere, spelled_too", "spelled_too", ["spelled_too"])
        # What sets another path awaits nothing any more.
        for reset in ("reset search_path", "reset all", "use spelled"):
            session.execute("set search_path to awaited")
            assert shown_path(session)[0] == "awaited", reset
            session.execute(reset)
            path = shown_path(session)
            session.execute("create schema awaited; drop schema awaited")
            assert shown_path(session) == path, reset
            assert path[1] is not None and path[1] in path[0], reset
        session.execute("set search_path to public")
        session.execute("drop schema spelled cascade")
        session.execute("drop schema spelled_too")


def test_json_is_aggregated_in_order(session: psycopg.Connection) -> None:
    rows = "from (values (1, 'b'), (2, 'a'), (3, null)) t(i, s)"
    for aggregate, expected in (
        ("json_agg(s order by i desc)", [None, "a", "b"]),
        ("jsonb_agg(distinct i % 2 order by i % 2)", [0, 1]),
        ("json_agg(i order by i) filter (where s is not null)", [1, 2]),
        ("json_agg(i order by i) filter (where i > 9)", None),
        ("json_agg(json_build_array(i, s) order by s nulls last)", [[2, "a"], [1, "b"], [3, None]]),
    ):
        assert session.execute(f"select {aggregate} {rows}").fetchall() == [(expected,)], aggregate
    found = session.execute(f"select i, json_agg(i) over (order by i) {rows} order by i").fetchall()
    assert found == [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]


@pytest.mark.parametrize("limit", ["limit %s offset %s", "offset %s rows fetch next %s rows only"])
def test_parameters_limit_subqueries(session: psycopg.Connection, limit: str) -> None:
    query = (
        "select o.i, f.j from (values (1), (2)) o(i), "
        f"lateral (select j from (values (10), (20), (30)) t(j) where j > o.i order by j {limit}) f "
        "where o.i < %s order by 1, 2 limit %s"
    )
    assert session.execute(query, (1, 1, 9, 5)).fetchall() == [(1, 20), (2, 20)]
    assert session.execute(query, (1, 1, 2, 5)).fetchall() == [(1, 20)]


def test_a_subquery_may_select_nothing(session: psycopg.Connection) -> None:
    assert session.execute("select exists (select from range(3)), exists (select from range(0))").fetchall() == [
        (True, False)
    ]


def test_literals_are_exact(session: psycopg.Connection) -> None:
    for given, expected in (
        ("'1000000000.123456789'::numeric", "1000000000.123456789"),
        ("cast('1.5' as decimal)", "1.5"),
        ("numeric '0.00001'", "0.00001"),
        ("'2000-01-01 00:00 +2'::timestamptz at time zone 'UTC'", "1999-12-31 22:00:00"),
        ("'00:00-10:00'::timetz", "00:00:00-10"),
        ("interval '-1 mon +2 days'", "-1 mons +2 days"),
        ("cast('{a,\"b c\"}' as varchar[])", '{a,"b c"}'),
    ):
        result = session.pgconn.exec_(f"select {given}".encode())
        assert (result.get_value(0, 0) or result.error_message.encode()).decode() == expected


def test_a_text_is_cast_to_an_array(session: psycopg.Connection) -> None:
    for given, cast in (("{1,2}", "int[]"), ('{a,"b c",NULL}', "text[]")):
        found = psycopg.RawCursor(session).execute(f"select $1::{cast}", [given]).fetchall()
        assert found == [([1, 2] if cast == "int[]" else ["a", "b c", None],)]


def test_types_may_be_quoted(session: psycopg.Connection, stock: pg.Cluster) -> None:
    query = r"""select '\x00ff'::"bytea", cast('\x00ff' as pg_catalog."bytea"), '{1,2}'::"int4"[],
                       '1.23456'::"numeric", '2000-01-01 00:00 +2'::"timestamptz" = '1999-12-31 22:00:00+00'"""
    with stock.connect() as postgres:
        assert session.execute(query).fetchall() == postgres.execute(query).fetchall()
