"""A PostgreSQL as it is, beyond what the tests of types and settings show on both kinds of server."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support.proxy import Proxy, gate
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

ENDLESS = "select generate_series(1, 1000000000) as i, 'some text for every row' as t"


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> pg.Cluster:
    return stock


@pytest.fixture(scope="module")
def written(postgres: pg.Cluster) -> Iterator[None]:
    setup = "create schema stock; create table stock.written (id serial, v text)"
    with postgres.prepared(setup, "drop schema stock cascade"):
        yield


def rows(connection: colonnade.Connection, sql: str) -> list[dict[str, object]]:
    return connection.query(sql).to_arrow().to_pylist()


MOMENTS = [
    "'2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+05:30', '23:59:59.999999', '1 mon -2 days', 1.5",
    "'0001-01-01 BC', '4713-01-01 00:00:00 BC', '0044-03-15 12:00:00 BC', '24:00:00', '-1 year -3:04:05.06', -0.0001",
    "'5874897-12-31', '294246-12-31 23:59:59.999999', '1500-01-01', '00:00:00', '178956970 years', 99999999.9999",
    "'1582-10-15', '1969-12-31 23:59:59.999999', '1880-01-01', '00:00:00.000001', '3 years 9 days', 10000.0001",
    "null, null, null, null, null, null",
]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Amsterdam", "Asia/Kolkata", "America/St_Johns"])
def test_dates_and_numbers_beside_what_is_text(database: colonnade.Connection, written: None, zone: str) -> None:
    attributes = "(d date, s timestamp, z timestamptz, t time, i interval, n numeric(12, 4), f float8, x inet)"
    database.execute(f"set timezone to '{zone}'; drop type if exists stock.moment")
    database.execute(f"create type stock.moment as {attributes}")
    values = " union all ".join(f"select row({moment}, 0.1, '::1')::stock.moment as m" for moment in MOMENTS)
    names = ("d", "s", "z", "t", "i", "n", "f", "x")
    apart = ", ".join(f"(m).{name}" for name in names)
    result = database.query(f"select m, array[m, null, m] as a, {apart} from ({values}) as v").to_arrow()
    whole, items = result["m"].combine_chunks(), result["a"].combine_chunks().flatten()
    assert whole.type.field("d").type == pa.date32()
    assert whole.type.field("n").type == pa.decimal128(12, 4)
    for name in names:
        expected = result[name].combine_chunks()
        assert whole.field(name).equals(expected), name
        assert items.field(name).take(pa.array(range(0, len(items), 3))).equals(expected), name


def test_money_beside_what_is_text_is_refused(database: colonnade.Connection, written: None) -> None:
    database.execute("create type stock.price as (m money, x inet)")
    with pytest.raises(colonnade.Error, match="money") as caught:
        database.query("select row(1, '::1')::stock.price as p")
    assert caught.value.sqlstate == "0A000"


# --- statements -------------------------------------------------------------------------------------------------------


def test_whatever_returns_rows_is_read(database: colonnade.Connection, written: None) -> None:
    assert rows(database, "show server_encoding") == [{"server_encoding": "UTF8"}]
    assert "Result" in str(rows(database, "explain select 1"))
    assert rows(database, "values (1, 'x'), (2, null); -- done") == [
        {"column1": 1, "column2": "x"},
        {"column1": 2, "column2": None},
    ]
    insert = "insert into stock.written (v) values ('a'), ('b') returning id, v, '10.0.0.1'::inet as i"
    assert rows(database, insert) == [{"id": 1, "v": "a", "i": "10.0.0.1"}, {"id": 2, "v": "b", "i": "10.0.0.1"}]
    both = "with w as (delete from stock.written where id = 1 returning *) select v from w"
    assert rows(database, both) == [{"v": "a"}]
    assert rows(database, "table stock.written") == [{"id": 2, "v": "b"}]
    assert rows(database, "select * from generate_series(1, 2) as f (i)") == [{"i": 1}, {"i": 2}]
    assert rows(database, "select pg_sleep(0) as s") == [{"s": ""}]


@pytest.mark.parametrize("statement", ["create temp table t (a int)", "copy pg_class to stdout", "set jit = on"])
def test_what_returns_no_rows_is_not_run(database: colonnade.Connection, statement: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match="returns no rows"):
        database.query(statement)
    assert rows(database, "select count(*) as n from pg_class where relnamespace = pg_my_temp_schema()") == [{"n": 0}]


def test_several_statements_are_refused(database: colonnade.Connection) -> None:
    with pytest.raises(colonnade.ProgrammingError) as caught:
        database.query("select 1; select 2")
    assert caught.value.sqlstate == "42601"
    with pytest.raises(colonnade.InterfaceError, match="empty"):
        database.query(" -- nothing")


def test_an_empty_result_has_its_columns(database: colonnade.Connection) -> None:
    table = database.query("select 1 as a, 'x'::text as b, null::inet as c where false").to_arrow()
    assert table.schema.types == [pa.int32(), pa.utf8(), pa.utf8()]
    assert table.num_rows == 0
    result = database.query("select from generate_series(1, 100000)")
    assert sum(batch.num_rows for batch in result) == 100_000


def test_many_columns_and_names(database: colonnade.Connection) -> None:
    columns = ", ".join(f'{number} as "c\'{number % 800}"' for number in range(1600))
    table = database.query(f"select {columns}, '{{1}}'::int[] as nested").to_arrow()
    assert table.num_columns == 1601
    assert [table.column(number)[0].as_py() for number in range(1600)] == list(range(1600))


def test_the_querys_order_is_kept(database: colonnade.Connection) -> None:
    query = (
        "select i, host('10.0.0.0'::inet + i) as h, '::1'::inet as x from generate_series(1, 300000) i order by i desc"
    )
    table = database.query(query).to_arrow()
    assert table.column("i").to_pylist() == list(range(300_000, 0, -1))


def test_batches_are_as_large_as_asked(database: colonnade.Connection) -> None:
    result = database.query("select generate_series(1, 10000) as i", chunk_rows=999, compression="light", parallel="on")
    assert [batch.num_rows for batch in result] == [999] * 10 + [10]
    sizes = [batch.nbytes for batch in database.query("select repeat('x', 1000) as t from generate_series(1, 20000)")]
    assert max(sizes) < 6 << 20
    assert sum(sizes) > 20_000_000


def test_large_values(database: colonnade.Connection) -> None:
    query = "select repeat('x', 300000000) as t, repeat('y', i * 100000) as u from generate_series(1, 3) i"
    table = database.query(query).to_arrow()
    assert [len(value.as_buffer()) for value in table.column("t")] == [300_000_000] * 3
    assert [len(value.as_py()) for value in table.column("u")] == [100_000, 200_000, 300_000]
    with pytest.raises(colonnade.InternalError, match="above the limit"):
        database.query("select repeat('x', 2000000)", max_message_bytes=1_000_000).to_arrow()


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_users_transaction_goes_on(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c datestyle=german -c intervalstyle=iso_8601")) as connection:
        connection.execute("begin")
        connection.execute("create temp table t (a int); insert into t values (1)")
        assert rows(connection, "select a, '10.0.0.1'::inet as i, tsrange('2024-02-03', null) as r from t") == [
            {"a": 1, "i": "10.0.0.1", "r": '["03.02.2024 00:00:00",)'}
        ]
        shown = "select current_setting('datestyle') as d, current_setting('intervalstyle') as i"
        assert rows(connection, shown) == [{"d": "German, DMY", "i": "iso_8601"}]
        connection.execute("rollback")
        assert rows(connection, shown) == [{"d": "German, DMY", "i": "iso_8601"}]
        with pytest.raises(colonnade.ProgrammingError):
            connection.query("select * from t")


def test_an_aborted_transaction_says_so(database: colonnade.Connection) -> None:
    database.execute("begin")
    with pytest.raises(colonnade.DataError):
        database.query("select 1 / 0, '::1'::inet").to_arrow()
    with pytest.raises(colonnade.Error) as caught:
        database.query("select 1")
    assert caught.value.sqlstate == "25P02"
    database.execute("rollback")
    assert rows(database, "select 1 as one, '::1'::inet as i") == [{"one": 1, "i": "::1"}]


# --- faults -----------------------------------------------------------------------------------------------------------

FAULTS = [
    ("select 1 / (i - 100000) as q from generate_series(1, 200000) i", "22012"),
    (
        "select case when i = 100000 then 'NaN'::numeric else 1 end::numeric(5, 2) from generate_series(1, 200000) i",
        "22003",
    ),
    ("select case when i = 100000 then '{{1}}' else '{1}' end::int[] as a from generate_series(1, 200000) i", "0A000"),
    ("select missing", "42703"),
    ("select", None),
]


@pytest.mark.parametrize(("query", "sqlstate"), FAULTS, ids=[str(sqlstate) for _, sqlstate in FAULTS])
def test_an_error_leaves_the_connection_usable(
    database: colonnade.Connection, query: str, sqlstate: str | None
) -> None:
    for _ in range(3):
        if sqlstate is None:
            assert database.query(query).to_arrow().num_columns == 0
        else:
            with pytest.raises(colonnade.Error) as caught:
                database.query(query).to_arrow()
            assert caught.value.sqlstate == sqlstate
        assert rows(database, "select 1 as one") == [{"one": 1}]


def test_a_result_that_is_dropped_is_cancelled(database: colonnade.Connection, session: psycopg.Connection) -> None:
    for _ in range(3):
        result = database.query(ENDLESS)
        assert next(iter(result)).num_rows > 0
        del result
        assert rows(database, "select 1 as one, '::1'::inet as i") == [{"one": 1, "i": "::1"}]
    running = "select pid from pg_stat_activity where state = 'active' and position(%s in query) > 0"
    others = f"{running} and pid <> pg_backend_pid()"
    wait_until(lambda: not session.execute(others, [ENDLESS]).fetchall())


def test_the_server_is_told_again_to_stop(postgres: pg.Cluster) -> None:
    """A request that comes between the description of a statement and its execution does nothing."""
    with gate(("127.0.0.1", postgres.port), b"B") as uri, colonnade.connect(uri) as connection:
        connection.query(ENDLESS).close()
        assert rows(connection, "select 1 as one") == [{"one": 1}]


def test_a_statement_timeout_is_an_error(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c statement_timeout=300")) as connection:
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in connection.query(ENDLESS):
                pass
        assert caught.value.sqlstate == "57014"
        assert rows(connection, "select 1 as one") == [{"one": 1}]


def test_a_slow_query_shows_its_rows(database: colonnade.Connection) -> None:
    query = "select i, pg_sleep(case when i = 4 then 1 else 0 end)::text as s from generate_series(1, 4) i"
    assert [row["i"] for row in rows(database, query)] == [1, 2, 3, 4]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_backend_that_ends_is_an_error(how: signal.Signals) -> None:
    with pg.cluster(pg.stock()) as own, colonnade.connect(own.uri()) as connection:
        [row] = rows(connection, "select pg_backend_pid() as pid")
        batches = iter(connection.query(ENDLESS))
        next(batches)
        os.kill(int(str(row["pid"])), how)
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in batches:
                pass
        assert caught.value.sqlstate in ([None] if how == signal.SIGKILL else pg.TERMINATED)
        assert not connection.is_open


def test_queries_leave_nothing_behind(database: colonnade.Connection) -> None:
    for number in range(50):
        assert rows(database, f"select {number} as n, '::1'::inet as i") == [{"n": number, "i": "::1"}]
    assert rows(database, "select count(*) as n from pg_prepared_statements") == [{"n": 0}]
    assert rows(database, "select count(*) as n from pg_locks where pid = pg_backend_pid() and relation > 16384") == [
        {"n": 0}
    ]


# --- answers that are cut off or changed ------------------------------------------------------------------------------


@pytest.fixture
def proxy(postgres: pg.Cluster) -> Iterator[Proxy]:
    between = Proxy(("127.0.0.1", postgres.port))
    yield between
    between.close()


def read(proxy: Proxy, sql: str) -> pa.Table:
    with colonnade.connect(f"{proxy.uri.removesuffix('/test')}/postgres?connect_timeout=2") as connection:
        return connection.query(sql).to_arrow()


SMALL = "select i, 'row ' || i as t, array[i] as a, '::1'::inet as n from generate_series(1, 5) i"


def test_a_result_that_is_cut_off_is_an_error(proxy: Proxy) -> None:
    expected = read(proxy, SMALL)
    whole = proxy.passed
    for limit in range(1, whole, 7):
        proxy.limit = limit
        with pytest.raises(colonnade.Error):
            read(proxy, SMALL)
    proxy.limit = whole
    assert read(proxy, SMALL).equals(expected)


def test_a_changed_byte_never_makes_a_result_of_another_shape(proxy: Proxy) -> None:
    """PostgreSQL's own answers have no checksum, so a value may change unseen, but no row may come or go. Only the
    last flight's bytes are changed: in an earlier one the client would wait for the rest of a length that grew."""
    expected = read(proxy, SMALL)
    whole = proxy.limit = proxy.passed
    for flipped in range(whole - 250, whole):
        proxy.flipped = flipped
        with contextlib.suppress(colonnade.Error):
            assert read(proxy, SMALL).num_rows == expected.num_rows
