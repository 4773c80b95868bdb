"""psycopg, an ordinary PostgreSQL driver, against `colonnade serve`: results, failures, and clients that misbehave."""

from __future__ import annotations

import datetime
import decimal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pyarrow as pa
import pyarrow.ipc
import pytest
from psycopg.pq import TransactionStatus
from serving import PATIENCE, Server, serve

ENDLESS = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
LARGE = "SELECT i, i * 2 AS j FROM range(50_000_000) t(i)"
FAILING = "SELECT CASE WHEN i = 2_000_000 THEN error('boom') ELSE i END AS i FROM range(2_500_000) t(i)"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for another process to get somewhere, but not for ever."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def quiet_server(server: Server) -> Server:
    """The server, when the clients of other tests have left."""
    wait_until(lambda: server.connections() == 0)
    return server


def test_what_the_server_says_of_itself(connection: psycopg.Connection) -> None:
    assert connection.info.server_version == 150000
    assert connection.info.parameter_status("server_version").startswith("15.0 (Colonnade ")
    assert connection.info.parameter_status("colonnade") == "1"
    assert connection.info.parameter_status("session_authorization") == "tester"
    assert connection.info.encoding == "utf-8"


def test_rows_come_as_python_values(connection: psycopg.Connection) -> None:
    query = """
        SELECT true, 1::smallint, 2::integer, 3::bigint, 4.5::double, 6.70::decimal(9, 2), 'é', 'x'::blob,
               date '2024-02-29', time '01:02:03.5', timestamp '2024-02-29 01:02:03',
               timestamptz '2024-02-29 01:02:03+00', interval '1 day 2 hours', NULL, [1, 2], ['a "b"', NULL],
               [[1], [2]], '00112233-4455-6677-8899-aabbccddeeff'::uuid, '{"a": [1]}'::json, 18446744073709551615::ubigint
    """
    (row,) = connection.execute(query).fetchall()
    assert row == (
        True,
        1,
        2,
        3,
        4.5,
        decimal.Decimal("6.70"),
        "é",
        b"x",
        datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3, 500_000),
        datetime.datetime(2024, 2, 29, 1, 2, 3),
        datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
        datetime.timedelta(days=1, hours=2),
        None,
        [1, 2],
        ['a "b"', None],
        [[1], [2]],
        uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
        {"a": [1]},
        decimal.Decimal("18446744073709551615"),
    )


COLUMNS = {
    "bool": ("i % 2 = 0", lambda i: i % 2 == 0),
    "int2": ("(i % 100)::smallint", lambda i: i % 100),
    "int4": ("i::integer", lambda i: i),
    "int8": ("i * 10_000_000_000", lambda i: i * 10_000_000_000),
    "float4": ("(i / 2)::float", lambda i: i / 2),
    "float8": ("i / 2", lambda i: i / 2),
    "numeric": ("((i - 2000) * 0.125)::decimal(18, 3)", None),
    "text": ("'t' || i", lambda i: f"t{i}"),
    "bytea": ("encode(i::varchar)", lambda i: str(i).encode()),
    "date": ("date '1999-12-30' + i::integer", lambda i: datetime.date(1999, 12, 30) + datetime.timedelta(i)),
    "timestamp": ("timestamp '1999-12-30' + to_seconds(i)", None),
    "timestamptz": ("timestamptz '1999-12-30 00:00:00+00' + to_seconds(i)", None),
    "time": ("time '00:00:00' + to_seconds(i)", None),
    "interval": ("to_days(i::integer) - to_microseconds(i)", lambda i: datetime.timedelta(days=i, microseconds=-i)),
    "uuid": ("lpad(i::varchar, 32, '0')::uuid", lambda i: uuid.UUID(str(i).rjust(32, "0"))),
    "int4[]": ("[i::integer, NULL]", lambda i: [i, None]),
    "text[]": ("['a' || i, 'b,\"c']", lambda i: [f"a{i}", 'b,"c']),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_binary_copy_reads_as_text_does(connection: psycopg.Connection, name: str) -> None:
    expression, expected = COLUMNS[name]
    query = f"SELECT CASE WHEN i % 7 <> 3 THEN {expression} END AS c FROM range(3000) t(i)"
    as_text = [row[0] for row in connection.execute(query)]
    copies = {}
    for form in ("text", "binary"):
        with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT {form})") as copy:
            copy.set_types([name])
            copies[form] = [row[0] for row in copy.rows()]
    assert copies["binary"] == as_text
    assert copies["text"] == as_text
    assert as_text[3] is None
    assert len(as_text) == 3000
    if expected is not None:
        assert as_text[:3] == [expected(i) for i in range(3)]


def test_numerics_of_all_sizes_in_binary(connection: psycopg.Connection) -> None:
    values = ["0", "-0.01", "99999999999999999999999999999999999.999", "10000", "0.0001", "-12345.6789", "1e-3"]
    for value in values:
        with connection.cursor().copy(
            f"COPY (SELECT '{value}'::decimal(38, 3) AS d) TO STDOUT (FORMAT binary)"
        ) as copy:
            copy.set_types(["numeric"])
            ((found,),) = list(copy.rows())
        ((expected,),) = connection.execute(f"SELECT '{value}'::decimal(38, 3)").fetchall()
        assert (found, str(found)) == (expected, str(expected))


def test_infinite_and_early_dates_in_binary(connection: psycopg.Connection) -> None:
    query = "COPY (SELECT 'infinity'::date, '-infinity'::timestamp, date '0001-01-01') TO STDOUT (FORMAT binary)"
    with connection.cursor().copy(query) as copy:
        data = b"".join(map(bytes, copy))
    values = data[len(b"PGCOPY\n\xff\r\n\0") + 8 + 2 :]
    assert values[:8] == b"\0\0\0\x04\x7f\xff\xff\xff"
    assert values[8:20] == b"\0\0\0\x08\x80" + bytes(7)
    days = int.from_bytes(values[24:28], "big", signed=True)
    assert datetime.date(2000, 1, 1) + datetime.timedelta(days) == datetime.date(1, 1, 1)


def test_an_empty_result_in_every_format(connection: psycopg.Connection) -> None:
    expected = {"text": b"", "csv": b"", "binary": b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xff"}
    for form, data in expected.items():
        with connection.cursor().copy(f"COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT {form})") as copy:
            assert b"".join(map(bytes, copy)) == data
    assert read_arrow(connection, "SELECT 1 AS i WHERE false").num_rows == 0


def read_arrow(connection: psycopg.Connection, query: str) -> pa.Table:
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
        data = b"".join(map(bytes, copy))
    return pyarrow.ipc.open_stream(data).read_all()


def test_arrow_copy_reads_with_pyarrow(connection: psycopg.Connection) -> None:
    query = """
        SELECT i, 's' || i AS s, CASE WHEN i % 3 = 0 THEN i / 4 END AS d, ['x', NULL] AS l, {'a': i, 'b': 'y'} AS r,
               (CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END)::enum('even', 'odd') AS e, '12:00:00+02'::timetz AS z
        FROM range(100_000) t(i)
    """
    table = read_arrow(connection, query)
    assert table.num_rows == 100_000
    assert table["i"].to_pylist() == list(range(100_000))
    assert table.slice(99_999).to_pylist() == [
        {
            "i": 99_999,
            "s": "s99999",
            "d": 99_999 / 4,
            "l": ["x", None],
            "r": {"a": 99_999, "b": "y"},
            "e": "odd",
            "z": "12:00:00+02",
        }
    ]
    assert table.schema.field("z").metadata == {b"colonnade.type": b"TIME WITH TIME ZONE"}
    assert table.schema.field("e").type == pa.dictionary(pa.uint8(), pa.string())


@pytest.mark.parametrize("query", ["SELECT 1 FROM nope", "SELEC 1", "SELECT 'a'::integer", "SELECT nope()"])
def test_after_an_error_the_next_query_works(connection: psycopg.Connection, query: str) -> None:
    classes = {
        "SELECT 1 FROM nope": psycopg.errors.UndefinedTable,
        "SELEC 1": psycopg.errors.SyntaxError,
        "SELECT 'a'::integer": psycopg.errors.InvalidTextRepresentation,
        "SELECT nope()": psycopg.errors.UndefinedFunction,
    }
    with pytest.raises(classes[query]):
        connection.execute(query)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_constraints_have_their_errors(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE strict (i integer PRIMARY KEY, j integer NOT NULL, CHECK (j < 5))")
    assert connection.execute("INSERT INTO strict VALUES (1, 1), (2, 2)").rowcount == 2
    for values, error in [
        ("(1, 1)", psycopg.errors.UniqueViolation),
        ("(3, NULL)", psycopg.errors.NotNullViolation),
        ("(3, 9)", psycopg.errors.CheckViolation),
    ]:
        with pytest.raises(error):
            connection.execute(f"INSERT INTO strict VALUES {values}")


@pytest.mark.parametrize("form", ["text", "csv", "binary", "arrow", "colonnade"])
def test_a_query_that_fails_half_way_is_an_error(connection: psycopg.Connection, form: str) -> None:
    received = 0
    with pytest.raises(psycopg.DataError, match="boom"):  # noqa: SIM117
        with connection.cursor().copy(f"COPY ({FAILING}) TO STDOUT (FORMAT {form})") as copy:
            for data in copy:
                received += len(data)
    assert received > 0
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_transactions(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE ledger (i integer)")
    connection.autocommit = False
    connection.execute("INSERT INTO ledger VALUES (1)")
    assert connection.info.transaction_status == TransactionStatus.INTRANS
    with psycopg.connect(server.dsn) as other:
        assert other.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
    with pytest.raises(psycopg.errors.UndefinedColumn):
        connection.execute("SELECT nope FROM ledger")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("SELECT 1")
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
    connection.execute("INSERT INTO ledger VALUES (2)")
    connection.commit()
    assert connection.info.transaction_status == TransactionStatus.IDLE
    with psycopg.connect(server.dsn) as other:
        assert other.execute("SELECT * FROM ledger").fetchall() == [(2,)]


def test_an_error_of_the_servers_own_fails_the_transaction_too(connection: psycopg.Connection) -> None:
    connection.autocommit = False
    connection.execute("SELECT 1")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("COPY t FROM STDIN")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    connection.commit()
    assert connection.info.transaction_status == TransactionStatus.IDLE
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_cancel_interrupts_a_long_query(connection: psycopg.Connection) -> None:
    failure: list[Exception] = []
    ended = threading.Event()

    def run() -> None:
        try:
            connection.execute(ENDLESS)
        except psycopg.Error as error:
            failure.append(error)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    # A cancel request that comes before the query is about nothing; so ask until it has worked.
    deadline = time.monotonic() + PATIENCE
    while not ended.wait(0.2):
        connection.cancel_safe()
        assert time.monotonic() < deadline, "the query was not cancelled"
    thread.join()
    assert isinstance(failure[0], psycopg.errors.QueryCanceled)
    assert "user request" in str(failure[0])
    assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("form", ["text", "colonnade"])
def test_cancel_interrupts_a_stream(connection: psycopg.Connection, form: str) -> None:
    endless = "SELECT a.range AS i FROM range(10_000_000) a, range(10_000_000) b"
    with pytest.raises(psycopg.errors.QueryCanceled):  # noqa: SIM117
        with connection.cursor().copy(f"COPY ({endless}) TO STDOUT (FORMAT {form})") as copy:
            for number, _ in enumerate(copy):
                if number == 3:
                    connection.cancel_safe()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_wrong_key_cancels_nothing(server: Server, connection: psycopg.Connection) -> None:
    process = connection.info.backend_pid.to_bytes(4, "big")
    with socket.create_connection((server.host, server.port)) as stranger:
        stranger.sendall(b"\0\0\0\x10" + (80877102).to_bytes(4, "big") + process + b"\0\0\0\0")
        assert stranger.recv(1) == b""
    assert connection.execute("SELECT count(*) FROM range(20_000_000)").fetchone() == (20_000_000,)


def hand_shake(server: Server, *, small_buffer: bool = False) -> socket.socket:
    """A session by hand, ready for its first query."""
    client = socket.socket()
    if small_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((server.host, server.port))
    client.settimeout(PATIENCE)
    body = (196608).to_bytes(4, "big") + b"user\0tester\0\0"
    client.sendall((len(body) + 4).to_bytes(4, "big") + body)
    received = b""
    while not received.endswith(b"Z\0\0\0\x05I"):
        received += client.recv(65536)
    return client


def send_query(client: socket.socket, query: str) -> None:
    body = query.encode() + b"\0"
    client.sendall(b"Q" + (len(body) + 4).to_bytes(4, "big") + body)


def test_a_client_that_vanishes_during_a_query_is_noticed(quiet_server: Server) -> None:
    client = hand_shake(quiet_server)
    send_query(client, ENDLESS)
    assert quiet_server.connections() == 1
    client.close()
    wait_until(lambda: quiet_server.connections() == 0)


def test_a_client_that_stops_reading_costs_no_memory_and_ends_when_it_closes(quiet_server: Server) -> None:
    with psycopg.connect(quiet_server.dsn) as other:
        drained(other, f"COPY ({LARGE} LIMIT 2_000_000) TO STDOUT (FORMAT colonnade, compression 'plain')")
        client = hand_shake(quiet_server, small_buffer=True)
        memory = quiet_server.memory()
        send_query(client, f"COPY ({LARGE}) TO STDOUT (FORMAT colonnade, compression 'plain')")
        assert client.recv(1) == b"H"
        assert other.execute("SELECT count(*) FROM range(10_000_000)").fetchone() == (10_000_000,)
        assert quiet_server.memory() - memory < 100 << 20
    client.close()
    wait_until(lambda: quiet_server.connections() == 0)


@pytest.mark.parametrize("form", ["colonnade, compression 'plain'", "colonnade, compression 'light'", "arrow", "csv"])
def test_the_servers_memory_does_not_grow_with_the_result(server: Server, form: str) -> None:
    with hand_shake(server) as client:
        small = received(client, f"COPY ({LARGE} LIMIT 2_000_000) TO STDOUT (FORMAT {form})")
        before = server.memory("VmHWM")
        # CSV sends a message a row, which takes its time; the others send ten times as much.
        rows = 10_000_000 if form == "csv" else 50_000_000
        large = received(client, f"COPY ({LARGE} LIMIT {rows}) TO STDOUT (FORMAT {form})")
        assert large > small * 4
        assert server.memory("VmHWM") - before < 64 << 20


def received(client: socket.socket, query: str) -> int:
    """Run a query, read its answer to the end and throw it away; its bytes."""
    send_query(client, query)
    buffer = bytearray(1 << 20)
    total, end = 0, b""
    while not end.endswith(b"Z\0\0\0\x05I"):
        count = client.recv_into(buffer)
        assert count > 0
        total += count
        end = (end + bytes(buffer[max(0, count - 6) : count]))[-6:]
    return total


def drained(connection: psycopg.Connection, query: str) -> int:
    with connection.cursor().copy(query) as copy:
        return sum(len(data) for data in copy)


def test_the_first_rows_come_before_the_query_has_ended(connection: psycopg.Connection) -> None:
    endless = "SELECT a.range AS i FROM range(10_000_000) a, range(10_000_000) b"
    cursor = connection.cursor()
    with pytest.raises(psycopg.errors.QueryCanceled):  # noqa: SIM117
        with cursor.copy(f"COPY ({endless}) TO STDOUT (FORMAT colonnade)") as copy:
            assert bytes(next(iter(copy)))[:5] == b"CLN1\x01"
            assert bytes(next(iter(copy)))[:5] == b"CLN1\x02"
            connection.cancel_safe()
            for _ in copy:
                pass


def test_a_row_larger_than_the_message_limit_names_the_option(connection: psycopg.Connection) -> None:
    query = (
        "COPY (SELECT repeat('x', 5000) AS s) TO STDOUT (FORMAT colonnade, compression 'plain', max_message_bytes {})"
    )
    with pytest.raises(psycopg.errors.ProgramLimitExceeded) as caught:
        drained(connection, query.format(4096))
    assert "max_message_bytes" in caught.value.diag.message_hint
    assert drained(connection, query.format(8192)) > 5000


def test_rows_of_very_different_sizes_keep_to_the_limit(connection: psycopg.Connection) -> None:
    query = "SELECT CASE WHEN i % 1000 = 999 THEN repeat('x', 60_000) ELSE 'y' END AS s FROM range(10_000) t(i)"
    options = "FORMAT colonnade, compression 'plain', chunk_bytes 16384, max_message_bytes 65536"
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT ({options})") as copy:
        sizes = [len(data) for data in copy]
    assert max(sizes) <= 65536
    assert sum(sizes) > 600_000


def test_the_extended_protocol_is_refused_until_sync(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="extended query protocol"):
        connection.execute("SELECT %s", [1])
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_python_variables_of_the_server_are_out_of_reach(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM WIDTHS")


def test_garbage_ends_the_connection_and_nothing_else(server: Server, connection: psycopg.Connection) -> None:
    for garbage in [b"GET / HTTP/1.1\r\n\r\n", bytes(8), b"\xff" * 64]:
        with socket.create_connection((server.host, server.port)) as client:
            client.settimeout(PATIENCE)
            client.sendall(garbage)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert answer[:1] == b"E"
        assert b"C08P01\0" in answer
    client = hand_shake(server)
    client.sendall(b"Q\0\0\0\x03")
    answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer[:1] == b"E"
    assert b"SFATAL\0" in answer
    client.close()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_newer_protocol_is_negotiated(server: Server) -> None:
    with socket.create_connection((server.host, server.port)) as client:
        client.settimeout(PATIENCE)
        body = (196610).to_bytes(4, "big") + b"user\0tester\0_pq_.novelty\0on\0\0"
        client.sendall((len(body) + 4).to_bytes(4, "big") + body)
        answer = client.recv(4096)
    assert answer.startswith(b"v\0\0\0\x19" + (196608).to_bytes(4, "big") + b"\0\0\0\x01_pq_.novelty\0R")


def test_a_server_that_stops_ends_its_sessions() -> None:
    with serve() as server:
        idle = psycopg.connect(server.dsn, autocommit=True)
        client = hand_shake(server)
        send_query(client, ENDLESS)
        wait_until(lambda: server.connections() == 2)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
        client.close()
