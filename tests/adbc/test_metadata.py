"""What the driver says of itself, of statements and of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database, connect
from tests.support.sqlite_files import make


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


def test_the_schema_can_be_chosen(postgresql: Database, mariadb_server: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as cursor:
        cursor.execute('create schema "adbc ""S"')
        connection.adbc_current_db_schema = 'adbc "S'
        assert connection.adbc_current_db_schema == 'adbc "S'
        with pytest.raises(dbapi.NotSupportedError, match="in its URI"):
            connection.adbc_current_catalog = "template1"
        cursor.execute('drop schema "adbc ""S"')
    with mariadb_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create database `adbc ``S`")
        connection.adbc_current_catalog = "adbc `S"
        assert connection.adbc_current_catalog == "adbc `S"
        with pytest.raises(dbapi.NotSupportedError, match="no schemas"):
            connection.adbc_current_db_schema = "x"
        cursor.execute("drop database `adbc ``S`")


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


OBJECTS = [
    "create table adbc_parent (a int not null, b int not null, primary key (a, b))",
    "create table adbc_child (x int, y int, z numeric(10, 2) default 3, w varchar(20) not null, unique (x), "
    "check (x > y), foreign key (x, y) references adbc_parent (a, b))",
    "create view adbc_view as select x from adbc_child",
]


@pytest.fixture
def objects(database: Database) -> Iterator[dbapi.Connection]:
    with database.connect() as connection:
        with connection.cursor() as cursor:
            for statement in OBJECTS:
                cursor.execute(statement)
        yield connection
        with connection.cursor() as cursor:
            for name in ("view adbc_view", "table adbc_child", "table adbc_parent"):
                cursor.execute(f"drop {name}")


def listed(connection: dbapi.Connection, **filters: Any) -> list[dict[str, Any]]:
    table = connection.adbc_get_objects(**filters).read_all()
    table.validate(full=True)
    return table.to_pylist()


def tables(connection: dbapi.Connection, database: Database, **filters: Any) -> dict[str, dict[str, Any]]:
    """The tables of the session's catalog and schema by name."""
    found = {row["catalog_name"]: row["catalog_db_schemas"] for row in listed(connection, **filters)}
    schemas = {row["db_schema_name"]: row["db_schema_tables"] for row in found[database.names[0]]}
    return {row["table_name"]: row for row in schemas[database.names[1]]}


def test_objects_by_depth(objects: dbapi.Connection, database: Database) -> None:
    catalog, schema = database.names
    catalogs = listed(objects, depth="catalogs")
    assert {"catalog_name": catalog, "catalog_db_schemas": None} in catalogs
    [found] = listed(objects, depth="db_schemas", catalog_filter=catalog)
    assert {"db_schema_name": schema, "db_schema_tables": None} in found["catalog_db_schemas"]
    names = tables(objects, database, depth="tables", table_name_filter="adbc%")
    view = "VIEW" if schema is None else "view"
    table = "BASE TABLE" if schema is None else "table"
    assert {name: row["table_type"] for name, row in names.items()} == {
        "adbc_child": table,
        "adbc_parent": table,
        "adbc_view": view,
    }
    assert {row["table_columns"] for row in names.values()} == {None}
    assert {table, view} <= set(objects.adbc_get_table_types())


def test_the_columns_of_objects(objects: dbapi.Connection, database: Database) -> None:
    found = tables(objects, database, depth="all", table_name_filter="adbc\\_%")
    columns = {column["column_name"]: column for column in found["adbc_child"]["table_columns"]}
    assert list(columns) == ["x", "y", "z", "w"]
    assert [column["ordinal_position"] for column in columns.values()] == [1, 2, 3, 4]
    assert columns["x"]["xdbc_type_name"].startswith("int")
    assert (columns["z"]["xdbc_column_size"], columns["z"]["xdbc_decimal_digits"]) == (10, 2)
    assert columns["z"]["xdbc_column_def"].startswith("3")
    assert (columns["z"]["xdbc_nullable"], columns["z"]["xdbc_is_nullable"]) == (1, "YES")
    assert (columns["w"]["xdbc_nullable"], columns["w"]["xdbc_is_nullable"]) == (0, "NO")
    assert {column["xdbc_is_autoincrement"] for column in columns.values()} == {False}
    assert [column["column_name"] for column in found["adbc_view"]["table_columns"]] == ["x"]
    assert found["adbc_view"]["table_constraints"] == []


def test_the_constraints_of_objects(objects: dbapi.Connection, database: Database) -> None:
    found = tables(objects, database, depth="all", table_name_filter="adbc%")
    [primary] = [each for each in found["adbc_parent"]["table_constraints"] if each["constraint_type"] == "PRIMARY KEY"]
    assert primary["constraint_column_names"] == ["a", "b"]
    assert primary["constraint_column_usage"] is None
    by_type = {each["constraint_type"]: each for each in found["adbc_child"]["table_constraints"]}
    assert set(by_type) == {"UNIQUE", "FOREIGN KEY", "CHECK"}
    assert by_type["UNIQUE"]["constraint_column_names"] == ["x"]
    catalog, schema = database.names
    assert by_type["FOREIGN KEY"]["constraint_column_names"] == ["x", "y"]
    assert by_type["FOREIGN KEY"]["constraint_column_usage"] == [
        {"fk_catalog": catalog, "fk_db_schema": schema, "fk_table": "adbc_parent", "fk_column_name": name}
        for name in ("a", "b")
    ]


def test_what_only_postgresql_has(postgresql: Database) -> None:
    with postgresql.connect() as connection, connection.cursor() as cursor:
        for statement in (
            "create schema adbc_special",
            "create table adbc_special.t (gone int, i int generated always as identity, s serial, v varchar(7),"
            " n numeric(5, -2), g int generated always as (1 + 1) stored)",
            "alter table adbc_special.t drop column gone",
            "comment on column adbc_special.t.v is 'a word'",
            "create materialized view adbc_special.m as select 1 as x",
            "create table adbc_special.p (x int) partition by range (x)",
        ):
            cursor.execute(statement)
        try:
            [catalog] = listed(connection, depth="all", db_schema_filter="adbc_special")
        finally:
            cursor.execute("drop schema adbc_special cascade")
    [schema] = catalog["catalog_db_schemas"]
    found = {table["table_name"]: table for table in schema["db_schema_tables"]}
    assert {name: table["table_type"] for name, table in found.items()} == {
        "t": "table",
        "m": "materialized view",
        "p": "partitioned table",
    }
    columns = {column["column_name"]: column for column in found["t"]["table_columns"]}
    assert list(columns) == ["i", "s", "v", "n", "g"]
    assert columns["i"]["ordinal_position"] == 2
    assert [column["xdbc_is_autoincrement"] for column in columns.values()] == [True, True, False, False, False]
    assert [column["xdbc_is_generatedcolumn"] for column in columns.values()] == [False] * 4 + [True]
    assert columns["v"]["remarks"] == "a word"
    assert columns["v"]["xdbc_column_size"] == 7
    assert (columns["n"]["xdbc_column_size"], columns["n"]["xdbc_decimal_digits"]) == (5, -2)
    assert columns["g"]["xdbc_column_def"] is None


def test_objects_are_filtered(objects: dbapi.Connection, database: Database) -> None:
    catalog, schema = database.names
    assert listed(objects, depth="all", catalog_filter="absent") == []
    [found] = listed(objects, depth="tables", catalog_filter=catalog, db_schema_filter="absent")
    assert found["catalog_db_schemas"] == []
    names = tables(
        objects, database, catalog_filter=catalog, db_schema_filter=schema or "", table_name_filter="adbc_chi_d"
    )
    assert list(names) == ["adbc_child"]
    view = "VIEW" if schema is None else "view"
    names = tables(objects, database, depth="tables", table_types_filter=[view])
    assert "adbc_view" in names and "adbc_child" not in names
    names = tables(objects, database, table_name_filter="adbc%", column_name_filter="x")
    columns = {name: [column["column_name"] for column in row["table_columns"]] for name, row in names.items()}
    assert columns == {"adbc_child": ["x"], "adbc_parent": [], "adbc_view": ["x"]}


def estimates(connection: dbapi.Connection, database: Database, table: str) -> dict[tuple[str | None, int], float]:
    """By column and key."""
    catalog, schema = database.names
    read = connection.adbc_get_statistics(
        catalog_filter=catalog, db_schema_filter=schema, table_name_filter=table, approximate=True
    ).read_all()
    read.validate(full=True)
    [found] = read.to_pylist()
    [found] = [row for row in found["catalog_db_schemas"] if row["db_schema_name"] == schema]
    rows = found["db_schema_statistics"]
    assert {row["table_name"] for row in rows} <= {table}
    assert {row["statistic_is_approximate"] for row in rows} <= {True}
    return {(row["column_name"], row["statistic_key"]): row["statistic_value"] for row in rows}


def test_the_planners_estimates(database: Database) -> None:
    is_postgresql = database.names[0] == "postgres"
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table adbc_estimated (id int not null primary key, word varchar(20))")
        try:
            numbers = database.series.format(1000)
            cursor.execute(f"insert into adbc_estimated select i, case when i > 500 then 'ab' end from ({numbers}) q")
            cursor.execute({"shop": "analyze table adbc_estimated"}.get(database.names[0] or "", "analyze")).fetchall()
            found = estimates(connection, database, "adbc_estimated")
            names = connection.adbc_get_statistic_names().read_all()
        finally:
            cursor.execute("drop table adbc_estimated")
    # InnoDB reads a sample of the pages.
    assert found[None, 6] == (pytest.approx(1000, rel=0.1) if database.names[1] is None else 1000)
    if is_postgresql:
        assert found["word", 5] == 500.0
        assert (found["id", 1], found["word", 1]) == (1000.0, 1.0)
        assert (found["id", 0], found["word", 0]) == (4.0, 3.0)
    elif database.names[1] is None:
        assert found["id", 1] == pytest.approx(1000, rel=0.1)
    assert names.num_rows == 0


def test_a_filter_is_a_value_and_no_sql(objects: dbapi.Connection) -> None:
    for hostile in ("' or 1=1 --", "\\", "$1", "x'; drop table adbc_child; --"):
        assert listed(objects, depth="catalogs", catalog_filter=hostile) == []


def test_the_objects_of_a_file_are_not_listed(tmp_path: Path) -> None:
    with (
        connect(make(tmp_path / "a.sqlite", "create table t (i int)")) as connection,
        pytest.raises(dbapi.NotSupportedError, match="query sqlite_schema"),
    ):
        connection.adbc_get_objects()
