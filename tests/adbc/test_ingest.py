"""Bulk ingestion: each mode, exact values, all rows or none, and transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_manager as manager
import colonnade
import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database, connect
from tests.support.sqlite_files import fetched, make

ONE, TWO = pa.table({"a": [1]}), pa.table({"a": [2]})


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The URI of an empty SQLite file."""
    return make(tmp_path / "a.db", "")


@pytest.fixture(params=["postgresql", "extension", "sqlite"])
def uri(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each database that rows can be ingested into, with no table `ingested`."""
    value = request.getfixturevalue(request.param)
    if isinstance(value, str):
        yield value
        return
    yield value.uri
    with value.cursor() as cursor:
        cursor.execute("drop table if exists ingested")


def rows(uri: str, table: str = "ingested") -> list[dict[str, Any]]:
    return colonnade.read_sql(uri, f"select * from {table}", return_type="arrow").to_pylist()


def test_each_mode(uri: str) -> None:
    with connect(uri) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("ingested", ONE) == 1
        with pytest.raises(dbapi.ProgrammingError) as caught:
            cursor.adbc_ingest("ingested", ONE)
        assert caught.value.status_code == manager.AdbcStatusCode.ALREADY_EXISTS
        assert cursor.adbc_ingest("ingested", TWO, mode="append") == 1
        assert rows(uri) == [{"a": 1}, {"a": 2}]
        assert cursor.adbc_ingest("ingested", TWO, mode="create_append") == 1
        assert cursor.adbc_ingest("ingested", pa.table({"b": ["x", None]}), mode="replace") == 2
        assert rows(uri) == [{"b": "x"}, {"b": None}]
        with pytest.raises(dbapi.ProgrammingError) as caught:
            cursor.adbc_ingest("ingested_not", ONE, mode="append")
        assert caught.value.status_code == manager.AdbcStatusCode.NOT_FOUND


def test_a_stream_is_ingested_with_its_values(uri: str) -> None:
    batches = [pa.record_batch({"n": pa.array([k, 2**63 - 1], pa.uint64()), "t": [f"{k}", None]}) for k in range(100)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    with connect(uri) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("ingested", reader) == 200
    assert rows(uri) == pa.Table.from_batches(batches).to_pylist()


def test_a_value_without_an_exact_form_leaves_nothing(uri: str) -> None:
    good = pa.record_batch({"n": pa.array([1, 2], pa.time64("ns"))})
    bad = pa.record_batch({"n": pa.array([1000, 1], pa.time64("ns"))})
    with connect(uri) as connection, connection.cursor() as cursor:
        with pytest.raises(dbapi.DataError, match=r'column "n", row 1: 00:00:00\.000000001') as caught:
            cursor.adbc_ingest("ingested", pa.Table.from_batches([good, bad]))
        assert caught.value.sqlstate == "22008"
        with pytest.raises(dbapi.Error):
            cursor.execute("select * from ingested")


def test_an_error_of_the_stream_leaves_nothing(uri: str) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield ONE.to_batches()[0]
        raise ValueError("mine")

    with connect(uri) as connection, connection.cursor() as cursor:
        with pytest.raises(dbapi.Error, match=r"bound stream cannot be read.*mine"):
            cursor.adbc_ingest("ingested", pa.RecordBatchReader.from_batches(ONE.schema, failing()))
        assert cursor.adbc_ingest("ingested", TWO) == 1
    assert rows(uri) == [{"a": 2}]


def test_ingestion_is_part_of_a_transaction(postgresql: Database) -> None:
    with postgresql.connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("ingested", ONE)
        connection.rollback()
        cursor.adbc_ingest("ingested", TWO)
        # A failed ingestion takes back its own part only.
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("ingested", ONE)
        connection.commit()
    assert rows(postgresql.uri) == [{"a": 2}]
    with postgresql.cursor() as cursor:
        cursor.execute("drop table ingested")


def test_an_sqlite_file_has_transactions_of_its_own(sqlite: str) -> None:
    with (
        connect(sqlite, autocommit=False) as connection,
        connection.cursor() as cursor,
        pytest.raises(dbapi.ProgrammingError, match="switch autocommit on"),
    ):
        cursor.adbc_ingest("ingested", ONE)
    assert fetched(Path(sqlite.removeprefix("sqlite:///")), "select name from sqlite_schema") == []


def test_the_place_of_the_table(postgresql: Database) -> None:
    with postgresql.cursor() as cursor:
        cursor.execute('create schema "Odd.Schema"')
        try:
            cursor.adbc_ingest("a.b", ONE, db_schema_name="Odd.Schema", catalog_name="postgres")
            assert cursor.execute('select a from "Odd.Schema"."a.b"').fetchall() == [(1,)]
            with pytest.raises(dbapi.NotSupportedError, match='catalog "elsewhere"'):
                cursor.adbc_ingest("a.b", ONE, catalog_name="elsewhere")
        finally:
            cursor.execute('drop schema "Odd.Schema" cascade')


def test_what_is_missing_is_said(postgresql: Database) -> None:
    with postgresql.cursor() as cursor:
        statement = cursor.adbc_statement
        with pytest.raises(dbapi.ProgrammingError):
            statement.get_option("adbc.ingest.target_table")
        statement.set_options(**{"adbc.ingest.target_table": "ingested"})
        assert statement.get_option("adbc.ingest.target_table") == "ingested"
        assert statement.get_option("adbc.ingest.mode") == "adbc.ingest.mode.create"
        with pytest.raises(dbapi.ProgrammingError, match="bind a batch or a stream first"):
            statement.execute_update()
        for call in (statement.prepare, statement.execute_schema, statement.execute_partitions):
            with pytest.raises(dbapi.ProgrammingError, match="ingests into a table"):
                call()
        with pytest.raises(dbapi.Error):
            statement.set_options(**{"adbc.ingest.mode": "adbc.ingest.mode.upsert"})
        # A query takes the table's place, and a table the query's.
        statement.set_sql_query("select 1 as one")
        statement.bind(pa.record_batch({"a": [1]}))
        with pytest.raises(dbapi.ProgrammingError):
            statement.get_option("adbc.ingest.target_table")


def test_an_ingestion_is_cancelled(postgresql: Database) -> None:
    begun = threading.Event()

    def endless() -> Iterator[pa.RecordBatch]:
        for number in range(100_000):
            yield pa.record_batch({"a": pa.array(range(number, number + 1000), pa.int64())})
            begun.set()

    with postgresql.connect() as connection, connection.cursor() as cursor:
        reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), endless())

        def cancel() -> None:
            begun.wait()
            time.sleep(0.2)
            cursor.adbc_cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(dbapi.OperationalError) as caught:
            cursor.adbc_ingest("ingested", reader)
        thread.join()
        assert caught.value.sqlstate == "57014"
        with pytest.raises(dbapi.ProgrammingError):
            cursor.execute("select * from ingested")
        assert cursor.adbc_ingest("ingested", ONE, mode="replace") == 1
        cursor.execute("drop table ingested")
