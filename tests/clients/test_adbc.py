"""ADBC's PostgreSQL driver, and polars with it, against `colonnade serve`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

import adbc_driver_postgresql.dbapi as adbc
import polars
import pyarrow as pa
import pytest

from tests.support.tooling import USERS, Shop, shop


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop(tmp_path_factory.mktemp("adbc")) as running:
        yield running


EVERY_TYPE = """
    SELECT true AS b, 1::smallint AS i2, 2::integer AS i4, 3::bigint AS i8, 1.5::real AS f4, 2.5::double AS f8,
           12.50::decimal(9, 2) AS n, 'x' AS s, '\\x01'::bytea AS y, date '2020-01-02' AS d,
           timestamp '2020-01-02 03:04:05.678901' AS ts,
           timestamptz '2020-01-02 03:04:05+00' AS z,
           [1, NULL] AS l, uuid '00000000-0000-0000-0000-000000000001' AS u
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
"""


@pytest.mark.parametrize("user", USERS)
def test_values_are_read(running: Shop, user: str) -> None:
    with adbc.connect(running.uri(user)) as connection, connection.cursor() as cursor:
        cursor.execute(EVERY_TYPE)
        first, second = cursor.fetch_arrow_table().to_pylist()
        # The driver has no type for numeric, and gives its text.
        assert Decimal(first.pop("n")) == Decimal("12.50")
        assert first.pop("z").isoformat() == "2020-01-02T03:04:05+00:00"
        assert first == {
            "b": True,
            "i2": 1,
            "i4": 2,
            "i8": 3,
            "f4": 1.5,
            "f8": 2.5,
            "s": "x",
            "y": b"\x01",
            "d": date(2020, 1, 2),
            "ts": datetime(2020, 1, 2, 3, 4, 5, 678901),
            "l": [1, None],
            "u": UUID(int=1),
        }
        assert set(second.values()) == {None}
        cursor.execute("SELECT name FROM customers WHERE id = $1 AND joined < $2", (1, date(2020, 2, 1)))
        assert cursor.fetchall() == [("Ann",)]


@pytest.mark.parametrize("user", USERS)
def test_tables_are_described(running: Shop, user: str) -> None:
    with adbc.connect(running.uri(user)) as connection:
        schema = connection.adbc_get_table_schema("orders")
        assert schema.names == ["id", "customer", "total", "placed", "note"]
        (catalog,) = connection.adbc_get_objects(depth="all", catalog_filter="shop").read_all().to_pylist()
        tables = {
            table["table_name"]: {column["column_name"] for column in table["table_columns"]}
            for schema in catalog["catalog_db_schemas"]
            for table in schema["db_schema_tables"]
        }
        assert tables["customers"] == {"id", "name", "joined"}
        assert tables["spent"] == {"customer", "total"}


def test_tables_are_ingested(running: Shop) -> None:
    table = pa.table({"i": pa.array([1, 2, None], pa.int64()), "s": ["a", "ß", None], "d": [1.5, None, 2.5]})
    with adbc.connect(running.uri("writer")) as connection, connection.cursor() as cursor:
        modes: list[tuple[Literal["create", "append", "replace", "create_append"], int]]
        modes = [("create", 1), ("append", 2), ("replace", 1), ("create_append", 2)]
        for mode, expected in modes:
            assert cursor.adbc_ingest("ingested", table, mode=mode) == 3
            connection.commit()
            cursor.execute("SELECT * FROM ingested")
            assert cursor.fetch_arrow_table().cast(table.schema) == pa.concat_tables([table] * expected)
            connection.commit()
        cursor.executemany("INSERT INTO ingested VALUES ($1, $2, $3)", [(8, "x", 1.0), (9, "y", 2.0)])
        connection.rollback()
        cursor.execute("SELECT count(*) AS n FROM ingested")
        assert cursor.fetchone() == (6,)


def test_a_reader_ingests_nothing(running: Shop) -> None:
    with (
        adbc.connect(running.uri("reader")) as connection,
        connection.cursor() as cursor,
        pytest.raises(adbc.Error, match="read-only"),
    ):
        cursor.adbc_ingest("never", pa.table({"i": [1]}), mode="create")


def test_polars_reads_and_writes(running: Shop) -> None:
    for user in USERS:
        found = polars.read_database_uri("SELECT id, name FROM customers ORDER BY id", running.uri(user), engine="adbc")
        assert found.to_dicts() == [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]
    frame = polars.DataFrame({"a": [1, 2], "b": ["x", None]})
    ways: list[tuple[Literal["fail", "append", "replace"], int]] = [("fail", 1), ("append", 2), ("replace", 1)]
    for how, expected in ways:
        assert frame.write_database("from_polars", running.uri("writer"), engine="adbc", if_table_exists=how) == 2
        back = polars.read_database_uri("SELECT * FROM from_polars", running.uri("reader"), engine="adbc")
        assert back.equals(polars.concat([frame] * expected))


@pytest.mark.parametrize("user", USERS)
def test_functions_of_types_are_texts_and_numbers(running: Shop, user: str) -> None:
    """`regproc` of PostgreSQL: a number that is shown as a name."""
    with running.connect(user) as connection:
        query = (
            "SELECT typname, typreceive, typinput::text FROM pg_type WHERE typreceive != 0 AND typreceive::text = %s"
        )
        assert connection.execute(query, ["int4recv"]).fetchall() == [("int4", "int4recv", "int4in")]
        query = (
            "SELECT count(*) FROM pg_type WHERE typinput = 'array_in'::regproc AND typreceive = 'array_recv'::regproc"
        )
        arrays = connection.execute("SELECT count(*) FROM pg_type WHERE typelem <> 0").fetchall()
        assert connection.execute(query).fetchall() == arrays
        with connection.cursor(binary=True) as cursor:
            assert cursor.execute("SELECT typsend FROM pg_type WHERE oid = 1184").fetchall() == [("timestamptz_send",)]
