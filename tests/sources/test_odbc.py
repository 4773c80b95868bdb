"""ODBC data sources as sources: Debian's drivers against real servers."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg


def odbc(server: pg.Cluster, **more: str) -> str:
    parts = {
        "Driver": "{PostgreSQL Unicode}",
        "Server": "127.0.0.1",
        "Port": str(server.port),
        "Database": "postgres",
        "UID": pg.SUPERUSER,
        "PWD": "{hunter2;!}",
        **more,
    }
    return "odbc:" + ";".join(f"{key}={value}" for key, value in parts.items())


def read(server: pg.Cluster, sql: str, more: dict[str, str] | None = None, **options: Any) -> pa.Table:
    with colonnade.connect(odbc(server, **(more or {}))) as connection:
        table = connection.query(sql, **options).to_arrow()
        table.validate(full=True)
        return table


def test_an_option_of_postgresql_is_refused_by_name(stock: pg.Cluster) -> None:
    refused: list[dict[str, Any]] = [{"numeric": (10, 2)}, {"compression": "light"}, {"parallel": "on"}]
    for options in refused:
        with pytest.raises(colonnade.NotSupportedError, match=f"the option {next(iter(options))} is"):
            read(stock, "select 1 as a", **options)


def test_every_destination(stock: pg.Cluster) -> None:
    conn = odbc(stock)
    sql = "select i, i::text as t from generate_series(1, 100000) i"
    table = colonnade.read_sql(conn, sql, return_type="arrow")
    assert table.column("i").to_pylist() == list(range(1, 100_001))
    assert table.column("t").to_pylist()[-1] == "100000"
    assert list(colonnade.read_sql(conn, "select 1 as one")["one"]) == [1]
    with colonnade.connect(conn) as connection:
        assert (
            connection.name
            == f"odbc:driver={{PostgreSQL Unicode}};server=127.0.0.1;port={stock.port};database=postgres"
        )
        assert connection.server == "ODBC PostgreSQL Unicode"


#: An expression, its Arrow type, and what arrives or the text of the refusal.
VALUES: list[tuple[str, pa.DataType, Any]] = [
    ("1::int2", pa.int32(), 1),
    ("(-2147483648)::int4", pa.int64(), -(2**31)),
    ("4294967295::oid", pa.int64(), 2**32 - 1),
    ("9223372036854775807::int8", pa.int64(), 2**63 - 1),
    ("0.1::float8", pa.float64(), 0.1),
    ("1.7976931348623157e308::float8", pa.float64(), 1.7976931348623157e308),
    ("5e-324::float8", pa.float64(), 5e-324),
    ("'-infinity'::float8", pa.float64(), float("-inf")),
    ("12.34::numeric(10,2)", pa.decimal128(10, 2), Decimal("12.34")),
    (
        "'-9999999999999999999999999999.9999999999'::numeric(38,10)",
        pa.decimal128(38, 10),
        Decimal("-9999999999999999999999999999.9999999999"),
    ),
    ("1.5::numeric(50,10)", pa.utf8(), "1.5000000000"),
    ("'NaN'::numeric(5,2)", None, "a value that decimal128\\(5, 2\\) does not hold"),
    ("'käse 🧀'::text", pa.utf8(), "käse 🧀"),
    ("''::varchar(3)", pa.utf8(), ""),
    ("'a'::char(3)", pa.utf8(), "a  "),
    ("'\\x00ff'::bytea", pa.binary(), b"\0\xff"),
    ("date '0001-01-01'", pa.date32(), dt.date(1, 1, 1)),
    ("date '9999-12-31'", pa.date32(), dt.date(9999, 12, 31)),
    ("date 'infinity'", None, "a value that date32\\[day\\] does not hold"),
    ("time '12:34:56.789123'", pa.time64("us"), dt.time(12, 34, 56, 789123)),
    ("timestamp '0001-01-01 00:00:00'", pa.timestamp("us"), dt.datetime(1, 1, 1)),
    ("timestamp '9999-12-31 23:59:59.999999'", pa.timestamp("us"), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamp '12024-03-15 01:02:03'", None, "a value that timestamp\\[us\\] does not hold"),
    ("timestamp '0044-03-15 01:02:03 BC'", None, "a value that timestamp\\[us\\] does not hold"),
    ("time '24:00:00'", None, "a value that time64\\[us\\] does not hold"),
    ("time '00:00:00.000001'", pa.time64("us"), dt.time(0, 0, 0, 1)),
    ("timestamp(0) '2024-01-01 01:02:03'", pa.timestamp("us"), dt.datetime(2024, 1, 1, 1, 2, 3)),
    ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", pa.utf8(), "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
    ("interval '1 day'", pa.utf8(), "1 day"),
    ("array[1, 2]", pa.utf8(), "{1,2}"),
]


@pytest.mark.parametrize(("expression", "arrow", "expected"), VALUES, ids=[value[0] for value in VALUES])
def test_a_value_is_exact_or_refused(
    stock: pg.Cluster, expression: str, arrow: pa.DataType | None, expected: Any
) -> None:
    sql = f"select v, k from generate_series(1, 3) k left join (select {expression} as v) t on k <> 2 order by k"
    if arrow is None:
        with pytest.raises(colonnade.DatabaseError, match=f'column "v", row 1: {expected}') as caught:
            read(stock, sql)
        assert "as_text=['v']" in str(caught.value)
        return
    table = read(stock, sql)
    assert table.schema.field("v").type == arrow
    assert table.column("v").to_pylist() == [expected, None, expected]


@pytest.mark.parametrize("options", [{}, {"as_text": ["v"]}])
def test_infinity_is_not_a_timestamp_of_the_year_9999(stock: pg.Cluster, options: dict[str, Any]) -> None:
    sql = "select * from (values (timestamp '2024-01-01'), ('infinity')) t(v)"
    with pytest.raises(colonnade.DatabaseError, match=r'column "v", row 2: .*infinity.*read postgresql:// instead'):
        read(stock, sql, **options)
    with colonnade.connect(stock.uri()) as connection:
        assert connection.query(sql, as_text=["v"]).to_arrow()["v"].to_pylist()[1] == "infinity"


def test_booleans_are_bits_if_the_driver_is_told(stock: pg.Cluster) -> None:
    table = read(stock, "select true as a, false as b, null::bool as c", {"BoolsAsChar": "0"})
    assert table.schema.types == [pa.bool_()] * 3
    assert table.to_pylist() == [{"a": True, "b": False, "c": None}]


def test_every_column_can_arrive_as_text(stock: pg.Cluster) -> None:
    table = read(stock, "select 'NaN'::numeric(5,2) as a, 1.5::float8 as b, 2 as c", as_text=["a", "b"])
    assert table.to_pylist() == [{"a": "NaN", "b": "1.5", "c": 2}]
    assert table.schema.field("a").metadata == {b"colonnade.type": b"decimal128(5, 2)"}
    with pytest.raises(colonnade.InterfaceError, match="'x', which the result does not have"):
        read(stock, "select 1 as a", as_text=["x"])


def test_digits_beyond_what_the_driver_announced_are_not_cut_off(stock: pg.Cluster) -> None:
    """With a cursor, psqlODBC takes a bare numeric's scale from the first rows."""
    sql = "select (i || '.' || repeat('1', i / 100))::numeric as v from generate_series(100, 1000) i"
    with pytest.raises(colonnade.DatabaseError, match='column "v", row 101: a value that decimal128'):
        read(stock, sql, {"UseDeclareFetch": "1", "Fetch": "100"})
    table = read(stock, sql, {"UseDeclareFetch": "1", "Fetch": "100"}, as_text=["v"])
    assert table.column("v").to_pylist()[-1] == "1000.1111111111"


def test_text_is_never_truncated(stock: pg.Cluster) -> None:
    for expression, size in [("repeat('ä', 8190)", 8190), ("repeat('x', 100000)::varchar(100000)", 100_000)]:
        assert len(read(stock, f"select {expression} as v").column("v")[0].as_py()) == size
    with pytest.raises(colonnade.DatabaseError, match="without truncation"):
        read(stock, "select repeat('x', 100000) as v")
    assert (
        len(read(stock, "select repeat('x', 100000) as v", {"MaxLongVarcharSize": "0"}).column("v")[0].as_py())
        == 100_000
    )
    long = "select convert_to(repeat('x', 3000000), 'UTF8') as v"
    with pytest.raises(colonnade.DatabaseError, match="without truncation"):
        read(stock, long)
    assert len(read(stock, long, max_message_bytes=4 << 20).column("v")[0].as_py()) == 3_000_000


def test_statements_and_parameters(stock: pg.Cluster) -> None:
    prepared = stock.prepared("create table odbc_t (i int, v text)", "drop table odbc_t")
    with prepared, colonnade.connect(odbc(stock)) as connection:
        connection.execute("insert into odbc_t values (1, 'x'), (2, 'y')")
        with stock.connect() as other:
            assert other.execute("select count(*) from odbc_t").fetchone() == (2,)
        sql = "select v from odbc_t where i = cast(? as integer)"
        assert connection.query(sql, ["2"]).to_arrow().to_pylist() == [{"v": "y"}]
        assert connection.query("select * from odbc_t where false").to_arrow().num_rows == 0
        with pytest.raises(colonnade.InterfaceError, match="text for each \\?"):
            connection.query(sql, [2])
        with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
            connection.query("insert into odbc_t values (3, 'z')")


def test_a_second_result_is_an_error(stock: pg.Cluster) -> None:
    # Nobody but the server can tell where these statements end.
    sql = "insert into odbc_two values (1) returning i; select $$;$$ as t"
    with stock.prepared("create table odbc_two (i int)", "drop table odbc_two"):
        with pytest.raises(colonnade.NotSupportedError, match="more than one result") as caught:
            colonnade.read_sql(odbc(stock), sql)
        assert (caught.value.sqlstate, "has run" in str(caught.value)) == ("0A000", False)
        with colonnade.connect(odbc(stock)) as connection:
            count = "select count(*) as n from odbc_two"
            assert connection.query(count).to_arrow().to_pylist() == [{"n": 0}]
            with pytest.raises(colonnade.NotSupportedError, match="more than one result, and it has run"):
                connection.query(sql).to_arrow()
            assert connection.query(count).to_arrow().to_pylist() == [{"n": 1}]
            # One statement, whatever is in it.
            assert connection.query("select $$a;b$$ as t; -- c;").to_arrow().to_pylist() == [{"t": "a;b"}]


def assert_fails(connection: colonnade.Connection, sql: str, kind: type[colonnade.Error], state: str) -> None:
    with pytest.raises(kind) as caught:
        connection.query(sql).to_arrow()
    assert caught.value.sqlstate == state


def test_errors_have_their_sqlstate(stock: pg.Cluster) -> None:
    with colonnade.connect(odbc(stock)) as connection:
        for sql, kind, state in [
            ("selec", colonnade.ProgrammingError, "42601"),
            ("select * from nowhere", colonnade.ProgrammingError, "42P01"),
            ("select 1 / 0", colonnade.DataError, "22012"),
        ]:
            assert_fails(connection, sql, kind, state)
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


@pytest.mark.parametrize(
    "rest",
    [
        "Driver={PostgreSQL Unicode};Server=127.0.0.1;Port=1;UID=a;PWD={hunter2;!}",
        "DSN=nowhere;PWD=hunter2",
        "Driver={nothing};password=hunter2",
        "Driver={PostgreSQL Unicode};Server=hunter2;Port=1;UID=a;PWD=hunter2",
    ],
)
def test_no_error_holds_a_password(rest: str) -> None:
    with pytest.raises(colonnade.OperationalError) as caught:
        colonnade.connect("odbc:" + rest)
    error = caught.value
    assert "hunter2" not in error.message + repr(error.__context__) + repr(error.__cause__)
    assert "PWD" not in str(error.source)
    with pytest.raises(colonnade.InterfaceError, match="connection string"):
        colonnade.connect("odbc:nothing")


# --- interruption -----------------------------------------------------------------------------------------------------

#: It goes on for longer than a test may take.
ENDLESS = "select pg_sleep(600) is null as n"


def stop(server: pg.Cluster) -> None:
    """Ends what the driver was left alone with. The server still runs it, so nobody has waited for its end."""
    sleeping = "select pg_cancel_backend(pid) as c from pg_stat_activity where wait_event = 'PgSleep'"
    with colonnade.connect(server.uri()) as other:
        # It may have been given up before the server had it.
        while not other.query(sleeping).to_arrow().num_rows:
            pass


@contextmanager
def cancelling(connection: colonnade.Connection, server: pg.Cluster) -> Iterator[None]:
    """Another thread cancels what runs, over and over, once the server runs it."""
    done = threading.Event()

    def cancel() -> None:
        with colonnade.connect(server.uri()) as other:
            sleeping = "select 1 from pg_stat_activity where wait_event = 'PgSleep'"
            while not done.wait(0.05) and not other.query(sleeping).to_arrow().num_rows:
                pass
        while not done.wait(0.05):
            connection.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(colonnade.OperationalError, match="the query was cancelled") as caught:
            yield
        assert caught.value.sqlstate == "57014"
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("start", ["query", "execute"])
def test_a_running_query_is_cancelled(stock: pg.Cluster, start: str) -> None:
    with colonnade.connect(odbc(stock)) as connection:
        with cancelling(connection, stock):
            getattr(connection, start)(ENDLESS)
        stop(stock)
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_a_result_is_cancelled_while_it_comes(stock: pg.Cluster) -> None:
    sql = "select i, pg_sleep(case when i = 500 then 600 else 0 end) is null as n from generate_series(1, 1000) i"
    with colonnade.connect(odbc(stock, UseDeclareFetch="1", Fetch="100")) as connection:
        # Outside a transaction, the server would make the whole result before its first row.
        connection.execute("begin")
        batches = iter(connection.query(sql, chunk_rows=100))
        assert next(batches).num_rows == 100
        with cancelling(connection, stock):
            list(batches)
        stop(stock)
        connection.execute("rollback")
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_ctrl_c(stock: pg.Cluster) -> None:
    script = f"""
import colonnade, os, pyarrow, signal, threading
with colonnade.connect({odbc(stock)!r}) as connection:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        connection.query({ENDLESS!r})
    except KeyboardInterrupt:
        print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
    stop(stock)
