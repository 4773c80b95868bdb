"""Statements (`TestStatement`, `StatementTest`)."""

from __future__ import annotations

from collections.abc import Iterator

import adbc_driver_manager as manager
import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import Database
from tests.support.adbc_driver import DRIVER


@pytest.fixture
def conn(database: Database) -> Iterator[dbapi.Connection]:
    """With autocommit, and a table `adbc_sample` of two columns, which is empty."""
    with database.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute("create table adbc_sample (id int, value varchar(100))")
        yield connection
    with database.cursor() as cursor:
        cursor.execute("drop table adbc_sample")


def run(cursor: dbapi.Cursor, sql: str, parameters: pa.RecordBatch | None = None, prepare: bool = False) -> pa.Table:
    statement = cursor.adbc_statement
    statement.set_sql_query(sql)
    if prepare:
        statement.prepare()
    if parameters is not None:
        statement.bind(parameters)
    handle, _ = statement.execute_query()
    return pa.RecordBatchReader._import_from_c(handle.address).read_all()


def update(cursor: dbapi.Cursor, sql: str, parameters: pa.RecordBatch | None = None) -> int:
    statement = cursor.adbc_statement
    statement.set_sql_query(sql)
    if parameters is not None:
        statement.bind(parameters)
    return statement.execute_update()


def test_execute_schema_noalias(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        assert len(cursor.adbc_execute_schema("select id + 1 from adbc_sample")) == 1


@pytest.mark.parametrize("prepare", [False, True])
def test_parameter_execute(conn: dbapi.Connection, prepare: bool) -> None:
    with conn.cursor() as cursor:
        found = run(cursor, "select 1 + $1 as a", pa.record_batch({"0": [1, 2, 3, 4]}), prepare)
    assert found[0].to_pylist() == [2, 3, 4, 5]


def test_parameter_null_typed(conn: dbapi.Connection) -> None:
    rows = pa.record_batch({"0": pa.array([7001], pa.int64()), "1": pa.nulls(1)})
    with conn.cursor() as cursor:
        assert update(cursor, "insert into adbc_sample (id, value) values ($1, $2)", rows) == 1
        assert run(cursor, "select value from adbc_sample where id = 7001")[0].to_pylist() == [None]


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_parameter_schema(request: pytest.FixtureRequest, name: str) -> None:
    with request.getfixturevalue(name).cursor() as cursor:
        for sql, count in (("select 1 + $1", 1), ("select 1 + $1 + $2", 2)):
            cursor.adbc_statement.set_sql_query(sql)
            cursor.adbc_statement.prepare()
            handle = cursor.adbc_statement.get_parameter_schema()
            schema = pa.Schema._import_from_c(handle.address)
            assert schema.types == [pa.int32()] * count


def test_prepare_without_parameters(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for _ in range(2):
            assert run(cursor, "select 1 as a", prepare=True).to_pylist() == [{"a": 1}]


def test_prepare_error_no_query(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for call in (
            cursor.adbc_statement.prepare,
            cursor.adbc_statement.execute_query,
            cursor.adbc_statement.execute_update,
        ):
            with pytest.raises(dbapi.ProgrammingError) as failed:
                call()
            assert failed.value.status_code == AdbcStatusCode.INVALID_STATE


def test_prepare_error_parameter_count_mismatch(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for count in (1, 3):
            rows = pa.record_batch({str(column): [1] for column in range(count)})
            with pytest.raises(dbapi.ProgrammingError):
                run(cursor, "select $1 as a, $2 as b", rows)


def test_prepare_update_stream(conn: dbapi.Connection) -> None:
    """Several batches, of which one is empty."""
    schema = pa.schema([("0", pa.int64())])
    batches = [pa.record_batch({"0": pa.array(rows, pa.int64())}, schema) for rows in ([1, 2], [], [None, 4])]
    with conn.cursor() as cursor:
        cursor.adbc_statement.set_sql_query("insert into adbc_sample (id) values ($1)")
        cursor.adbc_statement.prepare()
        cursor.adbc_statement.bind_stream(pa.RecordBatchReader.from_batches(schema, batches))
        assert cursor.adbc_statement.execute_update() == 4
        assert run(cursor, "select id from adbc_sample")[0].to_pylist() == [1, 2, None, 4]


def test_transaction_toggle(conn: dbapi.Connection) -> None:
    raw = conn.adbc_connection
    assert raw.get_option("adbc.connection.autocommit") == "true"
    for call in (raw.commit, raw.rollback):
        with pytest.raises(dbapi.ProgrammingError) as failed:
            call()
        assert failed.value.status_code == AdbcStatusCode.INVALID_STATE
    raw.set_autocommit(False)
    assert raw.get_option("adbc.connection.autocommit") == "false"
    with conn.cursor() as cursor:
        run(cursor, "select 1 as a")
    raw.rollback()
    raw.commit()
    raw.set_autocommit(True)
    assert raw.get_option("adbc.connection.autocommit") == "true"


def test_transactions(conn: dbapi.Connection, database: Database) -> None:
    """Another connection sees rows after the commit only, and none after a rollback."""
    raw = conn.adbc_connection
    raw.set_autocommit(False)
    with conn.cursor() as cursor, database.connect() as other, other.cursor() as reader:
        count = "select count(*) as n from adbc_sample"
        for end, expected in ((raw.rollback, 0), (raw.commit, 1)):
            update(cursor, "insert into adbc_sample (id) values (1)")
            assert run(reader, count)[0].to_pylist() == [0]
            end()
            assert run(reader, count)[0].to_pylist() == [expected]
    raw.set_autocommit(True)


def test_rows_affected(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        assert update(cursor, "create table adbc_affected (id int)") in (-1, 0)
        try:
            assert update(cursor, "insert into adbc_affected (id) values (1)") == 1
            assert update(cursor, "update adbc_affected set id = id + 1 where id = 1") == 1
            assert update(cursor, "delete from adbc_affected where id = 2") == 1
            # Also as a query, whose stream has no columns.
            cursor.adbc_statement.set_sql_query("insert into adbc_affected (id) values (3), (4)")
            handle, affected = cursor.adbc_statement.execute_query()
            assert affected == 2
            assert pa.RecordBatchReader._import_from_c(handle.address).read_all().num_columns == 0
        finally:
            update(cursor, "drop table adbc_affected")


def test_nonascii_queries(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        assert run(cursor, "select 'Hello, 世界 🚀' as greeting")[0].to_pylist() == ["Hello, 世界 🚀"]


def test_query_trailing_semicolons(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for sql in ("select 1 as a;", "select 1 as a;;;", "select 1 as a;   "):
            assert run(cursor, sql).to_pylist() == [{"a": 1}]


def test_query_empty(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        assert run(cursor, "select * from adbc_sample").num_rows == 0
        for sql in ("", " ", ";"):
            with pytest.raises(dbapi.Error) as failed:
                run(cursor, sql)
            assert failed.value.status_code == AdbcStatusCode.INVALID_ARGUMENT
        assert run(cursor, "select 1 as a").num_rows == 1


def test_query_errors(conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for call in (run, update, lambda cursor, sql: cursor.adbc_execute_schema(sql)):
            with pytest.raises(dbapi.Error):
                call(cursor, "this is not a query")
        assert run(cursor, "select 1 as a").num_rows == 1


def test_result_independence(database: Database) -> None:
    """A result outlives all that made it."""
    raw = manager.AdbcDatabase(driver=str(DRIVER), uri=database.uri)
    connection = manager.AdbcConnection(raw)
    statement = manager.AdbcStatement(connection)
    statement.set_sql_query("select 42 as a")
    handle, _ = statement.execute_query()
    reader = pa.RecordBatchReader._import_from_c(handle.address)
    statement.close()
    connection.close()
    raw.close()
    assert reader.read_all().to_pylist() == [{"a": 42}]


def test_result_invalidation(conn: dbapi.Connection, database: Database) -> None:
    """A second execution of a statement ends the first result, with an error for whoever reads it."""
    with conn.cursor() as cursor:
        statement = cursor.adbc_statement
        statement.set_sql_query(database.endless)
        first, _ = statement.execute_query()
        reader = pa.RecordBatchReader._import_from_c(first.address)
        assert reader.read_next_batch().num_rows > 0
        assert run(cursor, "select 42 as a").to_pylist() == [{"a": 42}]
        with pytest.raises(OSError, match="given up"):
            reader.read_all()
