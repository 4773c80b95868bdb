"""`colonnade serve` when things go wrong: errors, cancelled queries, clients that misbehave, results without end."""

from __future__ import annotations

import socket
import threading
import time

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from tests.support.raw_client import hand_shake, received, send_query, wait_until
from tests.testbed.serving import TIMEOUT, Server, connected, own_server, serve

ENDLESS = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
LARGE = "SELECT i, i * 2 AS j FROM range(50_000_000) t(i)"
FAILING = "SELECT CASE WHEN i = 2_000_000 THEN error('boom') ELSE i END AS i FROM range(2_500_000) t(i)"

#: Chunks that one thread encodes while another one sends.
AHEAD = "colonnade, compression 'light'"


server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture
def quiet_server(server: Server) -> Server:
    """The server, when the clients of other tests have left."""
    wait_until(lambda: server.connections() == 0)
    return server


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


def test_a_column_whose_index_was_dropped_needs_a_commit(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE indexed (i integer, j integer)")
    connection.execute("CREATE INDEX by_j ON indexed (j)")
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as found, connection.transaction():
        connection.execute("DROP INDEX by_j")
        connection.execute("ALTER TABLE indexed DROP COLUMN j")
    assert "Drop the index and commit" in (found.value.diag.message_hint or "")
    connection.execute("DROP INDEX by_j")
    connection.execute("ALTER TABLE indexed DROP COLUMN j")


@pytest.mark.parametrize("form", ["text", "csv", "binary", "arrow", "colonnade", AHEAD])
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
        connection.execute("COPY (SELECT union_value(a := 1)) TO STDOUT (FORMAT binary)")
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
    deadline = time.monotonic() + TIMEOUT
    while not ended.wait(0.2):
        connection.cancel_safe()
        assert time.monotonic() < deadline, "the query was not cancelled"
    thread.join()
    assert isinstance(failure[0], psycopg.errors.QueryCanceled)
    assert "user request" in str(failure[0])
    assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("form", ["text", "colonnade", AHEAD])
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


def test_a_client_that_vanishes_during_a_query_is_noticed(quiet_server: Server) -> None:
    client = hand_shake(quiet_server)
    send_query(client, ENDLESS)
    # The server may not have closed its side of one before.
    wait_until(lambda: quiet_server.connections() == 1)
    client.close()
    wait_until(lambda: quiet_server.connections() == 0)


@pytest.mark.parametrize("compression", ["plain", "light"])
def test_a_client_that_stops_reading_costs_no_memory_and_ends_when_it_closes(
    quiet_server: Server, compression: str
) -> None:
    with psycopg.connect(quiet_server.dsn) as other:
        drained(other, f"COPY ({LARGE} LIMIT 2_000_000) TO STDOUT (FORMAT colonnade, compression '{compression}')")
        client = hand_shake(quiet_server, small_buffer=True)
        memory = quiet_server.memory()
        send_query(client, f"COPY ({LARGE}) TO STDOUT (FORMAT colonnade, compression '{compression}')")
        assert client.recv(1) == b"S"
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


def test_python_variables_of_the_server_are_out_of_reach(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM WIDTHS")


def test_garbage_ends_the_connection_and_nothing_else(server: Server, connection: psycopg.Connection) -> None:
    for garbage in [b"GET / HTTP/1.1\r\n\r\n", bytes(8), b"\xff" * 64]:
        with socket.create_connection((server.host, server.port)) as client:
            client.settimeout(TIMEOUT)
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
        client.settimeout(TIMEOUT)
        body = (196610).to_bytes(4, "big") + b"user\0tester\0_pq_.novelty\0on\0\0"
        client.sendall((len(body) + 4).to_bytes(4, "big") + body)
        answer = client.recv(4096)
    assert answer.startswith(b"v\0\0\0\x19" + (196610).to_bytes(4, "big") + b"\0\0\0\x01_pq_.novelty\0R")


def test_a_server_that_stops_ends_its_sessions() -> None:
    with serve("--grace", "0") as server:
        idle = psycopg.connect(server.dsn, autocommit=True)
        client = hand_shake(server)
        send_query(client, ENDLESS)
        wait_until(lambda: server.connections() == 2)
        server.process.terminate()
        assert server.process.wait(TIMEOUT) == 0
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
        client.close()
