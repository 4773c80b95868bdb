"""What is MySQL's: engines, keys, sessions, transactions, and servers without LOAD DATA LOCAL."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from testbed import mariadb
from tests.support.raw_client import wait_until
from tests.writes.places import Place

ONE = pa.table({"a": [1]})
DAY = datetime.datetime(2024, 1, 1)
MICROSECOND = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)


@pytest.fixture(params=["load", "insert"])
def either(request: pytest.FixtureRequest) -> Place:
    """A server that takes LOAD DATA LOCAL, and one that does not."""
    if request.param == "load":
        return request.getfixturevalue("in_mariadb")
    place: Place = request.getfixturevalue("mariadb_insert_place")
    for name in names(place):
        place.execute(f"drop table `{name}`")
    return place


def names(place: Place) -> list[str]:
    """All tables of the database, also those that a write has left over."""
    rows = colonnade.read_sql(place.uri, "show tables", return_type="arrow")
    return rows.column(0).to_pylist()


def append(data: Any, conn: Any, table: str = "t") -> colonnade.WriteStats:
    return colonnade.write_sql(data, conn, table, if_exists="append")


def upsert(data: Any, conn: Any, key: list[str]) -> colonnade.WriteStats:
    return colonnade.write_sql(data, conn, "t", if_exists="upsert", key=key)


# --- values -----------------------------------------------------------------------------------------------------------

#: A column, a value that it holds, and one that it would change.
EXISTING: list[tuple[str, pa.DataType, Any, Any]] = [
    ("tinyint", pa.int64(), -128, 128),
    ("tinyint unsigned", pa.int64(), 255, -1),
    ("tinyint(1)", pa.int64(), 7, 200),
    ("mediumint", pa.int32(), -8388608, 8388608),
    ("int(5) unsigned zerofill", pa.int64(), 4294967295, 4294967296),
    ("bigint", pa.uint64(), 2**63 - 1, 2**63),
    ("bigint unsigned", pa.int64(), 2**63 - 1, -1),
    ("bit(3)", pa.int64(), 7, 8),
    ("bit(64)", pa.uint64(), 2**64 - 1, None),
    ("bit(16)", pa.uint16(), 0x0A5C, None),
    ("year", pa.int64(), 2155, 2156),
    ("year", pa.int64(), 0, 70),
    ("float", pa.float64(), 0.5, 0.1),
    ("float", pa.int32(), 2**24, 2**24 + 1),
    ("double", pa.int64(), 2**53, 2**53 + 1),
    ("double", pa.float64(), 5e-324, float("inf")),
    ("double unsigned", pa.float64(), 0.1, -0.1),
    ("decimal(5,2)", pa.decimal128(10, 3), Decimal("123.450"), Decimal("123.456")),
    ("decimal(5,2)", pa.decimal128(10, 2), Decimal("-999.99"), Decimal("1000.00")),
    ("decimal(5,2) unsigned", pa.decimal128(10, 2), Decimal("0.01"), Decimal("-0.01")),
    ("decimal(5,2)", pa.int32(), 999, 1000),
    ("decimal(65,30)", pa.decimal256(65, 30), Decimal("9" * 35 + "." + "9" * 30), None),
    ("varchar(3)", pa.string(), "äö ", "abcd"),
    ("char(3)", pa.string(), "äö", "ab "),
    ("tinytext", pa.string(), "x" * 255, "ä" * 128),
    ("varchar(3) character set latin1", pa.string(), "ä€", "漢"),
    ("varchar(3) character set utf8mb3", pa.string(), "漢", "😀"),
    ("text character set utf16", pa.string(), "😀\\\t\n", None),
    ("enum('a','b c','1')", pa.string(), "1", "A"),
    ("enum('a','it''s')", pa.string(), "it's", "2"),
    ("set('x','y','z')", pa.string(), "x,z", "z,x"),
    ("binary(2)", pa.binary(), b"\0\\", b"x"),
    ("varbinary(2)", pa.binary(), b"\t\n", b"abc"),
    ("tinyblob", pa.binary(), bytes(range(255)), bytes(256)),
    ("uuid", pa.string(), "123e4567-e89b-12d3-a456-426614174000", "123E4567-e89b-12d3-a456-426614174000"),
    ("date", pa.date32(), datetime.date(9999, 12, 31), None),
    ("datetime", pa.timestamp("us"), DAY, MICROSECOND),
    ("datetime(6)", pa.timestamp("ns"), MICROSECOND, None),
    ("time(3)", pa.duration("us"), datetime.timedelta(hours=-838), datetime.timedelta(hours=839)),
    ("time", pa.duration("ms"), datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=1)),
    ("timestamp(3)", pa.timestamp("us", "UTC"), DAY, MICROSECOND),
]


@pytest.mark.parametrize(("declared", "kind", "right", "wrong"), EXISTING, ids=lambda value: str(value)[:30])
def test_a_column_accepts_what_it_keeps(either: Place, declared: str, kind: pa.DataType, right: Any, wrong: Any) -> None:
    null = " null" if declared.startswith("timestamp") else ""
    either.execute(f"create table t (a {declared}{null})")
    if wrong is not None:
        with pytest.raises(colonnade.DatabaseError) as caught:
            append(pa.table({"a": pa.array([right, wrong], kind)}), either.uri)
        assert caught.value.sqlstate is not None and caught.value.sqlstate.startswith("22")
        # Only the server knows what another character set lacks; LOAD DATA says then where it is.
        assert "row 2" in str(caught.value)
        assert either.rows() == []
    append(pa.table({"a": pa.array([right, None], kind)}), either.uri)
    [first, second] = [row["a"] for row in either.rows()]
    if declared.startswith("timestamp"):
        right = right.replace(tzinfo=datetime.UTC)
    assert (first, second) == (right, None)


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("int", pa.array([1.0])),
        ("decimal(5,2)", pa.array([0.1])),
        ("text", pa.array([1])),
        ("text", pa.array([b"x"])),
        ("blob", pa.array(["x"])),
        ("float(7,2)", pa.array([0.5])),
        ("datetime", pa.array([DAY], pa.timestamp("us", "UTC"))),
        ("timestamp null", pa.array([DAY])),
        ("datetime", pa.array([datetime.date(2024, 1, 1)])),
        ("bit(1)", pa.array([1])),
        ("int", pa.array([True])),
        ("inet6", pa.array(["::1"])),
        ("point", pa.array([b""])),
        ("varchar(3) character set sjis", pa.array(["a"])),
        ("enum('a','b\\\\c')", pa.array(["a"])),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_column_refuses_other_types(in_mariadb: Place, declared: str, column: pa.Array) -> None:
    in_mariadb.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.NotSupportedError, match='column "a": the table\'s column of type') as caught:
        append(pa.table({"a": column}), in_mariadb.uri)
    assert caught.value.sqlstate == "0A000"


def test_booleans_go_into_a_tinyint(either: Place) -> None:
    either.execute("create table t (a boolean)")
    append(pa.table({"a": [True, False, None]}), either.uri)
    assert [row["a"] for row in either.rows()] == [1, 0, None]


def test_zero_is_no_request_for_a_number_and_null_is_refused(either: Place) -> None:
    either.execute("create table t (a bigint primary key auto_increment, b timestamp not null default current_timestamp)")
    append(pa.table({"a": [0, -1]}), either.uri)
    assert sorted(row["a"] for row in either.rows()) == [-1, 0]
    for column in ("a", "b"):
        kind = pa.int64() if column == "a" else pa.timestamp("us", "UTC")
        with pytest.raises(colonnade.IntegrityError, match=f'column "{column}", row 1: NULL') as caught:
            append(pa.table({column: pa.array([None], kind)}), either.uri)
        assert caught.value.sqlstate == "23502" and len(either.rows()) == 2


def test_large_values(either: Place) -> None:
    table = pa.table({"a": [1, 2], "t": ["ä" * 5_000_000, "x"], "b": [b"\0\\\t\n" * 1_000_000, b""]})
    colonnade.write_sql(table, either.uri, "t")
    assert either.table().sort_by("a").equals(table)


def test_a_row_above_max_allowed_packet_is_refused(mariadb_insert_place: Place) -> None:
    table = pa.table({"b": ["x", "x" * (65 << 20)]})
    with pytest.raises(colonnade.DatabaseError, match="max_allowed_packet") as caught:
        colonnade.write_sql(table, mariadb_insert_place.uri, "large")
    assert caught.value.sqlstate == "54000" and not mariadb_insert_place.exists("large")


def test_the_server_says_where_a_value_was_refused(either: Place) -> None:
    either.execute("create table t (a int check (a < 300000), j json)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        append(pa.table({"a": range(300_001)}), either.uri)
    assert caught.value.sqlstate == "23000" and "row 300001" in str(caught.value)
    with pytest.raises(colonnade.DatabaseError) as caught:
        append(pa.table({"j": ["1", "{"]}), either.uri)
    # INSERT reports the constraint, LOAD DATA the text.
    assert caught.value.sqlstate in ("22000", "23000")
    assert "row 2" in str(caught.value) and either.rows() == []


def test_the_row_of_a_duplicate_is_named(either: Place) -> None:
    either.execute("create table t (a int primary key, b varchar(100))")
    many = pa.table({"a": range(1_200_000), "b": ["x" * 60] * 1_200_000})
    with pytest.raises(colonnade.IntegrityError, match="Duplicate entry '7'") as caught:
        # More than one file of LOAD DATA.
        append(pa.concat_tables([many, pa.table({"a": [7], "b": ["y"]}, many.schema)]), either.uri)
    assert caught.value.sqlstate == "23000" and "row 1200001" in str(caught.value) and either.rows() == []


# --- sessions and transactions ----------------------------------------------------------------------------------------

SETTINGS = (
    "select @@sql_mode, @@time_zone, @@character_set_client, @@character_set_results, @@collation_connection,"
    " @@net_read_timeout, @@sql_select_limit, @@sql_safe_updates, @@sql_notes, @@max_error_count, @colonnade_row"
)


def test_a_session_keeps_its_settings(either: Place) -> None:
    with colonnade.connect(either.uri) as connection:
        for statement in (
            "set sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,NO_TABLE_OPTIONS'",
            "set time_zone = '+05:30', sql_select_limit = 3, sql_safe_updates = 1, sql_notes = 0, max_error_count = 0",
            "set character_set_client = latin1, collation_connection = latin1_bin",
        ):
            connection.execute(statement)
        before = connection.query(SETTINGS).to_arrow()
        data = pa.table({"tä": pa.array([DAY] * 5, pa.timestamp("us", "UTC")), "s": ["\\'\"ä"] * 5})
        for mode in ("replace", "append", "truncate"):
            assert colonnade.write_sql(data, connection, "t", if_exists=mode).rows == 5  # type: ignore[arg-type]
            assert connection.query(SETTINGS).to_arrow().equals(before)
        with pytest.raises(colonnade.DataError):
            append(pa.table({"tä": pa.array([0], pa.timestamp("us", "UTC"))}), connection)
        assert connection.query(SETTINGS).to_arrow().equals(before)
    assert either.rows() == [{"tä": DAY.replace(tzinfo=datetime.UTC), "s": "\\'\"ä"}] * 5


def test_rows_are_part_of_an_open_transaction(either: Place) -> None:
    either.execute("create table t (a int primary key)")
    for begin in ("begin", "set autocommit = 0"):
        with colonnade.connect(either.uri) as connection:
            connection.execute(begin)
            connection.execute("insert into t values (10)")
            append(ONE, connection)
            assert either.rows() == []
            with pytest.raises(colonnade.IntegrityError):
                append(pa.table({"a": [2, 1]}), connection)
            assert connection.query("select a from t order by a").to_arrow()["a"].to_pylist() == [1, 10]
            with pytest.raises(ValueError, match="mine"):
                append(failing(ValueError("mine")), connection)
            colonnade.write_sql(pa.table({"a": [3]}), connection, "t", if_exists="truncate")
            upsert(pa.table({"a": [3, 4]}), connection, ["a"])
            connection.execute("commit")
        assert [row["a"] for row in either.rows()] == [3, 4]
        either.execute("delete from t")


def failing(error: BaseException) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"a": pa.array(range(100, 200_000))})
    raise error


@pytest.mark.parametrize("mode", ["fail", "create_append", "replace", "upsert"])
def test_a_new_table_would_commit_an_open_transaction(in_mariadb: Place, mode: Any) -> None:
    in_mariadb.execute("create table t (a int)")
    with colonnade.connect(in_mariadb.uri) as connection:
        connection.execute("begin")
        append(ONE, connection)
        key = ["a"] if mode == "upsert" else None
        with pytest.raises(colonnade.NotSupportedError, match="would commit the open transaction") as caught:
            colonnade.write_sql(ONE, connection, "t" if mode == "replace" else "u", if_exists=mode, key=key)
        assert caught.value.sqlstate == "25001"
        connection.execute("rollback")
    assert in_mariadb.rows() == [] and names(in_mariadb) == ["t"]


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "MEMORY"])
def test_an_engine_that_cannot_roll_back_is_refused(in_mariadb: Place, engine: str) -> None:
    in_mariadb.execute(f"create table t (a int primary key) engine={engine}")
    for mode in ("append", "create_append", "truncate", "upsert"):
        key = ["a"] if mode == "upsert" else None
        with pytest.raises(colonnade.NotSupportedError, match=rf"engine {engine}, which cannot roll back"):
            colonnade.write_sql(ONE, in_mariadb.uri, "t", if_exists=mode, key=key)  # type: ignore[arg-type]
    with colonnade.connect(in_mariadb.uri) as connection:
        connection.execute(f"create temporary table v (a int) engine={engine} comment '\n) ENGINE=InnoDB'")
        with pytest.raises(colonnade.NotSupportedError, match=engine):
            append(ONE, connection, "v")
    colonnade.write_sql(ONE, in_mariadb.uri, "t", if_exists="replace")
    append(ONE, in_mariadb.uri)
    assert in_mariadb.rows() == [{"a": 1}] * 2


def test_a_view_is_refused(in_mariadb: Place) -> None:
    in_mariadb.execute("create table u (a int)")
    in_mariadb.execute("create view t as select * from u")
    for mode in ("append", "replace"):
        with pytest.raises(colonnade.NotSupportedError, match="is not a table"):
            colonnade.write_sql(ONE, in_mariadb.uri, "t", if_exists=mode)  # type: ignore[arg-type]


def test_no_database_is_an_error(maria: mariadb.Server) -> None:
    uri = maria.uri().replace(f"/{mariadb.DATABASE}", "/")
    with pytest.raises(colonnade.DatabaseError, match="no database is chosen"):
        colonnade.write_sql(ONE, uri, "t")


def test_a_database_is_a_schema(in_mariadb: Place, maria: mariadb.Server) -> None:
    schema = in_mariadb.uri.rpartition("/")[2]
    uri = maria.uri().replace(f"/{mariadb.DATABASE}", "/")
    colonnade.write_sql(ONE, uri, "t", schema=schema)
    assert in_mariadb.rows() == [{"a": 1}]
    with pytest.raises(colonnade.DatabaseError):
        colonnade.write_sql(ONE, uri, "t", schema="nowhere")


# --- new tables -------------------------------------------------------------------------------------------------------


def test_nothing_is_left_over(either: Place) -> None:
    colonnade.write_sql(ONE, either.uri, "t")
    for mode in ("replace", "fail", "upsert"):
        key = ["a"] if mode == "upsert" else None
        with pytest.raises(ValueError, match="mine"):
            colonnade.write_sql(
                failing(ValueError("mine")), either.uri, "t" if mode == "replace" else "u", if_exists=mode, key=key
            )
    assert names(either) == ["t"] and either.rows() == [{"a": 1}]


def test_a_table_that_others_refer_to_is_not_replaced(in_mariadb: Place, maria: mariadb.Server) -> None:
    schema = in_mariadb.uri.rpartition("/")[2]
    in_mariadb.execute("create table t (a int primary key)")
    in_mariadb.execute("insert into t values (7)")
    for owner in (schema, mariadb.DATABASE):
        maria.run(f"create table {owner}.referring (a int, foreign key (a) references {schema}.t (a))")
        try:
            with pytest.raises(colonnade.IntegrityError):
                colonnade.write_sql(ONE, in_mariadb.uri, "t", if_exists="replace")
        finally:
            maria.run(f"drop table {owner}.referring")
        assert names(in_mariadb) == ["t"] and in_mariadb.rows() == [{"a": 7}]


def test_a_table_that_appears_meanwhile_is_an_error(in_mariadb: Place) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(5):
            yield pa.record_batch({"a": range(50_000)})
        in_mariadb.execute("create table t (b int)")

    with pytest.raises(colonnade.ProgrammingError) as caught:
        colonnade.write_sql(batches(), in_mariadb.uri, "t")
    assert caught.value.sqlstate == "42S01" and names(in_mariadb) == ["t"] and in_mariadb.rows() == []


def test_a_table_cannot_be_altered_unnoticed(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (a varchar(9))")

    def batches() -> Iterator[pa.RecordBatch]:
        # Before the first row arrives, nothing locks the table.
        in_mariadb.execute("alter table t modify a varchar(9) character set latin1")
        yield pa.record_batch({"a": ["ä"]})

    first = pa.record_batch({"a": pa.array([], pa.string())})

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches()

    with pytest.raises(colonnade.DatabaseError, match="was altered") as caught:
        append(all_batches(), in_mariadb.uri)
    assert caught.value.sqlstate == "40001" and in_mariadb.rows() == []


@pytest.fixture
def guest(maria: mariadb.Server, in_mariadb: Place) -> Iterator[tuple[str, Any]]:
    """The URI of a user without rights, and what grants some."""
    schema = in_mariadb.uri.rpartition("/")[2]
    maria.run("create user guest@'%' identified by 'x'")
    yield (
        in_mariadb.uri.replace(f"{mariadb.USER}:{mariadb.ESCAPED}", "guest:x"),
        lambda rights, table="*": maria.run(f"grant {rights} on {schema}.{table} to guest@'%'"),
    )
    maria.run("drop user guest@'%'")


def test_rights_are_the_servers(in_mariadb: Place, guest: tuple[str, Any]) -> None:
    uri, grant = guest
    in_mariadb.execute("create table t (a int)")
    grant("create, insert")
    append(ONE, uri)
    drawn = list[int]()

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            drawn.append(number)
            yield pa.record_batch({"a": [number]})

    # The right to drop is missing, which is known before anything is created.
    for table, mode in [("u", "fail"), ("t", "replace"), ("t", "truncate")]:
        with pytest.raises(colonnade.ProgrammingError) as caught:
            colonnade.write_sql(batches(), uri, table, if_exists=mode)  # type: ignore[arg-type]
        assert caught.value.sqlstate == "42000" and len(drawn) <= 2 and names(in_mariadb) == ["t"]
        drawn.clear()
    grant("drop, alter")
    colonnade.write_sql(ONE, uri, "u")
    assert in_mariadb.rows() == [{"a": 1}] and names(in_mariadb) == ["t", "u"]


def test_a_read_only_server_is_reported(in_mariadb: Place, maria: mariadb.Server, guest: tuple[str, Any]) -> None:
    uri, grant = guest
    grant("all")
    in_mariadb.execute("create table t (a int)")
    maria.run("set global read_only = 1")
    try:
        for table, mode in [("t", "append"), ("u", "fail")]:
            with pytest.raises(colonnade.DatabaseError, match="read-only") as caught:
                colonnade.write_sql(ONE, uri, table, if_exists=mode)  # type: ignore[arg-type]
            assert caught.value.sqlstate == "HY000"
    finally:
        maria.run("set global read_only = 0")
    with colonnade.connect(in_mariadb.uri) as connection:
        connection.execute("set session transaction read only")
        with pytest.raises(colonnade.DatabaseError) as caught:
            append(ONE, connection)
        assert caught.value.sqlstate == "25006"
    assert in_mariadb.rows() == [] and names(in_mariadb) == ["t"]


# --- locks ------------------------------------------------------------------------------------------------------------


def test_a_lock_that_is_not_granted_in_time_is_an_error(either: Place) -> None:
    either.execute("create table t (a int primary key, b int)")
    with colonnade.connect(either.uri) as other, colonnade.connect(either.uri) as connection:
        other.execute("begin")
        other.execute("insert into t values (5, 0)")
        connection.execute("set innodb_lock_wait_timeout = 1")
        with pytest.raises(colonnade.DatabaseError, match="Lock wait timeout") as caught:
            append(pa.table({"a": range(10)}), connection)
        assert caught.value.sqlstate == "HY000"
        other.execute("rollback")
        append(ONE, connection)
    assert [row["a"] for row in either.rows()] == [1]


def test_a_deadlock_rolls_everything_back(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (a int primary key, b int)")
    in_mariadb.execute("create table u (a int primary key)")
    with colonnade.connect(in_mariadb.uri) as other, colonnade.connect(in_mariadb.uri) as connection:
        # The server rolls back the transaction that has changed fewer rows.
        other.execute("begin")
        other.execute("insert into u select seq from seq_1_to_1000")
        other.execute("insert into t values (5, 0)")
        connection.execute("begin")
        append(pa.table({"a": [9]}), connection)

        def collide() -> None:
            wait_until(lambda: "LOAD DATA" in str(other_view(in_mariadb)))
            other.execute("insert into t values (9, 0)")

        thread = threading.Thread(target=collide)
        thread.start()
        with pytest.raises(colonnade.DatabaseError) as caught:
            append(pa.table({"a": [5]}), connection)
        thread.join()
        assert caught.value.sqlstate == "40001" and "the whole transaction" in str(caught.value)
        other.execute("rollback")
        append(ONE, connection)
    assert [row["a"] for row in in_mariadb.rows()] == [1]


def other_view(place: Place) -> list[Any]:
    sql = "select info from information_schema.processlist where command = 'Query'"
    return colonnade.read_sql(place.uri, sql, return_type="arrow")["info"].to_pylist()


# --- upsert and temporary tables --------------------------------------------------------------------------------------


def test_an_upsert_replaces_and_adds(either: Place) -> None:
    either.execute("create table t (id int primary key, a varchar(9), kept int default 7)")
    either.execute("insert into t values (1, 'old', 1), (2, 'old', 2)")
    for _ in range(2):
        assert upsert(pa.table({"a": ["new", "added"], "id": [2, 3]}), either.uri, ["id"]).rows == 2
    assert [tuple(row.values()) for row in either.rows()] == [(1, "old", 1), (2, "new", 2), (3, "added", 7)]
    with pytest.raises(colonnade.DatabaseError, match="two rows of the data have the same key") as caught:
        upsert(pa.table({"a": ["x", "y"], "id": [4, 4]}), either.uri, ["id"])
    assert caught.value.sqlstate == "21000" and len(either.rows()) == 3


def test_an_upsert_creates_a_table_with_its_key(either: Place) -> None:
    table = pa.table({"k": ["a", "A", "a ", "ä", "\0"], "b": [b"\0", b"\0\0", b"", b"x", b"y"], "n": range(5)})
    for _ in range(2):
        upsert(table, either.uri, ["k", "b"])
    assert either.table().sort_by("n").equals(table)
    with pytest.raises(colonnade.IntegrityError):
        append(table, either.uri)
    # Without its key, a text may be longer than a key.
    with pytest.raises(colonnade.DataError, match='column "k", row 1'):
        upsert(pa.table({"k": ["x" * 500], "b": [b""], "n": [1]}), either.uri, ["k", "b"])


def test_a_number_that_the_server_makes_does_not_matter(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (id int primary key auto_increment, code varchar(9) not null unique, n int)")
    for number in (1, 2):
        upsert(pa.table({"code": ["x", "y"], "n": [number] * 2}), in_mariadb.uri, ["code"])
    assert [(row["code"], row["n"]) for row in in_mariadb.rows()] == [("x", 2), ("y", 2)]
    # With the number in the data, a row could equal another one in it.
    with pytest.raises(colonnade.NotSupportedError, match="another unique key, PRIMARY"):
        upsert(pa.table({"code": ["x"], "id": [5]}), in_mariadb.uri, ["code"])


@pytest.mark.parametrize(
    ("declared", "match"),
    [
        ("a int, b int", "no unique index on exactly the key"),
        ("a int unique, b int", "no unique index on exactly the key"),
        ("a int not null, b int, primary key (a, b)", "no unique index on exactly the key"),
        ("a int primary key, b int unique", "another unique key, b"),
    ],
)
def test_a_key_that_is_none_is_refused(in_mariadb: Place, declared: str, match: str) -> None:
    in_mariadb.execute(f"create table t ({declared})")
    with pytest.raises(colonnade.DatabaseError, match=match):
        upsert(pa.table({"a": [1], "b": [1]}), in_mariadb.uri, ["a"])
    in_mariadb.execute("drop table t")
    in_mariadb.execute("create table t (a varchar(20), b int, unique (a(3)))")
    with pytest.raises(colonnade.ProgrammingError) as caught:
        upsert(pa.table({"a": ["x"]}), in_mariadb.uri, ["a"])
    assert caught.value.sqlstate == "42P10"


def test_what_equals_a_key_is_stored_as_the_data_has_it(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (k varchar(9) collate utf8mb4_general_ci primary key, n int)")
    for number, text in enumerate(["a", "A", "Ä "]):
        upsert(pa.table({"k": [text], "n": [number]}), in_mariadb.uri, ["k"])
    assert in_mariadb.rows() == [{"k": "Ä ", "n": 2}]


def test_a_temporary_table_is_the_sessions(either: Place) -> None:
    colonnade.write_sql(pa.table({"a": [100]}), either.uri, "t")

    def found(connection: colonnade.Connection) -> list[int]:
        return connection.query("select a from t order by a").to_arrow()["a"].to_pylist()

    with colonnade.connect(either.uri) as connection:
        write: Any = lambda data, mode: colonnade.write_sql(data, connection, "t", if_exists=mode, temporary=True)  # noqa: E731
        with pytest.raises(colonnade.ProgrammingError, match="does not exist"):
            write(ONE, "append")
        write(ONE, "fail")
        write(pa.table({"a": [2]}), "create_append")
        assert found(connection) == [1, 2]
        with pytest.raises(ValueError, match="mine"):
            write(failing(ValueError("mine")), "replace")
        assert found(connection) == [1, 2]
        write(pa.table({"a": [3]}), "replace")
        connection.execute("begin")
        write(pa.table({"a": [4]}), "append")
        connection.execute("rollback")
        assert found(connection) == [3]
        with pytest.raises(colonnade.NotSupportedError, match="temporary table of this session"):
            colonnade.write_sql(ONE, connection, "t", if_exists="replace")
        connection.execute("drop temporary table t")
        assert found(connection) == [100]
    assert names(either) == ["t"]


def test_a_user_who_loads_a_file_gets_an_error(in_mariadb: Place, tmp_path: Any) -> None:
    in_mariadb.execute("create table t (a int)")
    file = tmp_path / "rows"
    file.write_text("1\n")
    with colonnade.connect(in_mariadb.uri) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.NotSupportedError, match="a file of this machine") as caught:
                connection.execute(f"load data local infile '{os.fspath(file)}' into table t")
            assert caught.value.sqlstate == "0A000"
        append(pa.table({"a": [2]}), connection)
    assert in_mariadb.rows() == [{"a": 2}]
