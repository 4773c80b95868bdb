"""`colonnade serve --tls-certificate …`: encryption, what a login is bound to, clients' certificates, and garbage."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import colonnade
import psycopg
import pytest
from psycopg import errors

from tests.support.certificates import Authority, serve_options
from tests.support.notifications import waited_for
from tests.support.raw_client import wait_until
from tests.support.raw_login import RawClient
from tests.support.users import add_user
from tests.testbed.serving import TIMEOUT, Server, serve

SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Secure:
    """A server with a certificate, and who signed it."""

    server: Server
    authority: Authority
    directory: Path

    def dsn(self, **options: object) -> str:
        settings = {
            "host": HOST,
            "port": self.server.port,
            "user": "alice",
            "password": "secret",
            "sslmode": "verify-full",
            "sslrootcert": self.authority.certificate,
        }
        return " ".join(f"{name}='{value}'" for name, value in (settings | options).items())

    def connect(self, **options: object) -> psycopg.Connection:
        return psycopg.connect(self.dsn(**options), autocommit=True)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory / "ca", "Root")
    with serve(
        *serve_options(directory, authority, "server"), "--listen", "0.0.0.0:0", "--login-timeout", "5"
    ) as running:
        yield Secure(running, authority, directory)


def test_libpq_connects_encrypted_and_verified(secure: Secure) -> None:
    with secure.connect() as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_both_versions_of_tls(secure: Secure, version: str) -> None:
    with secure.connect(ssl_min_protocol_version=version, ssl_max_protocol_version=version) as connection:
        assert connection.execute("select count(*) from range(100000)").fetchone() == (100000,)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_notifications_arrive_encrypted(secure: Secure, version: str) -> None:
    dsn = secure.dsn(ssl_min_protocol_version=version, ssl_max_protocol_version=version)
    with secure.connect() as sender:
        received = waited_for(dsn, lambda text: sender.execute("select pg_notify('alarm', %s)", [text]))
    assert [text for text, _ in received] == ["one", "two"]


@pytest.mark.parametrize("binding", ["require", "disable", "prefer"])
def test_a_login_is_bound_to_the_channel_where_the_client_wants(secure: Secure, binding: str) -> None:
    secure.connect(channel_binding=binding).close()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        secure.connect(channel_binding=binding, password="wrong")


def test_without_encryption_there_is_nothing_to_be_bound_to(secure: Secure) -> None:
    secure.connect(sslmode="disable").close()
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        secure.connect(sslmode="disable", channel_binding="require")


@pytest.mark.skipif(psycopg.pq.version() < 170000, reason="libpq before 17 always asks first")
def test_tls_without_asking_first(secure: Secure) -> None:
    with secure.connect(sslnegotiation="direct", sslmode="require") as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("protocols", [[], ["http/1.1"]])
def test_tls_without_asking_has_to_say_what_for(secure: Secure, protocols: list[str]) -> None:
    context = ssl.create_default_context(cafile=str(secure.authority.certificate))
    if protocols:
        context.set_alpn_protocols(protocols)
    with socket.create_connection((HOST, secure.server.port), timeout=TIMEOUT) as raw:
        try:
            with context.wrap_socket(raw, server_hostname=HOST) as tls:
                assert tls.recv(1) == b""
        except ssl.SSLError as error:
            assert "alert no application protocol" in str(error)


def test_psql_and_colonnade_connect(secure: Secure) -> None:
    done = subprocess.run(["psql", "-XAtc", "select 6*7", secure.dsn()], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"
    uri = f"postgresql://alice:secret@{HOST}:{secure.server.port}/x?sslmode=verify-full&sslrootcert="
    uri += f"{secure.authority.certificate}&channel_binding=require"
    table = colonnade.read_sql(uri, "select 42 as answer", return_type="arrow")
    assert table.to_pylist() == [{"answer": 42}]


@pytest.mark.parametrize("compression", [None, "plain", "light", "light+zstd-1"])
def test_large_results_arrive_whole(secure: Secure, compression: str | None) -> None:
    """However they are encoded, and whichever thread sends them."""
    uri = f"postgresql://alice:secret@{HOST}:{secure.server.port}/x?sslmode=require"
    with colonnade.connect(uri) as connection:
        query = "select i, i * 7 as j, 'text ' || i % 1000 as t from range(1000000) r(i)"
        table = connection.query(query, compression=compression).to_arrow()
    assert table.num_rows == 1_000_000
    assert table.column("i").to_pylist() == list(range(1_000_000))
    assert table.column("t")[123_456].as_py() == "text 456"


def address_of_this_machine() -> str | None:
    """One that is not loopback, if there is any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = probe.getsockname()[0]
    return None if found.startswith("127.") else found


@pytest.fixture
def far(secure: Secure) -> str:
    """This machine's address as other machines see it: what comes there is not from loopback."""
    found = address_of_this_machine()
    if found is None:
        pytest.skip("this machine has no network")
    return found


def test_from_elsewhere_nothing_goes_unencrypted(secure: Secure, far: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="have to be encrypted"):
        secure.connect(host=far, sslmode="disable")
    secure.connect(host=far, sslmode="require").close()


def test_the_adaptive_sender_works_encrypted(secure: Secure, far: str) -> None:
    """Towards another machine the server chooses how to encode, and sends from a thread of its own."""
    uri = f"postgresql://alice:secret@{far}:{secure.server.port}/x?sslmode=require"
    with colonnade.connect(uri) as connection:
        result = connection.query("select i, i % 100 as j, 'text ' || i % 1000 as t from range(3000000) r(i)")
        seen = [(batch.num_rows, batch.column("i")[0].as_py()) for batch in result]
        assert sum(rows for rows, _ in seen) == 3_000_000
        assert [first for _, first in seen] == sorted(first for _, first in seen)
        before = secure.server.memory()
        # One that nobody reads is bounded, and ends with its client.
        idle = connection.query("select i, random() as r from range(100000000) r(i)")
        next(iter(idle))
        assert secure.server.memory() - before < 500_000_000
    with secure.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_cancel_request_comes_encrypted_too(secure: Secure) -> None:
    with secure.connect() as connection:
        connection.execute("select 1")
        cursor = connection.cursor()
        threading.Timer(0.5, lambda: connection.cancel_safe(timeout=TIMEOUT)).start()
        with pytest.raises(errors.QueryCanceled):
            cursor.execute("select count(*) from range(100000000000) t(i) where i % 7 = 3")


@pytest.mark.parametrize("early", [b"\0", b"\x16\x03\x01", b"\0\0\0\x11\0\3\0\0user\0eve\0\0"])
def test_what_was_sent_before_the_handshake_is_not_taken(secure: Secure, early: bytes) -> None:
    """CVE-2021-23214: somebody between could put a beginning before what is encrypted."""
    with socket.create_connection((HOST, secure.server.port), timeout=TIMEOUT) as raw:
        raw.sendall(SSL_REQUEST + early)
        answer = raw.recv(1000)
        assert answer[:1] == b"E" and b"unencrypted data" in answer


def test_encryption_is_asked_for_once(secure: Secure) -> None:
    context = ssl.create_default_context(cafile=str(secure.authority.certificate))
    with socket.create_connection((HOST, secure.server.port), timeout=TIMEOUT) as raw:
        raw.sendall(SSL_REQUEST)
        assert raw.recv(1) == b"S"
        with context.wrap_socket(raw, server_hostname=HOST) as tls:
            tls.sendall(SSL_REQUEST)
            assert b"08P01" in tls.recv(1000)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\xff\xff" + b"x" * 65535,
        b"\x16\x03\x01\0\x05\x01\0\0\x01\0",
        b"\x16" * 1000,
        b"\x15\x03\x03\0\x02\x02\x28",
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(4096),
    ],
)
@pytest.mark.parametrize("asked", [True, False])
def test_garbage_instead_of_a_handshake_ends_the_connection(secure: Secure, garbage: bytes, asked: bool) -> None:
    with socket.create_connection((HOST, secure.server.port), timeout=TIMEOUT) as raw:
        if asked:
            raw.sendall(SSL_REQUEST)
            assert raw.recv(1) == b"S"
        try:
            raw.sendall(garbage)
            raw.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: raw.recv(4096), b""))
        except OSError:
            # The server was faster.
            answer = b""
        # At most an alert, or an error in the clear where no handshake had begun; nothing of the server's state.
        assert b"AuthenticationOk" not in answer and len(answer) < 300
    secure.connect().close()


@pytest.mark.parametrize("before", [b"", SSL_REQUEST])
def test_a_handshake_is_not_waited_for_for_ever(secure: Secure, before: bytes) -> None:
    """A byte now and then does not keep it alive."""
    with socket.create_connection((HOST, secure.server.port), timeout=1) as raw:
        raw.sendall(before)
        if before:
            assert raw.recv(1) == b"S"
        hello = iter(b"\x16\x03\x01\x40\x00" + b"\x01" * 16384)
        ended = False
        for _ in range(30):
            try:
                raw.sendall(bytes([next(hello)]))
                ended = raw.recv(100) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                ended = True
            if ended:
                break
        assert ended


def test_clients_certificates_are_asked_for_and_name_the_user(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca", "Root")
    stranger = Authority(tmp_path / "other", "Other")
    options = serve_options(tmp_path, authority, "server")
    add_user(tmp_path / "users", "bob", "secret")
    with serve(*options, "--tls-client-ca", authority.certificate, "--listen", "0.0.0.0:0") as running:
        secure = Secure(running, authority, tmp_path)

        def connect(signer: Authority, name: str, **others: object) -> None:
            pair = signer.sign(name)
            pair.key.chmod(0o600)
            secure.connect(sslcert=pair.certificate, sslkey=pair.key, **others).close()

        connect(authority, "alice")
        with pytest.raises(psycopg.OperationalError, match="certificate authentication failed"):
            connect(authority, "bob")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(authority, "alice", password="wrong")
        with pytest.raises(psycopg.OperationalError, match=r"alert|certificate|closed"):
            connect(stranger, "alice")
        with pytest.raises(psycopg.OperationalError, match=r"alert|certificate|closed"):
            secure.connect(sslcert="/nonexistent", sslkey="/nonexistent")


def test_certificates_are_read_again_on_sighup(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "first", "First"), Authority(tmp_path / "second", "Second")
    with serve(*serve_options(tmp_path, first, "server"), "--listen", "0.0.0.0:0") as running:
        stays = Secure(running, first, tmp_path).connect()
        serve_options(tmp_path, second, "server")
        running.process.send_signal(signal.SIGHUP)

        def is_second() -> bool:
            try:
                Secure(running, second, tmp_path).connect(channel_binding="require").close()
            except psycopg.OperationalError:
                return False
            return True

        wait_until(is_second)
        assert stays.execute("select 1").fetchone() == (1,)
        stays.close()
        (tmp_path / "server.crt").write_text("nonsense")
        running.process.send_signal(signal.SIGHUP)
        assert running.process.stderr is not None
        while "the old users and certificates stay" not in (said := running.process.stderr.readline()):
            assert said
        assert is_second()


def test_files_that_are_of_no_use_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca", "Root")
    options = serve_options(tmp_path, authority, "server")
    other = authority.sign("other", "DNS:localhost")

    def refused(reason: str, *arguments: str | Path) -> None:
        with pytest.raises(RuntimeError, match=reason), serve(*arguments):
            pass

    refused("go together", "--tls-certificate", tmp_path / "server.crt")
    (tmp_path / "server.key").chmod(0o644)
    refused("protect it: chmod 600", *options)
    shutil.copy(other.key, tmp_path / "server.key")
    (tmp_path / "server.key").chmod(0o600)
    refused("cannot use .*server.crt with", *options)
    (tmp_path / "server.key").write_text("nothing")
    refused("contains no private key", *options)
    (tmp_path / "server.key").unlink()
    refused("cannot read .*server.key", *options)


def test_a_start_in_the_clear_after_asking_is_heard_nowhere(secure: Secure) -> None:
    with RawClient(HOST, secure.server.port) as client:
        client.socket.sendall(SSL_REQUEST)
        assert client.socket.recv(1) == b"S"
        client.start("alice")
        assert all(kind != b"R" for kind, _ in client.rest())
