"""DuckDB files: what an existing column accepts, upsert, temporary tables, transactions and closing."""

from __future__ import annotations

import datetime
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import colonnade
import duckdb
import pyarrow as pa
import pytest
from colonnade._sources.duckdb_types import arrow_scan
from colonnade._sources.duckdb_types.exact import quoted

from tests.writes.places import Place

MICROSECOND = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)
UUID = "123e4567-e89b-12d3-a456-426614174000"


@pytest.fixture
def connection(in_duckdb: Place) -> Any:
    with colonnade.connect(in_duckdb.uri) as opened:
        yield opened


def rows(connection: colonnade.Connection, sql: str = "from t") -> list[dict[str, Any]]:
    return connection.query(sql).to_arrow().to_pylist()


#: A column's type, an Arrow type, a value that it holds exactly, and one that it does not.
EXISTING: list[tuple[str, pa.DataType, Any, Any]] = [
    ("tinyint", pa.uint64(), 127, 128),
    ("utinyint", pa.int64(), 255, -1),
    ("bigint", pa.uint64(), 2**63 - 1, 2**63),
    ("hugeint", pa.decimal128(38, 2), Decimal("12.00"), Decimal("12.50")),
    ("float", pa.float64(), 0.5, 0.1),
    ("float", pa.int64(), 2**24, 2**24 + 1),
    ("double", pa.int64(), 2**53, 2**53 + 1),
    ("decimal(5,2)", pa.decimal128(10, 3), Decimal("123.450"), Decimal("123.456")),
    ("decimal(5,2)", pa.decimal256(40, 2), Decimal("-999.99"), Decimal("1000.00")),
    ("decimal(5,2)", pa.int32(), 999, 1000),
    ("uuid", pa.string(), UUID, UUID[:-1]),
    ("uuid", pa.string(), UUID, f"{{{UUID}}}"),
    ("json", pa.string(), '{"b": 1.0}', "{"),
    ("mood", pa.string(), "ok", "happy"),
    ("enum('a b', 'c')", pa.dictionary(pa.int8(), pa.string()), "a b", "d"),
    ("time", pa.time64("ns"), datetime.time(1, 2, 3, 4), 1),
    ("timestamp_s", pa.timestamp("us"), datetime.datetime(2024, 1, 1), MICROSECOND),
    ("timestamp_ms", pa.timestamp("us"), datetime.datetime(2024, 1, 1), MICROSECOND),
    ("timestamp_ns", pa.timestamp("s"), datetime.datetime(2024, 1, 1), datetime.datetime(2500, 1, 1)),
    ("timestamptz", pa.timestamp("ns", "UTC"), 1000, 1),
    ("interval", pa.duration("ns"), 1000, 1),
    ("integer[]", pa.list_(pa.int64()), [1, None], [2**31]),
    ("smallint[2]", pa.list_(pa.int64(), 2), [1, None], [1, 2**15]),
    ("struct(a tinyint, b varchar)", pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1, "b": "x"}, {"a": 128}),
    ("map(varchar, tinyint)", pa.map_(pa.string(), pa.int64()), [("k", 1)], [("k", 128)]),
    ("uuid[]", pa.list_(pa.string()), [UUID, None], ["x"]),
]


@pytest.mark.parametrize(("declared", "kind", "right", "wrong"), EXISTING)
def test_a_column_accepts_what_it_keeps(
    connection: colonnade.Connection, declared: str, kind: pa.DataType, right: Any, wrong: Any
) -> None:
    connection.execute("create type mood as enum ('sad', 'ok')")
    connection.execute(f"create table t (a {declared})")

    def of(*values: Any) -> pa.Table:
        if pa.types.is_dictionary(kind):
            return pa.table({"a": pa.array(values, kind.value_type).dictionary_encode()})
        return pa.table({"a": pa.array(values, kind)})

    with pytest.raises(colonnade.DataError, match='column "a", row 3: ') as caught:
        colonnade.write_sql(of(right, None, wrong), connection, "t", if_exists="append")
    assert caught.value.sqlstate is not None and caught.value.sqlstate.startswith("22")
    assert caught.value.source == connection.name and rows(connection) == []
    colonnade.write_sql(of(right, None), connection, "t", if_exists="append")
    [first, second] = [row["a"] for row in rows(connection)]
    assert second is None
    if kind == pa.timestamp("ns", "UTC"):
        first = first.value if hasattr(first, "value") else round(first.timestamp() * 10**9)
    if kind == pa.duration("ns"):
        first = first.nanoseconds
    assert first == right


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("integer", pa.array([1.0])),
        ("decimal(5,2)", pa.array([0.1])),
        ("varchar", pa.array([1])),
        ("varchar", pa.array([b"x"])),
        ("blob", pa.array(["x"])),
        ("boolean", pa.array([1])),
        ("timestamp", pa.array([MICROSECOND], pa.timestamp("us", "UTC"))),
        ("timestamptz", pa.array([MICROSECOND])),
        ("timestamp", pa.array([datetime.date(2024, 1, 1)])),
        ("date", pa.array([MICROSECOND])),
        ("timetz", pa.array([datetime.time(1)])),
        ("bit", pa.array(["0"])),
        ("uhugeint", pa.array([1])),
        ("bignum", pa.array([1])),
        ("union(n integer, s varchar)", pa.array([1])),
        ("integer[]", pa.array([[1.5]])),
        ("integer[3]", pa.array([[1, 2]], pa.list_(pa.int32(), 2))),
        ("integer[2]", pa.array([[1, 2]])),
        ("struct(a integer)", pa.array([{"b": 1}])),
        ("struct(a integer, b integer)", pa.array([{"b": 1, "a": 1}])),
        ("interval[]", pa.array([[datetime.timedelta(1)]])),
        ("json[]", pa.array([[1]])),
        ("variant", pa.array(["1"])),
        ("geometry", pa.array([b"1"])),
    ],
)
def test_a_column_refuses_other_types(connection: colonnade.Connection, declared: str, column: pa.Array) -> None:
    connection.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.NotSupportedError, match='column "a": the table\'s column of type') as caught:
        colonnade.write_sql(pa.table({"a": column}), connection, "t", if_exists="append")
    assert caught.value.sqlstate == "0A000"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([], pa.decimal256(39, 0)),
        pa.array([], pa.decimal128(38, -1)),
        pa.array([], pa.struct([])),
        pa.array([], pa.list_(pa.duration("us"))),
        pa.array([], pa.struct({"a": pa.list_(pa.month_day_nano_interval())})),
    ],
)
def test_a_type_without_an_exact_form_is_refused(in_duckdb: Place, column: pa.Array) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "a": DuckDB has no type'):
        colonnade.write_sql(pa.table({"a": column}), in_duckdb.uri, "t")
    assert not in_duckdb.exists()


def test_nested_values_are_read_as_they_were_written(in_duckdb: Place) -> None:
    table = pa.table(
        {
            "l": pa.array([[[1], None], None, []], pa.list_(pa.list_(pa.int16()))),
            "s": pa.array([{"a": 1, "B b": ["x"]}, None, {"a": None, "B b": None}]),
            "m": pa.array(
                [[("k", {"d": Decimal("1.5")})], [], None], pa.map_(pa.string(), pa.struct({"d": pa.decimal128(5, 1)}))
            ),
            "f": pa.array([[1, 2], None, [None, 3]], pa.list_(pa.float64(), 2)),
        }
    )
    colonnade.write_sql(table, in_duckdb.uri, "t")
    assert in_duckdb.rows() == table.to_pylist()
    # A slice has items and rows before it, which have no meaning.
    colonnade.write_sql(table.slice(1), in_duckdb.uri, "t", if_exists="replace")
    assert in_duckdb.rows() == table.slice(1).to_pylist()


def test_a_key_that_a_map_has_twice_is_an_error(in_duckdb: Place) -> None:
    column = pa.array([[("k", 1)], [("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(colonnade.DatabaseError, match="duplicate key"):
        colonnade.write_sql(pa.table({"a": column}), in_duckdb.uri, "t")
    assert not in_duckdb.exists()


def test_infinity_is_duckdbs(in_duckdb: Place) -> None:
    table = pa.table(
        {
            "d": pa.array([2**31 - 1, -(2**31 - 1)], pa.date32()),
            **{unit: pa.array([2**63 - 1, -(2**63 - 1)], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        }
    )
    colonnade.write_sql(table, in_duckdb.uri, "t")
    with colonnade.connect(in_duckdb.uri) as connection:
        assert set(map(tuple, [row.values() for row in rows(connection, "select columns(*)::text from t")])) == {
            ("infinity",) * 5,
            ("-infinity",) * 5,
        }


@pytest.mark.parametrize(
    ("unit", "value"), [("us", -9_223_372_022_400_000_001), ("ms", 9_223_372_036_854_776), ("s", 2**62)]
)
def test_a_timestamp_that_would_end_the_database_is_refused(in_duckdb: Place, unit: str, value: int) -> None:
    with pytest.raises(colonnade.DataError, match='column "a", row 1: ') as caught:
        colonnade.write_sql(pa.table({"a": pa.array([value], pa.timestamp(unit))}), in_duckdb.uri, "t")
    assert caught.value.sqlstate == "22008" and not in_duckdb.exists()


def test_upsert_replaces_and_adds(in_duckdb: Place) -> None:
    first = pa.table({"k": [1, 2], "part": ["x", "x"], "v": ["a", "b"]})
    key = ["part", "k"]
    assert colonnade.write_sql(first, in_duckdb.uri, "t", if_exists="upsert", key=key).rows == 2
    second = pa.table({"v": ["B", "c"], "k": [2, 2], "part": ["x", "y"]})
    for _ in range(2):
        # Exactly once, however often.
        assert colonnade.write_sql(second, in_duckdb.uri, "t", if_exists="upsert", key=key).rows == 2
        with colonnade.connect(in_duckdb.uri) as connection:
            assert [tuple(row.values()) for row in rows(connection, "from t order by part, k")] == [
                (1, "x", "a"),
                (2, "x", "B"),
                (2, "y", "c"),
            ]
            assert rows(connection, "select count(*) n from duckdb_tables() where temporary") == [{"n": 0}]


def test_upsert_of_a_key_alone_keeps_the_rows(in_duckdb: Place) -> None:
    in_duckdb.execute("create table t (k bigint primary key, v text default 'new')")
    in_duckdb.execute("insert into t values (1, 'old')")
    assert colonnade.write_sql(pa.table({"k": [1, 2]}), in_duckdb.uri, "t", if_exists="upsert", key=["k"]).rows == 2
    assert in_duckdb.rows() == [{"k": 1, "v": "old"}, {"k": 2, "v": "new"}]


@pytest.mark.parametrize(
    ("data", "key", "sqlstate"),
    [
        # Far apart, because DuckDB itself notices repetitions only within a block.
        ({"k": [*range(300_000), 5], "u": [*range(300_001)]}, ["k"], "21000"),
        ({"k": [1, None], "u": [1, 2]}, ["k"], "23502"),
        ({"k": [1], "u": [1]}, ["u"], "42P10"),
        ({"k": [1], "u": [1]}, ["k", "u"], "42P10"),
    ],
)
def test_a_wrong_key_is_an_error(in_duckdb: Place, data: dict[str, Any], key: list[str], sqlstate: str) -> None:
    in_duckdb.execute("create table t (k bigint unique, u bigint)")
    with pytest.raises(colonnade.DatabaseError) as caught:
        colonnade.write_sql(pa.table(data), in_duckdb.uri, "t", if_exists="upsert", key=key)
    assert caught.value.sqlstate == sqlstate and in_duckdb.rows() == []


def test_a_temporary_table_is_the_connections(connection: colonnade.Connection, in_duckdb: Place) -> None:
    connection.execute("create table t (a bigint)")
    colonnade.write_sql(pa.table({"a": [1]}), connection, "t", temporary=True)
    # It is found before the other one.
    colonnade.write_sql(pa.table({"a": [2]}), connection, "t", if_exists="append")
    assert rows(connection) == [{"a": 1}, {"a": 2}] and in_duckdb.rows() == []
    with pytest.raises(colonnade.ProgrammingError, match="leave schema out"):
        colonnade.write_sql(pa.table({"a": [1]}), connection, "u", temporary=True, schema="main")


def test_a_schema_is_exact(connection: colonnade.Connection) -> None:
    connection.execute('create schema "Odd.Schema"')
    colonnade.write_sql(pa.table({"a": [1]}), connection, "t", schema="Odd.Schema")
    assert rows(connection, 'from "Odd.Schema".t') == [{"a": 1}]
    with pytest.raises(colonnade.ProgrammingError) as caught:
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t", schema="odd.schema")
    assert caught.value.sqlstate == "3F000"


def test_a_view_is_refused(connection: colonnade.Connection) -> None:
    connection.execute("create view v as select 1 as a")
    for mode in ("append", "replace", "truncate"):
        with pytest.raises(colonnade.ProgrammingError, match="is a view") as caught:
            colonnade.write_sql(pa.table({"a": [1]}), connection, "v", if_exists=mode)
        assert caught.value.sqlstate == "42809"


def test_a_read_only_file_is_reported(in_duckdb: Place) -> None:
    with pytest.raises(colonnade.DatabaseError, match="opened read-only") as caught:
        colonnade.write_sql(pa.table({"a": [1]}), f"{in_duckdb.uri}?access_mode=read_only", "t")
    assert caught.value.sqlstate == "25006"


def test_a_write_is_part_of_an_open_transaction(connection: colonnade.Connection, in_duckdb: Place) -> None:
    connection.execute("begin")
    colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
    assert not in_duckdb.exists()
    connection.execute("commit")
    assert in_duckdb.rows() == [{"a": 1}]


def test_a_failed_write_fails_the_open_transaction(connection: colonnade.Connection, in_duckdb: Place) -> None:
    """DuckDB has no savepoints, so nothing of the transaction may be committed after a part of a write."""
    in_duckdb.execute("create table t (a bigint)")
    in_duckdb.execute("insert into t values (1)")
    bad = pa.table({"a": pa.array([2, 2**63], pa.uint64())})
    connection.execute("begin")
    connection.execute("insert into t values (3)")
    with pytest.raises(colonnade.DataError):
        colonnade.write_sql(bad, connection, "t", if_exists="truncate")
    with pytest.raises(colonnade.DatabaseError, match="aborted"):
        connection.query("from t")
    connection.execute("commit")
    assert in_duckdb.rows() == [{"a": 1}]


def test_a_refused_write_leaves_the_open_transaction(connection: colonnade.Connection, in_duckdb: Place) -> None:
    in_duckdb.execute("create table t (a bigint)")
    connection.execute("begin")
    connection.execute("insert into t values (3)")
    for data, table in [({"a": ["x"]}, "t"), ({"b": [1]}, "t"), ({"a": [1]}, "T"), ({"a": [1]}, "missing")]:
        with pytest.raises(colonnade.DatabaseError):
            colonnade.write_sql(pa.table(data), connection, table, if_exists="append")
    connection.execute("commit")
    assert in_duckdb.rows() == [{"a": 3}]


def test_rows_keep_their_order(in_duckdb: Place) -> None:
    batches = (pa.record_batch({"a": pa.array(range(n * 10_000, (n + 1) * 10_000))}) for n in range(50))
    colonnade.write_sql(batches, in_duckdb.uri, "t")
    assert in_duckdb.table()["a"].to_pylist() == list(range(500_000))


def test_a_database_in_memory_is_written(in_duckdb: Place) -> None:
    with colonnade.connect("duckdb:///:memory:") as connection:
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
        assert rows(connection) == [{"a": 1}]


def test_nothing_of_a_write_stays_registered(connection: colonnade.Connection) -> None:
    colonnade.write_sql(pa.table({"a": [1]}), connection, "t")
    with pytest.raises(colonnade.DataError):
        colonnade.write_sql(pa.table({"a": pa.array([2**63], pa.uint64())}), connection, "t", if_exists="append")
    assert rows(connection, "select view_name from duckdb_views() where not internal") == []


def test_a_column_without_values_gets_null(connection: colonnade.Connection) -> None:
    connection.execute("create table t (a integer, b varchar[], c struct(x integer), d decimal(9,2), e uuid, f json)")
    nulls = pa.table({name: pa.nulls(2) for name in "abcdef"})
    colonnade.write_sql(nulls, connection, "t", if_exists="append")
    assert rows(connection) == [dict.fromkeys("abcdef")] * 2


def test_closing_from_another_thread_stops_the_query(in_duckdb: Place) -> None:
    connection = colonnade.connect(in_duckdb.uri)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            connection.execute("create table t as select sum(a.i) from range(10000000) a(i), range(1000000) b(i)")
        except colonnade.Error as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    connection.close()
    thread.join(10)
    assert not thread.is_alive() and isinstance(failed[0], colonnade.OperationalError)
    # The file is free.
    duckdb.connect(unquote(in_duckdb.uri.removeprefix("duckdb:///")), read_only=True).close()


def test_a_hugeint_that_is_read_can_be_written(connection: colonnade.Connection) -> None:
    """Its values are decimals of 38 digits and may have 39."""
    connection.execute("create table t (h hugeint)")
    digits = str(2**127 - 1)
    read = connection.query(f"select {digits}::hugeint as h union all select -{digits}::hugeint").to_arrow()
    colonnade.write_sql(read, connection, "t", if_exists="append")
    assert rows(connection, "select h::varchar as h from t order by h") == [{"h": f"-{digits}"}, {"h": digits}]
    with pytest.raises(colonnade.DataError, match='column "h", row 1: '):
        colonnade.write_sql(read, connection, "u")


def test_macros_with_the_names_of_duckdbs_functions_change_no_write(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(file) as made:
        made.execute("CREATE TABLE t (k INT PRIMARY KEY, j JSON, e ENUM('a', 'b'), h HUGEINT)")
        query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE database_name = 'system'"
        names = {name for (name,) in made.execute(query).fetchall()}
        # The duckdb package scans tables of Arrow with this one.
        for name in names - {"python_arrow_scan"}:
            made.execute(f"CREATE MACRO {quoted(name)}() AS 'another function'")
            made.execute(f"CREATE MACRO {quoted(name)}() AS TABLE SELECT 'another function' AS other")
    data = pa.table({"k": [1, 2], "j": ["{}", "[1]"], "e": ["a", "b"], "h": [5, None]})
    with colonnade.connect(f"duckdb:///{file}") as connection:
        connection.write(data, "t", if_exists="append")
        connection.write(data, "t", if_exists="upsert", key=["k"])
        connection.write(data, "t", if_exists="truncate")
        connection.write(data, "other")
        assert rows(connection) == [
            {"k": 1, "j": "{}", "e": "a", "h": Decimal(5)},
            {"k": 2, "j": "[1]", "e": "b", "h": None},
        ]
        for wrong, state in (({"j": ["{"]}, "22P02"), ({"e": ["c"]}, "22P02"), ({"k": [None]}, "23502")):
            with pytest.raises(colonnade.DatabaseError) as refused:
                connection.write(pa.table({"k": [3]} | wrong), "t", if_exists="upsert", key=["k"])
            assert refused.value.sqlstate == state
        assert len(rows(connection)) == 2


def test_several_threads_may_open_the_file_at_once(in_duckdb: Place) -> None:
    # DuckDB's package opens the file once, and a thread may go on before another one has registered its functions.
    threads, path = 3, in_duckdb.uri.removeprefix("duckdb:///")
    start = threading.Barrier(threads)

    def finds_the_function() -> bool:
        start.wait(60)
        with duckdb.connect(unquote(path)) as opened:
            found = arrow_scan.is_duckdbs(opened)
            start.wait(60)
        return found

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(50):
            asked = [pool.submit(finds_the_function) for _ in range(threads)]
            assert [thread.result() for thread in asked] == threads * [True]
