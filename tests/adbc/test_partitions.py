"""Results in parts: each row once, from one state of the database, read over other connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import Database, connect
from tests.support.sqlite_files import make

ROWS = 20_000


@pytest.fixture
def readings(database: Database) -> Iterator[Database]:
    """A table `adbc_readings` with the numbers from 1 on."""
    with database.cursor() as cursor:
        cursor.execute("create table adbc_readings (id int not null primary key, word varchar(20))")
        cursor.execute(f"insert into adbc_readings select i, 'word' from ({database.series.format(ROWS)}) q")
    yield database
    with database.cursor() as cursor:
        cursor.execute("drop table adbc_readings")


def ids(cursor: dbapi.Cursor, part: bytes) -> list[int]:
    cursor.adbc_read_partition(part)
    return cursor.fetch_arrow_table()["id"].to_pylist()


@pytest.mark.parametrize("options", [{}, {"adbc.colonnade.partition_on": "id"}], ids=["plain", "by key"])
def test_parts_have_each_row_once(readings: Database, options: dict[str, str]) -> None:
    options = {**options, "adbc.colonnade.partition_num": "3"}
    with readings.connect(autocommit=False) as connection, readings.connect() as other:
        with connection.cursor(adbc_stmt_kwargs=options) as cursor, other.cursor() as reader:
            parts, schema = cursor.adbc_execute_partitions("select id, word from adbc_readings where id > $1", (10,))
            assert schema is not None and schema.names == ["id", "word"]
            assert len(parts) == 3
            # All parts are of the state at the execution.
            reader.execute("delete from adbc_readings where id > 15000")
            found = [ids(reader, part) for part in reversed(parts)]
            # A part can be read again.
            assert ids(reader, parts[0]) == found[-1]
        assert sorted(chain.from_iterable(found)) == list(range(11, ROWS + 1))


def test_parts_are_read_at_the_same_time(readings: Database) -> None:
    with readings.connect() as connection:
        cursor = connection.cursor(adbc_stmt_kwargs={"adbc.colonnade.partition_num": "2"})
        parts, _ = cursor.adbc_execute_partitions("select id from adbc_readings")
        found: list[list[int]] = []

        def read(part: bytes) -> None:
            with readings.connect() as own, own.cursor() as reader:
                found.append(ids(reader, part))

        threads = [threading.Thread(target=read, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cursor.close()
    assert sorted(chain.from_iterable(found)) == list(range(1, ROWS + 1))


def test_parts_end_with_their_statement(readings: Database) -> None:
    with readings.cursor() as cursor, readings.cursor() as reader:
        parts, _ = cursor.adbc_execute_partitions("select id from adbc_readings")
        cursor.execute("select 1 as n").fetchall()
        for part in (*parts, b"", b"\xff", b"0/0", parts[0] + b"9"):
            with pytest.raises(dbapi.ProgrammingError, match="no such part") as failed:
                reader.adbc_read_partition(part)
            assert failed.value.status_code == AdbcStatusCode.NOT_FOUND


def test_an_open_transaction_has_no_parts(readings: Database) -> None:
    if readings.names[0] == "memory":
        pytest.skip("the connection itself reads the only part")
    with readings.connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("insert into adbc_readings values (0, 'x')")
        with pytest.raises(dbapi.NotSupportedError, match="transaction"):
            cursor.adbc_execute_partitions("select id from adbc_readings")
        connection.rollback()
        assert cursor.adbc_execute_partitions("select id from adbc_readings")[0]


def test_an_error_in_a_part_has_its_sqlstate(postgresql: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as cursor, connection.cursor() as reader:
        cursor.execute("create table adbc_zero (i int primary key)")
        try:
            cursor.execute("insert into adbc_zero select generate_series(-5000, 5000)")
            options = {"adbc.colonnade.partition_num": "2", "adbc.colonnade.partition_on": "i"}
            cursor.adbc_statement.set_options(**options)
            parts, _ = cursor.adbc_execute_partitions("select i, 1 / i as q from adbc_zero")
            assert len(parts) == 2
            failures = []
            for part in parts:
                try:
                    reader.adbc_read_partition(part)
                    reader.fetch_arrow_table()
                except dbapi.DataError as error:
                    failures.append((error.status_code, error.sqlstate))
            assert (AdbcStatusCode.INVALID_DATA, "22012") in failures
        finally:
            cursor.execute("drop table adbc_zero")


def test_a_part_is_cancelled(postgresql: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as cursor, postgresql.connect() as other:
        cursor.execute("create table adbc_slow as select i from generate_series(1, 1000) i")
        # Each reader must get the same value, so the function is declared stable.
        body = "begin perform pg_sleep(1); return null; end"
        cursor.execute(f"create function adbc_sleep() returns text stable language plpgsql as '{body}'")
        try:
            parts, _ = cursor.adbc_execute_partitions("select i, adbc_sleep() as s from adbc_slow")
            with other.cursor() as reader:
                timer = threading.Timer(0.3, other.adbc_cancel)
                timer.start()
                with pytest.raises(dbapi.OperationalError) as failed:
                    reader.adbc_read_partition(parts[0])
                    reader.fetch_arrow_table()
                timer.join()
            assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.CANCELLED, "57014")
        finally:
            cursor.execute("drop table adbc_slow")
            cursor.execute("drop function adbc_sleep()")


def test_parts_of_a_file(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [(i,) for i in range(10_000)]
    uri = make(tmp_path / "a.sqlite", "create table t (id INTEGER)", "t", rows)
    with connect(uri) as connection, connection.cursor() as cursor, connection.cursor() as reader:
        cursor.adbc_statement.set_options(**{"adbc.colonnade.partition_num": "3"})
        parts, schema = cursor.adbc_execute_partitions("select id from t")
        assert schema is not None and schema.types == [pa.int64()] and len(parts) == 3
        assert sorted(chain.from_iterable(ids(reader, part) for part in parts)) == [i for (i,) in rows]
