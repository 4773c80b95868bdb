"""What is MySQL's: engines, sessions, transactions, new tables, rights and locks."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.support.raw_client import wait_until
from tests.testbed import mariadb
from tests.writes.mysql_tables import DAY, ONE, append, failing, names, upsert
from tests.writes.places import Place

# --- sessions and transactions ----------------------------------------------------------------------------------------

SETTINGS = (
    "select @@sql_mode, @@time_zone, @@character_set_client, @@character_set_results, @@collation_connection,"
    " @@net_read_timeout, @@sql_select_limit, @@sql_safe_updates, @@sql_notes, @@max_error_count, @colonnade_row"
)


def test_a_session_keeps_its_settings(either_mariadb: Place) -> None:
    with colonnade.connect(either_mariadb.uri) as connection:
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
    assert either_mariadb.rows() == [{"tä": DAY.replace(tzinfo=datetime.UTC), "s": "\\'\"ä"}] * 5


def test_rows_are_part_of_an_open_transaction(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (a int primary key)")
    for begin in ("begin", "set autocommit = 0"):
        with colonnade.connect(either_mariadb.uri) as connection:
            connection.execute(begin)
            connection.execute("insert into t values (10)")
            append(ONE, connection)
            assert either_mariadb.rows() == []
            with pytest.raises(colonnade.IntegrityError):
                append(pa.table({"a": [2, 1]}), connection)
            assert connection.query("select a from t order by a").to_arrow()["a"].to_pylist() == [1, 10]
            with pytest.raises(ValueError, match="mine"):
                append(failing(ValueError("mine")), connection)
            colonnade.write_sql(pa.table({"a": [3]}), connection, "t", if_exists="truncate")
            upsert(pa.table({"a": [3, 4]}), connection, ["a"])
            connection.execute("commit")
        assert [row["a"] for row in either_mariadb.rows()] == [3, 4]
        either_mariadb.execute("delete from t")


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


def test_nothing_is_left_over(either_mariadb: Place) -> None:
    colonnade.write_sql(ONE, either_mariadb.uri, "t")
    for mode in ("replace", "fail", "upsert"):
        key = ["a"] if mode == "upsert" else None
        with pytest.raises(ValueError, match="mine"):
            colonnade.write_sql(
                failing(ValueError("mine")),
                either_mariadb.uri,
                "t" if mode == "replace" else "u",
                if_exists=mode,
                key=key,
            )
    assert names(either_mariadb) == ["t"] and either_mariadb.rows() == [{"a": 1}]


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
    """What is read ahead may be read before the writer looks at the table, which then is another one. So the table is
    altered after more and more batches, until the writer has looked before."""

    def batches() -> Iterator[pa.RecordBatch]:
        # Before the first row arrives, nothing locks the table.
        in_mariadb.execute("alter table t modify a varchar(9) character set latin1")
        yield pa.record_batch({"a": ["ä"]})

    first = pa.record_batch({"a": pa.array([], pa.string())})

    def all_batches(count: int) -> Iterator[pa.RecordBatch]:
        for _ in range(count):
            yield first
        yield from batches()

    for count in (50, 500, 5_000, 50_000):
        in_mariadb.execute("create or replace table t (a varchar(9))")
        try:
            append(all_batches(count), in_mariadb.uri)
        except colonnade.DatabaseError as error:
            assert "was altered" in error.message and error.sqlstate == "40001" and in_mariadb.rows() == []
            return
        assert in_mariadb.rows() == [{"a": "ä"}]
    pytest.fail("no writer has noticed that its table was altered")


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


def test_a_lock_that_is_not_granted_in_time_is_an_error(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (a int primary key, b int)")
    with colonnade.connect(either_mariadb.uri) as other, colonnade.connect(either_mariadb.uri) as connection:
        other.execute("begin")
        other.execute("insert into t values (5, 0)")
        connection.execute("set innodb_lock_wait_timeout = 1")
        with pytest.raises(colonnade.DatabaseError, match="Lock wait timeout") as caught:
            append(pa.table({"a": range(10)}), connection)
        assert caught.value.sqlstate == "HY000"
        other.execute("rollback")
        append(ONE, connection)
    assert [row["a"] for row in either_mariadb.rows()] == [1]


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
