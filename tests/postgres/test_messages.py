"""Messages that a server may send between any two others, and what it says of the values that it sends."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import colonnade
import psycopg
import pyarrow as pa
import pytest
from colonnade import dbapi

from tests.support.message_proxy import Rewriting, rewriting
from tests.support.proxy import message
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

NOISY = """
create schema noise;
create function noise.noisy(i int) returns int language plpgsql as $$
begin
    raise notice 'row %', i;
    perform set_config('application_name', 'row ' || i, false);
    perform pg_notify('noise', i::text);
    return i;
end $$;
create table noise.loud (i int);
create function noise.loud() returns trigger language plpgsql as $$
begin raise warning 'inserted %', new.i; return new; end $$;
create trigger loud before insert on noise.loud for each row execute function noise.loud();
create table noise.written (id serial, moment timestamp, t text);
create type noise.pair as (moment timestamptz, address inet);
"""


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[pg.Cluster]:
    with stock.prepared(NOISY, "drop schema noise cascade"):
        yield stock


@pytest.fixture(scope="module")
def server(either: pg.Cluster) -> Iterator[pg.Cluster]:
    with either.prepared(
        "create schema asides; create table asides.loud as select generate_series(1, 9) i", "drop schema asides cascade"
    ):
        yield either


def rows(connection: colonnade.Connection, sql: str, *values: object) -> list[dict[str, object]]:
    return connection.query(sql, list(values) or None).to_arrow().to_pylist()


def numbers(count: int) -> list[dict[str, object]]:
    return [{"i": i} for i in range(1, count + 1)]


# --- between any two messages -----------------------------------------------------------------------------------------


def test_messages_between_rows_belong_to_no_row(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        connection.execute("listen noise")
        for _ in range(3):
            # Described first, and then known.
            assert rows(connection, "select noise.noisy(i) as i from generate_series(1, 300) i") == numbers(300)
        beside = rows(connection, "select noise.noisy(i) as i, '::1'::inet as x from generate_series(1, 300) i")
        assert [row["i"] for row in beside] == list(range(1, 301))
        # A warning before the first row.
        assert rows(connection, "select pg_advisory_unlock(1) as u") == [{"u": False}]
        assert rows(connection, "insert into noise.loud select generate_series(1, 50) returning i") == numbers(50)
        # A long result, whose rows another thread receives.
        long = connection.query("select noise.noisy(i) as i, repeat('x', 1000) as t from generate_series(1, 3000) i")
        assert long.to_arrow()["i"].to_pylist() == list(range(1, 3001))
        assert rows(connection, "select count(*) as n from noise.loud") == [{"n": 50}]


def test_messages_between_rows_of_a_cursor_and_of_a_gateway(postgres: pg.Cluster) -> None:
    sql = "select noise.noisy(i) as i from generate_series(1, 300) i"
    with dbapi.connect(postgres.uri()) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        assert cursor.fetchall() == [(i,) for i in range(1, 301)]
    with serve("--source", postgres.uri()) as front, psycopg.connect(front.dsn, autocommit=True) as client:
        assert client.execute(sql).fetchall() == [(i,) for i in range(1, 301)]


ASIDES = [
    message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mwell\0\0"),
    message(b"S", b"application_name\0another\0"),
    message(b"A", b"\0\0\0\1channel\0load\0"),
]


def beside(seed: int) -> Rewriting:
    """Puts messages that belong to no answer before others, from the end of the login on."""
    choice = random.Random(seed)
    logged_in = False

    def said(whole: bytes) -> bytes:
        nonlocal logged_in
        asides = ASIDES if logged_in else ASIDES[:0]
        logged_in |= whole[:1] == b"Z"
        return b"".join(choice.sample(asides, choice.randint(0, len(asides)))) + whole

    return said


def talk(uri: str) -> list[object]:
    """What a client sees that uses each kind of conversation."""
    seen: list[object] = []
    with colonnade.connect(uri) as connection:
        for _ in range(2):
            seen.append(rows(connection, "select i, 'x' || i as t from generate_series(1, 5) i"))
            seen.append(rows(connection, "select $1 + i as i, '::1'::inet as x from generate_series(1, 5) i", 7))
        seen.append(connection.execute("create temp table own (i int, t text)"))
        seen.append(connection.execute("insert into own values ($1, 'a'), (2, 'b')", [1]))
        seen.append(connection.write(pa.table({"i": [3], "t": ["c"]}), "own", if_exists="append").rows)
        seen.append(rows(connection, "delete from own returning i, t"))
        with pytest.raises(colonnade.DataError, match="division by zero"):
            rows(connection, "select 1 / (3 - i) as i from generate_series(1, 5) i")
        connection.execute("begin")
        seen.append(connection.query("select 1 as i where false").to_arrow().to_pydict())
        connection.execute("rollback")
        seen.append(str(connection.schema("pg_class")))
        seen.append(connection.query("select i from generate_series(1, 20000) i").to_arrow().num_rows)
    query = "select i from asides.loud"
    seen.append(colonnade.read_sql(query, uri, partition_on="i", partition_num=2, return_type="arrow").num_rows)
    return seen


@pytest.mark.parametrize("seed", range(8))
def test_messages_between_any_two_change_nothing(server: pg.Cluster, seed: int) -> None:
    with rewriting(server, said=lambda: beside(seed)) as uri:
        assert talk(uri) == talk(server.uri())


# --- what the server says of its values -------------------------------------------------------------------------------


def in_text(asked: bytes) -> bytes:
    """A Bind without values that requests text for all columns."""
    without_values = b"\0" * 6
    if asked[:1] != b"B" or asked[5:11] != without_values:
        return asked
    count = int.from_bytes(asked[11:13], "big")
    return message(b"B", without_values + asked[11:13] + b"\0\0" * count)


def test_a_server_that_sends_text_is_not_read_as_binary(postgres: pg.Cluster) -> None:
    with rewriting(postgres, asked=lambda: in_text) as uri, colonnade.connect(uri) as connection:
        for _ in range(2):
            said = 'column "a": the server sends text although binary was requested'
            with pytest.raises(colonnade.NotSupportedError, match=said) as caught:
                rows(connection, "select 'x' as t, 1234 as a")
            assert caught.value.hint is not None and "cast the column to text" in caught.value.hint
            # As the hint says. The two forms of text are the same bytes.
            assert rows(connection, "select 'x' as t, 1234::text as a, '{}'::json as j") == [
                {"t": "x", "a": "1234", "j": "{}"}
            ]


def second_description(change: Callable[[bytes], bytes]) -> Rewriting:
    """Changes the answer to the second Describe of each statement, that of the bound statement."""
    described = 0

    def said(whole: bytes) -> bytes:
        nonlocal described
        described = 0 if whole[:1] == b"Z" else described + (whole[:1] == b"T")
        return change(whole) if whole[:1] == b"T" and described == 2 else whole

    return said


def test_columns_that_are_others_when_bound_are_refused(postgres: pg.Cluster) -> None:
    integer, text = b"\0\0\0\x17\0\x04", b"\0\0\0\x19\0\x04"
    said = second_description(lambda whole: whole.replace(integer, text))
    with rewriting(postgres, said=lambda: said) as uri, colonnade.connect(uri) as connection:
        connection.execute("select 1")
        with pytest.raises(colonnade.Error, match="the columns of this statement have changed"):
            rows(connection, "select 1234 as a")
        assert rows(connection, "select 'x' as t") == [{"t": "x"}]


def test_a_tag_without_a_number_ends_an_answer(postgres: pg.Cluster) -> None:
    def without_number(whole: bytes) -> bytes:
        return message(b"C", b"SELECT\0") if whole.startswith(b"C") and b"SELECT" in whole else whole

    with rewriting(postgres, said=lambda: without_number) as uri, colonnade.connect(uri) as connection:
        for _ in range(2):
            assert rows(connection, "select i from generate_series(1, 5) i") == numbers(5)


@contextmanager
def float_times(postgres: pg.Cluster) -> Iterator[colonnade.Connection]:
    """A connection to a server that says that it computes times in floats."""

    def said(whole: bytes) -> bytes:
        return whole if b"integer_datetimes" not in whole else message(b"S", b"integer_datetimes\0off\0")

    with rewriting(postgres, said=lambda: said) as uri, colonnade.connect(uri) as connection:
        yield connection


def test_times_of_a_server_that_computes_them_in_floats_are_read_as_text(postgres: pg.Cluster) -> None:
    moments = """select d, d::timestamp + '1.000001 s' as ts, d::timestamptz as tz, '12:34:56.789'::time as t,
        '1 mon -2 days 03:04:05.6'::interval as i, array[d::timestamp, null] as a, (d, '::1')::noise.pair as p
        from generate_series(date '2024-01-01', '2024-12-31', '40 days') as g(m), date(m) as d"""
    with float_times(postgres) as connection, colonnade.connect(postgres.uri()) as other:
        for _ in range(2):
            assert connection.query(moments).to_arrow().equals(other.query(moments).to_arrow())
        value = datetime.datetime(2024, 2, 29, 12, 0, 0, 1)
        assert rows(connection, "select $1 as v", value) == [{"v": value}]


def test_times_are_not_written_to_a_server_that_computes_them_in_floats(postgres: pg.Cluster) -> None:
    table = pa.table({"moment": pa.array([datetime.datetime(2024, 1, 1)]), "t": ["a"]})
    with float_times(postgres) as connection:
        with pytest.raises(colonnade.NotSupportedError, match=r'"moment": the server computes timestamp .* in floats'):
            connection.write(table, "written", schema="noise", if_exists="append")
        assert connection.write(table.select(["t"]), "written", schema="noise", if_exists="append").rows == 1


# --- the last message -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["tcp", "unix"])
def test_the_reason_of_an_ended_session_is_told(postgres: pg.Cluster, way: str) -> None:
    """By the first statement of an idle connection, which asks for the extension before, and by a later one."""
    uri = postgres.uri(tcp=way == "tcp")
    for used in (False, True):
        with colonnade.connect(uri) as connection, postgres.connect() as other:
            if used:
                rows(connection, "select 1")
            pids = "select pid from pg_stat_activity where application_name = 'colonnade' and state = 'idle'"
            for (pid,) in other.execute(pids).fetchall():
                other.execute("select pg_terminate_backend(%s)", [pid])
                alive = "select 1 from pg_stat_activity where pid = %s"
                wait_until(lambda pid=pid, alive=alive: other.execute(alive, [pid]).rowcount == 0)
            with pytest.raises(colonnade.Error, match="terminating connection") as caught:
                connection.query("select 1")
            assert caught.value.sqlstate == "57P01"


def test_the_session_ends_while_similar_names_are_looked_for(postgres: pg.Cluster) -> None:
    ended = message(b"E", b"SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")
    ends = False

    def said(whole: bytes) -> bytes:
        return ended if ends and whole[:1] == b"D" else whole

    with rewriting(postgres, said=lambda: said) as uri, colonnade.connect(uri) as connection:
        rows(connection, "select 1")
        ends = True
        with pytest.raises(colonnade.ProgrammingError, match='relation "nope" does not exist') as caught:
            connection.query("select * from nope")
        assert caught.value.sqlstate == "42P01" and "colonnade tables" in (caught.value.hint or "")
        with pytest.raises(colonnade.OperationalError):
            rows(connection, "select 1")
