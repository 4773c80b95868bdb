"""`colonnade.dbapi` with every source."""

from __future__ import annotations

import datetime as dt
import gc
import inspect
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import colonnade
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from colonnade import dbapi

from tests.sources.every_source import KINDS, ROWS, Source

#: More rows than any buffer holds.
MANY = 1_000_000
#: What has nothing to write to.
read_only = pytest.mark.gap("sqlite", error=colonnade.DatabaseError, match="readonly database .*25006")


def connect(source: Source, *, autocommit: bool = False, **options: Any) -> dbapi.Connection:
    connection = dbapi.connect(source.uri, autocommit=autocommit, **options)
    for statement in source.before:
        connection.cursor().execute(statement)
    return connection


@pytest.fixture
def connection(source: Source) -> Iterator[dbapi.Connection]:
    with connect(source) as opened:
        yield opened


@pytest.fixture
def cursor(connection: dbapi.Connection) -> dbapi.Cursor:
    return connection.cursor()


# --- the module -------------------------------------------------------------------------------------------------------


def test_the_module_has_what_pep_249_names() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "numeric_dollar")
    assert issubclass(dbapi.Warning, Exception)
    assert issubclass(dbapi.Error, Exception)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert issubclass(getattr(dbapi, f"{name}Error"), dbapi.DatabaseError)
    assert dbapi.Error is colonnade.Error


def test_constructors_and_type_objects() -> None:
    assert dbapi.Date(2024, 2, 29) == dt.date(2024, 2, 29)
    assert dbapi.Time(1, 2, 3) == dt.time(1, 2, 3)
    assert dbapi.Timestamp(2024, 2, 29, 1, 2, 3) == dt.datetime(2024, 2, 29, 1, 2, 3)
    moment = time.mktime((2024, 2, 29, 1, 2, 3, 0, 0, -1))
    assert dbapi.DateFromTicks(moment) == dt.date(2024, 2, 29)
    assert dbapi.TimeFromTicks(moment) == dt.time(1, 2, 3)
    assert dbapi.TimestampFromTicks(moment) == dt.datetime(2024, 2, 29, 1, 2, 3)
    assert dbapi.Binary(b"\0") == b"\0"
    objects = [dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID]
    for code, equal in ((str, "STRING"), (bytes, "BINARY"), (Decimal, "NUMBER"), (dt.date, "DATETIME")):
        assert [kind for kind in objects if code == kind] == [getattr(dbapi, equal)]
    assert len(set(objects)) == 5


@pytest.mark.parametrize("options", [{"nonsense": 1}, {"chunk_rows": "many"}])
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        dbapi.connect("duckdb:", **options)


# --- values -----------------------------------------------------------------------------------------------------------

#: The type objects of the kinds of values.
CODES = {
    **dict.fromkeys(("boolean", "int16", "int32", "int64", "float32", "float64", "decimal"), dbapi.NUMBER),
    **dict.fromkeys(("text", "uuid"), dbapi.STRING),
    **dict.fromkeys(("date", "time", "timestamp", "timestamptz"), dbapi.DATETIME),
    "bytes": dbapi.BINARY,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_values_arrives_exactly(source: Source, cursor: dbapi.Cursor, kind: str) -> None:
    if kind not in source.dialect.types:
        pytest.skip("the database has no such type")
    cursor.execute(f"select v_{kind} as v from every_type order by k")
    [(name, code, *rest)] = cursor.description or []
    assert (name, len(rest)) == ("v", 5)
    values = [value for (value,) in cursor]
    assert list(map(repr, values)) == list(map(repr, source.expected(kind)))
    assert {type(value) for value in values} - {type(None)} == {code}
    if kind not in source.arrow:
        assert code == CODES[kind]


def test_integers_and_decimals_have_their_sizes(source: Source, cursor: dbapi.Cursor) -> None:
    cursor.execute("select id, word, price from readings")
    found = {name: (code, size, digits) for name, code, _, size, *digits, _ in cursor.description or []}
    assert found["id"] == (int, 8, [None, None])
    assert found["word"] == (str, None, [None, None])
    if source.type_of("decimal") == pa.decimal128(10, 2):
        assert found["price"] == (Decimal, None, [10, 2])


def test_parameters(source: Source, cursor: dbapi.Cursor) -> None:
    query = f"select word from readings where id = {'cast(? as bigint)' if 'odbc' in source.uri else '$1'}"
    value = "7" if "odbc" in source.uri else 7
    for given in ([value], (value,)):
        assert cursor.execute(query, given).fetchall() == [("word 7",)]
    assert cursor.execute("select word from readings where id = 7", ()).fetchall() == [("word 7",)]
    with pytest.raises(dbapi.InterfaceError, match="are a text"):
        cursor.execute(query, "7")


# --- fetching ---------------------------------------------------------------------------------------------------------


def test_rows_are_fetched_in_every_way(cursor: dbapi.Cursor) -> None:
    assert cursor.description is None
    assert cursor.rownumber is None
    cursor.execute("select id from readings order by id")
    with pytest.raises(colonnade.InterfaceError, match=r"fetchmany\(-1\) is no number of rows"):
        cursor.fetchmany(-1)
    assert (cursor.rowcount, cursor.rownumber) == (-1, 0)
    found = [cursor.fetchone(), *cursor.fetchmany(), *cursor.fetchmany(1000)]
    cursor.arraysize = 500
    found += cursor.fetchmany()
    assert (len(found), cursor.rownumber) == (1502, 1502)
    found += [next(iter(cursor))]
    found += cursor.fetchall()
    assert found == [(number,) for number in range(1, ROWS + 1)]
    assert (cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall(), list(cursor)) == (None, [], [], [])
    assert cursor.rownumber == ROWS
    assert cursor.fetch_arrow_table().num_rows == 0
    assert cursor.nextset() is None


@pytest.mark.parametrize("rows", [0, 1, 1000, ROWS])
@pytest.mark.parametrize(
    "read",
    [
        lambda cursor: cursor.fetch_arrow_table(),
        lambda cursor: cursor.fetch_record_batch().read_all(),
        lambda cursor: pa.table(cursor),
        lambda cursor: cursor.fetch_polars().to_arrow(),
    ],
    ids=["table", "reader", "capsule", "polars"],
)
def test_arrow_continues_where_rows_end(
    source: Source, cursor: dbapi.Cursor, rows: int, read: Callable[[dbapi.Cursor], pa.Table]
) -> None:
    cursor.execute("select id, price from readings order by id")
    assert len(cursor.fetchmany(rows)) == rows
    table = read(cursor)
    assert table["id"].to_pylist() == list(range(rows + 1, ROWS + 1))
    if pa.types.is_decimal(source.type_of("decimal")):
        assert table.schema.field("price").type == source.type_of("decimal")
    assert cursor.fetchone() is None


def test_rows_continue_where_batches_end(source: Source) -> None:
    with connect(source, chunk_rows=100) as connection:
        cursor = connection.cursor().execute("select id from readings order by id")
        assert cursor.fetchone() == (1,)
        batch = next(iter(cursor.fetch_record_batch()))
        assert batch["id"].to_pylist() == list(range(2, 101))
        assert cursor.fetchone() == (101,)


def test_rows_arrive_while_they_are_fetched(source: Source, request: pytest.FixtureRequest) -> None:
    if source.uri.startswith(("odbc", "adbc")):
        pytest.skip("the driver may run a statement to its end")
    with connect(source, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(source.dialect.endless)
        found = [*cursor.fetchmany(10_000)]
        assert len(found) == 10_000
        cursor.close()
        assert connection.cursor().execute("select 7 as n").fetchall() == [(7,)]


def test_a_query_by_pandas(source: Source, connection: dbapi.Connection) -> None:
    with pytest.warns(UserWarning, match="Other DBAPI2 objects are not tested"):
        frame = pd.read_sql("select id, word, price from readings order by id", connection)
    assert frame["id"].tolist() == list(range(1, ROWS + 1))
    assert frame["word"].tolist() == [f"word {number}" for number in range(1, ROWS + 1)]
    assert frame["price"].astype(float).tolist() == [number / 4 for number in range(1, ROWS + 1)]
    with pytest.warns(UserWarning), pytest.raises(dbapi.ProgrammingError):
        pd.read_sql("select * from no_such_table", connection)
    connection.rollback()
    with pytest.warns(UserWarning):
        pieces = pd.read_sql("select id from readings order by id", connection, chunksize=1000)
        assert [len(piece) for piece in pieces] == [1000, 1000, 1000]


#: pyarrow writes the description of the driver's own type in another way.
@pytest.mark.gap("adbc-postgresql", error=AssertionError, match="equals")
def test_a_query_by_polars(source: Source, connection: dbapi.Connection) -> None:
    query = "select id, word, price from readings order by id"
    with source.connect() as other:
        expected = other.query(query).to_polars()
    assert pl.read_database(query, connection).equals(expected)
    cursor = connection.cursor()
    assert pl.read_database(query, cursor).schema == expected.schema
    frames = list(pl.read_database(query, connection, iter_batches=True, batch_size=700))
    assert max(len(frame) for frame in frames) <= 700
    assert pl.concat(frames).equals(expected)
    kinds = [f"v_{kind}" for kind in source.dialect.types]
    everything = f"select {', '.join(kinds)} from every_type order by k"
    with source.connect() as other:
        assert pl.read_database(everything, connection).schema == other.query(everything).to_polars().schema


# --- statements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "sql"), [("syntax", "selec 1"), ("no such table", "select * from no_such_table"), ("syntax", "select 1 +")]
)
def test_a_wrong_statement(source: Source, connection: dbapi.Connection, what: str, sql: str) -> None:
    kind, sqlstate = source.error(what)
    cursor = connection.cursor()
    for _ in range(2):
        with pytest.raises(kind) as caught:
            cursor.execute(sql)
        assert caught.value.sqlstate == sqlstate
        assert cursor.description is None
        with pytest.raises(dbapi.InterfaceError, match="no rows to fetch"):
            cursor.fetchone()
        connection.rollback()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]


@read_only
def test_a_statement_runs_once_and_counts(source: Source, connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute("update readings set price = price + 1 where id <= 7")
    assert cursor.description is None
    assert cursor.rowcount == (-1 if source.uri.startswith("odbc") else 7)
    cursor.execute("select sum(price) from readings where id <= 7")
    assert float(cursor.fetchall()[0][0]) == 14
    connection.rollback()


def test_several_statements_by_one_call(source: Source, connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.Error):
        connection.cursor().execute("select 1; select 2")
    connection.rollback()


@read_only
def test_executemany(source: Source, connection: dbapi.Connection) -> None:
    is_odbc = source.uri.startswith("odbc")
    number, price = ("cast(? as bigint)", "cast(? as numeric)") if is_odbc else ("$2", "$1")
    rows = [("1.5", "1"), ("2.5", "2")] if is_odbc else [(Decimal("1.5"), 1), (Decimal("2.5"), 2)]
    if source.uri.startswith("adbc") and "sqlite" in source.uri:
        rows = [(1.5, 1), (2.5, 2)]
    cursor = connection.cursor()
    cursor.executemany(f"update readings set price = {price} where id = {number}", rows)
    assert (cursor.rowcount, cursor.description) == (-1 if is_odbc else 2, None)
    cursor.execute("select price from readings where id <= 2 order by id")
    assert [float(value) for (value,) in cursor] == [1.5, 2.5]
    connection.rollback()
    cursor.execute("select id from readings")
    assert cursor.executemany("update readings set price = 0 where id = $1", []).rowcount == 0
    assert cursor.description is None
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        cursor.executemany("update readings set price = 0 where id = $1", [])


def test_what_is_not_there(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="CALL"):
        cursor.callproc("p")
    cursor.setinputsizes([1])
    cursor.setoutputsize(1, 2)


# --- transactions -----------------------------------------------------------------------------------------------------


def words(source: Source) -> list[Any]:
    """What another connection sees."""
    with connect(source) as other:
        return other.cursor().execute("select word from readings where id = 5").fetchall()


@read_only
def test_a_transaction_is_rolled_back_or_committed(source: Source) -> None:
    if source.uri.startswith("duckdb"):
        pytest.skip("one process sees a file of DuckDB through one database")
    with connect(source) as connection:
        assert not connection.autocommit
        cursor = connection.cursor()
        cursor.execute("update readings set word = 'other' where id = 5")
        connection.rollback()
        assert cursor.execute("select word from readings where id = 5").fetchall() == [("word 5",)]
        connection.rollback()
        cursor.execute("update readings set word = 'other' where id = 5")
        connection.commit()
        assert words(source) == [("other",)]
        connection.commit()
        connection.rollback()
        cursor.execute("update readings set word = 'word 5' where id = 5")
    assert words(source) == [("word 5",)]


@read_only
def test_what_was_not_committed_is_lost(source: Source) -> None:
    def leave() -> None:
        with connect(source) as connection:
            connection.cursor().execute("update readings set word = 'lost' where id = 5")
            raise KeyError("left")

    with pytest.raises(KeyError, match="left"):
        leave()
    connection = connect(source)
    connection.cursor().execute("update readings set word = 'lost' where id = 5")
    connection.close()
    assert words(source) == [("word 5",)]


@read_only
def test_autocommit(source: Source) -> None:
    with connect(source, autocommit=True) as connection:
        assert connection.autocommit
        connection.cursor().execute("update readings set word = 'at once' where id = 5")
        connection.rollback()
    assert words(source) == [("at once",)]
    with connect(source) as connection:
        connection.cursor().execute("update readings set word = 'word 5' where id = 5")
        with pytest.raises(dbapi.InterfaceError, match="a transaction is open"):
            connection.autocommit = True
        connection.commit()
        connection.autocommit = True
        assert connection.cursor().execute("select word from readings where id = 5").fetchall() == [("word 5",)]


def test_a_failed_transaction_is_not_committed_in_silence(source: Source) -> None:
    connection = connect(source)
    cursor = connection.cursor().execute("select id from readings where id = 1")
    assert cursor.fetchall() == [(1,)]
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("select * from no_such_table")
    # Elsewhere, an error of one statement leaves the transaction as it is.
    if source.uri.startswith(("postgresql", "adbc", "odbc")):
        with pytest.raises(dbapi.DatabaseError, match="was rolled back, because one of its statements had failed"):
            connection.commit()
    connection.rollback()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]
    connection.commit()
    connection.close()


# --- results and connections ------------------------------------------------------------------------------------------


def test_a_connection_has_one_unfinished_result(source: Source) -> None:
    with connect(source, chunk_rows=1000) as connection:
        first = connection.cursor().execute(source.dialect.series.format(10_000))
        assert first.fetchone() is not None
        second = connection.cursor()
        for ask in (lambda: second.execute("select 1"), connection.commit):
            with pytest.raises(dbapi.InterfaceError, match="not read to its end: read it, or close the cursor"):
                ask()
        # Nothing of the first result is lost by that.
        assert len(first.fetchall()) == 9_999
        assert second.execute("select 7 as n").fetchall() == [(7,)]
        connection.commit()


def test_a_small_result_ends_by_itself(connection: dbapi.Connection) -> None:
    first, second = connection.cursor(), connection.cursor()
    first.execute("select 7 as n")
    second.execute("select 8 as n")
    connection.commit()
    assert (first.fetchone(), second.fetchall(), first.fetchone()) == ((7,), [(8,)], None)


def test_an_unfinished_result_is_given_up(source: Source, connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(source.dialect.series.format(MANY)).fetchone()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]
    with connection.cursor() as closed:
        closed.execute(source.dialect.series.format(MANY)).fetchone()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]
    connection.cursor().execute(source.dialect.series.format(MANY)).fetchone()
    gc.collect()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]
    cursor.execute(source.dialect.series.format(MANY)).fetchone()
    connection.rollback()
    with pytest.raises(dbapi.InterfaceError, match="the result was closed"):
        cursor.fetchall()
    assert cursor.execute("select 7 as n").fetchall() == [(7,)]


def test_what_is_closed_says_so(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.close()
    cursor.close()
    for ask in (lambda: cursor.execute("select 1"), cursor.fetchone, cursor.fetchall):
        with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
            ask()
    other = connection.cursor().execute("select 1")
    connection.close()
    connection.close()
    for ask in (connection.cursor, connection.commit, connection.rollback, other.fetchone):
        with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
            ask()
    assert "closed" in repr(connection)


def test_public_names_are_documented() -> None:
    for kind in (dbapi.Connection, dbapi.Cursor):
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                assert inspect.getdoc(member), name
