"""Logging in to a real PostgreSQL by every method that needs a password."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import colonnade
import pytest

from tests.testbed import postgres as pg

PASSWORD = "p@ss:w/rd? 'ü№'"
#: A role of each method of pg_hba.conf that asks for a password, and how its password is stored.
#: `require_auth` for the role, where a password goes over TCP that nobody encrypts.
ALLOWED = {"scram": "scram-sha-256", "hashed": "md5", "clear": "password"}
ROLES = {"scram": ("scram-sha-256", "scram-sha-256"), "hashed": ("md5", "md5"), "clear": ("password", "scram-sha-256")}


@pytest.fixture(scope="module")
def guarded() -> Iterator[pg.Cluster]:
    """A cluster that lets its superuser in over the unix socket, and the roles with their passwords."""
    with pg.cluster(pg.stock()) as running:
        with running.connect() as session:
            for role, (_, stored) in ROLES.items():
                session.execute(f"set password_encryption = '{stored}'")
                escaped = PASSWORD.replace("'", "''")
                session.execute(f"create role {role} login password '{escaped}'")
            session.execute("create role nobody_s login")
            rules = [
                f"{kind} all {role} {address} {method}"
                for role, (method, _) in [*ROLES.items(), ("nobody_s", ("scram-sha-256", ""))]
                for kind, address in (("host", "127.0.0.1/32"), ("local", ""))
            ]
            hba = running.directory / "data" / "pg_hba.conf"
            hba.write_text("\n".join([*rules, hba.read_text()]))
            session.execute("select pg_reload_conf()")
        yield running


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
@pytest.mark.parametrize("role", ROLES)
def test_a_password_opens(guarded: pg.Cluster, role: str, tcp: bool) -> None:
    allowed = {"require_auth": ALLOWED[role]} if tcp else {}
    uri = guarded.uri(user=f"{role}:{quote(PASSWORD, safe='')}", tcp=tcp, **allowed)
    with colonnade.connect(uri) as connection:
        assert connection.query("select current_user::text as u").to_arrow().to_pylist() == [{"u": role}]
        # A cancellation needs no password.
        connection.cancel()
        assert PASSWORD not in connection.name


@pytest.mark.parametrize("role", ["hashed", "clear"])
def test_a_server_that_may_be_another_gets_no_password(guarded: pg.Cluster, role: str) -> None:
    with pytest.raises(colonnade.OperationalError, match="was not sent") as caught:
        colonnade.connect(guarded.uri(user=f"{role}:hunter2", tcp=True))
    assert f"require_auth={ALLOWED[role]}" in str(caught.value.hint)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("role", ROLES)
def test_other_ways_to_log_in_can_be_excluded(guarded: pg.Cluster, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = ",".join(name for name in ALLOWED.values() if name != ALLOWED[role])
    for requirement in (f"!{ALLOWED[role]}", others):
        with pytest.raises(colonnade.OperationalError, match="require_auth excludes"):
            colonnade.connect(guarded.uri(user=f"{role}:{quote(PASSWORD, safe='')}", require_auth=requirement))
    monkeypatch.setenv("PGREQUIREAUTH", "!none")
    with pytest.raises(colonnade.OperationalError, match="without any authentication") as caught:
        colonnade.connect(guarded.uri())
    assert caught.value.sqlstate is None


@pytest.mark.parametrize("role", [*ROLES, "nobody_s"])
def test_a_wrong_password_does_not_and_is_not_shown(guarded: pg.Cluster, role: str) -> None:
    with pytest.raises(colonnade.OperationalError, match="authentication failed") as caught:
        colonnade.connect(guarded.uri(user=f"{role}:hunter2", tcp=True, require_auth="password,md5,scram-sha-256"))
    assert caught.value.sqlstate == "28P01"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("role", ROLES)
def test_a_missing_password_is_missed(guarded: pg.Cluster, role: str) -> None:
    with pytest.raises(colonnade.OperationalError, match="asks for a password"):
        colonnade.connect(guarded.uri(user=role))


def test_the_environment_has_a_password(guarded: pg.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("PGUSER", "scram")
    monkeypatch.setenv("PGHOST", str(guarded.directory))
    monkeypatch.setenv("PGPORT", str(guarded.port))
    monkeypatch.setenv("PGDATABASE", "postgres")
    with colonnade.connect("postgresql://") as connection:
        assert connection.query("select current_user::text as u").to_arrow().to_pylist() == [{"u": "scram"}]


def test_a_password_file_has_a_password(guarded: pg.Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    file = tmp_path / "pgpass"
    file.write_text(f"# host:port:database:user:password\n*:1:*:*:no\n127.0.0.1:{guarded.port}:*:scram:{escaped}\n")
    monkeypatch.setenv("PGPASSFILE", str(file))
    uri = guarded.uri(user="scram", tcp=True)
    if sys.platform != "win32":
        file.chmod(0o644)
        with pytest.raises(colonnade.OperationalError, match="asks for a password"):
            colonnade.connect(uri)
    file.chmod(0o600)
    with colonnade.connect(uri) as connection:
        assert connection.query("select 1 as one").to_arrow().num_rows == 1
