"""Sessions in time zones other than UTC: statements keep their meaning, and points in time are exact."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import colonnade
import pyarrow as pa
import pytest
from colonnade import dbapi

from tests.support import fronts
from tests.testbed import mariadb

#: In place of a name, so that the tests need no files of time zones.
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
#: The end of DST in 2024.
END = 1729990800
#: Every ten minutes from two hours before it to two hours after, in UTC.
ALL = [dt.datetime.fromtimestamp(END + minutes * 60, dt.UTC) for minutes in range(-120, 121, 10)]
HOUR = dt.timedelta(hours=1)
#: Those that share their local time with another one, where the clock is set back.
SHARED = [moment for moment in ALL if ALL[12] - HOUR <= moment < ALL[12] + HOUR]
#: What a cursor keeps. MySQL's keeps local times.
MOMENTS = [moment for moment in ALL if not mariadb.is_mysql() or moment not in SHARED]
#: How many of these are between two and three o'clock in Berlin.
TWO = sum(moment in SHARED for moment in MOMENTS)
#: A zone of the server's own tables with the same change.
TABLES = f"""
insert into mysql.time_zone (use_leap_seconds) values ('N');
set @id = last_insert_id();
insert into mysql.time_zone_name (name, time_zone_id) values ('Test/Berlin', @id);
insert into mysql.time_zone_transition_type (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation)
values (@id, 0, 3600, 0, 'CET'), (@id, 1, 7200, 1, 'CEST');
insert into mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id)
values (@id, {END - 210 * 86400}, 1), (@id, {END}, 0);
"""
#: Zones that two points in time may share a local time in.
CHANGING = ("SYSTEM", "Test/Berlin")
ZONES = ("+05:00", "-03:30", "+00:00", *CHANGING)


@pytest.fixture(scope="module")
def berlin() -> Iterator[mariadb.Server]:
    """A server whose operating system is in Berlin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", BERLIN)
        with mariadb.server() as running:
            values = ", ".join(f"({n}, '{moment:%F %T}', '{moment:%F %T}')" for n, moment in enumerate(MOMENTS))
            running.run(TABLES)
            running.run(
                "set time_zone = '+00:00';"
                "create table moments (id int primary key, ts timestamp null, utc datetime, key (ts));"
                f"insert into moments values {values}, (-1, null, null)",
                mariadb.DATABASE,
            )
            yield running


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> str:
    return request.param


def in_zone(server: mariadb.Server, zone: str) -> colonnade.Connection:
    connection = colonnade.connect(server.uri())
    connection.execute(f"set time_zone = '{zone}'")
    return connection


def test_a_statement_means_what_it_means_to_the_servers_own_client(berlin: mariadb.Server, zone: str) -> None:
    sql = (
        "select id, hour(ts), date(ts), cast(ts as char), unix_timestamp(utc), cast(from_unixtime(86400) as char), "
        "ts > '2024-10-27 02:00:00' from moments where id >= 0 order by id"
    )
    printed = berlin.run(f"set time_zone = '{zone}'; {sql}", mariadb.DATABASE).splitlines()
    with in_zone(berlin, zone) as connection:
        rows = connection.query(sql).to_arrow().to_pylist()
    assert [[str(value) for value in row.values()] for row in rows] == [line.split("\t") for line in printed]
    with colonnade.connect(berlin.uri()) as plain:
        assert plain.query("select @@time_zone as z").to_arrow().to_pylist() == [{"z": "SYSTEM"}]


@pytest.mark.parametrize("more", ["", ", concat('x', id) as t, id * 1.50 as d, repeat('y', 3000) as y"])
def test_each_value_is_its_point_in_time(berlin: mariadb.Server, zone: str, more: str) -> None:
    with in_zone(berlin, zone) as connection:
        table = connection.query(f"select ts, utc{more} from moments where id >= 0 order by id").to_arrow()
        assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
        assert table["ts"].to_pylist() == MOMENTS
        assert table["utc"].to_pylist() == [moment.replace(tzinfo=None) for moment in MOMENTS]
        same = "select max(ts) as a, coalesce(ts, ts) as b from moments where id >= 0 group by id order by id"
        if mariadb.is_mysql() and zone in CHANGING:
            with pytest.raises(colonnade.Error, match="the server has computed it"):
                connection.query(same)
        else:
            assert connection.query(same).to_arrow()["b"].to_pylist() == MOMENTS
        assert connection.query("select ts from moments where id = -1").to_arrow()["ts"].to_pylist() == [None]
        assert connection.query("select ts from moments where id = -9").to_arrow().num_rows == 0
        # Its zone is what it was.
        now = connection.query("select @@time_zone as z, hour(from_unixtime(0)) as h").to_arrow().to_pylist()
        assert now[0]["z"] == zone


def test_a_value_that_may_be_another_is_read_exactly_or_refused(berlin: mariadb.Server, zone: str) -> None:
    values = ", ".join(f"('{moment:%F %T}')" for moment in ALL)
    berlin.run(
        "drop table if exists shared; set time_zone = '+00:00'; create table shared (ts timestamp);"
        f"insert into shared values {values}",
        mariadb.DATABASE,
    )
    read = []
    with in_zone(berlin, zone) as connection:
        for moment in ALL:
            sql = f"select ts from shared where unix_timestamp(ts) = {int(moment.timestamp())}"
            try:
                read += connection.query(sql).to_arrow()["ts"].to_pylist()
            except colonnade.Error as error:
                assert mariadb.is_mysql() and zone in CHANGING and moment in SHARED
                assert error.sqlstate == "22008" and "another point in time has too" in str(error)
                read.append(moment)
        assert connection.query("select @@time_zone as z").to_arrow().to_pylist() == [{"z": zone}]
        connection.execute("set time_zone = '+00:00'")
        assert sorted(connection.query("select ts from shared").to_arrow()["ts"].to_pylist()) == ALL
    assert read == ALL


def test_every_reader_gets_them(berlin: mariadb.Server) -> None:
    """The server's own zone, in which no session has set another."""
    sql = "select ts from moments where id >= 0 order by id"
    assert colonnade.read_sql(berlin.uri(), sql, return_type="arrow")["ts"].to_pylist() == MOMENTS
    assert colonnade.scan_sql(berlin.uri(), sql).collect()["ts"].to_list() == MOMENTS
    with dbapi.connect(berlin.uri()) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        assert [row[0] for row in cursor.fetchall()] == MOMENTS
        cursor.execute("select count(*) from moments where hour(ts) = 2")
        assert cursor.fetchone() == (TWO,)


@pytest.mark.parametrize("zone", CHANGING)
@pytest.mark.parametrize("options", [{"partition_on": "ts"}, {"partition_on": "id"}, {}])
def test_parts_have_every_row_once(berlin: mariadb.Server, zone: str, options: dict[str, Any]) -> None:
    with in_zone(berlin, zone) as connection:
        table = colonnade.read_sql(
            connection, "select id, ts from moments", partition_num=5, return_type="arrow", **options
        )
    rows = sorted(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))
    assert rows == [(-1, None), *enumerate(MOMENTS)]


def test_results_of_many_packets_and_abandoned_ones(berlin: mariadb.Server) -> None:
    many = (
        "select m.ts, s.seq, repeat('x', 100) as x from seq_1_to_4000 s, moments m where id >= 0 order by s.seq, m.id"
    )
    with in_zone(berlin, "SYSTEM") as connection:
        table = connection.query(many).to_arrow()
        assert table["ts"].to_pylist() == MOMENTS * 4000
        with connection.query(many, chunk_rows=10) as result:
            next(iter(result))
        failing = "select ts, (select id from moments where id > m.id) as two from moments m"
        with pytest.raises(colonnade.Error, match="more than 1 row"):
            connection.query(failing).to_arrow()
        assert connection.query("select @@time_zone as z").to_arrow().to_pylist() == [{"z": "SYSTEM"}]
        assert connection.query("select ts from moments where id = 0").to_arrow()["ts"].to_pylist() == MOMENTS[:1]


def test_text_is_as_the_server_writes_it(berlin: mariadb.Server, zone: str) -> None:
    with in_zone(berlin, zone) as connection:
        asked = connection.query("select ts, cast(ts as char) as c from moments where id >= 0", as_text=["ts"])
        table = asked.to_arrow()
        assert table["ts"].to_pylist() == table["c"].to_pylist()
        both = "select ts, ts as again from moments where id = 0"
        if zone in CHANGING:
            with pytest.raises(colonnade.Error, match="another column of this type arrives in UTC"):
                connection.query(both, as_text=["ts"])
        else:
            assert connection.query(both, as_text=["ts"]).to_arrow()["again"].to_pylist() == MOMENTS[:1]


@pytest.mark.skipif(mariadb.is_mysql(), reason="MySQL has no INSERT … RETURNING")
def test_rows_that_no_cursor_keeps_are_converted_or_undone(berlin: mariadb.Server, zone: str) -> None:
    berlin.run("create or replace table returned (id int, ts timestamp)", mariadb.DATABASE)
    with in_zone(berlin, zone) as connection:
        insert = f"insert into returned values (1, from_unixtime({END})) returning ts"
        if zone in CHANGING:
            with pytest.raises(colonnade.Error, match=f'time_zone is "{zone}"'):
                connection.query(insert)
            assert connection.query("select count(*) as n from returned").to_arrow().to_pylist() == [{"n": 0}]
            connection.execute("set time_zone = '+00:00'")
        (row,) = connection.query(insert).to_arrow().to_pylist()
        assert row["ts"] == dt.datetime.fromtimestamp(END, dt.UTC)


def test_a_parameter_is_stored_exactly_or_refused(berlin: mariadb.Server, zone: str) -> None:
    berlin.run("drop table if exists instants; create table instants (id int, ts timestamp(6) null)", mariadb.DATABASE)
    stored, refused = [], []
    version = berlin.run("select version()")
    # MySQL's functions reach the year 3001, MariaDB's 2038, and from 11.5 on 2106.
    far = dt.datetime(3002 if mariadb.is_mysql() else 2060 if version.startswith("10.") else 2107, 1, 1, tzinfo=dt.UTC)
    with in_zone(berlin, zone) as connection:
        for moment in [*ALL, dt.datetime(2024, 3, 31, 1, 0, 0, 1, dt.UTC)]:
            try:
                connection.execute("insert into instants values ($1, $2)", [len(stored), moment])
                stored.append(moment)
            except colonnade.Error as error:
                assert "another point in time has the same local time" in str(error), error
                refused.append(moment)
        table = connection.query("select ts from instants order by id").to_arrow()
        assert table["ts"].to_pylist() == stored
        found = connection.query("select id from moments where ts = $1", [MOMENTS[0]]).to_arrow()
        assert found.to_pylist() == [{"id": 0}]
        if zone != "+00:00":
            with pytest.raises(colonnade.Error, match="do not reach so far"):
                connection.query("select $1 as v", [far])
    assert refused == (SHARED if zone in CHANGING else [])


def test_what_is_written_is_read(berlin: mariadb.Server, zone: str) -> None:
    with in_zone(berlin, zone) as connection:
        colonnade.write_sql(pa.table({"ts": pa.array(MOMENTS)}), connection, "written", if_exists="replace")
        colonnade.write_sql(pa.table({"ts": pa.array(MOMENTS)}), connection, "written", if_exists="append")
        table = connection.query("select ts from written").to_arrow()
        assert sorted(table["ts"].to_pylist()) == sorted(MOMENTS * 2)
        assert connection.query("select @@time_zone as z").to_arrow().to_pylist() == [{"z": zone}]


def test_behind_a_gateway(berlin: mariadb.Server) -> None:
    sql = "select ts from moments where id >= 0 order by id"
    with fronts.front(berlin.uri()) as front:
        with fronts.connect(front.server) as client:
            assert client.execute("select count(*) from moments where hour(ts) = 2").fetchall() == [(TWO,)]
            assert [row[0] for row in client.execute(sql).fetchall()] == MOMENTS
        with colonnade.connect(fronts.colonnade_uri(front.server)) as connection:
            assert connection.query(sql).to_arrow()["ts"].to_pylist() == MOMENTS
