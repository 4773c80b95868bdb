"""SQLite files as a source: what is read, and how."""

from __future__ import annotations

import random
import sqlite3
import string
import subprocess
import sys
from contextlib import closing
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import colonnade
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sqlite_files import fetched, make, uri

SCRIPT = """create table t (id INTEGER primary key, name TEXT, price DECIMAL(10,2), day DATE);
            insert into t values (1, 'it''s', 1.25, '2024-01-01'), (2, NULL, 2, NULL), (3, '', NULL, '2024-12-31')"""
SERIES = (
    "with recursive s(i) as (select 1 union all select i + 1 from s where i < {}) select i, 'row ' || i as t from s"
)


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return make(tmp_path / "shop.db", SCRIPT)


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite", "SQLite"])
def test_every_destination(shop: str, scheme: str) -> None:
    conn = shop.replace("sqlite", scheme, 1)
    frame = colonnade.read_sql(conn, "select * from t")
    assert list(frame["id"]) == [1, 2, 3]
    table = colonnade.read_sql(
        conn, ["select id from t where id < 2", "select id from t where id > 1"], return_type="arrow"
    )
    assert table.column("id").to_pylist() == [1, 2, 3]
    assert colonnade.read_sql(conn, "select name from t", return_type="polars")["name"].to_list() == ["it's", None, ""]


def test_ways_to_write_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "an odd?name#%.db"
    make(odd, SCRIPT)
    make(tmp_path / "plain.db", SCRIPT)
    monkeypatch.chdir(tmp_path)
    for conn in [
        uri(odd),
        uri(odd) + "?immutable=1",
        f"sqlite:///{tmp_path}/plain.db",
        f"sqlite:{tmp_path}/plain.db",
    ]:
        assert colonnade.read_sql(conn, "select count(*) as n from t", return_type="arrow").column(0).to_pylist() == [3]
    for conn in ["sqlite:plain.db", "sqlite:///plain.db", "sqlite:./plain.db?timeout=1"]:
        with colonnade.connect(conn) as connection:
            assert connection.query("select 1").to_arrow().num_rows == 1
            assert connection.name == f"sqlite:///{'./' if './' in conn else ''}plain.db"
            assert connection.server.startswith("SQLite 3.")
    with colonnade.connect("sqlite:///:memory:") as connection:
        assert connection.query("select 1 + 1 as two").to_arrow().to_pylist() == [{"two": 2}]


def test_a_connection_is_used_again_and_again(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        first = connection.query(SERIES.format(10_000_000))
        with pytest.raises(colonnade.InterfaceError, match="still delivers a result"):
            connection.query("select 1")
        first.close()
        for _ in range(20):
            # Dropped early: the next query waits until this one has stopped.
            iterator = iter(connection.query(SERIES.format(10_000_000)))
            assert next(iterator).num_rows == 65536
            del iterator
        assert connection.query("select count(*) as n from t").to_arrow().to_pylist() == [{"n": 3}]
    with pytest.raises(colonnade.InterfaceError, match="closed"):
        connection.query("select 1")


def test_names_may_be_empty_or_repeat(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        table = connection.query('select 1 as "", 2 as a, \'x\' as a, id as """ö""" from t where id = 1').to_arrow()
        assert table.schema.names == ["", "a", "a", '"ö"']
        assert [column.to_pylist() for column in table.columns] == [[1], [2], ["x"], [1]]


def test_no_rows_have_types_all_the_same(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        table = connection.query("select *, id + 1 as e from t where id > 9").to_arrow()
    types = [pa.int64(), pa.utf8(), pa.decimal128(10, 2), pa.date32(), pa.null()]
    assert (table.num_rows, table.schema.types) == (0, types)


def test_two_thousand_columns(tmp_path: Path) -> None:
    columns = [f"c{index} {('INTEGER', 'TEXT', 'REAL', '')[index % 4]}" for index in range(2000)]
    values = [[(row, f"v{row}", row / 2, None)[index % 4] for index in range(2000)] for row in range(50)]
    path = tmp_path / "wide.db"
    conn = make(path, f"create table t ({', '.join(columns)})")
    with closing(sqlite3.connect(path)) as connection:
        for row in values:
            # Fewer at a time: SQLite's parameters are limited too.
            connection.execute(f"insert into t values ({', '.join(_literal(value) for value in row)})")
        connection.commit()
    table = colonnade.read_sql(conn, "select * from t", return_type="arrow")
    assert table.num_columns == 2000
    assert [list(row.values()) for row in table.to_pylist()] == values


def _literal(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def test_large_values(tmp_path: Path) -> None:
    """Each ends its batch; together they are more than one batch's offsets could count if batches were larger."""
    conn = make(tmp_path / "large.db", "create table t (v BLOB)", "t", [(bytes([n]) * (40 << 20),) for n in range(3)])
    with colonnade.connect(conn) as connection:
        sizes = [(batch.num_rows, len(batch.column(0)[0].as_py())) for batch in connection.query("select v from t")]
    assert sizes == [(1, 40 << 20)] * 3


def test_batches_are_bounded(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        batches = list(connection.query(SERIES.format(200_000)))
        assert [batch.num_rows for batch in batches] == [65536, 65536, 65536, 3392]
        batches = list(connection.query(SERIES.format(1000), chunk_rows=300))
        assert [batch.num_rows for batch in batches] == [300, 300, 300, 100]
        long = SERIES.format(100).replace("'row ' || i", "hex(zeroblob(500000))")
        batches = list(connection.query(long))
        assert all(batch.num_rows <= 5 for batch in batches)
        with pytest.raises(ValueError, match="chunk_rows is 0: give a number of rows, at least 1"):
            connection.query("select 1", chunk_rows=0)
        with pytest.raises(colonnade.NotSupportedError, match="numeric is for PostgreSQL"):
            connection.query("select 1", numeric=(10, 2))


def test_streaming_takes_little_memory(tmp_path: Path) -> None:
    """200 MB of text pass through; the process grows by a few batches."""
    script = f"""
import colonnade
from colonnade._cli.bench_client import peak_bytes
with colonnade.connect("sqlite:///:memory:") as connection:
    for batch in connection.query({SERIES.format(1000)!r}): pass
    before = peak_bytes()
    rows = 0
    for batch in connection.query({SERIES.format(200_000)!r}.replace("'row '", "hex(zeroblob(500))")):
        rows += batch.num_rows
    assert rows == 200_000
    print((peak_bytes() - before) >> 20)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60


def test_a_snapshot_while_others_write(tmp_path: Path) -> None:
    """In WAL mode writers go on while a result is read, and what they write is not in it."""
    path = tmp_path / "wal.db"
    script = "pragma journal_mode = wal; create table t (i INTEGER)"
    conn = make(path, script, "t", [(i,) for i in range(200_000)])
    with colonnade.connect(conn) as connection:
        batches = iter(connection.query("select i from t"))
        rows = next(batches).num_rows
        # In another process: two libraries in one do not see each other's locks.
        delete = (
            f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('delete from t'); c.commit(); c.close()"
        )
        subprocess.run([sys.executable, "-c", delete], check=True)
        assert rows + sum(batch.num_rows for batch in batches) == 200_000
        assert connection.query("select count(*) as n from t").to_arrow().to_pylist() == [{"n": 0}]


def test_statements_for_their_effect(shop: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    make(other, "create table u (v TEXT); insert into u values ('there')")
    with colonnade.connect(shop) as connection:
        assert connection.execute(f"attach '{other}' as other") is None
        assert connection.query("select t.id, u.v from t, other.u where t.id = 1").to_arrow().to_pylist() == [
            {"id": 1, "v": "there"}
        ]
        assert connection.execute("create temp table k as select 1 as i; insert into k values (2), (3); -- done\n") == 2
        assert connection.query("select sum(i) as s from k").to_arrow().to_pylist() == [{"s": 6}]
        assert connection.execute("pragma cache_size = 100") is None
        for statement in ["delete from t", "drop table t", "create table x (i)", "insert into other.u values ('no')"]:
            with pytest.raises(colonnade.DatabaseError, match="readonly") as caught:
                connection.execute(statement)
            assert caught.value.sqlstate == "25006" and "write_sql" in (caught.value.hint or "")
        with pytest.raises(colonnade.DatabaseError, match=r"missing\.db") as caught:
            connection.execute(f"attach '{tmp_path}/missing.db' as missing")
        assert caught.value.sqlstate == "58030" and "must exist" in (caught.value.hint or "")
    assert fetched(tmp_path / "shop.db", "select count(*) from t") == [(3,)]
    frame = colonnade.read_sql(shop, "select * from temp.k", pre_execution_query="create temp table k as select 7 as i")
    assert list(frame["i"]) == [7]


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, 1),
        (-(2**63), -(2**63)),
        (-5, -5),
        (0.1, 0.1),
        (-0.1, -0.1),
        (1e300, 1e300),
        (float("-inf"), float("-inf")),
        ("it's -- a \\ `trap` [x] $1", "it's -- a \\ `trap` [x] $1"),
        (b"\0\xff'", b"\0\xff'"),
        (Decimal("12.50"), 12.5),
        (Decimal("-7"), -7),
        (date(2024, 1, 2), "2024-01-02"),
        (time(3, 4, 5), "03:04:05"),
        (datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02 03:04:05.000006"),
        (datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=1))), "2024-01-02 02:00:00+00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_parameters_mean_their_values(shop: str, value: Any, stored: Any) -> None:
    with colonnade.connect(shop) as connection:
        query = "select 1-$1 as n, $1 as v, '$1' as q, `id` as [$2], id as \"$3\" from t /* $4 /* */ limit 1"
        row = connection.query(query, [value]).to_arrow().to_pylist()[0]
        assert row["v"] == stored
        assert type(row["v"]) is type(stored)
        assert (row["q"], row["$2"], row["$3"]) == ("$1", 1, 1)
        assert connection.query("select $a is $b as same", {"a": value, "b": value}).to_arrow().to_pylist() == [
            {"same": 1}
        ]


@pytest.mark.parametrize("value", [2**63, float("nan"), timedelta(1), [1], "a\0b", Decimal("1.2345678901234567")])
def test_values_that_sqlite_lacks_are_refused(shop: str, value: Any) -> None:
    with colonnade.connect(shop) as connection, pytest.raises(colonnade.InterfaceError, match=r"parameter \$1: "):
        connection.query("select $1", [value])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_doubles_survive_the_way_there_and_back(values: list[float]) -> None:
    with colonnade.connect("sqlite::memory:") as connection:
        marks = ", ".join(f"(${index + 1})" for index in range(len(values)))
        assert connection.query(f"values {marks}", values).to_arrow().column(0).to_pylist() == values


def test_random_tables(tmp_path: Path) -> None:
    """More rows than a batch holds, of all kinds that a declaration allows."""
    chance = random.Random(1)
    text = lambda: "".join(chance.choices(string.printable + "äß漢🧀", k=chance.randrange(12)))  # noqa: E731
    rows = [
        (
            number,
            None if chance.random() < 0.1 else text(),
            None if chance.random() < 0.5 else chance.random(),
            chance.choice([None, True, False]),
            chance.randbytes(chance.randrange(9)),
            None if chance.random() < 0.9 else chance.randrange(-(2**63), 2**63),
        )
        for number in range(150_000)
    ]
    path = tmp_path / "random.db"
    conn = make(path, "create table t (i INTEGER primary key, t TEXT, r REAL, o BOOLEAN, b BLOB, n)", "t", rows)
    for sql in ["select * from t", "select * from t order by t, i desc", "select i, t from t where r > 0.5"]:
        table = colonnade.read_sql(conn, sql, return_type="arrow")
        table.validate(full=True)
        got = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert got == fetched(path, sql)
