"""Writing by ADBC drivers: what is exact, and that the others are refused by name."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import quote

import adbc_driver_postgresql
import adbc_driver_sqlite
import colonnade
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.adbc_driver import DRIVER
from tests.testbed import postgres as pg
from tests.writes.exact import CASES, Case
from tests.writes.places import Place

#: The types that PostgreSQL's driver is known to store exactly.
EXACT = [
    case
    for case in CASES
    if pa.types.is_boolean(case.type)
    or (pa.types.is_integer(case.type) and case.type != pa.uint64())
    or pa.types.is_floating(case.type)
    or case.type in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
]
ONE, TWO = pa.table({"a": [1]}), pa.table({"a": [2]})
_numbers = count()


def by_driver(path: object, uri: str) -> str:
    return f"adbc:{quote(str(path), safe='/')}?uri={quote(uri, safe='')}"


@pytest.fixture
def foreign(in_postgres: Place) -> Place:
    """PostgreSQL by the driver of Apache Arrow, with a schema of its own."""
    return Place(by_driver(adbc_driver_postgresql._driver_path(), in_postgres.uri))


@pytest.fixture
def own(in_postgres: Place) -> Place:
    """PostgreSQL by this project's driver."""
    return Place(by_driver(DRIVER, in_postgres.uri))


@pytest.fixture(scope="module")
def foreign_connection(stock: pg.Cluster) -> Iterator[colonnade.Connection]:
    """For tests with many examples, which replace one table."""
    with stock.connect() as opened:
        opened.execute("create schema if not exists adbc_examples")
    uri = stock.uri(options="-c search_path=adbc_examples")
    with colonnade.connect(by_driver(adbc_driver_postgresql._driver_path(), uri)) as connection:
        yield connection


@pytest.mark.parametrize("which", ["foreign", "own"])
def test_a_table_is_created_and_replaced(which: str, in_postgres: Place, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(which)
    assert colonnade.write_sql(ONE, place.uri, "t").rows == 1
    with pytest.raises(colonnade.DatabaseError, match="exists"):
        colonnade.write_sql(TWO, place.uri, "t")
    assert in_postgres.rows() == [{"a": 1}]
    assert colonnade.write_sql(TWO, place.uri, "t", if_exists="replace").rows == 1
    assert in_postgres.rows() == [{"a": 2}]


def test_this_projects_driver_has_each_mode_of_adbc(own: Place, in_postgres: Place) -> None:
    for _ in range(2):
        colonnade.write_sql(ONE, own.uri, "t", if_exists="create_append")
    colonnade.write_sql(TWO, own.uri, "t", if_exists="append")
    assert in_postgres.rows() == [{"a": 1}, {"a": 1}, {"a": 2}]
    for mode in ("truncate", "upsert"):
        with pytest.raises(colonnade.NotSupportedError, match=f"no if_exists='{mode}'"):
            key = ["a"] if mode == "upsert" else None
            colonnade.write_sql(ONE, own.uri, "t", if_exists=mode, key=key)
    bad = pa.table({"a": pa.array([1, 2**63], pa.uint64())})
    with pytest.raises(colonnade.DataError, match='column "a", row 2') as caught:
        colonnade.write_sql(bad, own.uri, "t", if_exists="append")
    assert caught.value.sqlstate == "22003" and len(in_postgres.rows()) == 3


def test_this_projects_driver_writes_within_a_transaction(own: Place, in_postgres: Place) -> None:
    with colonnade.connect(own.uri) as connection:
        connection._source.begin()  # type: ignore[attr-defined]
        colonnade.write_sql(ONE, connection, "t")
        assert not in_postgres.exists()
        connection._source.end(commit=False)  # type: ignore[attr-defined]
    assert not in_postgres.exists()


def test_an_existing_column_is_not_trusted(foreign: Place, in_postgres: Place) -> None:
    """It may be char(n) or a domain, which change values."""
    in_postgres.execute("create table t (a char(5))")
    for mode in ("append", "create_append"):
        with pytest.raises(colonnade.NotSupportedError, match="does not report the types of an existing table"):
            colonnade.write_sql(pa.table({"a": ["x"]}), foreign.uri, "t", if_exists=mode)
    assert in_postgres.rows() == []


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**63], pa.uint64()),
        pa.array([1], pa.timestamp("ns")),
        pa.array([2**31 - 1], pa.date32()),
        pa.array([1], pa.decimal128(15, 2)),
        pa.array([1], pa.duration("ns")),
        pa.array([[1]]),
        pa.array([datetime.time(1)]),
    ],
)
def test_what_the_driver_would_change_is_refused(foreign: Place, in_postgres: Place, column: pa.Array) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "a": this driver does not store') as caught:
        colonnade.write_sql(pa.table({"a": column}), foreign.uri, "t")
    assert caught.value.sqlstate == "0A000" and not in_postgres.exists()


@pytest.mark.parametrize("case", EXACT, ids=lambda case: str(case.type))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_values_are_exact_or_refused(foreign_connection: colonnade.Connection, case: Case, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | case.values, max_size=6))
    table = pa.table({"a": case.array(values)})
    if not all(value is None or case.postgres(value) for value in values):
        with pytest.raises(colonnade.DatabaseError):
            colonnade.write_sql(table, foreign_connection, "t", if_exists="replace")
        return
    colonnade.write_sql(table, foreign_connection, "t", if_exists="replace")
    back = colonnade.read_sql(foreign_connection, "select * from t", return_type="arrow")
    # NaN differs from itself.
    assert list(map(str, back["a"].to_pylist())) == list(map(str, table["a"].to_pylist()))


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
@pytest.mark.parametrize("which", ["foreign", "own"])
def test_an_exception_of_the_generator_leaves_nothing(
    which: str, error: BaseException, in_postgres: Place, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(which)

    def failing() -> Iterator[pa.RecordBatch]:
        yield from ONE.to_batches() * 3
        raise error

    with colonnade.connect(place.uri) as connection:
        with pytest.raises(type(error)) as caught:
            colonnade.write_sql(failing(), connection, "t")
        assert caught.value is error and not in_postgres.exists()
        colonnade.write_sql(ONE, connection, "t")
    assert in_postgres.rows() == [{"a": 1}]


def test_a_transaction_of_the_user_is_left_alone(foreign: Place, in_postgres: Place) -> None:
    with colonnade.connect(foreign.uri) as connection:
        connection._source.begin()  # type: ignore[attr-defined]
        with pytest.raises(colonnade.InterfaceError, match="a transaction is open"):
            colonnade.write_sql(ONE, connection, "t")
        connection._source.end(commit=True)  # type: ignore[attr-defined]
    assert not in_postgres.exists()


def test_a_rule_that_drops_rows_is_noticed(foreign: Place, session: psycopg.Connection, in_postgres: Place) -> None:
    """An event trigger stands for whatever makes the table another one than the driver has created."""
    name = f"drops_{next(_numbers)}"
    session.execute(
        f"create function {name}() returns event_trigger language plpgsql as $$ begin"
        " execute 'create or replace function pg_temp.gone() returns trigger language plpgsql"
        " as ''begin return null; end''';"
        " execute 'create trigger gone before insert on t for each row execute function pg_temp.gone()'; end $$"
    )
    session.execute(
        f"create event trigger {name} on ddl_command_end when tag in ('CREATE TABLE') execute function {name}()"
    )
    try:
        with pytest.raises(colonnade.DatabaseError, match="stored 0 of 1 rows"):
            colonnade.write_sql(ONE, foreign.uri, "t")
    finally:
        session.execute(f"drop event trigger {name}")
    assert not in_postgres.exists()


def test_drivers_that_lose_values_are_refused_by_name(tmp_path: Any) -> None:
    uri = by_driver(adbc_driver_sqlite._driver_path(), str(tmp_path / "a.db"))
    with pytest.raises(colonnade.NotSupportedError, match="SQLite Driver") as caught:
        colonnade.write_sql(ONE, uri, "t")
    assert caught.value.hint == "write to sqlite:///file.db" and caught.value.sqlstate == "0A000"
