"""Connections (`TestConnection`, `ConnectionTest`): information, objects and their filters, schemas of tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import Database
from tests.support.adbc_driver import ROOT

ABSENT = "thisdoesnotexist"
TABLE = "adbc_objects"
DDL = [
    f"create table {TABLE} (ints int, strs varchar(20))",
    "create table constraint_primary (a int primary key)",
    "create table constraint_primary_multi2 (a int not null, b int not null, primary key (b, a))",
    "create table constraint_foreign (a int, b int references constraint_primary (a))",
    "create table constraint_foreign_multi (a int, b int, c int, "
    "foreign key (c, b) references constraint_primary_multi2 (b, a))",
    "create table constraint_unique (a int unique, b int, c int, unique (b, c))",
    "create table constraint_check (a int, b int, check (a > 0), check (a < b))",
]


@pytest.fixture
def conn(database: Database) -> Iterator[dbapi.Connection]:
    with database.connect() as connection:
        yield connection


@pytest.fixture
def tables(conn: dbapi.Connection) -> Iterator[None]:
    names = [ddl.split()[2] for ddl in DDL]
    with conn.cursor() as cursor:
        for ddl in DDL:
            cursor.execute(ddl)
        yield
        for name in reversed(names):
            cursor.execute(f"drop table {name}")


def objects(conn: dbapi.Connection, depth: Any, **filters: Any) -> list[tuple[Any, ...]]:
    """The names of the last level, each with those of the levels above, which are all there."""
    keys = ["catalog_name", "db_schema_name", "table_name", "column_name"]
    below = ["catalog_db_schemas", "db_schema_tables", "table_columns"]
    levels = ["catalogs", "db_schemas", "tables", "columns"].index(depth) + 1
    found: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {"": conn.adbc_get_objects(depth=depth, **filters).read_all().to_pylist()})
    ]
    for key, rows in zip(keys[:levels], ["", *below], strict=False):
        found = [((*names, row[key]), row) for names, parent in found for row in parent[rows]]
    names = [names for names, _ in found]
    assert len(set(names)) == len(names)
    return names


def test_current_catalog_and_db_schema(conn: dbapi.Connection, database: Database) -> None:
    catalog, schema = database.names
    assert conn.adbc_current_catalog == catalog
    if schema is not None:
        assert conn.adbc_current_db_schema == schema


def test_get_info(conn: dbapi.Connection) -> None:
    info = conn.adbc_get_info()
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    [arrow] = [each["version"] for each in locked if each["name"] == "arrow-array"]
    assert info["driver_version"] == f"v{package['version']}"
    assert info["driver_arrow_version"] == f"v{arrow}"
    assert info["driver_adbc_version"] == 1_001_000
    assert info["vendor_name"] in ("PostgreSQL", "MariaDB", "Colonnade")
    assert any(letter.isdigit() for letter in info["vendor_version"])


def test_get_objects_catalogs(conn: dbapi.Connection, database: Database) -> None:
    catalog = database.names[0]
    assert (catalog,) in objects(conn, "catalogs")
    assert objects(conn, "catalogs", catalog_filter=catalog) == [(catalog,)]
    assert objects(conn, "catalogs", catalog_filter=ABSENT) == []


def test_get_objects_db_schemas(conn: dbapi.Connection, database: Database) -> None:
    catalog, schema = database.names
    for filters in ({}, {"catalog_filter": catalog}, {"db_schema_filter": schema or ""}):
        assert (catalog, schema) in objects(conn, "db_schemas", **filters)
    assert objects(conn, "db_schemas", catalog_filter=catalog, db_schema_filter=schema or "") == [(catalog, schema)]
    for name in ("catalog_filter", "db_schema_filter"):
        assert objects(conn, "db_schemas", **{name: ABSENT}) == []


def test_get_objects_tables(conn: dbapi.Connection, database: Database, tables: None) -> None:
    table = (*database.names, TABLE)
    assert table in objects(conn, "tables")
    assert (*database.names, ABSENT) not in objects(conn, "tables")
    for pattern in (TABLE, "adbc_obj%", "adbc_object_", "%bjects"):
        assert table in objects(conn, "tables", table_name_filter=pattern)
    for name in ("catalog_filter", "db_schema_filter", "table_name_filter"):
        assert objects(conn, "tables", **{name: ABSENT}) == []
    assert objects(conn, "tables", table_types_filter=[ABSENT]) == []


def test_get_objects_columns(conn: dbapi.Connection, database: Database, tables: None) -> None:
    catalog, schema = database.names
    ints, strs = ((catalog, schema, TABLE, name) for name in ("ints", "strs"))
    exact = {"catalog_filter": catalog, "db_schema_filter": schema or "", "table_name_filter": TABLE}
    assert {ints, strs} <= set(objects(conn, "columns"))
    assert objects(conn, "columns", **exact) == [ints, strs]
    assert objects(conn, "columns", **exact, column_name_filter="in%") == [ints]
    assert objects(conn, "columns", **exact, column_name_filter=ABSENT) == []


def test_get_objects_column_xdbc(conn: dbapi.Connection, tables: None) -> None:
    found = conn.adbc_get_objects(depth="columns", table_name_filter=TABLE).read_all().to_pylist()
    columns = [
        column
        for catalog in found
        for schema in catalog["catalog_db_schemas"]
        for table in schema["db_schema_tables"]
        for column in table["table_columns"]
    ]
    assert [(column["column_name"], column["ordinal_position"]) for column in columns] == [("ints", 1), ("strs", 2)]
    for column in columns:
        assert (column["xdbc_nullable"], column["xdbc_is_nullable"]) == (1, "YES")
        assert column["xdbc_type_name"]


def constraints(conn: dbapi.Connection, table: str) -> list[tuple[Any, Any, Any]]:
    found = conn.adbc_get_objects(depth="columns", table_name_filter=table).read_all().to_pylist()
    [listed] = [
        row["table_constraints"]
        for catalog in found
        for schema in catalog["catalog_db_schemas"]
        for row in schema["db_schema_tables"]
    ]
    usage = [row["constraint_column_usage"] for row in listed]
    used = [rows and [(row["fk_table"], row["fk_column_name"]) for row in rows] for rows in usage]
    names = [(row["constraint_type"], row["constraint_column_names"]) for row in listed]
    return sorted(((*name, use) for name, use in zip(names, used, strict=True)), key=repr)


def test_get_objects_constraints(conn: dbapi.Connection, database: Database, tables: None) -> None:
    assert constraints(conn, "constraint_primary") == [("PRIMARY KEY", ["a"], None)]
    assert constraints(conn, "constraint_primary\\_multi2") == [("PRIMARY KEY", ["b", "a"], None)]
    assert constraints(conn, "constraint_foreign") == [("FOREIGN KEY", ["b"], [("constraint_primary", "a")])]
    assert constraints(conn, "constraint_foreign\\_multi") == [
        ("FOREIGN KEY", ["c", "b"], [("constraint_primary_multi2", "b"), ("constraint_primary_multi2", "a")])
    ]
    assert constraints(conn, "constraint_unique") == [("UNIQUE", ["a"], None), ("UNIQUE", ["b", "c"], None)]
    checks = constraints(conn, "constraint_check")
    assert [kind for kind, _, _ in checks] == ["CHECK", "CHECK"]
    # MariaDB does not say which columns a check has.
    assert {tuple(names) for _, names, _ in checks} == ({("a",), ("a", "b")} if database.names[1] else {()})


def test_get_table_schema(conn: dbapi.Connection, database: Database, tables: None) -> None:
    catalog, schema = database.names
    expected = pa.schema([("ints", pa.int32()), ("strs", pa.utf8())])
    assert conn.adbc_get_table_schema(TABLE).equals(expected)
    assert conn.adbc_get_table_schema(TABLE, catalog_filter=catalog, db_schema_filter=schema).equals(expected)
    with pytest.raises(dbapi.ProgrammingError) as failed:
        conn.adbc_get_table_schema(ABSENT)
    assert failed.value.status_code == AdbcStatusCode.NOT_FOUND


def test_get_table_schema_escaping(conn: dbapi.Connection) -> None:
    """A name is no SQL."""
    for name in ("(SELECT CURRENT_TIME)", 'a"; drop table b; --', "a`b", "a'b"):
        with pytest.raises(dbapi.ProgrammingError) as failed:
            conn.adbc_get_table_schema(name)
        assert failed.value.status_code == AdbcStatusCode.NOT_FOUND


def test_get_table_types_and_statistic_names(conn: dbapi.Connection) -> None:
    assert {"table", "view"} <= {kind.lower().removeprefix("base ") for kind in conn.adbc_get_table_types()}
    assert conn.adbc_get_statistic_names().read_all().num_rows == 0


def test_get_objects_is_cancelled(conn: dbapi.Connection) -> None:
    """A cancel between calls leaves the connection usable."""
    reader = conn.adbc_get_objects(depth="all")
    conn.adbc_cancel()
    reader.read_all()
    with conn.cursor() as cursor:
        assert cursor.execute("select 1 as a").fetchall() == [(1,)]


def test_concurrent_connections(database: Database) -> None:
    with database.connect() as one, database.connect() as other, one.cursor() as first, other.cursor() as second:
        first.execute(database.series.format(100_000))
        second.execute(database.series.format(3))
        assert second.fetchall() == [(1,), (2,), (3,)]
        assert len(first.fetchall()) == 100_000
