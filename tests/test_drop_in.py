"""A script that was written for connectorx.read_sql, or for pandas.read_sql with a URI, runs with its import changed.

The cases are those of ConnectorX's own tests for PostgreSQL; docs/drop-in.md lists where the answer differs on purpose.
What does not depend on PostgreSQL runs on every source that has the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import pandas as pd
import postgres as pg
import pytest
from pandas.testing import assert_frame_equal

TABLES = """
    create table readings (id int not null, amount int, label varchar, ratio {double}, flag boolean);
    insert into readings values
        (1, 3, 'str1', null, true), (2, null, 'str2', 2.2, false), (0, 5, 'a', 3.1, null),
        (3, 7, 'b', 3, false), (4, 9, 'c', 7.8, null), (1314, 2, null, -10, true);
    create table words (id int not null, language varchar, hello varchar);
    insert into words values
        (0, 'English', 'Hello'), (1, '中文', '你好'), (2, '日本語', 'こんにちは'), (3, 'русский', 'Здра́вствуйте'),
        (4, 'Emoji', '😁😂😜'), (5, 'Latin1', '¥§¤®ð'), (6, 'Extra', 'y̆'), (7, '', null);
"""

#: The whole of `readings`, as ConnectorX gives it.
EXPECTED = {
    "id": pd.array([1, 2, 0, 3, 4, 1314], dtype="Int64"),
    "amount": pd.array([3, None, 5, 7, 9, 2], dtype="Int64"),
    "label": pd.Series(["str1", "str2", "a", "b", "c", None], dtype=object),
    "ratio": pd.Series([None, 2.2, 3.1, 3, 7.8, -10], dtype="float64"),
    "flag": pd.array([True, False, None, False, None, True], dtype="boolean"),
}


@dataclass(frozen=True)
class Place:
    """A source with the tables."""

    uri: str
    #: The URI with a password that no error may show.
    secret: str


@pytest.fixture(scope="module")
def stock_place(stock: pg.Cluster) -> Place:
    with stock.connect() as session:
        session.execute("create database shop")
    with stock.connect("shop") as session:
        session.execute(TABLES.format(double="double precision"))
    return Place(stock.uri("shop"), stock.uri("shop", tcp=True).replace("tester@", "tester:hunter2@"))


@pytest.fixture(scope="module")
def duckdb_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    path = tmp_path_factory.mktemp("drop-in") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES.format(double="double"))
    return Place(f"duckdb://{path}", f"duckdb://{path}")


@pytest.fixture(params=["stock", "duckdb"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each source that has the tables. A further one is a fixture and a name here."""
    return request.getfixturevalue(f"{request.param}_place")


@pytest.fixture
def shop(stock_place: Place) -> str:
    """PostgreSQL's URI."""
    return stock_place.uri


def read(place: Place | str, query: Any, **arguments: Any) -> pd.DataFrame:
    uri = place.uri if isinstance(place, Place) else place
    return colonnade.read_sql(uri, query, dtype_backend="connectorx", **arguments)


def expected(rows: list[int] | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    """Rows of `readings` by their `id`, in this order."""
    frame = pd.DataFrame(EXPECTED)
    if rows is not None:
        frame = frame.set_index("id").loc[rows].reset_index()
        frame["id"] = frame["id"].astype("Int64")
    return frame if columns is None else frame[columns]


BY_ID = [0, 1, 2, 3, 4, 1314]


# --- ConnectorX's cases -----------------------------------------------------------------------------------------------


def test_a_whole_table(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings"), expected())


@pytest.mark.parametrize("limit", [3, 10])
def test_a_limit(place: Place, limit: int) -> None:
    assert_frame_equal(read(place, f"select * from readings order by id limit {limit}"), expected(BY_ID[:limit]))


@pytest.mark.parametrize(
    "query",
    [
        "select * from readings",
        "select * from readings where 1 = 3 or 2 = 2",
        "with chosen as (select * from readings) select * from chosen",
    ],
)
@pytest.mark.parametrize("partitions", [{"partition_range": (0, 2000), "partition_num": 3}, {"partition_num": 2}])
def test_partitions(place: Place, query: str, partitions: dict[str, Any]) -> None:
    frame = read(place, query, partition_on="id", **partitions)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), expected(BY_ID))


@pytest.mark.parametrize("tail", ["limit 10", "order by id"])
def test_what_parts_could_not_keep_is_refused(stock_place: Place, tail: str) -> None:
    """ConnectorX gives each part rows of its own."""
    with pytest.raises(colonnade.NotSupportedError, match=tail.split()[0].upper()):
        read(stock_place, f"select * from readings {tail}", partition_on="id", partition_num=2)


def test_a_partitioned_key_keeps_its_nulls(place: Place) -> None:
    """ConnectorX loses these rows."""
    frame = read(place, "select id, amount from readings", partition_on="amount", partition_num=2)
    assert sorted(frame["id"].tolist()) == BY_ID


def test_partitions_of_a_projection_a_selection_and_nothing(place: Place) -> None:
    arguments = {"partition_on": "id", "partition_num": 3}
    frame = read(place, "select id, amount, label from readings", **arguments)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), expected(BY_ID, ["id", "amount", "label"]))
    frame = read(place, "select * from readings where ratio > 3", **arguments)
    assert_frame_equal(frame.sort_values("id", ignore_index=True), expected([0, 4]))
    assert_frame_equal(read(place, "select * from readings where id < 1", **arguments), expected([0]))
    assert len(read(place, "select * from readings where id < -100", **arguments)) == 0


def test_a_join_and_its_aggregates(place: Place) -> None:
    query = "select r.id, r.flag, w.language from readings r join words w on r.id = w.id"
    frame = read(place, query, partition_on="id", partition_num=3).sort_values("id", ignore_index=True)
    assert frame["language"].tolist() == ["English", "中文", "日本語", "русский", "Emoji"]
    assert frame["flag"].dtype == "boolean"
    query = (
        "select flag, avg(ratio) as avg, cast(sum(r.id) as bigint) as sum from readings r join words w on r.id = w.id"
        " where amount is not null group by flag order by sum"
    )
    wanted = pd.DataFrame(
        {
            "flag": pd.array([True, False, None], dtype="boolean"),
            "avg": pd.Series([None, 3, 5.45], dtype="float64"),
            "sum": pd.array([1, 3, 4], dtype="Int64"),
        }
    )
    assert_frame_equal(read(place, query), wanted)


def test_aggregates(place: Place) -> None:
    frame = read(place, "select flag, sum(ratio) as total from readings group by flag order by total")
    assert_frame_equal(
        frame,
        pd.DataFrame(
            {
                "flag": pd.array([True, False, None], dtype="boolean"),
                "total": pd.Series([-10.0, 5.2, 10.9], dtype="float64"),
            }
        ),
    )
    frame = read(place, "select max(id), min(id) from readings", return_type="pandas")
    assert frame.iloc[0].tolist() == [1314, 0]
    assert set(read(place, "select distinct(flag) from readings")["flag"].tolist()) == {True, False, pd.NA}


def test_a_list_of_queries(place: Place) -> None:
    queries = ["select * from readings where id < 2;", "select * from readings where id >= 2;"]
    assert_frame_equal(read(place, queries), expected([1, 0, 2, 3, 4, 1314]))
    assert_frame_equal(read(place, [queries[0]]), expected([1, 0]))


def test_unicode(place: Place) -> None:
    frame = read(place, "select * from words order by id")
    assert frame.dtypes.tolist() == [pd.Int64Dtype(), object, object]
    assert frame["hello"].tolist() == [
        *("Hello", "你好", "こんにちは", "Здра́вствуйте", "😁😂😜", "¥§¤®ð", "y̆"),
        None,
    ]


def test_an_index_column(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings", index_col="id"), expected().set_index("id"))


def test_a_case_that_is_null_elsewhere(place: Place) -> None:
    frame = read(place, "select id, case when id = 1 or id = 2 then 'yes' end as said from readings")
    assert frame["said"].tolist() == ["yes", "yes", None, None, None, None]


def test_a_semicolon_at_the_end(place: Place) -> None:
    assert_frame_equal(read(place, "select * from readings;"), expected())


def test_an_empty_result_keeps_its_types(place: Place) -> None:
    frame = read(place, "select * from readings where id < -100")
    assert (len(frame), frame.dtypes.tolist()) == (0, expected().dtypes.tolist())


def test_arrow_and_streams(place: Place) -> None:
    table = colonnade.read_sql(place.uri, "select * from readings", return_type="arrow")
    assert table.column_names == list(EXPECTED)
    reader = colonnade.read_sql(place.uri, "select * from readings", return_type="arrow_stream", batch_size=2)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [2, 2, 2]
    assert [row for batch in batches for row in batch.to_pylist()] == table.to_pylist()


def test_polars_and_dask(place: Place) -> None:
    assert colonnade.read_sql(place.uri, "select * from readings", return_type="polars").height == 6
    frame = read(place, "select * from readings", return_type="dask", index_col="id")
    assert frame.index.name == "id"
    assert frame["ratio"].sum().compute() == pytest.approx(6.1)


@pytest.mark.parametrize("protocol", ["binary", "csv", "cursor", "simple", "text"])
def test_a_protocol_changes_nothing(shop: str, protocol: str) -> None:
    assert_frame_equal(read(shop, "select * from readings", protocol=protocol), expected())


def test_a_statement_without_rows_is_refused(shop: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match="returns no rows"):
        read(shop, "create temporary table other (id int)")


def test_settings_before_the_query(shop: str) -> None:
    before = ["set statement_timeout = 2151", "set idle_in_transaction_session_timeout = 2252"]
    query = (
        "select cast(setting as integer) as setting from pg_settings"
        " where name in ('statement_timeout', 'idle_in_transaction_session_timeout') order by setting"
    )
    assert read(shop, query, pre_execution_query=before)["setting"].tolist() == [2151, 2252]
    assert read(shop, query, pre_execution_query=before[0])["setting"].tolist() == [0, 2151]


def test_a_function(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        connection.execute(
            "create or replace function increment(i integer) returns integer language sql immutable as 'select i + 1'"
        )
    frame = read(shop, "select increment(id) as id from readings", partition_on="id", partition_num=2)
    assert sorted(frame["id"].tolist()) == [1, 2, 3, 4, 5, 1315]


# --- what the types become: the table of docs/drop-in.md --------------------------------------------------------------

#: A type, a literal of it, the column's dtype, and the value, all as ConnectorX 0.4.6 has them, measured.
TYPES = [
    ("bool", "true", "boolean", True),
    ("int2", "-32768", "Int64", -32768),
    ("int4", "2147483647", "Int64", 2147483647),
    ("int8", "9223372036854775807", "Int64", 9223372036854775807),
    ("oid", "4294967295", "Int64", 4294967295),
    ("float4", "0.1", "float64", 0.10000000149011612),
    ("float8", "0.1", "float64", 0.1),
    ("numeric", "521.34", "float64", 521.34),
    ("numeric(10,2)", "521.34", "float64", 521.34),
    ("text", "a", "object", "a"),
    ("varchar(5)", "a", "object", "a"),
    ("char(5)", "a", "object", "a    "),
    ('"char"', "a", "object", "a"),
    ("name", "a", "object", "a"),
    ("bytea", "\\x00ff", "object", b"\0\xff"),
    ("date", "2020-01-02", "datetime64[us]", pd.Timestamp("2020-01-02")),
    ("timestamp", "9999-12-31 03:04:05.678901", "datetime64[us]", pd.Timestamp("9999-12-31 03:04:05.678901")),
    ("timestamptz", "2020-01-02 03:04:05.678901+02", "datetime64[us]", pd.Timestamp("2020-01-02 01:04:05.678901")),
    ("time", "12:34:56.789", "object", "12:34:56.789"),
    ("time", "12:34:56", "object", "12:34:56"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "object", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("int2[]", "{1,2}", "object", [1, 2]),
    ("int8[]", "{9223372036854775807}", "object", [9223372036854775807]),
    ("float4[]", "{1.5}", "object", [1.5]),
    ("float8[]", "{1e308}", "object", [1e308]),
    ("numeric[]", "{521.34}", "object", [521.34]),
    ("numeric(10,2)[]", "{521.34}", "object", [521.34]),
    ("bool[]", "{t,f}", "object", [True, False]),
    ("mood", "very happy", "object", "very happy"),
    ("inet", "10.0.0.1", "object", "10.0.0.1"),
    ("int4range", "[1,2)", "object", "[1,2)"),
    ("positive", "7", "Int64", 7),
    # Not as ConnectorX has it, which is written in docs/drop-in.md.
    ("json", '{"a":  1}', "object", '{"a":  1}'),
    ("jsonb", '{"a":  1}', "object", '{"a": 1}'),
    ("bit(3)", "101", "object", "101"),
    ("text[]", "{a,b}", "object", ["a", "b"]),
    ("money", "12.34", "float64", 12.34),
    ("timetz", "12:34:56+02", "object", "12:34:56+02"),
    ("xml", "<a/>", "object", "<a/>"),
]


@pytest.fixture(scope="module")
def types_place(stock: pg.Cluster, stock_place: Place) -> str:
    with stock.connect("shop") as session:
        session.execute(
            "create type mood as enum ('happy', 'very happy'); create domain positive as int check (value > 0)"
        )
    return stock_place.uri


@pytest.mark.parametrize(("kind", "literal", "dtype", "value"), TYPES)
def test_a_type(types_place: str, kind: str, literal: str, dtype: str, value: object) -> None:
    query = f"select v from (values ('{literal}'::{kind}, 1), (null, 2)) t(v, k) order by k"
    column = read(types_place, query)["v"]
    assert (str(column.dtype), column[0], type(column[0]) is list) == (dtype, value, isinstance(value, list))
    assert column[1] is None if dtype == "object" else pd.isna(column[1])


def test_every_rounding_is_of_a_decimal(types_place: str) -> None:
    """`dtype_backend="connectorx"` takes the nearest float of a decimal; and refuses what ConnectorX garbles."""
    frame = read(types_place, "select 0.1000000000000000000001 as v, 1e400::numeric::text as big")
    assert frame["v"].tolist() == [0.1]
    with pytest.raises(colonnade.DataError, match=r"row 1: .* is no value of float64"):
        read(types_place, "select 1e400::numeric as v")
    with pytest.raises(colonnade.DataError, match="is no value of timestamp"):
        read(types_place, "select '5874897-12-31'::date as v")


def test_the_default_is_exact(types_place: str) -> None:
    frame = colonnade.read_sql(
        types_place, "select d, i from (values (521.34::numeric(10,2), 1), (null::numeric(10,2), null)) t(d, i)"
    )
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "Int32"]
    assert str(frame["d"][0]) == "521.34"


def test_duplicate_and_empty_names(place: Place) -> None:
    frame = read(place, "select id as a, label as a from readings order by id limit 1")
    assert (list(frame.columns), frame.dtypes.tolist()) == (["a", "a"], [pd.Int64Dtype(), object])
    assert frame.iloc[0].tolist() == [0, "a"]


# --- pandas.read_sql(sql, uri) ----------------------------------------------------------------------------------------


def test_both_orders_and_all_names(place: Place) -> None:
    query = "select id from readings order by id"
    for frame in (
        colonnade.read_sql(place.uri, query),
        colonnade.read_sql(query, place.uri),
        colonnade.read_sql(query, con=place.uri),
        colonnade.read_sql(sql=query, con=place.uri),
        colonnade.read_sql(conn=place.uri, query=query),
        colonnade.read_sql(place.uri, sql=query),
    ):
        assert frame["id"].tolist() == BY_ID
    with colonnade.connect(place.uri) as connection:
        assert colonnade.read_sql(query, connection)["id"].tolist() == BY_ID
        assert colonnade.read_sql(query, con=connection)["id"].tolist() == BY_ID
        assert connection.is_open


def test_what_is_no_connection(place: Place) -> None:
    for wrong in (object(), 5, duckdb):
        with pytest.raises(colonnade.InterfaceError, match="give a URI"):
            colonnade.read_sql("select 1", wrong)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="a connection and a query"):
        colonnade.read_sql(place.uri)
    with pytest.raises(TypeError, match="two names"):
        colonnade.read_sql(place.uri, "select 1", con=place.uri)
    with pytest.raises(colonnade.NotSupportedError, match="one connection"):
        colonnade.read_sql({"a": place.uri, "b": place.uri}, "select 1")  # type: ignore[call-overload]


def test_pandas_arguments(place: Place) -> None:
    query = "select id, label, '2024-02-29 12:00:00' as moment, '20240229' as day from readings order by id"
    frame = colonnade.read_sql(query, place.uri, index_col=["id", "label"], parse_dates=["moment"])
    assert frame.index.names == ["id", "label"]
    assert frame["moment"].iloc[0] == pd.Timestamp("2024-02-29 12:00")
    frame = colonnade.read_sql(query, place.uri, parse_dates={"day": "%Y%m%d"}, dtype={"id": "Int16"})
    assert (frame["day"][0], str(frame["id"].dtype)) == (pd.Timestamp("2024-02-29"), "int16")
    frame = colonnade.read_sql("select id from readings where id < $1", place.uri, params=[2])
    assert sorted(frame["id"]) == [0, 1]
    frame = colonnade.read_sql("select cast(0.25 as decimal(5, 2)) as d", place.uri, coerce_float=True)
    assert (frame["d"].dtype, frame["d"][0]) == ("float64", 0.25)
    frame = colonnade.read_sql("select * from readings", place.uri, dtype_backend="pyarrow")
    assert [str(dtype) for dtype in frame.dtypes] == [
        f"{name}[pyarrow]" for name in ("int32", "int32", "string", "double", "bool")
    ]
    frame = colonnade.read_sql("select * from readings", place.uri, dtype_backend="numpy_nullable")
    assert [str(dtype) for dtype in frame.dtypes] == ["Int32", "Int32", "string", "Float64", "boolean"]


def test_frames_of_a_given_size(place: Place) -> None:
    query = "select id from readings order by id"
    frames = list(colonnade.read_sql(query, place.uri, chunksize=4))
    assert [frame["id"].tolist() for frame in frames] == [BY_ID[:4], BY_ID[4:]]
    frames = list(colonnade.read_sql(place.uri, ["select id from readings order by id"] * 2, chunksize=5))
    assert [len(frame) for frame in frames] == [5, 5, 2]
    assert pd.concat(frames)["id"].tolist() == BY_ID * 2
    assert [len(frame) for frame in colonnade.read_sql("select 1 as n where false", place.uri, chunksize=5)] == [0]
    with colonnade.connect(place.uri) as connection:
        next(colonnade.read_sql(query, connection, chunksize=1)).equals(pd.DataFrame({"id": [0]}))
        assert connection.is_open


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"columns": ["id"]}, colonnade.NotSupportedError, "name the columns in the query"),
        ({"return_type": "arrow", "chunksize": 5}, ValueError, "chunksize"),
        ({"chunksize": 0}, ValueError, "at least 1"),
        ({"batch_size": 5}, ValueError, "batch_size"),
        ({"return_type": "polars", "dtype_backend": "pyarrow"}, ValueError, "dtype_backend needs"),
        ({"dtype_backend": "cudf"}, ValueError, "'cudf' is none of"),
        ({"parse_dates": "label"}, ValueError, "list of columns"),
        ({"index_col": "nothing"}, colonnade.InterfaceError, "'nothing': the columns are"),
        ({"dtype": "float64"}, TypeError, "a mapping from columns"),
    ],
)
def test_arguments_that_are_refused(place: Place, arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        colonnade.read_sql("select * from readings", place.uri, **arguments)


def test_no_error_shows_the_password(stock_place: Place) -> None:
    with pytest.raises(colonnade.Error) as caught:
        colonnade.read_sql("select * from nothing", stock_place.secret)
    assert "hunter2" not in f"{caught.value}{caught.value!r}"


def test_the_page_lists_every_argument() -> None:
    page = (Path(__file__).parents[1] / "docs" / "drop-in.md").read_text()
    for name in colonnade.read_sql.__annotations__:
        assert name in ("return", "options") or f"`{name}`" in page, name
    for kind, _, dtype, _ in TYPES:
        name = kind.partition("(")[0].removesuffix("[]").strip('"')
        assert name in ("mood", "positive", "int4range") or name in page, kind
        assert f"`{dtype}`" in page
