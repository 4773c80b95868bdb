"""Where a connection's parameters are written, and which place counts."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pytest

from tests.testbed import postgres as pg
from tests.testbed.serving import Server

WHO = "select current_user::text as u, current_database()::text as d, current_setting('application_name') as a"


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[pg.Cluster]:
    with stock.prepared('create role "it\'s me" login', 'drop role "it\'s me"'):
        yield stock


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path / "etc"))
    (tmp_path / "etc").mkdir()
    return tmp_path


def who(text: str) -> tuple[str, str, str]:
    with colonnade.connect(text) as connection:
        row = connection.query(WHO).to_arrow().to_pylist()[0]
        return row["u"], row["d"], row["a"]


def test_keywords_and_values(postgres: pg.Cluster) -> None:
    text = f"host={postgres.directory} port = {postgres.port} user='it\\'s me' dbname=postgres application_name='a b'"
    assert who(text) == ("it's me", "postgres", "a b")
    assert who(f"{text} options='-c application_name=other'")[0] == "it's me"
    assert colonnade.read_sql(text, "select 1 as one", return_type="arrow").to_pylist() == [{"one": 1}]
    assert who(f"hostaddr=127.0.0.1 port={postgres.port} user=tester dbname=postgres")[2] == "colonnade"
    words = f"hostaddr=127.0.0.1 port={postgres.port} user=tester dbname=postgres fallback_application_name=f"
    assert who(words)[2] == "f"
    keepalives = "keepalives=1 keepalives_idle=10 keepalives_interval=5 keepalives_count=3 tcp_user_timeout=9000"
    assert who(f"{words} {keepalives}")[0] == "tester"


def test_the_command_line_takes_them(postgres: pg.Cluster) -> None:
    command = [sys.executable, "-m", "colonnade", "read", postgres.dsn(), "select 42 as answer"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "42" in done.stdout


def test_the_string_counts_before_the_service_before_the_environment(
    postgres: pg.Cluster, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".pg_service.conf"
    file.write_text(
        f"# services\n[other]\nuser=nobody\n\n[mine]\nhost={postgres.directory}\nport={postgres.port}\n"
        "user=tester\ndbname=postgres\napplication_name=of the service\n\n[last]\nuser=nobody\n"
    )
    monkeypatch.setenv("PGUSER", "nobody")
    monkeypatch.setenv("PGAPPNAME", "of the environment")
    assert who("service=mine") == ("tester", "postgres", "of the service")
    assert who("postgresql://?service=mine&application_name=of+the%20string")[2] == "of+the string"
    monkeypatch.setenv("PGSERVICE", "mine")
    assert who("postgresql://") == ("tester", "postgres", "of the service")
    assert who("dbname=template1") == ("tester", "template1", "of the service")
    with pytest.raises(colonnade.InterfaceError, match="no service file has a service"):
        colonnade.connect("service=none")
    monkeypatch.delenv("PGSERVICE")
    text = f"host={postgres.directory} port={postgres.port} user=tester dbname=postgres"
    assert who(text)[2] == "of the environment"


def test_service_files_are_looked_for(postgres: pg.Cluster, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = f"host={postgres.directory}\nport={postgres.port}\nuser=tester\ndbname=postgres\n"
    (home / "etc" / "pg_service.conf").write_text(f"[both]\n{lines}application_name=system\n[one]\n{lines}")
    assert who("service=both")[2] == "system"
    named = home / "named.conf"
    named.write_text(f"[both]\n{lines}application_name=named\n")
    monkeypatch.setenv("PGSERVICEFILE", str(named))
    assert who("service=both")[2] == "named"
    assert who("service=one")[0] == "tester"
    other = home / "other.conf"
    other.write_text(f"[both]\n{lines}application_name=other\n")
    assert who(f"service=both servicefile={other}")[2] == "other"


@pytest.mark.parametrize(
    ("line", "message"),
    [("colour=red", "colour"), ("words", "keyword=value"), ("service=x", "within a service"), ("ldap://x", "LDAP")],
)
def test_service_files_that_are_wrong(home: Path, line: str, message: str) -> None:
    (home / ".pg_service.conf").write_text(f"[mine]\n{line}\n")
    with pytest.raises(colonnade.Error, match=message) as caught:
        colonnade.connect("service=mine")
    assert "line 2" in str(caught.value)


def test_a_password_file_is_named(postgres: pg.Cluster, home: Path) -> None:
    # Everybody is trusted here, so what is found is seen in how the string is refused elsewhere.
    file = home / "passwords"
    file.write_text(f"db.example:{postgres.port}:postgres:tester:x\n")
    file.chmod(0o600)
    words = f"host=db.example hostaddr=127.0.0.1 port={postgres.port} user=tester dbname=postgres"
    assert who(f"{words} passfile={file}")[0] == "tester"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_several_hosts_are_tried(postgres: pg.Cluster) -> None:
    closed, rest = closed_port(), "user=tester dbname=postgres"
    both = f"host=127.0.0.1,{postgres.directory} port={closed},{postgres.port} {rest}"
    with colonnade.connect(both) as connection:
        assert str(postgres.directory) in connection.name
        # A cancellation goes to the one that was found.
        connection.cancel()
    assert who(f"postgresql://tester@127.0.0.1:{closed},127.0.0.1:{postgres.port}/postgres")[0] == "tester"
    with pytest.raises(colonnade.OperationalError, match="none of the servers") as caught:
        colonnade.connect(f"host=127.0.0.1,127.0.0.1 port={closed} {rest}")
    assert str(caught.value).count("refused") == 2
    # A server that refuses the user ends the search.
    with pytest.raises(colonnade.Error, match="does not exist"):
        colonnade.connect(f"host=127.0.0.1,127.0.0.1 port={postgres.port},{closed} user=tester dbname=nowhere")


def test_a_session_of_the_wanted_kind(postgres: pg.Cluster) -> None:
    words = f"host={postgres.directory} port={postgres.port} user=tester dbname=postgres"
    for kind in ("any", "read-write", "primary", "prefer-standby"):
        assert who(f"{words} target_session_attrs={kind}")[0] == "tester"
    for kind in ("read-only", "standby"):
        with pytest.raises(colonnade.OperationalError, match="target_session_attrs"):
            colonnade.connect(f"{words} target_session_attrs={kind}")
    only = f"{words} options='-c default_transaction_read_only=on'"
    assert who(f"{only} target_session_attrs=read-only")[0] == "tester"
    with pytest.raises(colonnade.OperationalError, match="may only be read"):
        colonnade.connect(f"{only} target_session_attrs=read-write")


def test_nothing_shows_a_password(postgres: pg.Cluster) -> None:
    for text in (
        f"host=127.0.0.1 port={closed_port()} user=u password=hunter2",
        f"host={postgres.directory} port={postgres.port} user=nobody password=hunter2",
        "host=h password=x hunter2",
        "host=h password='hunter2",
        "password=x hunter2=1",
    ):
        with pytest.raises(colonnade.Error) as caught:
            colonnade.connect(text)
        assert "hunter2" not in str(caught.value)


# --- the user that nobody names ---------------------------------------------------------------------------------------

#: Connects as whom the operating system says, and prints whom the server let in or why nobody was.
UNNAMED = """
import colonnade, os, sys, colonnade._core
if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
try:
    connection = colonnade.connect(sys.argv[1])
    print(connection.query("select current_user::text as u").column("u").to_pylist()[0])
except colonnade.Error as error:
    print(type(error).__name__, error)
"""


def unnamed(uri: str, environment: dict[str, str], *number: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("USER", "LOGNAME", "USERNAME")}
    command = [sys.executable, "-c", UNNAMED, uri, *number]
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_operating_system_says_who_connects(server: Server) -> None:
    me = pwd.getpwuid(os.geteuid()).pw_name
    uri = f"postgresql://{server.host}:{server.port}/"
    assert unnamed(uri, {}) == unnamed(uri, {"USER": "somebody", "LOGNAME": "else"}) == me
    assert unnamed(uri, {"PGUSER": "somebody"}) == "somebody"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become another user")
def test_a_user_without_a_name_is_told_to_name_one(server: Server) -> None:
    for uri in (f"postgresql://{server.host}:{server.port}/", f"mysql://{server.host}:{server.port}/"):
        told = unnamed(uri, {"USER": "somebody"}, "54321")
        assert told.startswith("InterfaceError"), told
        assert "names no user" in told and "54321" in told
