"""Wrong arguments are errors that name the argument, what was given, and what to write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import colonnade
import pandas as pd
import pytest
import sqlalchemy

from tests.support.shop import BY_ID, Place
from tests.testbed import postgres as pg

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"partition_num": "4"}, "partition_num is '4': give a whole number"),
    ({"partition_num": 2.5}, "partition_num is 2.5"),
    ({"partition_num": True}, "partition_num is True"),
    ({"partition_on": 3, "partition_num": 2}, "partition_on is 3: give the name of a column"),
    ({"partition_on": "a", "partition_range": 5}, r"partition_range is 5: give two values, such as \(1, 1000\)"),
    ({"partition_on": "a", "partition_range": (1, "x")}, "give two values of one type"),
    ({"consistent": "no"}, "consistent is 'no': give True or False"),
    ({"chunksize": "5"}, "chunksize is '5'"),
    ({"batch_size": "3", "return_type": "arrow_stream"}, "batch_size is '3'"),
    ({"index_col": 5}, "index_col is 5"),
    ({"pre_execution_query": 5}, "pre_execution_query is 5"),
    ({"chunk_rows": "5"}, "chunk_rows is '5': give a number of rows"),
    ({"numeric": "10,2"}, r"numeric is '10,2': give a precision and a scale, such as \(38, 10\)"),
    ({"numeric": (10,)}, r"numeric is \(10,\)"),
    ({"as_text": "a"}, r"as_text is 'a': give a list of columns, such as \['total'\]"),
    ({"compression": 5}, "compression is 5"),
    ({"parallel": True}, "parallel is True: give 'auto', 'on' or 'off'"),
    ({"params": 5}, "params must be a list or tuple"),
    ({"params": {1: 2}}, r"params is \{1: 2\}: give texts as the names"),
    ({"coerce_float": "no"}, "coerce_float is 'no': give True or False"),
    ({"parse_dates": 5}, "parse_dates is 5: give the name of a column"),
    ({"parse_dates": {"a": 5}}, r"parse_dates is \{'a': 5\}"),
    ({"foo": 1}, r"read_sql\(\) has no argument 'foo': its options are"),
    ({"partiton_on": "a"}, "did you mean partition_on?"),
    ({"schema_overrides": {}}, "has no argument 'schema_overrides': did you mean dtype?"),
    ({"uri": "a"}, "did you mean conn?"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_a_wrong_argument(place: Place, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        colonnade.read_sql(place.uri, "select 1 as a", **arguments)


def test_a_wrong_argument_of_query(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(TypeError, match=r"query\(\) has no argument 'foo'"):
            connection.query("select 1", foo=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"did you mean as_text\?"):
            connection.query("select 1", as_txt=["a"])  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="chunk_rows is '5'"):
            connection.query("select 1", chunk_rows="5")  # type: ignore[arg-type]
        assert connection.query("select 1 as a").to_arrow().num_rows == 1


def test_the_lower_value_comes_first(place: Place) -> None:
    with pytest.raises(ValueError, match=r"partition_range is \(5, 1\): give \(low, high\), the lower value first"):
        colonnade.read_sql(place.uri, "select 1 as a", partition_on="a", partition_range=(5, 1))


@pytest.mark.parametrize("mark", ["%s", "?", "%(a)s"])
@pytest.mark.parametrize("params", [[1], {"a": 1}])
def test_drivers_placeholders(stock_place: Place, mark: str, params: Any) -> None:
    with pytest.raises(colonnade.InterfaceError, match=r"the query has no \$(1|a)") as caught:
        colonnade.read_sql(f"select id from readings where id = {mark}", stock_place.uri, params=params)
    assert "write placeholders as $1" in (caught.value.hint or "")


def test_sqlalchemys_text(stock_place: Place) -> None:
    query = sqlalchemy.text("select id from readings order by id")
    for arguments in ((query, stock_place.uri), (stock_place.uri, query)):
        assert colonnade.read_sql(*arguments)["id"].tolist() == BY_ID  # type: ignore[call-overload]
    with pytest.raises(colonnade.InterfaceError, match=r"text\(\) of SQLAlchemy with :a.* \$name for :name"):
        colonnade.read_sql(sqlalchemy.text("select :a"), stock_place.uri, params={"a": 1})  # type: ignore[call-overload]


def test_a_result_after_its_end(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        result = connection.query("select * from readings")
        result.close()
        for read in (result.to_arrow, lambda: list(result), lambda: result.column("id"), result.to_pandas):
            with pytest.raises(colonnade.InterfaceError, match="the result was closed: run the query again"):
                read()
        with pytest.raises(colonnade.InterfaceError, match="number of rows"):
            _ = result.num_rows
        result = connection.query("select * from readings")
        batches = iter(result)
        next(batches)
        result.close()
        with pytest.raises(colonnade.InterfaceError, match="the result is closed: run the query again"):
            next(batches)


@pytest.mark.parametrize("read", [colonnade.Result.to_arrow, colonnade.Result.to_pandas, list])
def test_a_result_after_the_end_of_its_connection(place: Place, read: Callable[[colonnade.Result], object]) -> None:
    # More rows than any buffer holds.
    many = f"select 1 as i from {', '.join(f'readings r{k}' for k in range(10))}"
    with colonnade.connect(place.uri) as connection:
        result = connection.query(many)
    # Engines within this process end their results themselves.
    within = "the result is closed: run the query again|the query was cancelled"
    is_within = place.uri.startswith(("duckdb:", "sqlite:"))
    said = within if is_within else "the connection was closed before its result was read: read it first"
    with pytest.raises(colonnade.Error, match=said):
        read(result)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "colonnade", *arguments]
    return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_line_names_what_there_is(stock: pg.Cluster) -> None:
    done = command("read", stock.uri(), "set work_mem = '1MB'")
    assert done.returncode == 1
    assert "the statement returns no rows (SQLSTATE 0A000); in Python, Connection.execute runs it" in done.stderr


def test_bench_shows_whole_errors(stock: pg.Cluster) -> None:
    done = command("bench", stock.uri(), "select 'x'::int", "--rounds", "1", "--clients", "colonnade", "adbc")
    assert done.returncode == 1
    for client in ("colonnade", "adbc"):
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"{client}:"))
        assert 'invalid input syntax for type integer: "x"' in line


# --- pandas' and ConnectorX's functions beside read_sql ---------------------------------------------------------------


def test_read_sql_query(place: Place) -> None:
    frame = colonnade.read_sql_query("select id, label from readings order by id", place.uri, "id")
    assert frame.index.tolist() == BY_ID
    frame = colonnade.read_sql_query(sql="select id from readings", con=place.uri, dtype={"id": "int32"})
    assert str(frame["id"].dtype) == "int32"


def test_read_sql_table(place: Place) -> None:
    whole = colonnade.read_sql_table("readings", place.uri)
    assert whole.columns.tolist() == ["id", "amount", "label", "ratio", "flag"]
    assert sorted(whole["id"]) == BY_ID
    frame = colonnade.read_sql_table("readings", place.uri, index_col="id", columns=["label"])
    assert (frame.index.name, frame.columns.tolist(), frame.loc[2, "label"]) == ("id", ["label"], "str2")
    twice = colonnade.read_sql_table("readings", place.uri, columns=["label", "id", "label"])
    assert twice.columns.tolist() == ["label", "id", "label"]
    pieces = list(colonnade.read_sql_table("readings", place.uri, chunksize=4))
    assert [len(piece) for piece in pieces] == [4, 2]
    with colonnade.connect(place.uri) as connection:
        assert len(colonnade.read_sql_table("words", connection)) == 8
        assert len(list(colonnade.read_sql_table("words", connection, chunksize=5))) == 2
        assert connection.is_open
    with pytest.raises(colonnade.Error, match="drop table"):
        colonnade.read_sql_table('words"; drop table words; --`', place.uri)
    assert len(colonnade.read_sql_table("words", place.uri)) == 8


def test_columns_that_a_table_lacks(place: Place) -> None:
    # SQLite takes an unknown name in double quotes for a text.
    for arguments in ({"columns": ["id", "nothing"]}, {"columns": ["id"], "index_col": "nothing"}):
        with pytest.raises(colonnade.ProgrammingError, match="nothing"):
            colonnade.read_sql_table("readings", place.uri, **arguments)  # type: ignore[call-overload]
    for wrong in ("id", [], [5], 5):
        with pytest.raises(TypeError, match=r"columns is .*: give a list of columns"):
            colonnade.read_sql_table("readings", place.uri, columns=wrong)  # type: ignore[call-overload]
    frame = colonnade.read_sql_table("readings", place.uri, columns=pd.Index(["label", "id"]))  # type: ignore[call-overload]
    assert frame.columns.tolist() == ["label", "id"]
    with pytest.raises(TypeError, match="table_name is 5: give the name of a table"):
        colonnade.read_sql_table(5, place.uri)  # type: ignore[call-overload]
    with pytest.raises(colonnade.InterfaceError, match="the connection string is not a URI"):
        colonnade.read_sql_table(place.uri, "readings")


def test_a_query_that_is_no_text(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        for ask in (connection.query, connection.execute):
            with pytest.raises(TypeError, match="the query is None: give a text"):
                ask(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="parts is 'x': give a number of parts"):
        colonnade.plan(place.uri, "select 1", parts="x")  # type: ignore[arg-type]


def test_a_table_of_a_schema(stock_place: Place) -> None:
    assert len(colonnade.read_sql_table("readings", stock_place.uri, schema="public")) == 6
    with pytest.raises(colonnade.ProgrammingError, match="nowhere"):
        colonnade.read_sql_table("readings", stock_place.uri, "nowhere")


def test_get_meta(place: Place) -> None:
    frame = colonnade.get_meta(place.uri, "select id, ratio, label from readings")
    assert (len(frame), frame.columns.tolist()) == (0, ["id", "ratio", "label"])
    assert [str(dtype) for dtype in frame.dtypes[:2]] == ["int64", "float64"]
    assert isinstance(frame, pd.DataFrame)


def test_get_meta_on_an_open_connection(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        for query in ("select id from readings", "select a.id, b.id from readings a, readings b;"):
            frame = colonnade.get_meta(connection, query)
            assert (len(frame), set(frame.columns)) == (0, {"id"})
        assert len(colonnade.read_sql(connection, "select id from readings")) == 6
        if "sqlite" not in place.uri:
            connection.execute("start transaction" if "mysql" in place.uri else "begin")
            with pytest.raises(colonnade.Error, match="transaction"):
                colonnade.get_meta(connection, "select id from readings")


def test_the_arguments_of_pandas_in_its_order(place: Place) -> None:
    sql = "select id, ratio from readings order by id"
    expected = colonnade.read_sql(place.uri, sql, index_col="id")
    pd.testing.assert_frame_equal(colonnade.read_sql(sql, place.uri, "id"), expected)
    pd.testing.assert_frame_equal(colonnade.read_sql(sql, place.uri, "id", True, None, None, None), expected)
    pd.testing.assert_frame_equal(colonnade.read_sql(place.uri, sql, ["id"], dtype_backend=None), expected)
    chunks = colonnade.read_sql(sql, place.uri, "id", True, None, None, None, 4)
    assert [len(chunk) for chunk in chunks] == [4, 2]
    with pytest.raises(TypeError, match="two values for index_col"):
        colonnade.read_sql(sql, place.uri, "id", index_col="id")
    with pytest.raises(TypeError, match="at most 10 arguments"):
        colonnade.read_sql(sql, place.uri, *[None] * 9)
    with pytest.raises(TypeError, match="index_col is 5"):
        colonnade.read_sql(sql, place.uri, 5)


@pytest.mark.parametrize("size", ["1KB", "1 kB", "1000", 1000])
def test_a_limit_of_a_results_size(place: Place, size: int | str) -> None:
    sql = "select a.label from readings a, readings b, readings c, readings d"
    with pytest.raises(colonnade.OperationalError, match="1000 bytes that max_result_bytes allows"):
        colonnade.read_sql(place.uri, sql, max_result_bytes=size)
    assert len(colonnade.read_sql(place.uri, sql, max_result_bytes="1.5MiB")) == 6**4
    refused: list[Any] = ["much", "0MB", "-1", "", True, 1.5]
    for wrong in refused:
        with pytest.raises((colonnade.InterfaceError, TypeError), match="such as '100MB'"):
            colonnade.read_sql(place.uri, sql, max_result_bytes=wrong)


#: What a source without the extension cannot follow, and what to write instead.
FOREIGN: list[tuple[dict[str, Any], str, str]] = [
    ({"numeric": (10, 2)}, "the option numeric is for PostgreSQL", "cast in the query"),
    ({"compression": "light+zstd-3"}, 'the option compression is "light.zstd-3"', "leave compression out"),
    ({"parallel": "on"}, 'the option parallel is "on"', "leave parallel out"),
]
OWN: list[dict[str, Any]] = [
    {"compression": "auto"},
    {"compression": "plain"},
    {"parallel": "auto"},
    {"parallel": "off"},
]


def refused_by_name(read: Callable[..., object], what: str) -> None:
    for arguments, message, hint in FOREIGN:
        with pytest.raises(colonnade.NotSupportedError, match=message) as caught:
            read(**arguments)
        assert hint in (caught.value.hint or ""), (what, arguments)
    for arguments in OWN:
        read(**arguments)


@pytest.mark.parametrize("source", ["duckdb", "mysql", "sqlite"])
def test_an_option_of_postgresql_is_refused_by_name(source: str, request: pytest.FixtureRequest) -> None:
    uri = request.getfixturevalue(f"{source}_place").uri
    query = "select 1 as a"
    refused_by_name(lambda **given: colonnade.read_sql(uri, query, return_type="arrow", **given), "read_sql")
    split = {"partition_on": "a", "partition_range": (0, 9), "partition_num": 2, "return_type": "arrow"}
    parted = "select 1 as a union all select 9"
    refused_by_name(lambda **given: colonnade.read_sql(uri, parted, **split, **given), "partitions")
    with colonnade.connect(uri) as connection:
        refused_by_name(lambda **given: connection.query(query, **given).to_arrow(), "query")
    for option in ("--numeric=10,2", "--compression=light"):
        done = subprocess.run(
            [sys.executable, "-m", "colonnade", "read", uri, query, option], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0
        assert f"the option {option[2:].partition('=')[0]} is" in done.stderr
    with pytest.raises(colonnade.InterfaceError, match="numeric"):
        colonnade.connect(f"{uri}{'&' if '?' in uri else '?'}numeric=10,2")


def test_an_option_of_postgresql_is_refused_by_adbc() -> None:
    import adbc_driver_sqlite

    with colonnade.connect(f"adbc:{adbc_driver_sqlite._driver_path()}") as connection:
        refused_by_name(lambda **given: connection.query("select 1 as a", **given).to_arrow(), "adbc")
