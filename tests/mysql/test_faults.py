"""Errors in the middle, queries that are stopped, servers that die or lie: always an error, never a short result."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import colonnade
import pytest

from tests.support.raw_client import wait_until
from tests.testbed import mariadb

#: Comes for minutes.
ENDLESS = "select a.seq as i, 'some text for every row' as t from seq_0_to_999999 a straight_join seq_0_to_999999 b"
#: Nothing comes of it for minutes.
SILENT = "select count(*) as n from seq_0_to_999999 a straight_join seq_0_to_999999 b where a.seq = b.seq + 0.5"
MIDDLE = "select if(seq = 100000, (select 1 union select 2), 1) as v from seq_0_to_200000"


def one(connection: colonnade.Connection) -> None:
    assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def number(connection: colonnade.Connection) -> int:
    return connection.query("select connection_id() as id").to_arrow().column(0)[0].as_py()


def test_an_error_in_the_middle_leaves_the_connection_usable(mysql: colonnade.Connection) -> None:
    for _ in range(3):
        batches = iter(mysql.query(MIDDLE, chunk_rows=1000))
        with pytest.raises(colonnade.Error) as caught:
            for _ in batches:
                pass
        assert caught.value.sqlstate == "21000"
        one(mysql)


def test_a_value_that_has_no_place_stops_the_query(mysql: colonnade.Connection) -> None:
    mysql.execute("set sql_mode = ''")
    for _ in range(3):
        with pytest.raises(colonnade.DataError, match='column "d"'):
            mysql.query(
                "select cast(if(seq = 100000, '0000-00-00', '2024-01-01') as date) as d from seq_0_to_9999999"
            ).to_arrow()
        one(mysql)


def test_a_query_is_killed_from_outside(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    batches = iter(mysql.query(ENDLESS))
    next(batches)
    maria.run(f"kill query {number_of_runner(maria)}")
    with pytest.raises(colonnade.Error) as caught:
        for _ in batches:
            pass
    assert caught.value.sqlstate == "70100"
    one(mysql)


def number_of_runner(maria: mariadb.Server) -> int:
    answer = maria.run("select id from information_schema.processlist where info like 'select a.seq%'")
    return int(answer.split()[0])


def test_a_connection_is_killed_from_outside(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    batches = iter(mysql.query(ENDLESS))
    next(batches)
    maria.run(f"kill {number_of_runner(maria)}")
    with pytest.raises(colonnade.Error):
        for _ in batches:
            pass
    with pytest.raises(colonnade.InterfaceError, match="closed"):
        mysql.query("select 1")


def test_a_time_limit_ends_a_query(mysql: colonnade.Connection) -> None:
    limit, sqlstate = (
        ("max_execution_time = 500", "HY000") if mariadb.is_mysql() else ("max_statement_time = 0.5", "70100")
    )
    mysql.execute(f"set {limit}")
    for sql in (ENDLESS, SILENT):
        with pytest.raises(colonnade.Error) as caught:
            for _ in mysql.query(sql):
                pass
        assert caught.value.sqlstate == sqlstate
    mysql.execute(f"set {limit.split()[0]} = 0")
    one(mysql)


@pytest.mark.parametrize("sql", [ENDLESS, SILENT])
def test_a_query_is_cancelled_from_another_thread(maria: mariadb.Server, mysql: colonnade.Connection, sql: str) -> None:
    mysql.cancel()  # nothing runs

    def cancel() -> None:
        # The statement must have begun: before that there is nothing to kill.
        wait_until(lambda: "straight_join" in maria.run("select info from information_schema.processlist"))
        mysql.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(colonnade.Error) as caught:
        for _ in mysql.query(sql):
            pass
    thread.join()
    assert caught.value.sqlstate == "70100"
    for _ in range(5):
        one(mysql)


def test_a_result_that_is_dropped_is_stopped(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    for _ in range(5):
        next(iter(mysql.query(ENDLESS)))
        one(mysql)
    assert "straight_join" not in maria.run(
        "select info from information_schema.processlist where info not like '%info%'"
    )


PROGRAM = """
import sys
import colonnade
connection = colonnade.connect(sys.argv[1])
result = None
try:
    result = connection.query(sys.argv[2])
    for batch in result:
        pass
except KeyboardInterrupt:
    if result is not None:
        result.close()
    print("interrupted", connection.query("select 1 as one").to_arrow().to_pylist())
"""


@pytest.mark.parametrize("sql", [ENDLESS, SILENT])
def test_ctrl_c_stops_the_query(maria: mariadb.Server, sql: str) -> None:
    command = [sys.executable, "-c", PROGRAM, maria.uri(), sql]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: "straight_join" in maria.run("select info from information_schema.processlist"))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output.splitlines()[-1] == "interrupted [{'one': 1}]"


def test_a_connection_that_is_closed_ends_its_query(maria: mariadb.Server) -> None:
    connection = colonnade.connect(maria.uri())
    batches = iter(connection.query(ENDLESS))
    next(batches)
    connection.close()
    with pytest.raises(colonnade.Error):
        for _ in batches:
            pass
    wait_until(lambda: not maria.threads())


def test_a_server_that_dies_is_an_error() -> None:
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(mariadb.server())
        connection = colonnade.connect(running.uri())
        batches = iter(connection.query(ENDLESS))
        next(batches)
        os.kill(running.process.pid, signal.SIGKILL)
        with pytest.raises(colonnade.OperationalError, match=r"lost|closed the connection"):
            for _ in batches:
                pass
        with pytest.raises(colonnade.InterfaceError, match="closed"):
            connection.query("select 1")
        with pytest.raises(colonnade.OperationalError, match="cannot connect"):
            colonnade.connect(running.uri())


# --- servers that lie -------------------------------------------------------------------------------------------------


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def column(name: bytes, kind: int, collation: int = 45) -> bytes:
    fixed = struct.pack("<HIBHB", collation, 255, kind, 0, 0) + b"\0\0"
    return text(b"def") + 3 * b"\0" + text(name) + b"\0" + text(fixed)


GREETING = (
    b"\x0a8.0.0\0" + struct.pack("<I", 7) + 8 * b"a" + b"\0" + struct.pack("<H", 0xA205) + b"\x2d\x02\0"
    + struct.pack("<H", 0x0108) + b"\x15" + 10 * b"\0" + 12 * b"b" + b"\0" + b"mysql_native_password\0"
)  # fmt: skip
OK = b"\0\0\0\x02\0\0\0"
END = b"\xfe\0\0\x02\0\0\0"
PREPARED = b"\0" + struct.pack("<IHH", 1, 1, 0) + b"\0\0\0"
INFO = [b"\x03", *(column(name, 253) for name in (b"v", b"c", b"n")), text(b"8.0.0") + text(b"") + text(b"7"), END]
ROW = b"\0\0" + struct.pack("<i", 42)


@contextlib.contextmanager
def liar(answer: bytes) -> Iterator[str]:
    """A server that lets everybody in, prepares whatever comes as one int column, and executes it with `answer`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                peer.sendall(packet(0, GREETING))
                peer.recv(4096)
                peer.sendall(packet(2, OK))
                peer.recv(4096)
                peer.sendall(packet(1, OK))
                peer.recv(4096)
                peer.sendall(b"".join(packet(place, payload) for place, payload in enumerate(INFO, 1)))
                peer.recv(4096)
                peer.sendall(packet(1, PREPARED) + packet(2, column(b"i", 3)))
                peer.recv(4096)
                peer.sendall(answer)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(4096):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"mysql://u@127.0.0.1:{listener.getsockname()[1]}/?connect_timeout=5"
        thread.join(10)


HEAD = packet(1, b"\x01") + packet(2, column(b"i", 3))


def test_a_liar_may_tell_the_truth() -> None:
    with liar(HEAD + packet(3, ROW) + packet(4, ROW) + packet(5, END)) as uri, colonnade.connect(uri) as connection:
        assert connection.query("select").to_arrow().column("i").to_pylist() == [42, 42]


LIES = {
    "nothing": b"",
    "no end": HEAD + packet(3, ROW),
    "half a row": HEAD + packet(3, ROW)[:-2],
    "a row that is missing": HEAD + packet(4, ROW) + packet(5, END),
    "a row that is too short": HEAD + packet(3, ROW[:-1]) + packet(4, END),
    "a row that is too long": HEAD + packet(3, ROW + b"x") + packet(4, END),
    "an empty packet": HEAD + packet(3, b"") + packet(4, END),
    "an end that is cut": HEAD + packet(3, ROW) + packet(4, b"\xfe\0"),
    "a packet that is neither": HEAD + packet(3, b"\x07") + packet(4, END),
    "more columns than come": packet(1, b"\xfc\xff\xff") + packet(2, column(b"i", 3)),
    "more columns than anybody has": packet(1, b"\xfe" + 8 * b"\xff"),
    "a file of the client's": packet(1, b"\xfb/etc/passwd"),
    "a type that nobody knows": packet(1, b"\x01") + packet(2, column(b"i", 77)) + packet(3, END),
    "a name with a NUL": packet(1, b"\x01") + packet(2, column(b"i\0j", 3)) + packet(3, ROW) + packet(4, END),
    "a long row without its rest": HEAD + packet(3, b"\0" * 0xFFFFFF),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_an_error(name: str) -> None:
    with liar(LIES[name]) as uri, colonnade.connect(uri) as connection, pytest.raises(colonnade.Error):
        connection.query("select").to_arrow()


def test_a_stranger_is_recognised() -> None:
    def greeted(greeting: bytes) -> Callable[[], None]:
        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.sendall(greeting)
                peer.recv(4096)

        return serve

    for greeting in (b"SSH-2.0-OpenSSH_9.2\r\n", packet(0, b"\x09old"), packet(0, b"\x0a")):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=greeted(greeting), daemon=True)
            thread.start()
            with pytest.raises(colonnade.Error):
                colonnade.connect(f"mysql://u@127.0.0.1:{listener.getsockname()[1]}/?connect_timeout=2")
            thread.join(10)


#: The client answers these.
WHOLE = (packet(0, GREETING), packet(2, OK), packet(1, OK))
#: What a server says before its connection ends: after each of these the client waits for more.
BEGINNINGS = {
    "nothing": [],
    "half a greeting": [packet(0, GREETING)[:20]],
    "a greeting": [packet(0, GREETING)],
    "a login": [packet(0, GREETING), packet(2, OK)],
    "settings": [packet(0, GREETING), packet(2, OK), packet(1, OK)],
}


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("said", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("scheme", ["mysql", "postgresql"])
def test_a_connection_that_ends_before_the_session_is_ready_is_none(
    scheme: str, said: list[bytes], reset: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                if scheme == "mysql":
                    for message in said:
                        peer.sendall(message)
                        if message in WHOLE:
                            peer.recv(4096)
                else:
                    # It waits for a start-up message, and ends in the middle of its answer.
                    peer.recv(4096)
                    peer.sendall(b"R\0\0\0\x08\0\0\0\0"[: 2 * len(said)])
                if reset:
                    # Closing without lingering sends a reset, whatever was received.
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        uri = f"{scheme}://u@127.0.0.1:{listener.getsockname()[1]}/d?connect_timeout=5"
        with pytest.raises(colonnade.OperationalError, match="cannot connect"):
            colonnade.connect(uri if scheme == "mysql" else f"{uri}&sslmode=disable")
        thread.join(10)
