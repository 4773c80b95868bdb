"""psycopg 2 against `colonnade serve`: it writes values into the statement itself, and all comes back as text."""

from __future__ import annotations

import datetime
import decimal
import io
import select
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import pytest
from psycopg2 import errors

from tests.support.every_type import EVERY_TYPE
from tests.support.raw_client import wait_until
from tests.testbed.serving import TIMEOUT, Server, serve

D = decimal.Decimal
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
ENDLESS = "select count(*) from range(100000000000000) t(i) where i % 7 = 3"
psycopg2.extras.register_uuid()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        yield server
        wait_until(lambda: server.connections() == 0)


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg2.extensions.connection]:
    connection = psycopg2.connect(server.dsn)
    connection.autocommit = True
    yield connection
    connection.close()


@pytest.fixture
def cursor(connection: psycopg2.extensions.connection) -> Iterator[psycopg2.extensions.cursor]:
    with connection.cursor() as cursor:
        yield cursor


def value(cursor: psycopg2.extensions.cursor, query: str, *arguments: object) -> object:
    cursor.execute(query, arguments or None)
    ((found,),) = cursor.fetchall()
    return found


def test_it_connects(connection: psycopg2.extensions.connection) -> None:
    assert connection.server_version == 150000
    assert connection.encoding == "UTF8"
    assert connection.get_parameter_status("standard_conforming_strings") == "on"
    assert connection.get_transaction_status() == psycopg2.extensions.TRANSACTION_STATUS_IDLE
    connection.set_client_encoding("UTF8")
    connection.reset()


@pytest.mark.parametrize(("type_name", "query"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_every_type_arrives(cursor: psycopg2.extensions.cursor, type_name: str, query: str) -> None:
    cursor.execute(query)
    try:
        rows = cursor.fetchall()
    except (ValueError, psycopg2.DataError) as error:
        # Python has no date beyond 9999, and no time zone of an hour and a half of seconds.
        assert type_name.startswith(("DATE", "TIME")), error
    else:
        assert len(rows) == cursor.rowcount > 1


VALUES = [
    None,
    True,
    -7,
    2**40,
    # Written without a type, it is a decimal to PostgreSQL, too.
    -0.5,
    float("inf"),
    D("12.340"),
    "it's $1; -- \\ %s é",
    "",
    datetime.date(1, 1, 1),
    datetime.time(1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=EAST),
    datetime.timedelta(days=-3, seconds=5, microseconds=7),
    uuid.UUID(int=2**100 + 7),
    [1, None, 3],
    [[1, 2], [3, 4]],
    ["a", 'b,"c\\', None, ""],
    [datetime.date(2024, 1, 1)],
]


@pytest.mark.parametrize("given", VALUES, ids=repr)
def test_values_come_back(cursor: psycopg2.extensions.cursor, given: object) -> None:
    assert value(cursor, "select %s", given) == given


def test_bytes_and_documents_come_back(cursor: psycopg2.extensions.cursor) -> None:
    every = bytes(range(256))
    for given in (b"", b"\x00\xff", every, memoryview(every)):
        assert bytes(value(cursor, "select %s", psycopg2.Binary(given))) == bytes(given)  # type: ignore[arg-type]
    found = value(cursor, "select %s", [psycopg2.Binary(b"a\\"), psycopg2.Binary(every)])
    assert [bytes(item) for item in found] == [b"a\\", every]  # type: ignore[attr-defined]
    cursor.execute("create temp table documents (b bytea, j jsonb)")
    document = {"a": [1, None, "it's"]}
    cursor.execute("insert into documents values (%s, %s)", (every, psycopg2.extras.Json(document)))
    cursor.execute("select * from documents where b = %s", (psycopg2.Binary(every),))
    ((found, json),) = cursor.fetchall()
    assert (bytes(found), json) == (every, document)
    assert value(cursor, "select count(*) from range(10) t(i) where i in %s and i = any(%s)", (1, 2, 3), [2, 3]) == 2


def test_writes_one_by_one_and_many_at_once(cursor: psycopg2.extensions.cursor) -> None:
    cursor.execute("create temp table written (i integer primary key, s varchar)")
    cursor.executemany("insert into written values (%s, %s)", [(i, f"s{i}") for i in range(10)])
    psycopg2.extras.execute_batch(cursor, "insert into written values (%s, %s)", [(i, "b") for i in range(10, 300)])
    rows = psycopg2.extras.execute_values(
        cursor, "insert into written values %s returning i", [(i, None) for i in range(300, 1000)], fetch=True
    )
    # What is fetched comes in pages of a hundred.
    assert sorted(rows) == [(i,) for i in range(300, 1000)]
    cursor.execute("update written set s = 'x' where i < 5")
    assert (cursor.rowcount, cursor.statusmessage) == (5, "UPDATE 5")
    assert value(cursor, "select count(*) from written") == 1000
    with pytest.raises(errors.UniqueViolation):
        psycopg2.extras.execute_values(cursor, "insert into written values %s", [(2000, "x"), (1, "y")])
    assert value(cursor, "select count(*) from written") == 1000


def test_transactions_begin_by_themselves(server: Server) -> None:
    count = "select count(*) from psycopg2_kept"
    # A `with` block of a connection is a transaction, and does not close it.
    with closing(psycopg2.connect(server.dsn)) as first, closing(psycopg2.connect(server.dsn)) as second:
        second.autocommit = True
        one, other = first.cursor(), second.cursor()
        one.execute("create table psycopg2_kept (i integer)")
        assert first.get_transaction_status() == psycopg2.extensions.TRANSACTION_STATUS_INTRANS
        first.commit()
        one.execute("insert into psycopg2_kept values (1)")
        assert value(other, count) == 0
        first.commit()
        assert value(other, count) == 1
        one.execute("insert into psycopg2_kept values (2)")
        with pytest.raises(errors.UndefinedTable):
            one.execute("select * from nowhere")
        with pytest.raises(errors.InFailedSqlTransaction):
            one.execute("select 1")
        first.rollback()
        assert value(one, count) == 1
        first.rollback()
        with pytest.raises(ZeroDivisionError), first:
            one.execute("insert into psycopg2_kept values (3)")
            raise ZeroDivisionError
        with first:
            one.execute("insert into psycopg2_kept values (4)")
        assert value(other, count) == 2
        first.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with pytest.raises(errors.ReadOnlySqlTransaction):
            one.execute("insert into psycopg2_kept values (5)")
        first.rollback()
        first.set_session(isolation_level="SERIALIZABLE", readonly=False)
        with pytest.raises(errors.FeatureNotSupported):
            one.execute("select 1")
        first.rollback()
        other.execute("drop table psycopg2_kept")


def test_copies_both_ways(cursor: psycopg2.extensions.cursor) -> None:
    cursor.execute("create temp table copied (i integer, s varchar)")
    rows = "".join(f"{i}\ts{i}\\t\n" for i in range(20000))
    cursor.copy_expert("copy copied from stdin", io.StringIO(rows))
    assert cursor.rowcount == 20000
    out = io.StringIO()
    cursor.copy_expert("copy (select * from copied order by i) to stdout", out)
    assert out.getvalue() == rows
    cursor.copy_from(io.StringIO("-1|x\n-2|-\n"), "copied", sep="|", null="-", columns=("i", "s"))
    sheet = io.BytesIO()
    cursor.copy_expert("copy (select * from copied where i < 0 order by i) to stdout with csv header", sheet)
    assert sheet.getvalue() == b"i,s\n-2,\n-1,x\n"
    lines = io.StringIO()
    cursor.copy_to(lines, "copied", columns=("i",))
    assert len(lines.getvalue().splitlines()) == 20002
    with pytest.raises(errors.InvalidTextRepresentation):
        cursor.copy_expert("copy copied from stdin", io.StringIO("1\tx\ny\tx\n"))
    with pytest.raises(psycopg2.DatabaseError, match="no file"):
        cursor.copy_expert("copy copied from stdin", Broken())
    assert value(cursor, "select count(*) from copied") == 20002


class Broken(io.StringIO):
    def read(self, size: int | None = -1) -> str:
        raise OSError("no file")


def test_cancel_reaches_a_query(connection: psycopg2.extensions.connection) -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            value(connection.cursor(), ENDLESS)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def is_over() -> bool:
        connection.cancel()
        thread.join(0.05)
        return not thread.is_alive()

    wait_until(is_over)
    assert isinstance(caught[0], errors.QueryCanceled)
    assert value(connection.cursor(), "select 1") == 1


def test_errors_have_their_classes_and_the_session_goes_on(cursor: psycopg2.extensions.cursor) -> None:
    cursor.execute("create temp table erroneous (i integer primary key, s varchar not null check (s <> 'no'))")
    for statement, class_ in [
        ("selec 1", errors.SyntaxError),
        ("select nothing from erroneous", errors.UndefinedColumn),
        ("select nothing(1)", errors.UndefinedFunction),
        ("select 2147483647::integer + 1::integer", errors.NumericValueOutOfRange),
        ("select 'x'::integer", errors.InvalidTextRepresentation),
        ("insert into erroneous values (1, 'a'), (1, 'b')", errors.UniqueViolation),
        ("insert into erroneous values (1, NULL)", errors.NotNullViolation),
        ("insert into erroneous values (1, 'no')", errors.CheckViolation),
        ("copy erroneous to '/tmp/file'", errors.InsufficientPrivilege),
    ]:
        with pytest.raises(class_):
            cursor.execute(statement)
        assert value(cursor, "select 1") == 1
    with pytest.raises(errors.UndefinedTable) as caught:
        cursor.execute("select i\nfrom missing")
    assert caught.value.diag.statement_position == "15"
    assert caught.value.diag.message_primary is not None
    cursor.execute("commit")
    assert "no transaction in progress" in cursor.connection.notices[-1]


def test_rows_come_as_asked(connection: psycopg2.extensions.connection) -> None:
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("select 1 as a, 'x' as b")
        assert cursor.fetchall() == [{"a": 1, "b": "x"}]
    with connection.cursor(cursor_factory=psycopg2.extras.NamedTupleCursor) as cursor:
        cursor.execute("select i, i::decimal(9, 2) as d from range(3) t(i)")
        assert [column.name for column in cursor.description] == ["i", "d"]
        assert cursor.description[1].precision == 9
        assert [row.d for row in cursor.fetchmany(2)] == [D(0), D(1)]
    with connection.cursor() as cursor:
        cursor.execute("select 1; select 2")
        assert cursor.fetchall() == [(2,)]


def test_asynchronous_connections(server: Server) -> None:
    connection = psycopg2.connect(server.dsn, async_=True)

    def wait() -> None:
        while (state := connection.poll()) != psycopg2.extensions.POLL_OK:
            reading = [connection] if state == psycopg2.extensions.POLL_READ else []
            writing = [connection] if state == psycopg2.extensions.POLL_WRITE else []
            assert any(select.select(reading, writing, [], TIMEOUT))

    wait()
    cursor = connection.cursor()
    cursor.execute("select count(*) from range(%s)", (1000,))
    wait()
    assert cursor.fetchall() == [(1000,)]
    connection.close()
