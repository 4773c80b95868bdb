"""Passwords, plugins, sockets, TLS, and what a URI may say."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pytest

from tests.testbed import mariadb


def whoami(uri: str) -> str:
    with colonnade.connect(uri) as connection:
        return connection.query("select current_user() as u").to_arrow().column(0)[0].as_py()


def variable(uri: str, name: str) -> str:
    with colonnade.connect(uri) as connection:
        return connection.query(f"show status like '{name}'").to_arrow().column(1)[0].as_py()


# --- who --------------------------------------------------------------------------------------------------------------


def test_a_password_lets_in(maria: mariadb.Server) -> None:
    assert whoami(maria.uri()) == f"{mariadb.USER}@%"
    assert whoami(maria.unix_uri()) == f"{mariadb.USER}@%"


@pytest.mark.parametrize("login", [f"{mariadb.USER}:wr0ng", f"{mariadb.USER}", "nobody:wr0ng"])
def test_a_wrong_password_does_not_and_is_not_shown(maria: mariadb.Server, login: str) -> None:
    # Over TCP without TLS, MySQL asks for the password itself, and the client refuses.
    uri = maria.unix_uri(login=login) if mariadb.is_mysql() else maria.uri(login=login)
    with pytest.raises(colonnade.OperationalError, match="Access denied") as caught:
        colonnade.connect(uri)
    assert caught.value.sqlstate == "28000"
    assert "wr0ng" not in str(caught.value)


def test_the_environment_may_have_the_password(maria: mariadb.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", mariadb.PASSWORD)
    assert whoami(maria.uri(login=mariadb.USER)) == f"{mariadb.USER}@%"


def test_an_unknown_database_is_an_error(maria: mariadb.Server) -> None:
    with pytest.raises(colonnade.Error, match="nowhere") as caught:
        colonnade.connect(maria.uri().replace(f"/{mariadb.DATABASE}", "/nowhere"))
    assert caught.value.sqlstate == "42000"


@pytest.mark.skipif(mariadb.is_mysql(), reason="MySQL has not these plugins")
def test_plugins_that_are_switched_to(maria: mariadb.Server) -> None:
    maria.run(
        "install soname 'auth_ed25519'; "
        "create user curve identified via ed25519 using password('p4ss'); "
        "create user empty identified by ''; "
        "create user either identified via ed25519 using password('other') "
        "or mysql_native_password using password('p4ss'); "
        "create user pam identified via mysql_old_password using '0123456789abcdef'; "
        f"grant select on {mariadb.DATABASE}.* to curve, empty, either"
    )
    try:
        assert whoami(maria.uri(login="curve:p4ss")) == "curve@%"
        assert whoami(maria.uri(login="empty")) == "empty@%"
        assert whoami(maria.uri(login="either:p4ss")) == "either@%"
        with pytest.raises(colonnade.Error, match="Access denied"):
            colonnade.connect(maria.uri(login="curve:wrong"))
        with pytest.raises(colonnade.Error):
            colonnade.connect(maria.uri(login="pam:p4ss"))
    finally:
        maria.run("drop user curve, empty, either, pam; uninstall soname 'auth_ed25519'")


@pytest.mark.skipif(mariadb.is_mysql(), reason="MySQL has no plugin unix_socket")
def test_the_system_may_know_who_is_there(maria: mariadb.Server) -> None:
    name = getpass.getuser()
    # The superuser, if the tests run as root, must stay one.
    maria.run(
        f"create or replace user {name}@localhost identified via unix_socket; "
        f"grant all on *.* to {name}@localhost with grant option"
    )
    try:
        assert whoami(maria.unix_uri(name)) == f"{name}@localhost"
    finally:
        if name == "root":
            maria_root = "alter user root@localhost identified via mysql_native_password using '' or unix_socket"
            with colonnade.connect(maria.unix_uri(name)) as connection:
                connection.execute(maria_root)
        else:
            maria.run(f"drop user {name}@localhost")


def test_nobody_is_there(tmp_path: Path) -> None:
    for uri in ("mysql://u@127.0.0.1:1/", f"mysql://u@/?unix_socket={tmp_path}/none"):
        with pytest.raises(colonnade.OperationalError, match="cannot connect"):
            colonnade.connect(uri)


def test_what_a_uri_says_wrongly_is_named(maria: mariadb.Server) -> None:
    for parameters, words in [
        ({"answer": "42"}, "answer"),
        ({"ssl-mode": "always"}, "VERIFY_IDENTITY"),
        ({"connect_timeout": "x"}, "connect_timeout"),
        ({"charset": "latin1"}, "charset"),
    ]:
        with pytest.raises(colonnade.InterfaceError, match=words):
            colonnade.connect(maria.uri(**parameters))


# --- encryption -------------------------------------------------------------------------------------------------------


def _openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_authority(directory: Path, name: str) -> None:
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
    _openssl(directory, "req", "-x509", *key, "-days", "2", "-subj", f"/CN={name}")


def make_certificate(directory: Path, name: str, authority: str, *names: str) -> None:
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr"]
    _openssl(directory, "req", *key, "-subj", f"/CN={name}")
    (directory / f"{name}.ext").write_text(
        f"subjectAltName={','.join(names)}\n" if names else "basicConstraints=CA:FALSE\n"
    )
    sign = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-out", f"{name}.pem"]
    _openssl(directory, "x509", "-req", "-in", f"{name}.csr", *sign, "-days", "2", "-extfile", f"{name}.ext")


@pytest.fixture(scope="module")
def encrypted() -> Iterator[mariadb.Server]:
    """A server with a certificate for localhost (by name) only."""

    def files(directory: Path) -> list[str]:
        make_authority(directory, "authority")
        make_authority(directory, "stranger")
        make_certificate(directory, "server", "authority", "DNS:localhost")
        make_certificate(directory, "client", "authority")
        return [f"--ssl-{word}={directory / file}" for word, file in
                (("ca", "authority.pem"), ("cert", "server.pem"), ("key", "server.key"))]  # fmt: skip

    with mariadb.server(files=files) as running:
        running.run(
            f"create user careful identified by 'p4ss' require x509; grant select on {mariadb.DATABASE}.* to careful"
        )
        yield running


def by_name(server: mariadb.Server, login: str = f"{mariadb.USER}:{mariadb.ESCAPED}", **parameters: str) -> str:
    return server.uri(login=login, **parameters).replace("127.0.0.1", "localhost")


def test_encryption_is_used_where_there_is_one(encrypted: mariadb.Server, maria: mariadb.Server) -> None:
    assert variable(encrypted.uri(), "Ssl_version").startswith("TLSv1")
    assert variable(encrypted.uri(**{"ssl-mode": "PREFERRED"}), "Ssl_version").startswith("TLSv1")
    assert variable(encrypted.uri(ssl_mode="required"), "Ssl_version").startswith("TLSv1")
    assert variable(encrypted.uri(**{"ssl-mode": "DISABLED"}), "Ssl_version") == ""
    assert variable(encrypted.unix_uri(), "Ssl_version") == ""
    assert variable(maria.uri(), "Ssl_version") == ""
    with pytest.raises(colonnade.OperationalError, match="does not offer TLS"):
        colonnade.connect(maria.uri(**{"ssl-mode": "REQUIRED"}))


def test_the_authority_is_checked(encrypted: mariadb.Server) -> None:
    good, bad = (str(encrypted.directory / f"{name}.pem") for name in ("authority", "stranger"))
    for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
        assert whoami(by_name(encrypted, **{"ssl-mode": mode, "ssl-ca": good}))
        with pytest.raises(colonnade.OperationalError):
            colonnade.connect(by_name(encrypted, **{"ssl-mode": mode, "ssl-ca": bad}))
        with pytest.raises(colonnade.Error):
            colonnade.connect(by_name(encrypted, **{"ssl-mode": mode}))
    with pytest.raises(colonnade.OperationalError):
        colonnade.connect(encrypted.uri(**{"ssl-ca": bad}))
    # The certificate is for the name, not for the address.
    assert whoami(encrypted.uri(**{"ssl-mode": "VERIFY_CA", "ssl-ca": good}))
    with pytest.raises(colonnade.OperationalError):
        colonnade.connect(encrypted.uri(**{"ssl-mode": "VERIFY_IDENTITY", "ssl-ca": good}))


def test_a_client_may_have_a_certificate(encrypted: mariadb.Server) -> None:
    files = {
        f"ssl-{word}": str(encrypted.directory / f"client.{end}") for word, end in (("cert", "pem"), ("key", "key"))
    }
    for file in files.values():
        Path(file).chmod(0o644)
    if mariadb.is_mysql():
        # A new user's password goes to a verified server alone. Afterwards, the server knows its hash.
        with pytest.raises(colonnade.OperationalError, match="the server's identity is not certain"):
            colonnade.connect(encrypted.uri(login="careful:p4ss", **files))
        verified = {"ssl-mode": "VERIFY_IDENTITY", "ssl-ca": str(encrypted.directory / "authority.pem")}
        assert whoami(by_name(encrypted, "careful:p4ss", **files, **verified)) == "careful@%"
    assert whoami(encrypted.uri(login="careful:p4ss", **files)) == "careful@%"
    with pytest.raises(colonnade.Error, match="Access denied"):
        colonnade.connect(encrypted.uri(login="careful:p4ss"))
    with pytest.raises(colonnade.InterfaceError, match="ssl-key"):
        colonnade.connect(encrypted.uri(**{"ssl-cert": files["ssl-cert"]}))


def test_results_and_cancellation_are_encrypted_too(encrypted: mariadb.Server) -> None:
    with colonnade.connect(encrypted.uri(ssl_mode="REQUIRED")) as connection:
        sql = "select a.seq as i, repeat('x', 100) as t from seq_0_to_99 a straight_join seq_0_to_999 b"
        assert connection.query(sql).to_arrow().num_rows == 100_000
        assert connection.query("select repeat('x', 20000000) as t").to_arrow().nbytes > 20_000_000
        next(iter(connection.query(sql.replace("seq_0_to_99 ", "seq_0_to_999999 "))))
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]
