"""Enumerations have numbers of their own, and so have their arrays."""

from __future__ import annotations

import enum

import psycopg
import pytest
from psycopg.types.enum import EnumInfo, register_enum

from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


class Mood(enum.Enum):
    SAD = "sad"
    OK = "o k"


@pytest.fixture(autouse=True)
def mood(connection: psycopg.Connection) -> None:
    connection.execute("drop table if exists moods; drop type if exists mood")
    connection.execute("create type mood as enum ('sad', 'o k')")
    connection.execute("create table moods (m mood, l mood[])")


@pytest.mark.parametrize("binary", [False, True])
def test_values_and_arrays_of_an_enumeration(connection: psycopg.Connection, binary: bool) -> None:
    info = EnumInfo.fetch(connection, "mood")
    assert info is not None and info.labels == ["sad", "o k"] and info.array_oid != 0
    register_enum(info, connection, Mood, mapping={mood: mood.value for mood in Mood})
    place = "%b" if binary else "%t"
    row = (Mood.OK, [Mood.SAD, Mood.OK, None])
    connection.execute(f"insert into moods values ({place}, {place})", row)
    found = connection.cursor(binary=binary).execute("select m, l from moods")
    assert [column.type_code for column in found.description or ()] == [info.oid, info.array_oid]
    assert found.fetchall() == [row]
    # Nothing else says what the parameter is.
    assert connection.execute(f"select {place}", [Mood.SAD], binary=binary).fetchall() == [(Mood.SAD,)]


def test_the_catalog_has_the_same_numbers(connection: psycopg.Connection) -> None:
    of_table = "from pg_attribute where attrelid = 'moods'::regclass and attnum > 0"
    query = f"select attname, atttypid {of_table} order by attnum"
    described = connection.execute("select * from moods").description or ()
    assert connection.execute(query).fetchall() == [(column.name, column.type_code) for column in described]
    names = connection.execute(f"select format_type(atttypid, -1) {of_table}")
    assert {name for (name,) in names.fetchall()} >= {"mood", "mood[]"}


def test_a_new_type_has_a_new_number(connection: psycopg.Connection, server: Server) -> None:
    def number(session: psycopg.Connection) -> int:
        return (session.execute("select m from moods", prepare=False).description or ())[0].type_code

    with psycopg.connect(server.dsn, autocommit=True) as other:
        before = number(other)
        assert number(connection) == before
        connection.execute("drop table moods; drop type mood; create type mood as enum ('sad', 'o k')")
        connection.execute("create table moods (m mood)")
        after = connection.execute("select 'mood'::regtype::oid").fetchall()
        assert [(number(connection),)] == [(number(other),)] == after != [(before,)]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("int", 23),
        ("INTEGER", 23),
        ("double precision", 701),
        ("timestamp(3) with time zone", 1184),
        ("numeric(9, 2)[]", 1231),
        ("pg_catalog.int4", 23),
        ("character varying", 1043),
        ("nothing", None),
    ],
)
def test_types_have_all_their_names(connection: psycopg.Connection, name: str, number: int | None) -> None:
    assert connection.execute("select to_regtype(%s)", [name]).fetchall() == [(number,)]


def test_the_number_of_a_values_type(connection: psycopg.Connection) -> None:
    query = "select pg_typeof(1::int2)::oid, pg_typeof(1.5::float8)::regtype = 'double precision'::regtype"
    assert connection.execute(query).fetchall() == [(21, True)]
    assert connection.execute("select 23 = any('{int,text}'::regtype[])").fetchall() == [(True,)]
