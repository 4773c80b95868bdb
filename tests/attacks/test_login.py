"""Before the login: start-up, TLS and SCRAM in wrong forms, logins that never end, and what can be learnt of users."""

from __future__ import annotations

import base64
import errno
import hashlib
import hmac
import signal
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.support.certificates import Authority, serve_options
from tests.support.raw_client import wait_until
from tests.support.raw_login import RawClient, question, raw_login
from tests.support.users import add_user, user_command
from tests.testbed.serving import TIMEOUT, Server, serve

PASSWORD = "secret"
SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
GSS_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x30"
#: What starts no session: wrong lengths, versions, strings; ends in the middle; too many requests to encrypt.
NO_STARTS = {
    "nothing": b"",
    "half a length": b"\0\0",
    "length 0": struct.pack("!I", 0) + b"x" * 20,
    "length 7": struct.pack("!I", 7) + b"x" * 20,
    "length of 10,001": struct.pack("!I", 10_001) + b"\0\x03\0\0user\0" + b"x" * 20_000,
    "length of 4 GiB": struct.pack("!I", 0xFFFFFFFF) + b"x" * 100,
    "version 2": struct.pack("!IHH", 14, 2, 0) + b"x" * 6,
    "version 4": struct.pack("!IHH", 9, 4, 0) + b"\0",
    "no parameters": struct.pack("!IHH", 8, 3, 0),
    "a name without an end": struct.pack("!IHH", 12, 3, 0) + b"user",
    "a name without a value": struct.pack("!IHH", 14, 3, 0) + b"user\0\0",
    "bytes behind": struct.pack("!IHH", 21, 3, 0) + b"user\0alice\0\0x",
    "not UTF-8": struct.pack("!IHH", 17, 3, 0) + b"user\0\xff\xfe\0\0",
    "half a message": struct.pack("!IHH", 100, 3, 0) + b"user\0ali",
    "a cancel request without a secret": struct.pack("!III", 12, 80877102, 1),
    "a cancel request with half a number": struct.pack("!IIH", 10, 80877102, 1),
    "a cancel request with a secret of 257 bytes": struct.pack("!III", 269, 80877102, 1) + b"x" * 257,
    "three requests to encrypt": GSS_REQUEST + SSL_REQUEST + GSS_REQUEST + SSL_REQUEST,
    "a query first": b"Q\0\0\0\x0dselect 1\0",
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a TLS handshake that is none": b"\x16\x03\x01\0\x05hello" + b"x" * 1000,
    "options that are none": struct.pack("!IHH", 32, 3, 0) + b"user\0alice\0options\0-x\0\0",
}
FIRST = b"n,,n=,r=abcdefgh"
INITIAL = b"SCRAM-SHA-256\0" + struct.pack("!I", len(FIRST)) + FIRST
#: What is no answer to the request to log in.
NO_ANSWERS = {
    "a query": b"Q\0\0\0\x0dselect 1\0",
    "a length below itself": b"p\0\0\0\x03",
    "a length of 10,001": b"p" + struct.pack("!I", 10_001) + b"x" * 20_000,
    "a length of 4 GiB": b"p\xff\xff\xff\xff" + b"x" * 1000,
    "nothing in it": b"p\0\0\0\x04",
    "a mechanism without an end": b"p\0\0\0\x08SCRA",
    "a length beyond its message": b"p" + struct.pack("!I", 4 + len(INITIAL)) + INITIAL.replace(b"\x10n", b"\xffn"),
    "a negative length": b"p" + struct.pack("!I", 4 + 18) + b"SCRAM-SHA-256\0\xff\xff\xff\xff",
    "another mechanism": b"p" + struct.pack("!I", 4 + 9) + b"PLAIN\0\0\0\0",
    "a clear password": b"p\0\0\0\x0bsecret\0",
    "a second start": struct.pack("!IHH", 20, 3, 0) + b"user\0alice\0\0",
    "a request to encrypt": SSL_REQUEST,
    "copy data": b"d" + struct.pack("!I", 1 << 20) + b"x" * (1 << 20),
    "good-bye": b"X\0\0\0\x04",
    "half an answer": b"p" + struct.pack("!I", 4 + len(INITIAL)) + INITIAL[:20],
}
#: What is no proof.
NO_PROOFS = [b"", b"c=biws", b"c=biws,r=x,p=", b"c=biws,r=abcdefgh,p=" + b"A" * 44, b",,,,", b"\xff" * 50, b"p=" * 2000]


def start(user: str, minor: int = 0) -> bytes:
    body = struct.pack("!HH", 3, minor) + b"user\0" + user.encode() + b"\0\0"
    return struct.pack("!I", len(body) + 4) + body


def connect(server: Server, **options: object) -> psycopg.Connection:
    settings = {"host": server.host, "port": server.port, "user": "carol", "password": PASSWORD}
    return psycopg.connect(**(settings | options), autocommit=True)


def goes_on(server: Server) -> None:
    with connect(server) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Whose password is guessed, and who comes in.
    users = tmp_path_factory.mktemp("users") / "users"
    add_user(users, "alice", PASSWORD)
    add_user(users, "carol", PASSWORD)
    return users


@pytest.fixture(scope="module")
def guarded(users: Path) -> Iterator[Server]:
    with serve("--users", users, "--listen", "127.0.0.1:0", "--unix", users.parent / "socket") as running:
        yield running


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory / "ca", "Root")
    options = serve_options(directory, authority, "server")
    add_user(directory / "users", "carol", PASSWORD)
    with serve(*options, "--listen", "127.0.0.1:0", "--login-timeout", "5") as running:
        yield running


def sent(server: Server, *parts: bytes) -> bytes:
    """What comes back until the server hangs up, which it does by itself or after our end of the connection."""
    with socket.create_connection((server.host, server.port), timeout=TIMEOUT) as client:
        received = b""
        try:
            for part in parts:
                client.sendall(part)
            client.shutdown(socket.SHUT_WR)
            while more := client.recv(65536):
                received += more
        except OSError as error:
            # It had unread bytes of ours when it closed. Everything else, such as that it does not close, is an error.
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
        return received


@pytest.mark.parametrize("name", NO_STARTS)
def test_what_starts_no_session_is_refused(guarded: Server, secure: Server, name: str) -> None:
    for server in (guarded, secure):
        received = sent(server, NO_STARTS[name])
        assert b"Z\0\0\0\x05" not in received and b"R\0\0\0\x08\0\0\0\0" not in received
        # TLS alerts, the letters that answer requests to encrypt, and errors of the protocol and of texts.
        is_error = any(code in received for code in (b"C08P01\0", b"C42601\0", b"C22021\0"))
        assert not received or is_error or received[0] in b"NS\x15R"
        goes_on(server)


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_answer_is_refused(guarded: Server, name: str) -> None:
    received = sent(guarded, start("alice"), NO_ANSWERS[name])
    assert b"R\0\0\0\x08\0\0\0\0" not in received and b"Z\0\0\0\x05" not in received
    # Where bytes of ours are left unread, the reset of the connection may be faster than the error.
    is_told = any(code in received for code in (b"C08P01\0", b"C28P01\0", b"C28000\0"))
    assert is_told or name == "good-bye" or received == b""
    goes_on(guarded)


@pytest.mark.parametrize("proof", NO_PROOFS)
def test_what_is_no_proof_is_refused(guarded: Server, proof: bytes) -> None:
    for name in ("alice", "nobody"):
        answer = b"p" + struct.pack("!I", 4 + len(INITIAL)) + INITIAL
        final = b"p" + struct.pack("!I", 4 + len(proof)) + proof
        # Sent before the server has asked, and once more behind.
        received = sent(guarded, start(name) + answer + final + final)
        assert b"R\0\0\0\x08\0\0\0\0" not in received and b"Z\0\0\0\x05" not in received
        assert b"C08P01\0" in received or b"C28000\0" in received or received == b""


def scram(client: RawClient, password: str, *, pieces: int = 1 << 20) -> None:
    """Log in, and send each message in pieces of so many bytes."""

    def send(body: bytes) -> None:
        message = b"p" + struct.pack("!I", 4 + len(body)) + body
        for at in range(0, len(message), pieces):
            client.socket.sendall(message[at : at + pieces])

    client.expect(b"R")
    send(INITIAL)
    first = client.expect(b"R")[1][4:]
    fields = dict(field.split(b"=", 1) for field in first.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields[b"s"]), int(fields[b"i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    without_proof = b"c=biws,r=" + fields[b"r"]
    covered = b",".join([FIRST[3:], first, without_proof])
    signature = hmac.digest(hashlib.sha256(key).digest(), covered, "sha256")
    proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
    send(without_proof + b",p=" + base64.b64encode(proof))


def test_a_login_that_comes_byte_by_byte_is_one(guarded: Server) -> None:
    with RawClient(guarded.host, guarded.port) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in start("carol"):
            client.socket.sendall(bytes([byte]))
        scram(client, PASSWORD, pieces=1)
        client.expect(b"Z")


@pytest.mark.parametrize("state", ["start", "answer", "handshake"])
def test_who_never_finishes_is_given_up_though_bytes_still_come(users: Path, secure: Server, state: str) -> None:
    with ExitStack() as stack:
        server = secure
        if state != "handshake":
            server = stack.enter_context(serve("--users", users, "--login-timeout", "1"))
        client = stack.enter_context(socket.create_connection((server.host, server.port), timeout=TIMEOUT))
        beginning = {
            "start": struct.pack("!IHH", 10_000, 3, 0),
            "answer": start("alice") + b"p" + struct.pack("!I", 10_000),
            "handshake": b"\x16\x03\x01\x40\0",
        }
        client.sendall(beginning[state])
        # A byte whenever the server has not hung up; it does so in the middle of the message.
        client.settimeout(0.05)
        for _ in range(int(TIMEOUT / 0.05)):
            try:
                client.sendall(b"x")
                if client.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
        else:
            raise AssertionError("the server waits for ever")
        goes_on(server)


def test_bytes_before_the_handshake_are_refused(secure: Server) -> None:
    received = sent(secure, SSL_REQUEST + start("alice"))
    assert not received.startswith(b"S") and b"R" not in received[:1]


def test_a_handshake_that_ends_in_the_middle_ends_its_connection_alone(secure: Server) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    hello = outgoing.read()
    for end in range(0, len(hello), 37):
        assert sent(secure, SSL_REQUEST)[:1] == b"S"
        with socket.create_connection((secure.host, secure.port), timeout=TIMEOUT) as client:
            client.sendall(SSL_REQUEST)
            assert client.recv(1) == b"S"
            client.sendall(hello[:end])
    goes_on(secure)


def test_one_address_cannot_take_all_places(users: Path) -> None:
    options = ["--users", users, "--max-address-logins", "8", "--login-timeout", "600"]
    unix = users.parent / "unix"
    unix.mkdir()
    with serve(*options, "--listen", "127.0.0.1:0", "--unix", unix) as server, ExitStack() as stack:
        crowd = [
            stack.enter_context(socket.create_connection((server.host, server.port), timeout=TIMEOUT))
            for _ in range(40)
        ]
        crowd[-1].sendall(start("alice"))
        # The oldest ones made room for the others, and are told so.
        for one in crowd[:32]:
            assert b"C53300\0" in one.recv(1000)
        for _ in range(20):
            goes_on(server)
        # Another place has its own number: the other end of the unix socket is nobody's address.
        with connect(server, host=str(unix)) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_half_open_connections_keep_nobody_out(users: Path) -> None:
    with serve("--users", users, "--login-timeout", "600") as server, ExitStack() as stack:
        for _ in range(400):
            one = stack.enter_context(socket.create_connection((server.host, server.port), timeout=TIMEOUT))
            one.sendall(start("alice"))
        goes_on(server)


def test_memory_stays_bounded_before_the_login(users: Path) -> None:
    with serve("--users", users, "--login-timeout", "600") as server, ExitStack() as stack:
        goes_on(server)
        before = server.memory()
        for number in range(200):
            client = stack.enter_context(socket.create_connection((server.host, server.port), timeout=TIMEOUT))
            client.sendall(start(f"{number:09900}") if number % 2 else start("alice"))
            assert client.recv(1000)[:1] == b"R"
            client.sendall(b"p" + struct.pack("!I", 10_000) + b"x" * 9_000)
        goes_on(server)
        assert server.memory() - before < 64 << 20


def test_no_message_tells_who_exists(guarded: Server) -> None:
    said = [raw_login(guarded, name).replace(name, "NAME") for name in ("alice", "nobody", "alice2", "x" * 5000)]
    assert len(set(said)) == 1
    asked = [question(guarded, name) for name in ("alice", "nobody")]
    assert len({len(text) for text in asked}) == 1 and len({text.split(",")[1] for text in asked}) == 1


def test_salts_are_the_same_whatever_happens_to_a_user(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "alice", PASSWORD)
    names = ("alice", "bob", "nobody")
    with serve("--users", users) as server:
        before = [question(server, name) for name in names]
        add_user(users, "bob", PASSWORD)
        add_user(users, "alice", "another")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: comes_in(server, "bob", PASSWORD))
        assert [question(server, name) for name in names] == before
    assert user_command("remove", "bob", "--users", users).returncode == 0
    with serve("--users", users) as server:
        assert [question(server, name) for name in names] == before
    # A file of an earlier version has no secret. It works, and its salts outlive a restart as well.
    lines = users.read_text().splitlines(keepends=True)
    users.write_text("".join(line for line in lines if not line.startswith("salts ")))
    old = []
    for _ in range(2):
        with serve("--users", users) as server:
            old.append([question(server, name) for name in names])
            connect(server, user="alice", password="another").close()
    assert old[0] == old[1] and old[0][0] == before[0] and old[0][2] != before[2]


def comes_in(server: Server, name: str, password: str) -> bool:
    try:
        connect(server, user=name, password=password).close()
    except psycopg.OperationalError:
        return False
    return True


ENDLESS = b"select count(*) from range(100000000000000) t(i) where i % 7 = 3\0"


@pytest.mark.parametrize(("minor", "length"), [(0, 4), (1, 4), (2, 32), (3, 32), (9999, 32)])
def test_a_cancel_key_is_as_long_as_the_client_can_take(guarded: Server, minor: int, length: int) -> None:
    with RawClient(guarded.host, guarded.port) as client:
        client.socket.sendall(start("carol", minor))
        if minor > 2:
            # Before anything else: the version that is spoken, and no option that is unknown.
            assert client.message() == (b"v", struct.pack("!HHI", 3, 2, 0))
        scram(client, PASSWORD)
        _, key = client.expect(b"K")
        assert len(key) == 4 + length
        client.expect(b"Z")
        client.send(b"Q", ENDLESS)
        process, secret = key[:4], key[4:]
        for wrong in (secret[:-1], secret + b"\0", bytes([secret[0] ^ 1]) + secret[1:], b"\0" * length, secret * 9):
            assert sent(guarded, cancel(process, wrong)) == b"" or len(wrong) > 256
        wait_until(lambda: sent(guarded, cancel(process, secret)) == b"" and has_come(client))
        assert b"C57014\0" in client.expect(b"E")[1]
        client.expect(b"Z")


def cancel(process: bytes, secret: bytes) -> bytes:
    body = struct.pack("!I", 80877102) + process + secret
    return struct.pack("!I", len(body) + 4) + body


def has_come(client: RawClient) -> bool:
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False
    finally:
        client.socket.settimeout(TIMEOUT)


@pytest.mark.skipif(psycopg.pq.version() < 180000, reason="libpq 18 knows protocol 3.2")
def test_libpq_speaks_the_newer_protocol(guarded: Server) -> None:
    options = {"max_protocol_version": "3.2", "min_protocol_version": "3.2"}
    with connect(guarded, **options) as connection, connect(guarded, max_protocol_version="3.0"):
        connection.execute("begin")
        with connection.cursor() as cursor:
            cursor.execute("select 1")
            # Cancels nothing, since nothing runs; the request is taken all the same.
            connection.cancel_safe(timeout=TIMEOUT)
            assert cursor.fetchone() == (1,)
