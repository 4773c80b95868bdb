"""What arrives through the driver is what `colonnade.connect` reads, except for metadata and extension types."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import colonnade
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.adbc.databases import Database, connect
from tests.support.every_type import EVERY_TYPE
from tests.support.sqlite_files import make

POSTGRESQL = """
    select true as a, 1::int2 as b, 2::int4 as c, -9223372036854775807::int8 as d, 'NaN'::float4 as e,
        '-0'::float8 as f, 12.50::numeric(9, 2) as g, 1e-20::numeric as h, 'käse 🧀'::text as i, 'c'::"char" as j,
        'x'::char(3) as k, '\\x00ff'::bytea as l, date '0001-01-01' as m, time '23:59:59' as n,
        timestamp '2020-01-02 03:04:05.678901' as o,
        timestamptz '2020-01-02 03:04:05+02' as p, interval '1 month 2 days 3 s' as q, array[1, null] as r,
        '{"a": 1}'::jsonb as s, '00000000-0000-0000-0000-000000000001'::uuid as t, '12.30'::money as u, inet '::1' as v,
        int4range(1, 5) as w, array['x', null] as x
    union all select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null, null, null, null, null, null
"""
MARIADB = """
    select cast(1 as signed) as a, 18446744073709551615 as b, cast(1.5 as float) as c, cast(2.5 as double) as d,
        cast(12.50 as decimal(9, 2)) as e, 'käse 🧀' as f, x'00ff' as g, date '2024-02-29' as h,
        time '-838:59:59' as i, timestamp '2020-01-02 03:04:05.678901' as j
    union all select null, null, null, null, null, null, null, null, null, null
"""


def plain_type(data_type: pa.DataType) -> pa.DataType:
    """The type that `colonnade.connect` has for it."""
    if isinstance(data_type, pa.UuidType):
        return pa.utf8()
    if isinstance(data_type, pa.BaseExtensionType):
        return data_type.storage_type
    if pa.types.is_list(data_type):
        return pa.list_(plain_field(data_type.value_field))
    return data_type


def plain_field(field: pa.Field) -> pa.Field:
    metadata = {key: value for key, value in (field.metadata or {}).items() if key == b"colonnade.type"}
    return pa.field(field.name, plain_type(field.type), field.nullable, metadata)


def plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return str(value) if isinstance(value, UUID) else value


def same(uri: str, sql: str) -> None:
    with connect(uri) as connection, connection.cursor() as cursor:
        found = cursor.execute(sql).fetch_arrow_table()
    with colonnade.connect(uri) as reference:
        expected = reference.query(sql).to_arrow()
    found.validate(full=True)
    assert pa.schema([plain_field(field) for field in found.schema]).equals(expected.schema, check_metadata=True)
    for name in found.schema.names:
        # By their representation: NaN equals itself, and -0.0 is not 0.0.
        assert repr([plain_value(value) for value in found[name].to_pylist()]) == repr(expected[name].to_pylist())
    assert found.num_rows > 0


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_every_type_of_postgresql(request: pytest.FixtureRequest, name: str) -> None:
    same(request.getfixturevalue(name).uri, POSTGRESQL)


@pytest.mark.parametrize(("name", "sql"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_every_type_of_duckdb(served: Database, name: str, sql: str) -> None:
    same(served.uri, f"select * from ({sql}) order by k")


def test_every_type_of_mariadb(mariadb_server: Database) -> None:
    same(mariadb_server.uri, MARIADB)


def test_a_file_of_sqlite(tmp_path: Path) -> None:
    script = "create table t (i INTEGER, d DECIMAL(9,2), s TEXT, b BLOB, t TIMESTAMP);"
    script += "insert into t values (1, 12.5, 'ß', x'00ff', '2024-02-29 12:00:00'), (null, null, null, null, null)"
    uri = make(tmp_path / "a.sqlite", script)
    same(uri, "select * from t")
    with connect(uri) as connection, connection.cursor() as cursor:
        assert cursor.execute("select s from t where i = $1", (1,)).fetchall() == [("ß",)]
        assert connection.adbc_get_table_schema("t").names == ["i", "d", "s", "b", "t"]
        with pytest.raises(cursor.connection.Error, match="readonly"):
            cursor.execute("insert into t (i) values (2)")


def test_a_large_result_arrives_in_order(database: Database) -> None:
    assert database.read(database.series.format(300_000))["i"].to_pylist() == list(range(1, 300_001))


def test_pandas_and_polars(database: Database) -> None:
    sql = "select 1 as i, 'a' as s union all select 2, null order by i"
    with database.connect() as connection:
        frame = pd.read_sql(sql, connection)
        assert frame["i"].tolist() == [1, 2] and frame["s"].isna().tolist() == [False, True]
        assert pl.read_database(sql, connection).rows() == [(1, "a"), (2, None)]


def test_no_rows_have_columns(database: Database) -> None:
    table = database.read(
        "select 1 as i, 'a' as s where 1 = 0" if database.names[1] else "select 1 as i, 'a' as s from dual where 1 = 0"
    )
    assert table.num_rows == 0
    assert table.schema.names == ["i", "s"] and table.schema.field("s").type == pa.utf8()
