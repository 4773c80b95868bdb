"""Servers that never come to an end: whoever waits for one can leave, and a limit of time holds."""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import colonnade
import pytest

from tests.attacks.talks import WATCHDOG
from tests.support.proxy import COPY_OUT, SSL_REQUEST, WELCOME, message
from tests.testbed import postgres as pg

NOTICE = message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mwell\0\0")
STATUS = message(b"S", b"server_version\x009\0")
NEWS = message(b"A", b"\0\0\0\1channel\0load\0")
TAG = message(b"C", b"COPY 0\0")
#: The end of an answer whose messages besides rows have none.
ENDED = "more than 268435456 bytes of notices"
#: What a server repeats once it was asked for something.
ENDLESS = {
    "notices": (b"", NOTICE),
    "notices in a copy": (COPY_OUT, NOTICE),
    "notices behind the tag": (COPY_OUT + message(b"c") + TAG, NOTICE),
    "statuses": (b"", STATUS),
    "news": (b"", NEWS),
    "tags": (b"", TAG),
    "errors": (b"", message(b"E", b"SERROR\0C42000\0Mno\0\0")),
    "large notices": (b"", message(b"N", 1_000_000 * b"x")),
    "a notice that never ends": (b"N\x7f\xff\xff\xff", b"x"),
}


@contextlib.contextmanager
def talking(welcome: bytes, first: bytes, again: bytes, asked: threading.Event) -> Iterator[str]:
    """The URI of a server that greets, and answers a query without an end. Requests to cancel are taken and ignored."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                opening = client.recv(65536)
                if opening == SSL_REQUEST:
                    client.sendall(b"N")
                    opening = client.recv(65536)
                if opening[4:8] == struct.pack(">I", 80877102):
                    return
                client.sendall(welcome)
                if client.recv(65536):
                    client.sendall(first)
                    asked.set()
                    while True:
                        client.sendall(again)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"postgresql://tester@127.0.0.1:{listener.getsockname()[1]}/test?sslmode=disable"


def ends(work: Callable[[], object]) -> None:
    """The work ends, before the watchdog does."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WATCHDOG)
    assert not thread.is_alive()


@pytest.mark.parametrize("name", ENDLESS)
def test_a_query_that_never_ends_can_be_cancelled(name: str) -> None:
    asked = threading.Event()
    with talking(WELCOME, *ENDLESS[name], asked) as uri:
        connection = colonnade.connect(uri)
        found: list[BaseException] = []

        def read() -> None:
            try:
                connection.query("x").to_arrow()
            except colonnade.Error as error:
                found.append(error)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        assert asked.wait(WATCHDOG)
        connection.cancel()
        ends(reader.join)
        assert any(words in str(found[0]) for words in ("did not stop", ENDED)) or name in ("tags", "errors")
        ends(connection.close)


@pytest.mark.parametrize("name", ["notices", "notices in a copy", "statuses", "tags"])
def test_an_answer_without_rows_ends(name: str) -> None:
    """Also if nobody cancels it: what is no row has a limit for each answer."""
    first, again = ENDLESS[name]
    with talking(WELCOME, first, 20_000 * again, threading.Event()) as uri, colonnade.connect(uri) as connection:

        def read() -> None:
            with pytest.raises(colonnade.Error, match=ENDED):
                connection.query("x").to_arrow()

        ends(read)


def packet(number: int, payload: bytes) -> bytes:
    """One of MySQL's."""
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload


#: What a server of MySQL's says before the first statement: a greeting, the end of the login, and the answers to the
#: client's settings and to its question for the version, the software and the connection.
NATIVE = b"mysql_native_password\0"
GREETING = b"\x0a8.0.0\0\1\0\0\0" + 8 * b"s" + b"\0\1\x82\x2d\2\0\x0a\1\x15" + 10 * b"\0" + 12 * b"s" + b"\0" + NATIVE
DONE = b"\0\0\0\2\0\0\0"
COLUMN = b"\3def\0\0\0\1n\0\x0c\x2d\0\xff\0\0\0\xfd\0\0\0\0\0"
QUESTION = [b"\3", COLUMN, COLUMN, COLUMN, b"\58.0.0\1x\0011", b"\xfe\0\0\2\0\0\0"]
OPENING = [
    packet(0, GREETING),
    packet(2, DONE),
    packet(1, DONE),
    b"".join(packet(number, said) for number, said in enumerate(QUESTION, 1)),
]


def test_results_of_mysqls_without_rows_end() -> None:
    """Each says that another one follows."""
    another = b"\0\0\0\x0a\0\0\0" + 60_000 * b"x"
    block = b"".join(packet(number, another) for number in range(1, 257))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                for said in OPENING:
                    client.sendall(said)
                    client.recv(65536)
                while True:
                    client.sendall(block)

        threading.Thread(target=serve, daemon=True).start()

        def run() -> None:
            uri = f"mysql://tester@127.0.0.1:{listener.getsockname()[1]}/?ssl-mode=disabled"
            with colonnade.connect(uri) as connection, pytest.raises(colonnade.Error, match=ENDED):
                connection.execute("do 1")

        ends(run)


def test_many_notices_are_no_error(stock: pg.Cluster) -> None:
    raising = "do $$ begin for number in 1..100000 loop raise notice 'row %', number; end loop; end $$"
    with colonnade.connect(stock.uri()) as connection:
        connection.execute(raising)
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


def test_a_connection_can_be_closed_in_the_middle() -> None:
    asked = threading.Event()
    with talking(WELCOME, b"", NOTICE, asked) as uri:
        connection = colonnade.connect(uri)
        threading.Thread(target=lambda: (asked.wait(WATCHDOG), connection.close()), daemon=True).start()
        with pytest.raises(colonnade.OperationalError):
            connection.query("x").to_arrow()
        assert not connection.is_open


INTERRUPTED = """
import sys, colonnade
try:
    colonnade.connect(sys.argv[1]).query("x").to_arrow()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_leaves_a_server_that_talks_without_an_end() -> None:
    asked = threading.Event()
    with (
        talking(WELCOME, b"", NOTICE, asked) as uri,
        subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, uri],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        assert asked.wait(WATCHDOG)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=WATCHDOG)
    assert output == "interrupted\n"


@contextlib.contextmanager
def trickling(said: bytes, again: bytes) -> Iterator[int]:
    """The port of a server that says everything byte by byte, and `again` without an end."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                rest = said
                while not over.wait(0.02):
                    rest = rest or again
                    client.sendall(rest[:1])
                    rest = rest[1:]

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=trickle, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()


TRICKLES = {
    "a greeting": ("postgresql", WELCOME + NOTICE, NOTICE, "sslmode=disable&"),
    "one long message": ("postgresql", b"N\x00\x0f\xff\xff", b"x", "sslmode=disable&"),
    "statuses": ("postgresql", message(b"R", b"\0\0\0\0"), STATUS, "sslmode=disable&"),
    "a record of TLS": ("postgresql", b"S\x16\x03\x03\x40\x00\x02\x00\x3f\xfc", b"x", "sslmode=require&"),
    "a greeting of MySQL's": ("mysql", b"\x4a\0\0\0\x0a", b"x", ""),
    "packets of MySQL's": ("mysql", b"\xff\xff\xff\0\x0a", b"x", ""),
}


@pytest.mark.parametrize("name", TRICKLES)
def test_a_limit_of_time_holds_against_a_server_that_trickles(name: str) -> None:
    scheme, said, again, parameters = TRICKLES[name]

    def connect(port: int) -> None:
        with pytest.raises(colonnade.Error):
            colonnade.connect(f"{scheme}://tester@127.0.0.1:{port}/test?{parameters}connect_timeout=1")

    with trickling(said, again) as port:
        ends(lambda: connect(port))


def test_a_login_that_floods_ends_before_the_limit_of_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                client.recv(65536)
                client.sendall(message(b"R", struct.pack(">I", 0)))
                while True:
                    client.sendall(100 * STATUS)

        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]

        def connect() -> None:
            with pytest.raises(colonnade.Error, match="more than 1048576 bytes of notices"):
                colonnade.connect(f"postgresql://t@127.0.0.1:{port}/t?sslmode=disable&connect_timeout=3600")

        ends(connect)


def test_closing_does_not_wait_for_a_server_that_reads_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent: list[socket.socket] = []

        def serve() -> None:
            client, _ = listener.accept()
            client.recv(65536)
            client.sendall(WELCOME)
            silent.append(client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        connection = colonnade.connect(f"postgresql://t@127.0.0.1:{listener.getsockname()[1]}/t?sslmode=disable")
        thread.join(WATCHDOG)
        started = threading.Event()

        def read() -> None:
            started.set()
            with pytest.raises(colonnade.Error):
                connection.query(f"select '{64_000_000 * 'x'}'").to_arrow()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        assert started.wait(WATCHDOG)
        ends(connection.close)
        ends(reader.join)
        silent[0].close()
