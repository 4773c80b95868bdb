"""Errors have a status and a SQLSTATE, before a stream and in it; what runs can be cancelled."""

from __future__ import annotations

import threading
from pathlib import Path

import adbc_driver_manager as manager
import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import Database, connect
from tests.support.adbc_driver import DRIVER
from tests.support.sqlite_files import make


def answers(cursor: dbapi.Cursor) -> bool:
    return cursor.execute("select 7 as n").fetchall() == [(7,)]


def test_an_error_before_the_stream(connection: dbapi.Connection, database: Database) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(dbapi.ProgrammingError) as failed:
            cursor.execute("select * from adbc_absent")
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.NOT_FOUND, database.missing)
        connection.rollback()
        cursor.execute("insert into adbc_t values (1, 'a')")
        with pytest.raises(dbapi.IntegrityError) as failed:
            cursor.execute("insert into adbc_t values (1, 'b')")
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.INTEGRITY, database.duplicate)
        connection.rollback()
        with pytest.raises(dbapi.ProgrammingError) as failed:
            cursor.execute("selec 1")
        assert failed.value.status_code == AdbcStatusCode.INVALID_ARGUMENT
        connection.rollback()
        assert answers(cursor)


def test_the_number_of_an_error(mariadb_server: Database, postgresql: Database, tmp_path: Path) -> None:
    """MySQL's and SQLite's errors have one, before a stream and in it; PostgreSQL's have none."""
    query, _ = mariadb_server.failing
    with mariadb_server.cursor() as cursor:
        for sql, number in (("selec 1", b"1064"), ("select * from adbc_absent", b"1146"), (query, b"1690")):
            with pytest.raises(dbapi.Error) as failed:
                cursor.execute(sql).fetchall()
            assert failed.value.details == [(b"vendor_code", number)]
    with connect(make(tmp_path / "a.sqlite", "create table t (i int)")) as connection, connection.cursor() as cursor:
        for sql, number in (("selec 1", b"1"), ("insert into t values (1)", b"8")):
            with pytest.raises(dbapi.Error) as failed:
                cursor.execute(sql)
            assert failed.value.details == [(b"vendor_code", number)]
    with postgresql.cursor() as cursor:
        with pytest.raises(dbapi.Error) as failed:
            cursor.execute("selec 1")
        assert failed.value.details == []


def test_an_error_in_the_stream(database: Database) -> None:
    sql, sqlstate = database.failing
    with database.cursor() as cursor:
        cursor.execute(sql)
        with pytest.raises(dbapi.DataError) as failed:
            cursor.fetch_arrow_table()
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.INVALID_DATA, sqlstate)
        assert answers(cursor)


def test_a_silent_statement_is_cancelled(database: Database) -> None:
    with database.cursor() as cursor:
        timer = threading.Timer(0.3, cursor.adbc_cancel)
        timer.start()
        with pytest.raises(dbapi.OperationalError) as failed:
            cursor.execute(database.silent).fetchall()
        timer.join()
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.CANCELLED, database.cancelled)
        assert answers(cursor)


def test_a_stream_is_cancelled(database: Database) -> None:
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(database.endless)
        assert cursor.fetchone() is not None
        timer = threading.Timer(0.3, connection.adbc_cancel)
        timer.start()
        with pytest.raises(dbapi.OperationalError) as failed:
            while cursor.fetchmany(100_000):
                pass
        timer.join()
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.CANCELLED, database.cancelled)
        assert answers(cursor)


def test_an_execution_of_many_rows_is_cancelled_as_a_whole(postgresql: Database) -> None:
    with postgresql.cursor() as cursor:
        cursor.execute("create table adbc_many (i int)")
        try:
            timer = threading.Timer(0.5, cursor.adbc_cancel)
            timer.start()
            with pytest.raises(dbapi.OperationalError) as failed:
                sql = "insert into adbc_many select $1::int from (select pg_sleep(0.05)) s returning i"
                cursor.execute(sql, pa.table({"i": list(range(1000))}))
            timer.join()
            assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.CANCELLED, "57014")
            assert cursor.execute("select count(*) from adbc_many").fetchall() == [(0,)]
        finally:
            cursor.execute("drop table adbc_many")


def test_a_cancel_while_nothing_runs_does_nothing(database: Database) -> None:
    with database.connect() as connection, connection.cursor() as cursor:
        connection.adbc_cancel()
        cursor.adbc_cancel()
        assert answers(cursor)


def test_a_result_that_is_given_up_leaves_the_connection_usable(database: Database) -> None:
    with database.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute(database.endless)
            assert cursor.fetchone() is not None
        with connection.cursor() as cursor:
            assert answers(cursor)


def test_one_result_at_a_time(database: Database) -> None:
    with database.connect() as connection, connection.cursor() as first, connection.cursor() as second:
        first.execute(database.endless)
        with pytest.raises(dbapi.ProgrammingError, match="read it to its end") as failed:
            second.execute("select 1 as n")
        assert failed.value.status_code == AdbcStatusCode.INVALID_STATE
        assert first.fetchone() is not None
        # The statement's own result makes room for its next one.
        assert answers(first)
        assert answers(second)


def test_a_second_statement_does_not_wait_for_the_first_row_of_the_first(postgresql: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as first, connection.cursor() as second:
        first.execute("select pg_sleep(600)")
        with pytest.raises(dbapi.ProgrammingError, match="read it to its end"):
            second.execute("select 1 as n")
        first.adbc_cancel()
        with pytest.raises(dbapi.OperationalError):
            first.fetchall()
        assert answers(second)


def test_a_result_outlives_its_statement_and_its_connection(database: Database) -> None:
    with database.cursor() as cursor:
        cursor.execute("select 1 as n")
        reader = cursor.fetch_record_batch()
        assert reader.read_all().to_pylist() == [{"n": 1}]


def test_a_connection_that_is_lost(postgresql: Database) -> None:
    with postgresql.cursor() as cursor, pytest.raises(dbapi.OperationalError) as failed:
        cursor.execute("select pg_terminate_backend(pg_backend_pid())").fetchall()
    assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.IO, "57P01")


def test_nobody_listens() -> None:
    with pytest.raises(dbapi.OperationalError) as failed, manager_connection("postgresql://tester@127.0.0.1:1/test"):
        pass
    assert failed.value.status_code == AdbcStatusCode.IO


def manager_connection(uri: str) -> manager.AdbcConnection:
    database = manager.AdbcDatabase(driver=str(DRIVER), uri=uri)
    try:
        return manager.AdbcConnection(database)
    finally:
        database.close()
