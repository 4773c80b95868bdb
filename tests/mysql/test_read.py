"""Statements, sizes and shapes of results, parameters, and memory."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import uuid
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.testbed import mariadb

MB = 1 << 20
#: From MariaDB's sequence engine.
ROWS = "select seq as i, concat('row ', seq div 1000) as t from seq_0_to_{}"


def rows(connection: colonnade.Connection, sql: str, params: Any = None) -> list[dict[str, object]]:
    return connection.query(sql, params).to_arrow().to_pylist()


def test_whatever_returns_rows_is_read(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    assert rows(mysql, "show variables like 'time_zone'") == [{"Variable_name": "time_zone", "Value": "SYSTEM"}]
    if mariadb.is_mysql():
        assert rows(mysql, "values row(1, 'x'), row(2, null)")[1:] == [{"column_0": 2, "column_1": None}]
    else:
        assert rows(mysql, "values (1, 'x'), (2, null)")[1:] == [{"1": 2, "x": None}]
    assert rows(mysql, "with w as (select 1 as i) select * from w; -- done") == [{"i": 1}]
    if mariadb.is_mysql():
        # When it prepares the statement, MySQL announces no columns.
        with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
            rows(mysql, "explain select 1")
    else:
        assert rows(mysql, "explain select 1")
    maria.run("create table written (id int auto_increment primary key, v text)", mariadb.DATABASE)
    if mariadb.is_mysql():
        assert mysql.execute("insert into written (v) values ('a'), ('b')") == 2
        assert rows(mysql, "table written") == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]
    else:
        assert rows(mysql, "insert into written (v) values ('a'), ('b') returning id, v") == [
            {"id": 1, "v": "a"},
            {"id": 2, "v": "b"},
        ]
    assert rows(mysql, "describe written")[0]["Field"] == "id"
    assert mysql.execute("update written set v = 'c'") == 2
    maria.run("drop table written", mariadb.DATABASE)


@pytest.mark.parametrize("sql", ["show engines", "-- all\nSHOW PROCESSLIST", "show plugins", "show warnings"])
def test_what_has_no_columns_before_it_runs_is_read(maria: mariadb.Server, sql: str) -> None:
    """MariaDB and MySQL describe these only when they run."""
    if mariadb.is_mysql() and sql == "show warnings":
        pytest.skip("MySQL cannot prepare this")
    with colonnade.connect(maria.uri()) as connection:
        table = connection.query(sql).to_arrow()
        printed = maria.run(sql.removeprefix("-- all\n"), mariadb.DATABASE, "--column-names").splitlines()
        assert not printed or table.column_names == printed[0].split("\t")
        assert "WARNINGS" in sql.upper() or table.num_rows > 0
        assert rows(connection, "select 1 as one") == [{"one": 1}]


def test_a_procedure_returns_one_result(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    maria.run(
        "create procedure one(n int) select seq as i from seq_1_to_3 where seq <= n;\n"
        "delimiter //\ncreate procedure two() begin select 1 as a; select 2 as b; end//\n"
        "create procedure none() begin set @x = 1; end//\n",
        mariadb.DATABASE,
    )
    assert rows(mysql, "call one(2)") == [{"i": 1}, {"i": 2}]
    with pytest.raises(colonnade.NotSupportedError, match="more than one result"):
        mysql.query("call two()").to_arrow()
    with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
        mysql.query("call none()")
    assert mysql.execute("call two()") is not None
    assert rows(mysql, "select 1 as one") == [{"one": 1}]
    maria.run("drop procedure one; drop procedure two; drop procedure none", mariadb.DATABASE)


@pytest.mark.parametrize("statement", ["create table made (a int)", "set @x = 1", "do sleep(0)"])
def test_what_returns_no_rows_is_not_run(mysql: colonnade.Connection, statement: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
        mysql.query(statement)
    assert rows(mysql, "select count(*) as n from information_schema.tables where table_name = 'made'") == [{"n": 0}]


def test_errors_carry_the_databases_words(mysql: colonnade.Connection) -> None:
    for sql, sqlstate, words in [
        ("select * from nowhere", "42S02", "nowhere"),
        ("selec 1", "42000", "syntax"),
        ("select 1; select 2", "42000", "syntax"),
        ("select nothing", "42S22", "nothing"),
    ]:
        with pytest.raises(colonnade.Error, match=words) as caught:
            mysql.query(sql)
        assert caught.value.sqlstate == sqlstate
    with pytest.raises(colonnade.InterfaceError, match="placeholder"):
        mysql.query("select ?")
    assert rows(mysql, "select 1 as one") == [{"one": 1}]


def test_names_may_repeat_or_be_empty(mysql: colonnade.Connection) -> None:
    table = mysql.query("select 1 as a, 2 as a, 3 as `ä \"b\"`, '' ").to_arrow()
    assert table.column_names[:3] == ["a", "a", 'ä "b"']
    assert [column[0].as_py() for column in table.columns] == [1, 2, 3, ""]


def test_many_columns(mysql: colonnade.Connection) -> None:
    columns = ", ".join(f"{'null' if number % 7 == 0 else number} as c{number}" for number in range(1500))
    table = mysql.query(f"select {columns} from seq_1_to_3").to_arrow()
    assert (table.num_rows, table.num_columns) == (3, 1500)
    assert table.to_pylist()[2] == {f"c{number}": None if number % 7 == 0 else number for number in range(1500)}


def test_many_rows_in_their_order(mysql: colonnade.Connection) -> None:
    result = mysql.query(ROWS.format(299999), chunk_rows=10_000)
    table = result.to_arrow()
    assert table.column("i").to_pylist() == list(range(300_000))
    assert table.column("t")[299_999].as_py() == "row 299"
    assert table.column("i").num_chunks == 30
    stats = result.stats
    assert stats.rows == 300_000
    assert stats.wire_bytes > 300_000 * 10


@pytest.mark.parametrize("size", [250, 251, 65_536, 20 * MB, (16 * MB - 8), (16 * MB - 7), (16 * MB - 6), 32 * MB])
def test_a_value_of_any_size(mysql: colonnade.Connection, size: int) -> None:
    table = mysql.query(f"select seq as i, repeat('x', {size}) as t, seq as j from seq_1_to_2").to_arrow()
    assert table.column("i").to_pylist() == table.column("j").to_pylist() == [1, 2]
    assert all(value.as_py() == "x" * size for value in table.column("t"))


@pytest.mark.parametrize("size", [5 * MB, 20 * MB])
def test_a_row_above_a_limit_is_refused(maria: mariadb.Server, size: int) -> None:
    with colonnade.connect(maria.uri()) as connection, pytest.raises(colonnade.Error, match="above the limit"):
        connection.query(f"select repeat('x', {size}) as t", max_message_bytes=4 * MB).to_arrow()


def test_max_allowed_packet_is_an_error(mysql: colonnade.Connection) -> None:
    # What repeat() cannot make becomes NULL with a warning; what a client sends is refused.
    with pytest.raises(colonnade.Error) as caught:
        mysql.query(f"select '{'x' * (65 * MB)}' as t").to_arrow()
    assert caught.value.sqlstate == "08S01" or "lost" in str(caught.value)
    with pytest.raises(colonnade.InterfaceError, match="closed"):
        mysql.query("select 1")


def test_batches_are_streamed(mysql: colonnade.Connection) -> None:
    result = mysql.query(ROWS.format(999999), chunk_rows=1000)
    batches = iter(result)
    assert next(batches).num_rows == 1000
    result.close()
    assert rows(mysql, "select 1 as one") == [{"one": 1}]


PROGRAM = """
import sys
import colonnade
from colonnade._cli.bench_client import peak_bytes
connection = colonnade.connect(sys.argv[1])
def read(thousands):
    return sum(batch.num_rows for batch in connection.query(f"{sys.argv[2]} limit {thousands}000"))
assert read(200) == 200_000
before = peak_bytes()
assert read(3000) == 3_000_000
print((peak_bytes() - before) >> 20)
"""


def test_a_stream_needs_no_more_memory_than_some_batches(maria: mariadb.Server) -> None:
    command = [sys.executable, "-c", PROGRAM, maria.uri(), ROWS.format(2999999)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 32  # MiB, of some 60 that were received


def test_parameters_mean_what_they_are(mysql: colonnade.Connection) -> None:
    values = [
        None, True, -5, 2**63, 2**64 - 1, 0.1, -1e300, Decimal("-12.340"), "it's", "\\", "a\\'b\"\n", "", "漢😀",
        b"\x00\\'\xff", b"", dt.date(987, 6, 5), dt.time(1, 2, 3, 4), dt.time(1, 2, 3),
        dt.datetime(2024, 2, 29, 1, 2, 3, 456789), dt.timedelta(hours=-30, microseconds=-1),
        uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ]  # fmt: skip
    for value in values:
        (row,) = rows(mysql, "select $1 as v, '$1' as q, `$x` as n /* $1 */ from (select 1 as `$x`) x # $1", [value])
        expected: object = value
        if isinstance(value, dt.time):
            expected = dt.timedelta(hours=1, minutes=2, seconds=3, microseconds=value.microsecond)
        if isinstance(value, uuid.UUID):
            expected = str(value)
        assert row == {"v": expected, "q": "$1", "n": 1}, value
    aware = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert rows(mysql, "select $t as v", {"t": aware}) == [{"v": dt.datetime(2024, 7, 1, 10)}]


def test_parameters_whatever_the_sql_mode(mysql: colonnade.Connection) -> None:
    for mode in ("NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", ""):
        mysql.execute(f"set sql_mode = '{mode}'")
        for value in ("\\", "'", "\\' or 1 = 1 -- ", '"', "\\\\'"):
            assert rows(mysql, "select $1 as v", [value]) == [{"v": value}]
    mysql.execute("set sql_mode = 'NO_BACKSLASH_ESCAPES'")
    assert rows(mysql, r"select '\' as a, $1 as b", [7]) == [{"a": "\\", "b": 7}]
    mysql.execute("set sql_mode = default")
    assert rows(mysql, r"select '\'$1' as a, $1 as b", [7]) == [{"a": "'$1", "b": 7}]


@pytest.mark.parametrize("value", [[1, 2], float("nan"), dt.time(1, tzinfo=dt.UTC), dt.timedelta(days=35)])
def test_parameters_that_mysql_lacks_are_refused(mysql: colonnade.Connection, value: object) -> None:
    with pytest.raises(colonnade.Error, match=r"parameter \$1"):
        mysql.query("select $1", [value])


def test_destinations(maria: mariadb.Server) -> None:
    uri = maria.uri().replace("mysql://", "mysql+pymysql://") + "?charset=utf8mb4"
    frame = colonnade.read_sql(uri, "select seq as i, 'x' as t from seq_1_to_3")
    assert frame["i"].tolist() == [1, 2, 3]
    table = colonnade.read_sql(
        maria.uri().replace("mysql:", "mariadb:"), ["select 1 as i", "select 2 as i"], return_type="arrow"
    )
    assert isinstance(table, pa.Table)
    assert table.column("i").to_pylist() == [1, 2]


def test_a_connection_says_who_it_is(mysql: colonnade.Connection) -> None:
    assert mysql.name.startswith(f"mysql://{mariadb.USER}@127.0.0.1:")
    assert mariadb.PASSWORD not in mysql.name
    assert mysql.server.startswith("MySQL " if mariadb.is_mysql() else "MariaDB 1")
