"""What every source does the same. Where one does not, a mark `gap` names the error that comes instead."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import colonnade
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.sources.every_source import ADBC, KINDS, ROWS, Source

#: More rows than any buffer holds.
MANY = 1_000_000


@pytest.fixture
def connection(source: Source) -> Iterator[colonnade.Connection]:
    with source.connect() as opened:
        yield opened


def answers(connection: colonnade.Connection) -> bool:
    return connection.query("select 7 as n").to_arrow()["n"].to_pylist() == [7]


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_values_arrives_exactly(source: Source, kind: str) -> None:
    if kind not in source.dialect.types:
        pytest.skip("the database has no such type")
    column = source.read(f"select k, v_{kind} as v from every_type order by k")["v"]
    # By their representation: NaN equals itself, and -0.0 is not 0.0.
    assert list(map(repr, column.to_pylist())) == list(map(repr, source.expected(kind)))
    assert column.type == source.type_of(kind)


@pytest.mark.gap("adbc-sqlite", error=AssertionError, match="int64")
def test_no_rows_have_the_same_types(source: Source) -> None:
    table = source.read("select * from every_type where 1 = 0")
    assert table.num_rows == 0
    kinds = source.dialect.types
    assert table.schema.names == ["k", *(f"v_{kind}" for kind in kinds)]
    assert table.schema.types[1:] == [source.type_of(kind) for kind in kinds]


def test_rows_arrive_in_order(source: Source) -> None:
    table = source.read(source.dialect.series.format(200_000))
    assert table["i"].to_pylist() == list(range(1, 200_001))
    assert table["t"].to_pylist() == [f"row {i}" for i in range(1, 200_001)]


def test_columns_of_one_name(source: Source, connection: colonnade.Connection) -> None:
    result = connection.query("select 1 as a, 'x' as a, id as b from readings where id = 3")
    assert result.column_names == ["a", "a", "b"]
    for name, message in (("a", "2 columns named 'a'"), ("c", "no column named 'c'"), (3, "no column 3"), (-4, "-4")):
        with pytest.raises(colonnade.InterfaceError, match=message):
            result.column(name)
    assert result.column("b").to_pylist() == [3]
    assert [result.column(index).to_pylist() for index in range(3)] == [[1], ["x"], [3]]


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.gap("odbc", error=colonnade.InterfaceError, match=r"ODBC takes text for each \? in the query")
def test_parameters_by_order(source: Source) -> None:
    assert source.read("select $1 as a, $2 as b", [41, "it's $1"]).to_pylist() == [{"a": 41, "b": "it's $1"}]
    assert source.read("select word from readings where id = $1", [7]).to_pylist() == [{"word": "word 7"}]


@pytest.mark.gap("odbc", error=colonnade.InterfaceError, match=r"ODBC takes text for each \? in the query")
@pytest.mark.gap(*ADBC, error=colonnade.InterfaceError, match="in order: give a list")
def test_parameters_by_name(source: Source) -> None:
    query = "select word, '$quoted' as q from readings where id = $number or word = $word order by id"
    assert source.read(query, {"number": 7, "word": "word 2999"}).to_pylist() == [
        {"word": "word 7", "q": "$quoted"},
        {"word": "word 2999", "q": "$quoted"},
    ]


@pytest.mark.gap("odbc", error=colonnade.InterfaceError, match=r"ODBC takes text for each \? in the query")
def test_a_number_says_which_value_it_takes(source: Source) -> None:
    query = "select word from readings where id = $2 and word = $1 and word like $1"
    assert source.read(query, ["word 7", 7]).to_pylist() == [{"word": "word 7"}]


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("select word from readings where id = $2", [7]),
        ("select word from readings where id = $1", []),
        ("select word from readings where id = $1", None),
    ],
)
def test_a_placeholder_without_a_value(source: Source, query: str, values: list[int] | None) -> None:
    with pytest.raises(colonnade.Error):
        source.read(query, values)


def test_a_value_without_a_placeholder(source: Source) -> None:
    with pytest.raises(colonnade.Error):
        source.read("select word from readings where id = $1", [7, 8])


# --- statements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "sql"), [("syntax", "selec 1"), ("no such table", "select * from no_such_table"), ("syntax", "select 1 +")]
)
def test_a_wrong_statement(source: Source, connection: colonnade.Connection, what: str, sql: str) -> None:
    for ask in (connection.query, connection.execute):
        kind, sqlstate = source.error(what)
        with pytest.raises(kind) as caught:
            ask(sql)
        assert (caught.value.sqlstate, caught.value.source) == (sqlstate, connection.name)
        if what == "no such table":
            assert "no_such_table" in str(caught.value)
        assert answers(connection)


@pytest.mark.parametrize("sql", ["", " ; -- nothing", "select 'x"])
def test_what_is_no_statement(connection: colonnade.Connection, sql: str) -> None:
    with pytest.raises(colonnade.Error):
        connection.query(sql)
    assert answers(connection)


#: The driver puts the statement into a COPY.
@pytest.mark.gap("adbc-postgresql", error=colonnade.ProgrammingError, match='syntax error at or near ";"')
def test_a_statement_with_a_tail(connection: colonnade.Connection) -> None:
    assert connection.query("select 7 as n;  -- with a tail").to_arrow()["n"].to_pylist() == [7]


@pytest.mark.parametrize("sql", ["select 1; select 2", "select 1 ;; -- a tail\n update readings set price = 0;"])
def test_two_statements(source: Source, connection: colonnade.Connection, sql: str) -> None:
    kind, sqlstate = source.error("several statements")
    with pytest.raises(kind) as caught:
        connection.query(sql)
    assert (caught.value.sqlstate, caught.value.source) == (sqlstate, connection.name)
    assert connection.query("select count(*) as n from readings where price = 0").to_arrow()["n"].to_pylist() == [0]


def test_a_statement_without_rows_is_refused(source: Source, connection: colonnade.Connection) -> None:
    kind, sqlstate = source.error("no rows")
    with pytest.raises(kind) as caught:
        connection.query("update readings set price = 0")
    assert caught.value.sqlstate == sqlstate
    assert connection.query("select count(*) as n from readings where price = 0").to_arrow()["n"].to_pylist() == [0]


@pytest.mark.gap("sqlite", error=colonnade.DatabaseError, match="readonly database .*25006")
@pytest.mark.gap("odbc", error=AssertionError, match="None, None")
def test_a_statement_without_rows_is_executed(connection: colonnade.Connection) -> None:
    # Both, whatever the first one gives: other tests read the table too.
    counts = [connection.execute(f"update readings set price = price {sign} 1 where id <= 7") for sign in "+-"]
    assert counts == [7, 7]


# --- results and connections ------------------------------------------------------------------------------------------


def test_batches_are_the_table(source: Source, connection: colonnade.Connection) -> None:
    result = connection.query(source.dialect.series.format(200_000))
    with pytest.raises(colonnade.InterfaceError, match="after the last"):
        _ = result.num_rows
    batches = list(result)
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert result.num_rows == 200_000
    assert pa.Table.from_batches(batches)["i"].to_pylist() == list(range(1, 200_001))


@pytest.mark.parametrize("rows", [300, 1])
def test_batches_of_so_many_rows_at_most(source: Source, connection: colonnade.Connection, rows: int) -> None:
    batches = list(connection.query("select id from readings where id <= 1000 order by id", chunk_rows=rows))
    assert max(batch.num_rows for batch in batches) <= rows
    assert pa.Table.from_batches(batches)["id"].to_pylist() == list(range(1, 1001))


def test_a_limit_of_no_rows(connection: colonnade.Connection) -> None:
    with pytest.raises(ValueError, match="chunk_rows is 0: give a number of rows, at least 1"):
        connection.query("select 1", chunk_rows=0)


def test_one_result_at_a_time(source: Source, connection: colonnade.Connection) -> None:
    result = connection.query(source.dialect.series.format(MANY))
    for ask in (connection.query, connection.execute):
        with pytest.raises(colonnade.InterfaceError, match=r"still delivers a result: .* or open a second"):
            ask("select 1")
    result.close()
    assert answers(connection)


def test_a_dropped_result_frees_the_connection(source: Source, connection: colonnade.Connection) -> None:
    for _ in range(5):
        result = connection.query(source.dialect.series.format(MANY))
        assert next(iter(result)).num_rows > 0
        del result
        gc.collect()
        assert answers(connection)


def test_a_result_is_read_once(connection: colonnade.Connection) -> None:
    for read in (colonnade.Result.to_arrow, colonnade.Result.to_pandas, list, pl.DataFrame):
        result = connection.query("select id from readings")
        read(result)
        with pytest.raises(colonnade.InterfaceError):
            list(result)
    result = connection.query("select id from readings")
    result.close()
    with pytest.raises(colonnade.InterfaceError, match="the result was closed: run the query again"):
        result.to_arrow()


def test_a_closed_connection_says_so(connection: colonnade.Connection) -> None:
    assert connection.is_open
    connection.close()
    connection.close()
    assert not connection.is_open
    for ask in (connection.query, connection.execute):
        with pytest.raises(colonnade.InterfaceError, match="the connection is closed: open a new one"):
            ask("select 1")
    assert "closed" in repr(connection)


# --- stopping ---------------------------------------------------------------------------------------------------------

#: In Colonnade's, PostgreSQL's and MariaDB's words.
CANCELLED = "the query was cancelled|canceling statement due to user request|Query execution was interrupted"
#: test_odbc.py has the same with the statement ended in the server.
cannot_be_stopped = pytest.mark.lack("adbc-sqlite", "odbc", reason="the driver runs a statement to its end")


@cannot_be_stopped
@pytest.mark.parametrize(
    "when",
    [
        pytest.param("silent", id="before the first row"),
        pytest.param("endless", id="between rows"),
    ],
)
def test_a_running_query_is_cancelled(source: Source, connection: colonnade.Connection, when: str) -> None:
    is_over = threading.Event()

    def cancel() -> None:
        # Again and again, as nobody knows when the query has begun.
        while not is_over.wait(0.05):
            connection.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    kind, sqlstate = source.error("cancelled")
    try:
        with pytest.raises(kind) as caught:
            for _ in connection.query(getattr(source.dialect, when)):
                pass
    finally:
        is_over.set()
        thread.join()
    assert caught.value.sqlstate == sqlstate
    assert re.search(CANCELLED, str(caught.value))
    assert answers(connection)


INTERRUPTED = """
import os, signal, sys, threading
import colonnade
with colonnade.connect(sys.argv[1]) as connection:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        connection.query(sys.argv[2]).to_arrow()
    except KeyboardInterrupt:
        print("interrupted", connection.query("select 7 as n").to_arrow().to_pylist())
"""


@cannot_be_stopped
def test_ctrl_c(source: Source) -> None:
    command = [sys.executable, "-c", INTERRUPTED, source.uri, source.dialect.silent]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted [{'n': 7}]\n"), done.stderr


def test_ctrl_c_before_the_first_row_frees_the_connection(
    connection: colonnade.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a library is imported."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    result = connection.query(QUERY)
    with monkeypatch.context() as patched:
        patched.setattr("colonnade._frames.result.require", interrupted)
        with pytest.raises(KeyboardInterrupt):
            result.to_arrow()
    assert answers(connection)


# --- dtype ------------------------------------------------------------------------------------------------------------

QUERY = "select id, word, price from readings order by id"


def test_columns_in_other_types(source: Source) -> None:
    dtype = {"id": "int16", "price": "float64", "word": "large_string"}
    numbers = range(1, ROWS + 1)
    wanted = {"id": [*numbers], "word": [f"word {i}" for i in numbers], "price": [i / 4 for i in numbers]}

    def check(table: pa.Table) -> None:
        assert table.schema.types == [pa.int16(), pa.large_string(), pa.float64()]
        assert table.to_pydict() == wanted

    check(source.read(QUERY, dtype=dtype))
    check(colonnade.read_sql(source.uri, QUERY, return_type="arrow", dtype=dtype))
    check(colonnade.read_sql(source.uri, QUERY, return_type="arrow_stream", dtype=dtype).read_all())
    with source.connect() as connection:
        result = connection.query(QUERY, dtype=dtype)
        assert result.schema.types == [pa.int16(), pa.large_string(), pa.float64()]
        check(pa.Table.from_batches(list(result)))
        assert result.stats.rows == ROWS
        check(pa.table(connection.query(QUERY, dtype=dtype)))
        assert pl.DataFrame(connection.query(QUERY, dtype=dtype)).to_dict(as_series=False) == wanted
        result = connection.query(QUERY, dtype=dtype)
        assert result.column("price").to_pylist() == wanted["price"]
        assert result.column("word").to_pylist() == wanted["word"]
        assert connection.query(QUERY, dtype=dtype).to_pandas().to_dict("list") == wanted


def test_a_value_that_would_change(source: Source) -> None:
    with pytest.raises(colonnade.DataError, match='column "id", row 128: 128 is no value of int8') as caught:
        source.read(QUERY, dtype={"id": "int8"})
    assert caught.value.sqlstate == "22000"
    with pytest.raises(colonnade.InterfaceError, match="dtype names 'missing', which the result does not have"):
        source.read(QUERY, dtype={"missing": "int8"})


# --- destinations -----------------------------------------------------------------------------------------------------


def of_numpy(columns: Any) -> dict[str, list[Any]]:
    assert all(isinstance(column, np.ndarray) for column in columns.values())
    return {name: column.tolist() for name, column in columns.items()}


#: What `read_sql` gives, as lists by the columns' names.
DESTINATIONS: dict[str, Callable[[Any], dict[str, list[Any]]]] = {
    "pandas": lambda frame: frame.to_dict("list"),
    "polars": lambda frame: frame.to_dict(as_series=False),
    "arrow": lambda table: table.to_pydict(),
    "arrow_stream": lambda reader: reader.read_all().to_pydict(),
    "numpy": of_numpy,
    "duckdb": lambda relation: relation.to_arrow_table().to_pydict(),
    "dask": lambda frame: frame.compute().to_dict("list"),
}


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_a_destination_has_the_rows(source: Source, destination: str) -> None:
    query = "select id, word from readings where id < 5 order by id"
    found = DESTINATIONS[destination](colonnade.read_sql(source.uri, query, return_type=destination))
    assert found == {"id": [1, 2, 3, 4], "word": ["word 1", "word 2", "word 3", "word 4"]}
    with source.connect() as connection:
        again = colonnade.read_sql(connection, query, return_type=destination)
        assert DESTINATIONS[destination](again) == found
        assert connection.is_open


def test_queries_follow_one_another(source: Source) -> None:
    queries = ["select id from readings where id <= 3 order by id", "select id from readings where id = 9"]
    assert colonnade.read_sql(source.uri, queries, return_type="arrow")["id"].to_pylist() == [1, 2, 3, 9]
    with pytest.raises(colonnade.InterfaceError, match="different columns"):
        colonnade.read_sql(source.uri, [queries[0], "select word from readings"], return_type="arrow")
