"""SQLite's results in parts: each row once, and all from one state of the file."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import colonnade
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.sqlite_files import fetched, make

COLUMNS = "i INTEGER, r REAL, t TEXT, n TEXT COLLATE NOCASE, b BLOB, d DATE, u"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [
        (
            number * 7 % 5000,
            None if number % 10 == 0 else number / 3,
            f"it's {number % 800}",
            "aBc"[number % 3] * (number % 5),
            bytes([number % 256]),
            f"20{number % 40:02}-01-{number % 28 + 1:02}",
            [None, number, number / 2, f"t{number}", bytes([number % 7])][number % 5] if number % 50 else "a\0b",
        )
        for number in range(10_000)
    ]
    make(tmp_path / "a.db", f"create table t ({COLUMNS})", "t", rows)
    return tmp_path / "a.db"


def read(path: Path, sql: str, **options: Any) -> list[tuple[Any, ...]]:
    table = colonnade.read_sql(f"sqlite:///{path}", sql, return_type="arrow", **options)
    table.validate(full=True)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _sorted(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("key", ["i", "r", "t", "n", "b", "d", "u", "I"])
@pytest.mark.parametrize("number", [2, 5])
def test_every_row_arrives_once(path: Path, key: str, number: int) -> None:
    sql = "select i, r, t, n, b, cast(d as text) as x, d, u from t where i % 3 = 0 -- odd"
    got = read(path, sql, partition_on=key, partition_num=number, as_text=["u"])
    expected = fetched(path, sql)
    assert _sorted([row[:5] for row in got]) == _sorted([row[:5] for row in expected])


#: Values of a column without a declared type, a list for each part, and the type that they have together.
BY_VALUES: list[tuple[list[list[Any]], str]] = [
    ([[None], ["a", None], ["b"]], "string"),
    ([["a"], [], ["b"]], "string"),
    ([[], [b"a"], []], "binary"),
    ([[None], [None], []], "null"),
    ([[1, 2], [None], [2.5]], "double"),
    ([[2.5], [1 << 53], [None]], "double"),
    ([[None], [1], [-7]], "int64"),
]


@pytest.mark.parametrize(("parts", "type_"), BY_VALUES)
def test_parts_agree_on_types_that_values_decide(tmp_path: Path, parts: list[list[Any]], type_: str) -> None:
    rows = [(index * 100 + place, value) for index, part in enumerate(parts) for place, value in enumerate(part)]
    make(tmp_path / "a.db", "create table t (k INTEGER, v)", "t", rows)
    uri, options = f"sqlite:///{tmp_path}/a.db", {"partition_on": "k", "partition_num": 3, "partition_range": (0, 300)}
    for sql in ("select k, v from t", "select k, coalesce(v, null) as v from t"):
        table = colonnade.read_sql(uri, sql, return_type="arrow", **options)
        assert table.equals(colonnade.read_sql(uri, sql, return_type="arrow"))
        assert str(table.schema.field("v").type) == type_
        assert [tuple(row.values()) for row in table.to_pylist()] == rows


def test_parts_that_cannot_agree_are_refused(tmp_path: Path) -> None:
    uri, options = f"sqlite:///{tmp_path}/a.db", {"partition_on": "k", "partition_num": 2, "partition_range": (0, 200)}
    make(tmp_path / "a.db", "create table t (k INTEGER, v)", "t", [(1, 1), (101, "a"), (102, None)])
    with pytest.raises(colonnade.InterfaceError, match="different columns"):
        colonnade.read_sql(uri, "select k, v from t", **options)
    assert len(colonnade.read_sql(uri, "select k, v from t", as_text=["v"], **options)) == 3
    make(tmp_path / "a.db", "drop table t; create table t (k INTEGER, v)", "t", [(1, (1 << 53) + 1), (101, 0.5)])
    with pytest.raises(colonnade.DataError, match='column "v": 9007199254740993 is not exact as float64'):
        colonnade.read_sql(uri, "select k, v from t", **options)


@pytest.mark.parametrize("other", ["a", 2.5, None, b"a"])
def test_queries_of_a_list_do_not_agree_on_types(tmp_path: Path, other: Any) -> None:
    """As at other sources: each has types of its own, in whatever way they are read."""
    uri = f"sqlite:///{tmp_path}/a.db"
    make(tmp_path / "a.db", "create table t (k INTEGER, v)", "t", [(1, 1), (2, other)])
    queries = ["select v from t where k = 1", "select v from t where k = 2"]
    for order in (queries, queries[::-1]):
        for number in (1, 2):
            with pytest.raises(colonnade.InterfaceError, match="different columns"):
                colonnade.read_sql(uri, order, partition_num=number)
        stream = colonnade.read_sql(uri, order, return_type="arrow_stream")
        with pytest.raises(colonnade.InterfaceError, match="different columns"):
            stream.read_all()
        if not isinstance(other, bytes):
            for number in (1, 2):
                table = colonnade.read_sql(uri, order, return_type="arrow", partition_num=number, as_text=["v"])
                assert sorted(map(str, table["v"].to_pylist())) == sorted(["1", str(other)])


@pytest.mark.parametrize(
    ("key", "between"),
    [("i", (0, 5000)), ("i", (-9, 10)), ("r", (0.5, 3000.25)), ("d", ("2000-01-01", "2039-12-31")), ("u", (0, 100))],
)
def test_a_range_filters_nothing(path: Path, key: str, between: tuple[Any, Any]) -> None:
    options = {"partition_on": key, "partition_num": 4, "partition_range": between}
    got = read(path, "select rowid as k, i, r, d, u from t", as_text=["u"], **options)
    assert sorted(row[0] for row in got) == list(range(1, 10_001))


@pytest.mark.parametrize("declared", ["TIMESTAMP", "TIMESTAMPTZ"])
@pytest.mark.parametrize("between", ["T", " "])
def test_a_range_of_timestamps_filters_nothing(tmp_path: Path, declared: str, between: str) -> None:
    zone = "+00:00" if declared == "TIMESTAMPTZ" else ""
    moments = [f"20{hour % 40:02}-01-01{between}{hour % 24:02}:30:00{zone}" for hour in range(2_000)]
    path = tmp_path / "a.db"
    make(path, f"create table t (k INTEGER, ts {declared})", "t", [*enumerate(moments), (2_000, None)])
    start, end = dt.datetime(2005, 1, 1), dt.datetime(2030, 1, 1, 12)
    for low, high in (
        (start, end),
        (start.replace(tzinfo=dt.UTC), end.replace(tzinfo=dt.UTC)),
        ("2005-01-01", "2030-01-01"),
    ):
        options = {"partition_on": "ts", "partition_num": 4, "partition_range": (low, high)}
        assert sorted(row[0] for row in read(path, "select k, ts from t", **options)) == list(range(2_001))
    with pytest.raises(colonnade.InterfaceError, match="no value of the key"):
        read(path, "select k, ts from t", partition_on="ts", partition_num=2, partition_range=("2005-1-1", "now!"))


def test_what_cannot_be_cut(path: Path) -> None:
    for sql, options, why in [
        ("select * from t order by i", {}, "ORDER BY would be lost"),
        ("select * from t limit 5", {}, "LIMIT"),
        ("select i, random() as x from t", {}, "random gives another value"),
        ("select i from t where d < date('now')", {}, "'now' gives another value"),
        ("select i from t", {"partition_on": "t"}, "no column"),
        ("select i, t from t", {"partition_on": "t", "partition_range": ("a", "b")}, "numbers, dates or timestamps"),
    ]:
        with pytest.raises(colonnade.Error, match=why):
            read(path, sql, **{"partition_on": "i", "partition_num": 2, **options})
    assert (
        len(read(path, "select i, random() as x from t", partition_on="i", partition_num=2, consistent=False)) == 10_000
    )


#: Rowids that are spread unevenly, to both ends.
SKEWED = [-(2**63), *range(-20, 1000), *(2**61 + k for k in range(3000)), *(k**5 for k in range(10, 500)), 2**63 - 1]
ROWIDS = f"""
create table key (id INTEGER primary key, v INTEGER);
create table named (rowid TEXT, v INTEGER);
create table hidden (rowid, _rowid_, oid);
create table tree (id INTEGER primary key, v INTEGER) without rowid;
create table empty (v INTEGER);
create view shown as select v from key;
create virtual table words using fts5 (word);
insert into key select value, value % 10 from json_each('{SKEWED}');
insert into named select 5 - id % 10, v from key;
insert into tree select id, v from key;
insert into hidden values (1, 2, 3);
create index key_v on key (v);
"""


@pytest.fixture(scope="module")
def rowids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rowids") / "a.db"
    make(path, ROWIDS)
    return path


@pytest.mark.parametrize("number", [2, 3, 16])
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select id, v from key", len(SKEWED)),
        ("SELECT v AS rowid, id FROM main.key AS k -- all\n;", len(SKEWED)),
        ("select id from key where v = 3 or /* where */ +v > 7", None),
        ("select id from [key] where v is distinct from 4", None),
        ("select id from key where id > -5", None),
        ("select rowid as r, _rowid_ as id, v from named", len(SKEWED)),
        ("select v from empty", 0),
    ],
)
def test_a_table_needs_no_key(rowids: Path, sql: str, rows: int | None, number: int) -> None:
    got = read(rowids, sql, partition_num=number)
    assert sorted(got) == sorted(fetched(rowids, sql))
    assert rows is None or len(got) == rows


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select count(*) from key", "aggregate"),
        ("select max(v) from key", "aggregate"),
        ("select id, sum(v) from key", "aggregate"),
        ("select distinct v from key", "DISTINCT"),
        ("select id, row_number() over () from key", "its plan is"),
        ("select id, sum(v) over () from key", "its plan is"),
        ("select v from key group by v", "more than SELECT"),
        ("select v from key union all select v from tree", "more than SELECT"),
        ("with x as (select 1 as v) select v from x", "more than SELECT"),
        ("select key.v from key, named", "name of one table"),
        ("select key.v from key left join tree on tree.id = key.id", "name of one table"),
        ("select v from (select v from key limit 10)", "name of one table"),
        ("select value from json_each('[1]')", "name of one table"),
        ("select id from key where v in (select v from named)", "its plan is"),
        ("select * from hidden", "rowid"),
        ("select * from tree", "rowid"),
        ("select * from shown", "rowid"),
        ("select * from words", "rowid"),
        ("select 1 as v", "name of one table"),
    ],
)
def test_more_than_a_table_needs_a_key(rowids: Path, sql: str, why: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match=why) as caught:
        read(rowids, sql, partition_num=2)
    assert "partition_on" in str(caught.value)


def test_a_table_without_a_key_shows_one_state_only(rowids: Path) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="VACUUM"):
        read(rowids, "select * from key", partition_num=2, consistent=False)


def parts(path: Path, sql: str, **options: Any) -> list[int]:
    """The rows of each part."""
    stream = colonnade.read_sql(f"sqlite:///{path}", sql, return_type="arrow", **options)
    # Less than a batch each.
    return sorted(batch.num_rows for batch in stream.to_batches())


@pytest.mark.parametrize("options", [{}, {"partition_on": "id"}, {"partition_on": "ID"}])
def test_parts_by_rowid_are_about_equally_large(rowids: Path, options: dict[str, Any]) -> None:
    sizes = parts(rowids, "select v, id from key", partition_num=4, **options)
    assert len(sizes) == 4 and sum(sizes) == len(SKEWED)
    assert sizes[-1] < len(SKEWED) / 4 * 1.3
    # A key has an order.
    got = read(rowids, "select id from key", partition_num=4, **options)
    assert got == sorted(got)


def test_a_range_of_rowids_filters_nothing(rowids: Path) -> None:
    options = {"partition_on": "id", "partition_num": 3}
    for between in [(0, 100), (0.5, 10.5), (-(2**63), 2**63 - 1), (5, 5)]:
        got = read(rowids, "select id from key", partition_range=between, **options)
        assert sorted(row[0] for row in got) == sorted(SKEWED)


def test_names_and_comments_are_sqlites(path: Path) -> None:
    for sql in ["select i as [a--b], t from t", "select i, t from t -- \r where nothing"]:
        assert _sorted(read(path, sql, partition_on="t", partition_num=2)) == _sorted(fetched(path, sql))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 500), max_size=400), st.integers(2, 9))
def test_any_rowids(tmp_path: Path, rowids: set[int], number: int) -> None:
    path = tmp_path / "a.db"
    make(path, "drop table if exists t; create table t (k INTEGER primary key)", "t", [(k,) for k in rowids])
    for options in ({}, {"partition_on": "k"}):
        got = read(path, "select k from t", partition_num=number, **options)
        assert [k for (k,) in got] == sorted(rowids)


def test_what_others_cannot_see(path: Path) -> None:
    with colonnade.connect(f"sqlite:///{path}") as connection:
        connection.execute("create temp table k (i)")
        with pytest.raises(colonnade.NotSupportedError, match="temporary tables"):
            colonnade.read_sql(connection, "select i from t", partition_on="i", partition_num=2)
    with colonnade.connect(f"sqlite:///{path}") as connection:
        connection.execute("begin")
        with pytest.raises(colonnade.NotSupportedError, match="within a transaction"):
            colonnade.read_sql(connection, "select i from t", partition_on="i", partition_num=2)
    with pytest.raises(colonnade.NotSupportedError, match="in memory"):
        colonnade.read_sql("sqlite::memory:", "select 1 as i", partition_on="i", partition_num=2)
    sql = "select i from t"
    other = f"attach '{path}' as other"
    with pytest.raises(colonnade.NotSupportedError, match="several databases"):
        read(path, sql, partition_on="i", partition_num=2, pre_execution_query=other)
    sql = "select i from other.t"
    assert (
        len(read(path, sql, partition_on="i", partition_num=2, pre_execution_query=other, consistent=False)) == 10_000
    )


WRITER = """
import sqlite3, sys, threading
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
while not ended.is_set():
    connection.execute("begin immediate")
    connection.execute("update t set a = a - 1 where k = 1")
    connection.execute("update t set a = a + 1 where k = 20000")
    connection.execute("commit")
    print(flush=True)
"""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Another process moves an amount between two rows, over and over: the sum is always the same."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        output = process.stdout
        assert output.readline() == b"\n"
        # Nothing is to wait for a reader of what it says.
        drain = threading.Thread(target=output.read)
        drain.start()
        try:
            yield
        finally:
            process.stdin.close()
            drain.join()
    assert process.returncode == 0


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate"])
def test_all_parts_see_one_state(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    script = f"pragma journal_mode = {mode}; create table t (k INTEGER primary key, a INTEGER)"
    make(path, script, "t", [(k, 100) for k in range(1, 20_001)])
    with writing(path):
        whole = 0
        for _ in range(10):
            try:
                rows = read(path, "select k, a from t", partition_on="k", partition_num=4)
            except colonnade.NotSupportedError as error:
                # Whoever writes without a pause may leave no moment for four to begin.
                assert "one state" in str(error)
                continue
            assert (len(rows), sum(a for _, a in rows)) == (20_000, 2_000_000)
            whole += 1
        assert whole > 0
        assert len(read(path, "select k, a from t", partition_on="k", partition_num=4, consistent=False)) == 20_000
    rows = read(path, "select k, a from t", partition_on="k", partition_num=4)
    assert (len(rows), sum(a for _, a in rows)) == (20_000, 2_000_000)


def test_a_cancellation_reaches_the_parts(path: Path) -> None:
    endless = "with recursive s(i) as (select 1 union all select i + 1 from s) select i, i % 100 as k from s"
    split: dict[str, Any] = {"partition_on": "k", "partition_num": 2, "partition_range": (0, 99)}
    with colonnade.connect(f"sqlite:///{path}") as connection:
        reader = colonnade.read_sql(connection, endless, return_type="arrow_stream", **split)
        reader.read_next_batch()
        connection.cancel()
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in reader:
                pass
        assert caught.value.sqlstate == "57014"
        assert connection.query("select 1").to_arrow().num_rows == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text("aA b'\0ü"), st.binary()),
        max_size=60,
    ),
    st.sampled_from(["", "TEXT", "INTEGER", "NUMERIC", "REAL", "BLOB", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"]),
    st.integers(2, 5),
)
def test_keys_of_any_kind(tmp_path: Path, keys: list[Any], declaration: str, number: int) -> None:
    path = tmp_path / "a.db"
    rows = list(enumerate(keys))
    make(path, f"drop table if exists t; create table t (k INTEGER primary key, v {declaration})", "t", rows)
    got = read(path, "select k, v from t", partition_on="v", partition_num=number, as_text=["v"])
    assert sorted(row[0] for row in got) == list(range(len(keys)))
