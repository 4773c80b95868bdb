"""PostgreSQL's parts in another process: a descriptor has what the reader's own connection needs, and no secret."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import POSTGRESQL, Database
from tests.support.adbc_driver import DRIVER, ROOT
from tests.testbed import postgres as pg

ROWS = 10_000
PLAIN = "select id from adbc_shared"
#: The beginning of a ticket of a shared snapshot.
MAGIC = b"colonnade partition 2\n\0"
#: Reads the part of a descriptor in a process of its own.
READER = """
import sys
from adbc_driver_manager import dbapi
with dbapi.connect(driver=sys.argv[1], db_kwargs={"uri": sys.argv[2]}, autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.adbc_read_partition(bytes.fromhex(sys.argv[3]))
        print(*cursor.fetch_arrow_table()["id"].to_pylist())
"""


@pytest.fixture(params=["postgresql", "extension"])
def readings(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A table `adbc_shared` with the numbers from 1 on, in a schema that only the planner's search path has."""
    database: Database = request.getfixturevalue(request.param)
    with database.cursor() as cursor:
        cursor.execute("create schema adbc_shared_schema")
        cursor.execute("create table adbc_shared_schema.adbc_shared (id int primary key)")
        cursor.execute(f"insert into adbc_shared_schema.adbc_shared select generate_series(1, {ROWS})")
    yield database
    with database.cursor() as cursor:
        cursor.execute("drop schema adbc_shared_schema cascade")


@pytest.fixture
def planner(readings: Database) -> Iterator[dbapi.Cursor]:
    with readings.cursor() as cursor:
        cursor.execute("set search_path to adbc_shared_schema")
        cursor.adbc_statement.set_options(**{"adbc.colonnade.partition_num": "3"})
        yield cursor


def with_text(part: bytes, place: int, text: bytes) -> bytes:
    """The descriptor with another text: 0 is the run of the server, 1 the snapshot, 2 the query."""
    start = len(MAGIC)
    for _ in range(place):
        start += 4 + int.from_bytes(part[start : start + 4], "little")
    end = start + 4 + int.from_bytes(part[start : start + 4], "little")
    return part[:start] + len(text).to_bytes(4, "little") + text + part[end:]


def elsewhere(uri: str, part: bytes) -> list[int]:
    command = [sys.executable, "-c", READER, str(DRIVER), uri, part.hex()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return [int(word) for word in done.stdout.split()]


def read(database: Database, part: bytes) -> list[dict[str, Any]]:
    with database.cursor() as cursor:
        cursor.adbc_read_partition(part)
        return cursor.fetch_arrow_table().to_pylist()


def refused(database: Database, part: bytes) -> dbapi.Error:
    with pytest.raises(dbapi.Error) as failed:
        read(database, part)
    return failed.value


@pytest.mark.parametrize("options", [{}, {"adbc.colonnade.partition_on": "id"}], ids=["plain", "by key"])
def test_another_process_reads_the_same_state(
    readings: Database, planner: dbapi.Cursor, options: dict[str, str]
) -> None:
    planner.adbc_statement.set_options(**options)
    parts, _ = planner.adbc_execute_partitions("select id from adbc_shared where id > $1", (10,))
    assert len(parts) == 3
    with readings.cursor() as writer:
        writer.execute("delete from adbc_shared_schema.adbc_shared where id > 5000")
    found = [elsewhere(readings.uri, part) for part in parts]
    assert sorted(chain.from_iterable(found)) == list(range(11, ROWS + 1))
    # Several readers at the same time, also of the same part.
    with readings.cursor() as one, readings.cursor() as other:
        for cursor in (one, other):
            cursor.adbc_read_partition(parts[0])
        assert [[row[0] for row in cursor.fetchall()] for cursor in (one, other)] == [found[0]] * 2


def test_types_are_those_of_the_statement(readings: Database, planner: dbapi.Cursor) -> None:
    planner.adbc_statement.set_options(**{"adbc.colonnade.numeric": "20,2", "adbc.colonnade.as_text": "i"})
    parts, schema = planner.adbc_execute_partitions("select 1.5::numeric as n, id as i from adbc_shared")
    with readings.cursor() as cursor:
        cursor.adbc_read_partition(parts[0])
        assert cursor.fetch_arrow_table().schema.equals(schema, check_metadata=True)


def test_a_descriptor_has_no_password_and_is_for_its_user(extended: pg.Cluster) -> None:
    """Row-level security may give another user other rows."""
    with extended.connect() as session:
        session.execute("create role adbc_reader login password 'hunter2'")
    try:
        uri = extended.uri(tcp=True).replace("tester@", "adbc_reader:hunter2@")
        planned = Database(uri, **POSTGRESQL)
        with planned.cursor() as cursor, extended.connect() as session:
            parts, _ = cursor.adbc_execute_partitions("select relname::text as name from pg_class")
            assert all(word not in b"".join(parts) for word in (b"hunter2", b"127.0.0.1"))
            session.execute("create role adbc_stranger login password 'hunter2'")
            stranger = Database(uri.replace("adbc_reader", "adbc_stranger"), **POSTGRESQL)
            assert refused(stranger, parts[0]).sqlstate == "42501"
            assert len(read(planned, parts[0])) > 0
    finally:
        with extended.connect() as session:
            session.execute("drop role if exists adbc_reader, adbc_stranger")


def test_the_state_ends_with_the_planners_result(readings: Database, planner: dbapi.Cursor) -> None:
    parts, _ = planner.adbc_execute_partitions("select id from adbc_shared")
    with readings.cursor() as cursor:
        cursor.adbc_read_partition(parts[0])
        planner.execute("select 1 as n").fetchall()
        # A part that is being read is not disturbed.
        assert len(cursor.fetchall()) > 0
    error = refused(readings, parts[1])
    assert (error.status_code, error.sqlstate) == (AdbcStatusCode.NOT_FOUND, "42704")
    assert "the state of the database that it is of is gone" in str(error)


def test_another_server_or_database_has_no_such_state(readings: Database, planner: dbapi.Cursor) -> None:
    parts, _ = planner.adbc_execute_partitions("select id from adbc_shared")
    with readings.cursor() as cursor:
        cursor.execute("create database adbc_other")
    try:
        other = Database(readings.uri.removesuffix("postgres") + "adbc_other", **POSTGRESQL)
        assert refused(other, parts[0]).status_code == AdbcStatusCode.NOT_FOUND
    finally:
        with readings.cursor() as cursor:
            cursor.execute("drop database adbc_other")
    # Names of snapshots are numbers that another server gives too. Here only the run of the server differs.
    assert refused(readings, with_text(parts[0], 0, b"1")).sqlstate == "42704"


def test_a_descriptor_is_only_a_query(readings: Database, planner: dbapi.Cursor) -> None:
    """Whoever writes one can do no more than a query that reads."""
    part = planner.adbc_execute_partitions("select id from adbc_shared")[0][0]
    assert read(readings, with_text(part, 2, b"select 7 as id")) == [{"id": 7}]
    with readings.cursor() as cursor:
        for sql in (
            "insert into adbc_shared_schema.adbc_shared values (0) returning id",
            "with w as (delete from adbc_shared_schema.adbc_shared returning id) select id from w",
            "select 1) to stdout; drop table adbc_shared_schema.adbc_shared; --",
            "select 1; commit; drop table adbc_shared_schema.adbc_shared",
            "commit",
            "drop table adbc_shared_schema.adbc_shared",
            "select 1) to program 'true' /*",
            "copy adbc_shared_schema.adbc_shared to stdout",
        ):
            refused(readings, with_text(part, 2, sql.encode()))
            assert cursor.execute("select count(*) from adbc_shared_schema.adbc_shared").fetchall() == [(ROWS,)]


def with_setting(part: bytes, name: bytes, value: bytes) -> bytes:
    """The descriptor with one more setting, behind those of the session."""
    at = len(MAGIC)

    def skip() -> None:
        nonlocal at
        at += 4 + int.from_bytes(part[at : at + 4], "little")

    for _ in range(3):
        skip()
    count, place = int.from_bytes(part[at : at + 4], "little"), at
    at += 4
    for _ in range(2 * count):
        skip()
    added = b"".join(len(text).to_bytes(4, "little") + text for text in (name, value))
    return part[:place] + (count + 1).to_bytes(4, "little") + part[place + 4 : at] + added + part[at:]


def test_a_descriptor_sets_only_what_decides_about_rows(readings: Database, planner: dbapi.Cursor) -> None:
    names = ("pg_trgm.similarity_threshold", "DateStyle", "geqo_effort", "enable_sort")
    columns = ", ".join(f"current_setting('{name}', true) as \"{name}\"" for name in names)
    part = planner.adbc_execute_partitions(PLAIN)[0][0]
    part = with_text(part, 2, f"select {columns}".encode())
    for name, value in zip(names, ("it's\n0.5", "German, DMY", "3", "off"), strict=True):
        (row,) = read(readings, with_setting(part, name.encode(), value.encode()))
        assert row[name] == value
    for name, value in (
        ("statement_timeout", "1"),
        ("transaction_read_only", "off"),
        ("log_min_messages", "debug5"),
        ("session_replication_role", "replica"),
        ("client_encoding", "LATIN1"),
        ("SEARCH_PATH", "public"),
        ("nothing", "1"),
        ("work_mem", "64 kB'"),
        ("enable_seqscan", "off', true), pg_catalog.set_config('a.b', 'c"),
    ):
        error = refused(readings, with_setting(part, name.encode(), value.encode()))
        assert f'the part changes the setting "{name}"' in str(error)
        assert error.status_code == AdbcStatusCode.INVALID_ARGUMENT


def test_limits_are_those_of_the_reader(readings: Database, planner: dbapi.Cursor) -> None:
    """A part has the settings of its planner that decide about rows, and no others."""
    planner.execute("set statement_timeout to '77s'")
    planner.execute("set enable_hashjoin to off")
    settings = {"s": "statement_timeout", "h": "enable_hashjoin"}
    sql = "select " + ", ".join(f"current_setting('{setting}') as {name}" for name, setting in settings.items())
    part = planner.adbc_execute_partitions(PLAIN)[0][0]
    assert read(readings, with_text(part, 2, sql.encode())) == [{"s": "0", "h": "off"}]


def test_damaged_descriptors_are_refused(readings: Database, planner: dbapi.Cursor) -> None:
    part = planner.adbc_execute_partitions("select id from adbc_shared")[0][0]
    with readings.cursor() as cursor:
        start = len(MAGIC)
        for damaged in (
            part[:-1],
            part + b"x",
            part[: start - 1],
            part[:start],
            part[:start] + b"\xff" * 40,
            part[: start + 8] + b"\xff" + part[start + 9 :],
            part[: start - 1] + b"\7" + part[start:],
        ):
            with pytest.raises(dbapi.ProgrammingError, match="no such partition") as failed:
                cursor.adbc_read_partition(damaged)
            assert failed.value.status_code == AdbcStatusCode.NOT_FOUND
        assert cursor.execute("select 7 as n").fetchall() == [(7,)]
