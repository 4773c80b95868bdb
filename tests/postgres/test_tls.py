"""TLS towards a real PostgreSQL: what each sslmode encrypts, verifies and refuses."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import colonnade
import pytest

from tests.postgres.secured import HOST, PASSWORD, Secured, server
from tests.support.certificates import Pair
from tests.support.proxy import Proxy
from tests.support.tls_proxy import tls_proxy
from tests.testbed import postgres as pg

ENCRYPTED = "select coalesce(version, '') as v from pg_stat_ssl where pid = pg_backend_pid()"
ENDLESS = "select generate_series(1, 1000000000) as i, 'some text for every row' as t"
MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    with server() as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's files, and nobody's variables."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    return tmp_path


#: The folder of the user's files below the home directory, on Windows below %APPDATA%.
FOLDER = "postgresql" if sys.platform == "win32" else ".postgresql"


def version(text: str) -> str:
    """The version of TLS that the server says to speak, or nothing."""
    with colonnade.connect(text) as connection:
        return connection.query(ENCRYPTED).column("v").to_pylist()[0]


def refusal(text: str) -> str:
    with pytest.raises(colonnade.Error) as caught:
        colonnade.connect(text)
    return str(caught.value)


# --- modes and certificates -------------------------------------------------------------------------------------------


#: What a server shows, and what the modes from `require` with a file of roots on make of it.
CERTIFICATES: dict[str, tuple[Callable[[Secured], Pair], tuple[str, str, str]]] = {
    "good": (lambda s: s.authority.sign("x", f"DNS:{HOST}"), ("", "", "")),
    "wildcard": (lambda s: s.authority.sign("x", "DNS:*.shop.example"), ("", "", "")),
    "common name": (lambda s: s.authority.sign(HOST), ("", "", "")),
    "wrong name": (lambda s: s.authority.sign(HOST, "DNS:other.example"), ("", "", "other.example")),
    "wrong common name": (lambda s: s.authority.sign("other.example"), ("", "", "other.example")),
    "unknown authority": (lambda s: s.stranger.sign("x", f"DNS:{HOST}"), ("sslrootcert",) * 3),
    "self-signed": (lambda s: s.stranger.self_signed(HOST), ("self-signed, or that of an authority",) * 3),
    "expired": (lambda s: s.authority.sign("x", f"DNS:{HOST}", expired=True), ("expired",) * 3),
    "first version": (lambda s: s.authority.sign_old(HOST), ("first version",) * 3),
}


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_each_mode_verifies_what_it_says(secured: Secured, kind: str) -> None:
    make, refusals = CERTIFICATES[kind]
    secured.show(make(secured))
    for mode in MODES:
        encrypted = mode not in ("disable", "allow")
        if not mode.startswith("verify"):
            assert bool(version(secured.info(sslmode=mode))) == encrypted, mode
    root = secured.authority.certificate
    for mode, expected in zip(("require", "verify-ca", "verify-full"), refusals, strict=True):
        text = secured.info(sslmode=mode, sslrootcert=root)
        if expected:
            assert expected in refusal(text), mode
        else:
            assert version(text) == "TLSv1.3", mode


@pytest.fixture
def usual(secured: Secured) -> Secured:
    """With a certificate that nobody refuses."""
    secured.show(secured.authority.sign("somebody", f"DNS:{HOST}", "IP:127.0.0.1"))
    return secured


def test_a_certificate_may_be_trusted_itself(secured: Secured) -> None:
    for arguments in ((), ("-newkey", "rsa:2048", "-nodes")):
        pair = secured.stranger.self_signed(HOST, *arguments)
        secured.show(pair)
        assert version(secured.info(sslmode="verify-full", sslrootcert=pair.certificate)) == "TLSv1.3"
        elsewhere = secured.info(sslmode="verify-full", sslrootcert=pair.certificate).replace(HOST, "db2.shop.example")
        assert HOST in refusal(elsewhere)


def test_addresses_are_names_too(usual: Secured) -> None:
    root = usual.authority.certificate
    uri = f"postgresql://tester@127.0.0.1:{usual.cluster.port}/postgres?sslmode=verify-full&sslrootcert={root}"
    assert version(uri) == "TLSv1.3"


@pytest.mark.parametrize("mode", MODES)
def test_a_server_without_tls(stock: pg.Cluster, usual: Secured, mode: str) -> None:
    text = usual.info(port=stock.port, sslmode=mode, sslrootcert=usual.authority.certificate)
    if mode in ("disable", "allow", "prefer"):
        assert version(text) == ""
    else:
        assert "the server offers no TLS" in refusal(text)


def test_unix_sockets_need_no_tls(usual: Secured) -> None:
    root = usual.authority.certificate
    text = f"host={usual.cluster.directory} port={usual.cluster.port} user=tester dbname=postgres"
    assert version(f"{text} sslmode=verify-full sslrootcert={root}") == ""


def test_roots_are_found_where_libpq_finds_them(usual: Secured, home: Path) -> None:
    assert "sslrootcert" in refusal(usual.info(sslmode="verify-full"))
    folder = home / FOLDER
    folder.mkdir()
    shutil.copyfile(usual.authority.certificate, folder / "root.crt")
    assert version(usual.info(sslmode="verify-full")) == "TLSv1.3"
    shutil.copyfile(usual.stranger.certificate, folder / "root.crt")
    assert "no authority" in refusal(usual.info(sslmode="require"))
    assert version(usual.info(sslmode="prefer")) == "TLSv1.3"


def test_the_systems_roots(usual: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    # rustls-native-certs looks where OpenSSL does, which this variable says.
    monkeypatch.setenv("SSL_CERT_FILE", str(usual.authority.certificate))
    assert version(usual.info(sslrootcert="system")) == "TLSv1.3"
    assert "verify-full" in refusal(usual.info(sslrootcert="system", sslmode="require"))
    monkeypatch.setenv("SSL_CERT_FILE", str(usual.stranger.certificate))
    assert "no authority" in refusal(usual.info(sslrootcert="system"))


def test_files_that_cannot_be_used(usual: Secured, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for file in (empty, tmp_path / "none", usual.authority.directory / "ca.key"):
        assert str(file) in refusal(usual.info(sslmode="verify-ca", sslrootcert=file))
    empty.chmod(0o600)
    assert "sslcert" in refusal(usual.info(sslcert=empty, sslkey=empty))


def test_revoked_certificates(usual: Secured) -> None:
    root = usual.authority.certificate
    verified = {"sslmode": "verify-ca", "sslrootcert": root}
    revoked = usual.authority.sign("x", f"DNS:{HOST}")
    assert version(usual.info(**verified, sslcrl=usual.authority.revoked(revoked))) == "TLSv1.3"
    assert "sslcrl" in refusal(usual.info(**verified, sslcrl=usual.stranger.revoked()))
    usual.show(revoked)
    assert version(usual.info(**verified)) == "TLSv1.3"
    assert "revoked" in refusal(usual.info(**verified, sslcrl=usual.authority.revoked()))


@pytest.mark.parametrize("spoken", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_both_versions_of_the_protocol(usual: Secured, spoken: str, kind: str) -> None:
    if kind == "rsa":
        usual.show(usual.stranger.self_signed(HOST, "-newkey", "rsa:2048", "-nodes"))
    bounds = {"ssl_min_protocol_version": spoken, "ssl_max_protocol_version": spoken}
    assert version(usual.info(sslmode="require", **bounds)) == spoken
    assert version(usual.info("by_scram", password=PASSWORD, sslmode="require", channel_binding="require", **bounds))


# --- who may log in ---------------------------------------------------------------------------------------------------


def test_rules_that_depend_on_encryption(usual: Secured) -> None:
    assert "pg_hba.conf" in refusal(usual.info("only_ssl", sslmode="disable"))
    for mode in ("allow", "prefer", "require"):
        assert version(usual.info("only_ssl", sslmode=mode)) == "TLSv1.3"
    assert "pg_hba.conf" in refusal(usual.info("only_plain", sslmode="require"))
    for mode in ("disable", "allow", "prefer"):
        assert version(usual.info("only_plain", sslmode=mode)) == ""
    assert "pg_hba.conf" in refusal(usual.info("nobody"))


def test_certificates_of_clients(usual: Secured) -> None:
    own = usual.authority.sign("by_cert")
    named = {"sslcert": own.certificate, "sslkey": own.key}
    assert version(usual.info("by_cert", **named)) == "TLSv1.3"
    assert "certificate" in refusal(usual.info("by_cert", sslmode="require"))
    assert "certificate" in refusal(usual.info("by_cert", sslmode="require", sslcertmode="disable", **named))
    other = usual.authority.sign("other")
    text = usual.info("by_cert", sslmode="require", sslcert=other.certificate, sslkey=other.key)
    assert "authentication failed" in refusal(text)
    unknown = usual.stranger.sign("by_cert")
    for spoken in ("TLSv1.2", "TLSv1.3"):
        words = {"sslmode": "require", "ssl_max_protocol_version": spoken}
        text = usual.info("by_cert", sslcert=unknown.certificate, sslkey=unknown.key, **words)
        assert "who has signed the client's certificate" in refusal(text)
    assert "key of" in refusal(usual.info("by_cert", sslcert=own.certificate, sslkey=other.key))


@pytest.mark.skipif(sys.platform == "win32", reason="files have no permissions of this kind")
def test_a_key_that_others_may_read_is_refused(usual: Secured, tmp_path: Path) -> None:
    own = usual.authority.sign("by_cert")
    open_key = tmp_path / "open.key"
    shutil.copyfile(own.key, open_key)
    open_key.chmod(0o644)
    assert "chmod" in refusal(usual.info("by_cert", sslcert=own.certificate, sslkey=open_key))


def test_certificates_of_clients_are_found(usual: Secured, home: Path) -> None:
    own = usual.authority.sign("by_cert")
    folder = home / FOLDER
    folder.mkdir()
    shutil.copyfile(own.certificate, folder / "postgresql.crt")
    assert "sslkey" in refusal(usual.info("by_cert"))
    shutil.copyfile(own.key, folder / "postgresql.key")
    (folder / "postgresql.key").chmod(0o600)
    assert version(usual.info("by_cert")) == "TLSv1.3"


@pytest.mark.parametrize("binding", ["disable", "prefer", "require"])
def test_logins_are_bound_to_the_channel(usual: Secured, binding: str) -> None:
    scram = {"password": PASSWORD, "channel_binding": binding}
    assert version(usual.info("by_scram", **scram)) == "TLSv1.3"
    for text in (
        usual.info("by_scram", sslmode="disable", **scram),
        usual.info("by_md5", require_auth="md5", **scram),
        usual.info("tester", **scram),
    ):
        if binding == "require":
            assert "channel_binding=require" in refusal(text)
        else:
            version(text)


def test_a_man_in_the_middle_is_found_out(usual: Secured) -> None:
    forged = usual.stranger.sign("x", f"DNS:{HOST}")
    with tls_proxy(("127.0.0.1", usual.cluster.port), forged) as between:
        scram = {"password": PASSWORD, "sslmode": "require"}
        # The server compares the certificate that the client has seen with its own.
        for binding in ("prefer", "require"):
            text = usual.info("by_scram", port=between.port, channel_binding=binding, **scram)
            assert "channel binding check failed" in refusal(text)
        assert version(usual.info("by_scram", port=between.port, channel_binding="disable", **scram))
        root = usual.authority.certificate
        assert "no authority" in refusal(usual.info(port=between.port, sslmode="verify-ca", sslrootcert=root))


# --- negotiation ------------------------------------------------------------------------------------------------------


def test_tls_without_asking_first(usual: Secured) -> None:
    pair = usual.authority.sign("x", f"DNS:{HOST}")
    words = {"sslnegotiation": "direct", "sslmode": "verify-full", "sslrootcert": usual.authority.certificate}
    with tls_proxy(("127.0.0.1", usual.cluster.port), pair, direct=True, encrypt=False) as between:
        assert version(usual.info(port=between.port, **words)) == ""
    with tls_proxy(("127.0.0.1", usual.cluster.port), pair, direct=False, encrypt=False) as between:
        assert "TLS" in refusal(usual.info(port=between.port, **words))
    assert "sslmode" in refusal(usual.info(sslnegotiation="direct"))


STUFFED = b"S" + b"E\0\0\0\x1fSFATAL\0VFATAL\0Mpay STRANGER\0\0"


@pytest.mark.parametrize("answer", [STUFFED, STUFFED[1:], b"X", b"", b"N" * 1000], ids=["S", "E", "X", "end", "N"])
def test_what_comes_in_the_clear_is_not_the_servers_word(usual: Secured, answer: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    client.recv(8)
                    client.sendall(answer)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        assert "STRANGER" not in refusal(usual.info(port=listener.getsockname()[1], sslmode="require"))
    finally:
        listener.close()


# --- results ----------------------------------------------------------------------------------------------------------


SQL = "select i, i * 0.5::float8 as f, repeat(md5(i::text), i % 20) as t from generate_series(1, 200000) as s (i)"


def test_results_are_the_same(usual: Secured) -> None:
    with colonnade.connect(usual.info(sslmode="disable")) as plain:
        expected = plain.query(SQL).to_arrow()
    for spoken in ("TLSv1.2", "TLSv1.3"):
        with colonnade.connect(usual.info(sslmode="require", ssl_max_protocol_version=spoken)) as connection:
            assert connection.query(SQL).to_arrow().equals(expected)
            wide = connection.query("select repeat('x', 50000000) as t").to_arrow()
            assert len(wide["t"][0].as_py()) == 50000000


def test_a_long_statement_is_sent(usual: Secured) -> None:
    with colonnade.connect(usual.info(sslmode="require")) as connection:
        text = "y" * 3000000
        assert connection.query(f"select length('{text}') as n").column("n").to_pylist() == [len(text)]


def test_cancellation_is_encrypted(usual: Secured) -> None:
    pair = usual.authority.sign("x", f"DNS:{HOST}")
    with tls_proxy(("127.0.0.1", usual.cluster.port), pair) as between:
        text = usual.info("only_ssl", port=between.port, sslmode="require", channel_binding="disable")
        with colonnade.connect(text) as connection:
            batches = iter(connection.query(ENDLESS))
            next(batches)
            connection.cancel()
            with pytest.raises(colonnade.Error) as caught:
                for _ in batches:
                    pass
            assert caught.value.sqlstate == "57014"
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
        cancel_code = (80877102).to_bytes(4, "big")
        # A request is repeated if the server does not act on it in time.
        first, *others = (opening[4:8] == cancel_code for opening in between.openings)
        assert not first and others and all(others)


def test_a_result_that_is_cut_off_is_an_error(usual: Secured) -> None:
    proxy = Proxy(("127.0.0.1", usual.cluster.port))
    try:
        text = usual.info(port=proxy.port, sslmode="require")
        with colonnade.connect(text) as connection:
            connection.query(SQL).to_arrow()
            whole = proxy.passed
        # In the middle of a record, and everywhere else; the last bytes are the goodbye of TLS, and of PostgreSQL.
        for limit in [*range(10000, whole - 2000, whole // 9), whole - 1000]:
            proxy.limit = limit
            with pytest.raises(colonnade.OperationalError), colonnade.connect(text) as connection:
                connection.query(SQL).to_arrow()
        proxy.limit, proxy.flipped = None, whole // 2
        with pytest.raises(colonnade.OperationalError), colonnade.connect(text) as connection:
            connection.query(SQL).to_arrow()
    finally:
        proxy.close()


def test_a_result_that_ends_in_good_form_but_early_is_an_error(usual: Secured) -> None:
    pair = usual.authority.sign("x", f"DNS:{HOST}")
    with tls_proxy(("127.0.0.1", usual.cluster.port), pair) as between:
        between.limit = 1000000
        text = usual.info(port=between.port, sslmode="require")
        message = "before its answer was complete"
        with colonnade.connect(text) as connection, pytest.raises(colonnade.OperationalError, match=message):
            connection.query(SQL).to_arrow()


def test_closing_ends_a_running_result(usual: Secured) -> None:
    with colonnade.connect(usual.info(sslmode="require")) as connection:
        result = connection.query(ENDLESS)
        connection.close()
        with pytest.raises(colonnade.Error):
            result.to_arrow()
