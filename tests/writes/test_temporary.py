"""`temporary=True`: a table that only its connection sees."""

from __future__ import annotations

from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.writes.places import Place

ONE = pa.table({"a": [1]})


def count(connection: colonnade.Connection, table: str) -> int:
    return connection.query(f"select count(*) as n from {table}").to_arrow()["n"][0].as_py()


def test_only_the_connection_sees_it(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        assert connection.write(ONE, "t", temporary=True).rows == 1
        assert count(connection, "pg_temp.t") == 1 and not in_postgres.exists()
        for mode, rows in [("append", 2), ("create_append", 3), ("truncate", 1), ("replace", 1)]:
            connection.write(ONE, "t", if_exists=mode, temporary=True)  # type: ignore[arg-type]
            assert count(connection, "pg_temp.t") == rows
        with pytest.raises(colonnade.ProgrammingError, match="exists"):
            connection.write(ONE, "t", temporary=True)
        connection.write(ONE, "u", if_exists="upsert", key=["a"], temporary=True)
        connection.write(ONE, "u", if_exists="upsert", key=["a"], temporary=True)
        assert count(connection, "pg_temp.u") == 1
    assert not in_postgres.exists() and not in_postgres.exists("u")


def test_a_table_of_the_same_name_is_left_alone(in_postgres: Place) -> None:
    colonnade.write_sql(ONE, in_postgres.uri, "t")
    with colonnade.connect(in_postgres.uri) as connection:
        for mode in ("append", "truncate"):
            with pytest.raises(colonnade.ProgrammingError, match="does not exist") as caught:
                connection.write(ONE, "t", if_exists=mode, temporary=True)  # type: ignore[arg-type]
            assert caught.value.sqlstate == "42P01"
        connection.write(pa.table({"a": [2, 3]}), "t", if_exists="replace", temporary=True)
        assert count(connection, "t") == 2
    assert in_postgres.rows() == [{"a": 1}]


def test_a_failed_write_leaves_no_table(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        batches = [pa.record_batch({"a": ["x"]}), pa.record_batch({"a": ["\0"]})]
        with pytest.raises(colonnade.DataError):
            connection.write(iter(batches), "t", temporary=True)
        with pytest.raises(colonnade.ProgrammingError):
            count(connection, "t")


def test_a_uri_could_not_keep_it(place: Place) -> None:
    with pytest.raises(colonnade.InterfaceError, match="open"):
        colonnade.write_sql(ONE, place.uri, "t", temporary=True)
    assert not place.exists()


def test_the_schema_of_temporary_tables_is_not_named(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        arguments: list[dict[str, Any]] = [{"schema": "public", "temporary": True}, {"schema": "pg_temp"}]
        for given in arguments:
            with pytest.raises(colonnade.InterfaceError) as caught:
                connection.write(ONE, "t", **given)
            assert caught.value.hint is not None and "schema" in caught.value.hint


def test_sqlite_refuses_it(in_sqlite: Place) -> None:
    refused = pytest.raises(colonnade.NotSupportedError, match="temporary")
    with colonnade.connect(in_sqlite.uri) as connection, refused as caught:
        connection.write(ONE, "t", temporary=True)
    assert caught.value.sqlstate == "0A000" and not in_sqlite.exists()
