"""Servers that ask for passwords: what leaves the client, and what it says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import colonnade
import pytest

from tests.support.proxy import READY, SSL_REQUEST, message

PASSWORD = "hunter2hunter2"


def request(method: int, more: bytes = b"") -> bytes:
    return message(b"R", struct.pack(">I", method) + more)


@dataclass
class Thief:
    """A server that says what it is told, and keeps what clients send."""

    port: int
    heard: bytearray = field(default_factory=bytearray)

    def uri(self, scheme: str = "postgresql", parameters: str = "") -> str:
        return f"{scheme}://tester:{PASSWORD}@127.0.0.1:{self.port}/test?connect_timeout=30&{parameters}"


@contextmanager
def thief(*answers: bytes | Callable[[bytes], bytes], first: bytes = b"") -> Iterator[Thief]:
    """Answers what clients send one by one; a request for TLS is not one of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = Thief(listener.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client, suppress(OSError):
                        client.sendall(first)
                        for answer in answers:
                            data = client.recv(65536)
                            if data == SSL_REQUEST:
                                client.sendall(b"N")
                                data = client.recv(65536)
                            running.heard += data
                            client.sendall(answer(data) if callable(answer) else answer)
                        client.shutdown(socket.SHUT_WR)
                        while data := client.recv(65536):
                            running.heard += data

        threading.Thread(target=serve, daemon=True).start()
        yield running


def refused(server: Thief, scheme: str = "postgresql", parameters: str = "") -> colonnade.Error:
    with pytest.raises(colonnade.Error) as caught:
        colonnade.connect(server.uri(scheme, parameters))
    assert PASSWORD not in str(caught.value)
    assert PASSWORD.encode() not in server.heard
    return caught.value


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters", ["", "sslmode=disable", "sslmode=prefer", "require_auth=!md5", "require_auth=!gss"]
)
@pytest.mark.parametrize(("method", "name"), [(3, "password"), (5, "md5")])
def test_nothing_goes_to_whoever_asks(method: int, name: str, parameters: str) -> None:
    if name == "md5" and parameters == "require_auth=!md5":
        pytest.skip("excluded, which is another error")
    with thief(request(method, b"salt" if method == 5 else b"")) as server:
        error = refused(server, parameters=parameters)
        assert "was not sent" in str(error)
        assert f"require_auth={name}" in str(error.hint)
        # The answer to a request is a message 'p'.
        assert b"p\0\0" not in server.heard


def test_it_goes_where_the_user_has_asked_for_it() -> None:
    for method, name, more, sent in (
        (3, "password", b"", PASSWORD.encode() + b"\0"),
        (5, "md5", b"salt", b"p\0\0\0\x28md5"),
    ):
        welcome = request(0) + message(b"S", b"colonnade\x001\0") + READY
        with thief(request(method, more), welcome) as server:
            colonnade.connect(server.uri(parameters=f"require_auth={name}")).close()
            assert sent in server.heard


def test_tls_without_a_trusted_certificate_is_no_proof() -> None:
    with thief(request(3)) as server:
        error = refused(server, parameters="sslmode=require")
    assert "offers no TLS" in str(error)


def challenge(iterations: bytes) -> Callable[[bytes], bytes]:
    def answer(first: bytes) -> bytes:
        nonce = first.partition(b"r=")[2]
        return request(11, b"r=" + nonce + b"stranger,s=c2FsdHNhbHRzYWx0,i=" + iterations)

    return answer


@pytest.mark.parametrize("iterations", [b"0", b"1", b"4095", b"1000001", b"4294967295", b"99999999999", b"-1", b""])
def test_rounds_of_scram_are_neither_few_nor_endless(iterations: bytes) -> None:
    with thief(request(10, b"SCRAM-SHA-256\0\0"), challenge(iterations)) as server:
        error = refused(server)
        assert isinstance(error, (colonnade.OperationalError, colonnade.InternalError))
        # A proof would be enough to try passwords at home.
        assert b",p=" not in server.heard


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    with thief(
        request(10, b"SCRAM-SHA-256\0\0"), challenge(b"4096"), request(12, b"v=" + 43 * b"A" + b"=") + request(0)
    ) as server:
        assert "could not prove" in str(refused(server))
    with thief(request(10, b"SCRAM-SHA-256\0\0"), challenge(b"4096"), request(0) + READY) as server:
        assert "out of its order" in str(refused(server))


def test_a_login_that_was_not_asked_for_can_be_required() -> None:
    with thief(request(0) + READY) as server:
        assert "require_auth" in str(refused(server, parameters="require_auth=scram-sha-256"))
        assert "require_auth" in str(refused(server, parameters="require_auth=!none"))


# --- MySQL ------------------------------------------------------------------------------------------------------------


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def greeting(plugin: bytes) -> bytes:
    return packet(
        0,
        b"\x0a8.4.0\0" + struct.pack("<I", 7) + 8 * b"a" + b"\0" + struct.pack("<H", 0xA205) + b"\x2d\x02\0"
        + struct.pack("<H", 0x0108) + b"\x15" + 10 * b"\0" + 12 * b"b" + b"\0" + plugin + b"\0",
    )  # fmt: skip


SCRAMBLE = 20 * b"c" + b"\0"


@pytest.mark.parametrize(
    "answer",
    [
        packet(2, b"\x01\x04"),
        packet(2, b"\x01\x03") + packet(3, b"\x01\x04"),
        packet(2, b"\x01\x02"),
        packet(2, b"\xfemysql_clear_password\0"),
        packet(2, b"\xfemysql_old_password\0" + SCRAMBLE),
        packet(2, b"\xfe"),
        packet(2, b"\xfesha256_password\0" + SCRAMBLE),
        packet(2, b"\xfedialog\0Password: \0"),
        packet(2, b"\xfecaching_sha2_password\0" + SCRAMBLE[1:]),
    ],
)
def test_a_mysql_server_is_not_given_the_password(answer: bytes) -> None:
    with thief(answer, first=greeting(b"caching_sha2_password")) as server:
        refused(server, "mysql")
        refused(server, "mysql", "require_auth=caching_sha2_password,sha256_password")


def test_a_plugin_that_was_not_asked_for_gets_no_proof() -> None:
    switch = packet(2, b"\xfemysql_native_password\0" + SCRAMBLE)
    with thief(switch, first=greeting(b"caching_sha2_password")) as server:
        for requirement in ("caching_sha2_password", "client_ed25519", "!mysql_native_password"):
            error = refused(server, "mysql", f"require_auth={requirement}")
            assert "mysql_native_password, which require_auth excludes" in str(error)
    # Nor is the server's first one answered, if it is excluded.
    with thief(packet(2, b"\0\0\0\x02\0\0\0"), first=greeting(b"mysql_native_password")) as server:
        assert "require_auth" in str(refused(server, "mysql", "require_auth=client_ed25519"))
        assert b"tester\0\0" in server.heard
