"""Statements, parameters and options."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import adbc_driver_manager as manager
import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database, connect
from tests.testbed import mariadb


def test_statements_without_rows_say_how_many_they_changed(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a'), (2, 'b')")
        assert cursor.rowcount == 2
        assert cursor.fetch_arrow_table().num_columns == 0
        cursor.execute("update adbc_t set s = 'c' where i = $1", (1,))
        assert cursor.rowcount == 1
        cursor.executemany("insert into adbc_t values ($1, $2)", [(3, "d"), (4, None), (5, "f")])
        assert cursor.rowcount == 3
        assert cursor.execute("select i, s from adbc_t order by i").fetchall() == [
            (1, "c"),
            (2, "b"),
            (3, "d"),
            (4, None),
            (5, "f"),
        ]


def test_rows_of_a_statement_that_changes_something_arrive(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("insert into adbc_t values (1, 'a'), (2, 'b') returning i").fetchall() == [(1,), (2,)]
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(2,)]


def test_a_statement_runs_once(connection: dbapi.Connection) -> None:
    """Whatever its first word is."""
    with connection.cursor() as cursor:
        cursor.execute("/* select */ insert into adbc_t values (1, 'a')")
        cursor.execute("insert into adbc_t (i) select 2")
        assert cursor.rowcount == 1
        assert cursor.execute("with a as (select * from adbc_t) select count(*) from a").fetchall() == [(2,)]


def test_each_row_of_bound_data_is_an_execution(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        rows = pa.table({"i": pa.array([1, 2, 3], pa.int64()), "s": ["x", None, "z"]})
        cursor.execute("insert into adbc_t values ($1, $2)", rows)
        assert cursor.rowcount == 3
        found = cursor.execute("select s from adbc_t where i = $1", pa.table({"i": [3, 1, 7]})).fetchall()
        assert found == [("z",), ("x",)]
        # No rows, no execution.
        cursor.execute("insert into adbc_t values ($1, $2)", rows.slice(0, 0))
        assert cursor.rowcount == 0
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(3,)]


def test_parameters_by_name(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values ($i, $s)", {"s": "a", "i": 1})
        assert cursor.execute("select s from adbc_t where i = $one", {"one": 1}).fetchall() == [("a",)]
        assert cursor.execute("select i from adbc_t where s = $1", ("a",)).fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("boolean", True),
        ("int8", -(2**63)),
        ("float8", 0.1),
        ("numeric(20, 3)", Decimal("-12345678901234567.125")),
        ("text", "it's $1 'ß漢🧀'"),
        ("bytea", b"\0\xff'"),
        ("date", dt.date(1, 1, 1)),
        ("time", dt.time(23, 59, 59, 999999)),
        ("timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("timestamptz", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)),
    ],
)
@pytest.mark.parametrize("name", ["postgresql", "extension", "served"])
def test_parameters_keep_their_values(request: pytest.FixtureRequest, name: str, type_name: str, value: object) -> None:
    database: Database = request.getfixturevalue(name)
    query = f"select cast($1 as {type_name}) as v"
    assert database.read(query, pa.table({"v": [value]}))["v"].to_pylist() == [value]
    nothing = pa.table({"v": pa.array([None], pa.array([value]).type)})
    assert database.read(query, nothing)["v"].to_pylist() == [None]


def test_a_value_that_no_parameter_can_have_is_refused_by_name(database: Database) -> None:
    for value, words in [
        (pa.array([1], pa.timestamp("ns")), "nanoseconds"),
        (pa.array([{"a": 1}]), "bind its text"),
        (pa.array([4_000_000], pa.date32()), "9999"),
    ]:
        with database.cursor() as cursor, pytest.raises(dbapi.ProgrammingError, match=rf"parameter \$1: .*{words}"):
            cursor.execute("select $1 as v", pa.table({"v": value}))


def test_results_of_several_executions_have_one_schema(postgresql: Database) -> None:
    with postgresql.cursor() as cursor:
        with pytest.raises(dbapi.DataError, match="cast the placeholders"):
            cursor.execute("select $1 as v", pa.table({"v": [1, 2**40]}))
        assert cursor.execute("select $1::int8 as v", pa.table({"v": [1, 2**40]})).fetchall() == [(1,), (2**40,)]


def test_a_placeholder_without_a_value(database: Database) -> None:
    with database.cursor() as cursor:
        with pytest.raises(dbapi.ProgrammingError, match=r"\$2"):
            cursor.execute("select $1 as a, $2 as b", (1,))
        with pytest.raises(dbapi.ProgrammingError, match=r"\$1"):
            cursor.execute("select 1 as a", (1,))
        assert cursor.execute("select 1 as a").fetchall() == [(1,)]


def test_what_is_not_there_says_what_to_do(database: Database) -> None:
    with database.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(dbapi.NotSupportedError, match="SQL query"):
            cursor.adbc_statement.set_substrait_plan(b"plan")
        with pytest.raises(dbapi.NotSupportedError, match=r"adbc\.colonnade\.compression"):
            cursor.adbc_statement.set_options(**{"adbc.colonnade.speed": "high"})


def test_options_reach_the_reading(served: Database) -> None:
    with connect(served.uri, **{"adbc.colonnade.chunk_rows": "1000"}) as connection, connection.cursor() as cursor:
        reader = cursor.execute("select i from range(5000) t(i)").fetch_record_batch()
        assert [batch.num_rows for batch in reader] == [1000] * 5
        cursor.adbc_statement.set_options(**{"adbc.colonnade.max_result_bytes": "1000"})
        with pytest.raises(dbapi.Error, match="max_result_bytes"):
            cursor.execute("select i from range(5000) t(i)").fetch_arrow_table()
        assert cursor.adbc_statement.get_option("adbc.colonnade.max_result_bytes") == "1000"
        assert cursor.adbc_statement.get_option_int("adbc.colonnade.chunk_rows") == 1000


def test_the_user_and_the_password_stand_beside_the_uri(maria: mariadb.Server) -> None:
    bare = maria.uri("nobody:wrong")
    user, password = maria.uri().removeprefix("mysql://").partition("@")[0].split(":")
    with connect(bare, username=user, password="s3cret/@:") as connection, connection.cursor() as cursor:
        assert cursor.execute("select 1 as a").fetchall() == [(1,)]
    assert password == "s3cret%2F%40%3A"
    with pytest.raises(dbapi.ProgrammingError) as failed:
        connect(bare, username=user, password="hunter2")
    assert failed.value.status_code == manager.AdbcStatusCode.UNAUTHENTICATED
    assert failed.value.sqlstate == "28000"
    assert "hunter2" not in str(failed.value)


def test_a_uri_of_colonnade_serve(served: Database) -> None:
    uri = served.uri.replace("postgresql://", "colonnade://")
    with connect(uri) as connection, connection.cursor() as cursor:
        assert cursor.execute("select 1 as a").fetchall() == [(1,)]
        assert connection.adbc_get_info()["vendor_name"] == "Colonnade"


def test_a_uri_of_no_source(tmp_path: Path) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="no source for oracle:"):
        connect("oracle://127.0.0.1")
    with pytest.raises(dbapi.ProgrammingError, match='set the option "uri"'):
        connect(None)
    with pytest.raises(dbapi.ProgrammingError, match="no users"):
        connect(f"sqlite:///{tmp_path}/a.sqlite", username="ada")
