"""Connections that break, servers that lie, queries that are stopped: always an error, never a short result."""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support.proxy import COPY_OUT, READY, WELCOME, Proxy, message, peer
from tests.testbed.serving import Server, serve

ENDLESS = "select i, 'row ' || i as t from range(1000000000000) r(i)"
#: Nothing comes of it for hours.
SILENT = "select sum(a.i * b.i % 7) as s from range(1000000) a(i), range(10000000) b(i)"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with contextlib.closing(Proxy(server)) as running:
        yield running


# --- cut and changed --------------------------------------------------------------------------------------------------


def read(uri: str, sql: str) -> pa.Table:
    with colonnade.connect(uri) as connection:
        return connection.query(sql, compression="light", chunk_rows=100).to_arrow()


def test_a_connection_cut_at_any_byte_is_an_error(proxy: Proxy) -> None:
    sql = "select 7 as n, 'text' as t"
    expected = read(proxy.uri, sql)
    whole = proxy.passed
    for limit in range(whole):
        proxy.limit = limit
        with pytest.raises(colonnade.OperationalError):
            read(proxy.uri, sql)
    proxy.limit = whole
    assert read(proxy.uri, sql).equals(expected)


def test_a_larger_result_cut_here_and_there_is_an_error(proxy: Proxy) -> None:
    sql = "select i, 'row ' || i as t from range(2000) r(i)"
    expected = read(proxy.uri, sql)
    whole = proxy.passed
    for limit in [*range(0, whole, 211), *range(whole - 40, whole)]:
        proxy.limit = limit
        with pytest.raises(colonnade.OperationalError):
            read(proxy.uri, sql)
        for consume in (list, lambda result: result.column(0), lambda result: pa.table(result)):
            with (
                pytest.raises((colonnade.OperationalError, pa.ArrowException, OSError)),
                colonnade.connect(proxy.uri) as connection,
            ):
                consume(connection.query(sql, compression="light", chunk_rows=100))
    proxy.limit = whole
    assert read(proxy.uri, sql).equals(expected)


def test_a_changed_byte_is_an_error_or_changes_nothing(proxy: Proxy) -> None:
    sql = "select i, 'row ' || i as t from range(20) r(i)"
    with colonnade.connect(proxy.uri):
        login = proxy.passed
    expected = read(proxy.uri, sql)
    whole = proxy.passed
    # The connection ends where the answer does, or the rest of a length that grew would be waited for.
    proxy.limit = login
    for flipped in range(login):
        proxy.flipped = flipped
        with pytest.raises(colonnade.Error):
            read(proxy.uri, sql)
    proxy.limit = whole
    for flipped in range(login, whole):
        proxy.flipped = flipped
        with contextlib.suppress(colonnade.Error):
            assert read(proxy.uri, sql).equals(expected), flipped


def test_a_server_that_is_killed() -> None:
    with serve() as server:
        uri = f"postgresql://tester@{server.host}:{server.port}/"
        with colonnade.connect(uri) as connection:
            batches = iter(connection.query(ENDLESS))
            next(batches)
            server.process.kill()
            with pytest.raises(colonnade.OperationalError, match="connection"):
                for _ in batches:
                    pass
            assert not connection.is_open


# --- servers that lie -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stream(server: Server) -> list[bytes]:
    """The messages of a true stream of three rows."""
    with psycopg.connect(server.dsn) as connection, connection.cursor() as cursor:
        sql = "copy (select i from range(3) t(i)) to stdout (format colonnade)"
        with cursor.copy(sql) as copy:
            return [bytes(data) for data in copy]


def copy_answer(stream: list[bytes], tag: bytes = b"COPY 3") -> bytes:
    data = b"".join(message(b"d", payload) for payload in stream)
    return COPY_OUT + data + message(b"c") + message(b"C", tag + b"\0") + READY


def test_a_true_answer_is_read(stream: list[bytes]) -> None:
    with peer(WELCOME, copy_answer(stream)) as uri:
        assert read(uri, "x").column(0).to_pylist() == [0, 1, 2]


def test_lies_about_the_stream(stream: list[bytes]) -> None:
    schema, chunk, end = stream
    lies = {
        "no end message": copy_answer([schema, chunk]),
        "no chunk": copy_answer([schema, end]),
        "a chunk twice": copy_answer([schema, chunk, chunk, end]),
        "no schema": copy_answer([chunk, end]),
        "two schemas": copy_answer([schema, schema, chunk, end]),
        "more after the end": copy_answer([schema, chunk, end, chunk]),
        "nothing": copy_answer([]),
        "another count": copy_answer(stream, b"COPY 4"),
        "no count": copy_answer(stream, b"COPY"),
        "a message in two": copy_answer([schema, chunk[:70], chunk[70:], end]),
        "two messages in one": copy_answer([schema, chunk + end]),
        "an empty message": copy_answer([schema, b"", chunk, end]),
        "data before the answer": message(b"d", schema) + copy_answer(stream),
        "text": message(b"H", struct.pack(">bhh", 0, 1, 0)) + message(b"d", b"1\n") + message(b"c") + READY,
        "rows": message(b"T", struct.pack(">h", 0)) + message(b"D", struct.pack(">h", 0)) + READY,
        "a count only": message(b"C", b"COPY 3\0") + READY,
        "an unknown message": COPY_OUT + message(b"?"),
        "a length below 4": COPY_OUT + b"d\0\0\0\x03",
        "a negative length": COPY_OUT + b"d\xff\xff\xff\xff",
        "a length above the limit": COPY_OUT + b"d\x7f\xff\xff\xff" + schema,
        "a huge error": b"E\x7f\xff\xff\xff",
        "a huge tag": COPY_OUT + b"C\x00\xff\xff\xff",
    }
    for name, answer in lies.items():
        with peer(WELCOME, answer) as uri, pytest.raises(colonnade.DatabaseError) as caught:
            read(uri, "x")
        assert isinstance(caught.value, (colonnade.InternalError, colonnade.OperationalError)), name


def test_a_huge_length_takes_no_memory(stream: list[bytes]) -> None:
    # A single row may have that length; of several rows, no more comes than was asked for.
    row = stream[1][:24] + struct.pack("<I", 1) + stream[1][28:]
    answer = COPY_OUT + message(b"d", stream[0]) + b"d" + struct.pack(">I", 1 << 30) + row
    code = """
import sys, colonnade
connection = colonnade.connect(sys.argv[1])
try:
    connection.query("x").to_arrow()
except colonnade.OperationalError:
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
    with peer(WELCOME, answer) as uri:
        done = subprocess.run([sys.executable, "-c", code, uri], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) < 300


def test_an_error_half_way_names_its_sqlstate(stream: list[bytes]) -> None:
    error = message(b"E", b"SERROR\0C53200\0Mout of memory\0Dthe detail\0Hthe hint\0\0")
    answer = COPY_OUT + message(b"d", stream[0]) + message(b"d", stream[1]) + error + READY
    with peer(WELCOME, answer, hang_up=False) as uri, colonnade.connect(uri) as connection:
        with pytest.raises(colonnade.OperationalError) as caught:
            connection.query("x").to_arrow()
        assert (caught.value.sqlstate, caught.value.detail, caught.value.hint) == ("53200", "the detail", "the hint")
        assert connection.is_open


def test_a_fatal_error_ends_the_connection(stream: list[bytes]) -> None:
    error = message(b"E", b"SFATAL\0C57P01\0Mgoing down\0\0")
    with peer(WELCOME, COPY_OUT + message(b"d", stream[0]) + error) as uri, colonnade.connect(uri) as connection:
        with pytest.raises(colonnade.OperationalError, match="going down"):
            connection.query("x").to_arrow()
        assert not connection.is_open


@pytest.mark.parametrize(
    ("welcome", "error", "text"),
    [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            colonnade.InternalError,
            r'does not speak PostgreSQL.*"HTTP/1\.1 400 Bad',
        ),
        (b"-ERR unknown command\r\n", colonnade.InternalError, r'begins with "-ERR unknown.*\n.*is this PostgreSQL\?'),
        (b"ERROR\r\n", colonnade.InternalError, r'begins with "ERROR\\'),
        (b"J\0\0\0\n8.0.36\0" + bytes(60), colonnade.InternalError, r"8\.0\.36(.|\n)*mysql://"),
        (
            message(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"),
            colonnade.OperationalError,
            "asks for a password",
        ),
        (message(b"R", struct.pack(">I", 10) + b"OTHER\0\0"), colonnade.NotSupportedError, "SASL"),
        (message(b"R", struct.pack(">I", 3)), colonnade.OperationalError, "asks for a password"),
        (message(b"R", struct.pack(">I", 12)), colonnade.InternalError, "out of its order"),
        (message(b"E", b"SFATAL\0C3D000\0Mno such database\0\0"), colonnade.ProgrammingError, "no such database"),
        (message(b"R", struct.pack(">I", 0)) + message(b"d", b""), colonnade.InternalError, "during login"),
        (message(b"R", struct.pack(">I", 0))[:-1], colonnade.OperationalError, "did not answer in time"),
        (WELCOME.replace(b"colonnade\x001", b"colonnade\x000"), colonnade.NotSupportedError, "version 0 only"),
    ],
)
def test_what_is_not_a_colonnade_server(welcome: bytes, error: type[Exception], text: str) -> None:
    # Asked for its extension, it may not even know the catalog.
    unknown = message(b"E", b"SERROR\0C42P01\0Mno such relation\0\0") + READY
    with peer(welcome, unknown) as uri, pytest.raises(error, match=text):
        colonnade.connect(f"{uri}?connect_timeout=1")


@pytest.mark.parametrize("sslmode", ["prefer", "disable", "require"])
def test_a_port_whose_server_says_nothing(sslmode: str) -> None:
    """A proxy whose server does not run accepts a connection, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as thread:

        def close_all() -> None:
            while True:
                accepted, _ = listening.accept()
                with accepted:
                    # What is unread would reset the connection.
                    if accepted.recv(4096) == b"end":
                        return

        closing = thread.submit(close_all)
        address = listening.getsockname()
        with pytest.raises(colonnade.OperationalError, match="without an answer") as caught:
            colonnade.connect(f"postgresql://tester@127.0.0.1:{address[1]}/test?sslmode={sslmode}")
        assert "is this PostgreSQL?" in (caught.value.hint or "")
        with socket.create_connection(address) as last:
            last.sendall(b"end")
        closing.result(30)


def test_a_password_is_not_sent_where_it_is_asked_for_in_vain() -> None:
    with peer(message(b"R", struct.pack(">I", 7))) as uri, pytest.raises(colonnade.NotSupportedError) as caught:
        colonnade.connect(uri.replace("tester@", "tester:hunter2@"))
    assert "hunter2" not in str(caught.value)
    assert "was not sent" in str(caught.value)


def test_a_message_above_the_limit_is_refused_by_the_server(remote: colonnade.Connection) -> None:
    result = remote.query("select repeat('ab', 50000 * i) as t from range(3) r(i)", max_message_bytes=60_000)
    with pytest.raises(colonnade.OperationalError) as caught:
        result.to_arrow()
    assert caught.value.sqlstate == "54000"
    assert remote.query("select 1").to_arrow().num_rows == 1


# --- stopped ----------------------------------------------------------------------------------------------------------

INTERRUPTED = '''
import contextlib, os, signal, sys, threading, time
from pathlib import Path
# pyarrow first: a module whose import was interrupted is not what is tested here.
import colonnade, pyarrow

def threads():
    """The names of Rust's threads, and the files whose code Python's others run."""
    for path in Path("/proc/self/task").glob("*/comm"):
        # A thread may end just now.
        with contextlib.suppress(OSError):
            yield path.read_text()
    main = threading.main_thread().ident
    yield from (frame.f_code.co_filename for thread, frame in sys._current_frames().items() if thread != main)

def receives():
    # Whether the main thread waits in ppoll(2) for the answer.
    number = dict(x86_64="271", aarch64="73")[os.uname().machine]
    return Path(f"/proc/self/task/{{os.getpid()}}/syscall").read_text().split()[0] == number

def interrupt():
    # Only once the query is under way: the main thread waits for the answer, or a thread of Rust's or of Python's does.
    while not (receives() or any("colonnade" in name for name in threads())):
        time.sleep(0.01)
    {when}
    os.kill(os.getpid(), signal.SIGINT)

connection = colonnade.connect(sys.argv[1])
started = threading.Event()
try:
    threading.Thread(target=interrupt).start()
    {use}
except KeyboardInterrupt:
    print("interrupted")
print(connection.query("select 42 as n").to_arrow()["n"][0])
'''

USES = {
    "while the server works": ("pass", f'connection.query("{SILENT}").to_arrow()'),
    "while a statement runs": ("pass", f'connection.execute("create or replace temp table t as {SILENT}")'),
    "while batches are read": (
        "started.wait()",
        f'for batch in connection.query("{ENDLESS}"): started.set()',
    ),
    "while a table is read": ("pass", f'connection.query("{ENDLESS}").to_arrow()'),
    "while columns are kept": ("pass", f'connection.query("{ENDLESS}").column(0)'),
}


def interruptible() -> None:
    # The interpreter only raises KeyboardInterrupt if the signal was not ignored when it started.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A read that does not end must not take the machine's memory with it.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


@pytest.mark.parametrize("source", ["tcp", "unix", "duckdb"])
@pytest.mark.parametrize("use", USES)
def test_ctrl_c_cancels_and_the_connection_goes_on(request: pytest.FixtureRequest, source: str, use: str) -> None:
    uri = (
        "duckdb:///:memory:" if source == "duckdb" else request.getfixturevalue({"tcp": "uri"}.get(source, "unix_uri"))
    )
    when, code = USES[use]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(when=when, use=code), uri],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=interruptible,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n42\n", "")


def stop_from_outside(connection: colonnade.Connection, ended: threading.Event) -> threading.Thread:
    """Cancels until the query has ended: a request that comes before the query has started has no effect."""

    def stop() -> None:
        while not ended.wait(0.05):
            connection.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


@pytest.mark.parametrize("sql", [SILENT, ENDLESS])
def test_cancelled_from_another_thread(connection: colonnade.Connection, sql: str) -> None:
    ended = threading.Event()
    stopper = stop_from_outside(connection, ended)
    try:
        with pytest.raises(colonnade.DatabaseError, match=r"(?i)cancel|interrupt"):
            connection.query(sql).to_arrow()
    finally:
        ended.set()
        stopper.join()
    assert connection.query("select 1").to_arrow().num_rows == 1


def test_a_cancelled_query_has_its_sqlstate(remote: colonnade.Connection) -> None:
    ended = threading.Event()
    stopper = stop_from_outside(remote, ended)
    try:
        with pytest.raises(colonnade.OperationalError) as caught:
            remote.execute(f"create temp table t as {SILENT}")
    finally:
        ended.set()
        stopper.join()
    assert caught.value.sqlstate == "57014"


def test_cancelling_nothing_does_nothing(connection: colonnade.Connection) -> None:
    connection.cancel()
    assert connection.query("select 1").to_arrow().num_rows == 1
    connection.cancel()
    for number in range(20):
        # Never does a late request hit the next query.
        assert connection.query(f"select {number} as n").to_arrow()["n"][0].as_py() == number
        connection.cancel()


def test_closing_ends_a_read_on_another_thread(remote: colonnade.Connection) -> None:
    batches = iter(remote.query(ENDLESS))
    next(batches)
    closer = threading.Thread(target=remote.close)
    closer.start()
    with pytest.raises(colonnade.OperationalError):
        for _ in batches:
            pass
    closer.join()


@pytest.mark.parametrize("rest", ["", "batches = iter(result); next(batches)", "del connection"])
def test_a_program_may_end_with_a_result_half_read(request: pytest.FixtureRequest, rest: str) -> None:
    for uri in ("duckdb::memory:", request.getfixturevalue("uri")):
        code = "import sys, colonnade\nconnection = colonnade.connect(sys.argv[1])\n"
        code += f"result = connection.query({ENDLESS!r})"
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\n{rest}", uri], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
