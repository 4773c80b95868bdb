"""What `colonnade serve` reads again on SIGHUP, and what it says of certificates."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import psycopg
import pytest

from tests.support.certificates import Authority, serve_options
from tests.support.raw_client import wait_until
from tests.support.users import add_user, user_command
from tests.testbed.serving import Server, children, command_line, serve


def reload(server: Server, users: Path, log: Path) -> None:
    """Sends the signal twice. The second time the users are wrong, so an error says that both signals were handled. The
    log, which is opened again, shows that the first one was received: two signals can become one."""
    log.rename(log.with_name("old"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(log.exists)
    users.write_text("nonsense")
    server.process.send_signal(signal.SIGHUP)


def test_users_that_are_read_again_while_a_worker_starts_are_the_workers(tmp_path: Path) -> None:
    """A worker gets the users of its start. One who was removed since then must not come in."""
    users, log = tmp_path / "users", tmp_path / "log"
    for name in ("first", "second"):
        add_user(users, name, "secret")
    with serve("--users", users, "--log", log) as server:
        old = server.worker
        os.kill(old, signal.SIGKILL)

        def stopped() -> list[int]:
            new = [child for child in children(server.process.pid) if child != old]
            new = [child for child in new if b"_serve.worker" in command_line(child)]
            for worker in new:
                os.kill(worker, signal.SIGSTOP)
            return new

        workers: list[int] = []
        wait_until(lambda: bool(workers.extend(stopped()) or workers))
        try:
            assert user_command("remove", "first", "--users", users).returncode == 0
            assert server.process.stderr is not None
            reload(server, users, log)
            while "the old users and certificates stay" not in (said := server.process.stderr.readline()):
                assert said
        finally:
            os.kill(workers[0], signal.SIGCONT)
        address = f"host={server.host} port={server.port} password=secret"
        psycopg.connect(f"{address} user=second", connect_timeout=30).close()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"{address} user=first", connect_timeout=30)


def test_an_expired_certificate_is_reported(tmp_path: Path) -> None:
    """At the start and on SIGHUP, to the log and to standard error. The server runs: clients may not verify it."""
    authority, log = Authority(tmp_path / "ca", "Root"), tmp_path / "log"
    options = serve_options(tmp_path, authority, "server")
    expired = authority.sign("server", "DNS:localhost", expired=True)
    valid = [(tmp_path / name).read_bytes() for name in ("server.crt", "server.key")]
    shutil.copy(expired.certificate, tmp_path / "server.crt")
    shutil.copy(expired.key, tmp_path / "server.key")
    said = f"the certificate expired at 2021-01-01T00:00:00Z; replace {tmp_path / 'server.crt'}, then send SIGHUP"
    with serve(*options, "--log", log) as server:
        assert server.process.stderr is not None
        assert server.process.stderr.readline() == f"colonnade: {said}\n"
        assert f'event=certificate path={tmp_path / "server.crt"} reason="{said}"\n' in log.read_text()
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stderr.readline() == f"colonnade: {said}\n"
        assert log.read_text().count("event=certificate") == 2
        for name, content in zip(("server.crt", "server.key"), valid, strict=True):
            (tmp_path / name).write_bytes(content)
        reload(server, tmp_path / "users", log)
        # Nothing was said of the valid one.
        assert "the old users and certificates stay" in server.process.stderr.readline()
        assert "event=certificate" not in log.read_text()
