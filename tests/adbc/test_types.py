"""Extension types and the names of types are those that other ADBC drivers give."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database, connect
from tests.support.sqlite_files import make

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
#: Columns for which ADBC's PostgreSQL driver and this one have the same keys.
COLUMNS = {
    "uuid": f"'{ID}'::uuid",
    "json": "'{\"a\": 1}'::json",
    "jsonb": "'{\"a\": 1}'::jsonb",
    "_uuid": f"array['{ID}'::uuid, null]",
    "_jsonb": "array['{}'::jsonb]",
    **{
        name: f"null::{name}"
        for name in (
            *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "money", "text", "varchar", "bpchar"),
            *("name", "bytea", "date", "time", "timestamp", "timestamptz", "interval", "inet", "cidr", "macaddr"),
            *("timetz", "xml", "bit", "varbit", "tsvector", "tsquery", "point", "pg_lsn", "macaddr8", "oid"),
            *("_int4", "_text", "_numeric", "_timestamptz"),
        )
    },
}
SQL = "select " + ", ".join(f'{expression} as "{name}"' for name, expression in COLUMNS.items())
NAMES = (b"POSTGRESQL:type", b"ADBC:postgresql:typname")


def keys(field: pa.Field) -> dict[bytes, bytes]:
    metadata = field.metadata or {}
    found = {key: metadata[key] for key in NAMES if key in metadata}
    # The other driver gives numerics with a precision as text too.
    return {**found, b"extension": extension(field.type)}


def extension(data_type: pa.DataType) -> bytes:
    name = data_type.extension_name if isinstance(data_type, pa.BaseExtensionType) else ""
    # The other driver gives the bytes of a type that Arrow lacks, this one its text.
    return b"" if name == "arrow.opaque" else name.encode()


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_types_have_the_keys_of_adbcs_own_driver(request: pytest.FixtureRequest, name: str) -> None:
    database: Database = request.getfixturevalue(name)
    with (
        adbc_driver_postgresql.dbapi.connect(database.uri) as reference,
        reference.cursor() as cursor,
        database.cursor() as own,
    ):
        expected = cursor.execute(SQL).fetch_arrow_table().schema
        found = own.execute(SQL).fetch_arrow_table()
        described = own.adbc_execute_schema(SQL)
    assert described.equals(found.schema, check_metadata=True)
    for field, other in zip(found.schema, expected, strict=True):
        assert keys(field) == keys(other), field.name
        if pa.types.is_list(field.type) and field.name == "_uuid":
            assert keys(field.type.value_field) == keys(other.type.value_field)
    assert found["uuid"].to_pylist() == [ID]
    assert found["_uuid"].to_pylist() == [[ID, None]]
    assert found["jsonb"].to_pylist() == ['{"a": 1}']


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_every_name_is_that_of_the_catalog(request: pytest.FixtureRequest, name: str) -> None:
    """The driver has a list of built-in types, which must not differ from PostgreSQL's."""
    database: Database = request.getfixturevalue(name)
    with database.cursor() as cursor:
        built_in = cursor.execute(
            "select typname::text from pg_type where typtype in ('b', 'r') and oid < 10000 and typarray <> 0"
        ).fetch_arrow_table()["typname"]
        named = 0
        for typname in built_in.to_pylist():
            schema = cursor.adbc_execute_schema(
                f'select null::pg_catalog."{typname}" as a, null::pg_catalog."{typname}"[] as b'
            )
            for field, expected in zip(schema, (typname, f"_{typname}"), strict=True):
                found = (field.metadata or {}).get(b"POSTGRESQL:type")
                assert found is None or found.decode() == expected
                named += found is not None
    assert named == 2 * 41


def test_a_uuid_within_a_table_and_as_text(postgresql: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table adbc_uuids (u uuid, v uuid)")
        try:
            rows = pa.table({"u": [ID.bytes], "v": [ID.bytes]}, pa.schema([("u", pa.uuid()), ("v", pa.uuid())]))
            cursor.execute("insert into adbc_uuids values ($1, $2)", rows)
            assert connection.adbc_get_table_schema("adbc_uuids").types == [pa.uuid(), pa.uuid()]
            cursor.adbc_statement.set_options(**{"adbc.colonnade.as_text": "v"})
            table = cursor.execute("select * from adbc_uuids").fetch_arrow_table()
            assert table.schema.types == [pa.uuid(), pa.utf8()]
            assert table.to_pylist() == [{"u": ID, "v": str(ID)}]
            assert cursor.adbc_execute_schema("select * from adbc_uuids").equals(table.schema, check_metadata=True)
        finally:
            cursor.execute("drop table adbc_uuids")


def test_colonnade_serve_has_no_names_of_types(served: Database) -> None:
    with served.cursor() as cursor:
        sql = f"select '{ID}'::uuid as u, '{{}}'::json as j, 1::hugeint as h"
        table = cursor.execute(sql).fetch_arrow_table()
        assert cursor.adbc_execute_schema(sql).equals(table.schema, check_metadata=True)
    assert table.schema.types == [pa.utf8(), pa.utf8(), pa.decimal128(38, 0)]
    assert [field.metadata for field in table.schema] == [None] * 3


@pytest.mark.parametrize("fixture", ["in_postgres", "in_maria", "in_sqlite"])
def test_a_gateway_is_read(request: pytest.FixtureRequest, fixture: str) -> None:
    """It does not describe the queries of every source."""
    uri = request.getfixturevalue(fixture).own_uri
    with connect(uri) as connection, connection.cursor() as cursor:
        assert cursor.execute("select 1 as a, 'x' as b").fetchall() == [(1, "x")]


def test_types_of_mariadb(mariadb_server: Database) -> None:
    with mariadb_server.cursor() as cursor:
        cursor.execute("create table adbc_types (u uuid, j json, i int unsigned)")
        try:
            cursor.execute(f"insert into adbc_types values ('{ID}', '[1]', 1)")
            table = cursor.execute("select u, j, i from adbc_types").fetch_arrow_table()
        finally:
            cursor.execute("drop table adbc_types")
    assert [extension(data_type) for data_type in table.schema.types] == [b"arrow.uuid", b"arrow.json", b""]
    assert table.schema.field("i").metadata == {b"MARIADB:type": b"int unsigned"}
    assert table.to_pylist() == [{"u": ID, "j": "[1]", "i": 1}]


def test_a_file_has_no_names_of_types(tmp_path: Path) -> None:
    uri = make(tmp_path / "a.sqlite", "create table t (u UUID, j JSON)")
    with connect(uri) as connection, connection.cursor() as cursor:
        schema = cursor.execute("select * from t").fetch_arrow_table().schema
    assert [field.metadata for field in schema] == [None, None]


def test_a_column_that_is_too_deep_is_named(served: Database) -> None:
    """pyarrow reads 64 levels, with that of the table."""
    with served.cursor() as cursor:
        assert cursor.execute(f"select {'[' * 62}1{']' * 62} as deep").fetch_arrow_table().num_rows == 1
        for depth, most in ((63, 63), (64, 64)):
            with pytest.raises(dbapi.Error, match=f'column "deep" is nested more than {most} levels deep'):
                cursor.execute(f"select {'[' * depth}1{']' * depth} as deep").fetch_arrow_table()
        assert cursor.execute("select 1 as n").fetchall() == [(1,)]
