"""What the driver says of itself, of statements and of tables."""

from __future__ import annotations

import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database


def test_information(database: Database) -> None:
    with database.connect() as connection:
        info = connection.adbc_get_info()
    name = {"postgres": "PostgreSQL", "memory": "Colonnade", "shop": "MariaDB"}[database.names[0] or ""]
    assert info["vendor_name"] == name
    assert any(digit.isdigit() for digit in info["vendor_version"])
    assert info["driver_name"] == "ADBC driver of Colonnade"
    assert info["driver_adbc_version"] == 1_001_000


def test_information_by_code(database: Database) -> None:
    with database.connect() as connection:
        table = connection.adbc_connection.get_info([101, 103, 77777])
        read = pa.RecordBatchReader._import_from_c(table.address).read_all()
    assert read["info_name"].to_pylist() == [101, 103]


def test_the_columns_of_a_query_without_running_it(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        schema = cursor.adbc_execute_schema("select i, s from adbc_t -- a comment")
        assert schema.names == ["i", "s"]
        assert schema.types == [pa.int32(), pa.utf8()]
        assert cursor.execute("select i, s from adbc_t").fetch_arrow_table().schema == schema
        # A statement that changes something has no effect, whether it has columns or is refused.
        try:
            cursor.adbc_execute_schema("insert into adbc_t values (1, 'a') returning i")
        except dbapi.Error:
            connection.rollback()
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(0,)]


def test_the_columns_of_a_table(connection: dbapi.Connection, database: Database) -> None:
    catalog, schema = database.names
    assert connection.adbc_get_table_schema("adbc_t").names == ["i", "s"]
    found = connection.adbc_get_table_schema("adbc_t", catalog_filter=catalog, db_schema_filter=schema)
    assert found.names == ["i", "s"]
    with pytest.raises(dbapi.ProgrammingError) as failed:
        connection.adbc_get_table_schema('no "such` table')
    assert failed.value.sqlstate == database.missing


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_the_types_of_parameters(request: pytest.FixtureRequest, name: str) -> None:
    with request.getfixturevalue(name).cursor() as cursor:
        schema = cursor.adbc_prepare("select $1::int8 as a, $2::text as b, $3::timestamptz as c, $4::numeric as d")
    assert schema is not None
    assert schema.types == [pa.int64(), pa.utf8(), pa.timestamp("us", "UTC"), pa.null()]


def test_the_current_catalog_and_schema(database: Database) -> None:
    catalog, schema = database.names
    with database.connect() as connection:
        assert connection.adbc_current_catalog == catalog
        if schema is not None:
            assert connection.adbc_current_db_schema == schema
        else:
            with pytest.raises(dbapi.ProgrammingError, match="no current"):
                _ = connection.adbc_current_db_schema
