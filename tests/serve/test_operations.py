"""What the operator of `colonnade serve` sees: the log, the numbers, and health."""

from __future__ import annotations

import re
import resource
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import colonnade
import psycopg
import pytest
from colonnade_serve._cli.serve import DEFAULT_LISTEN

from tests.support.metrics import base, fetched, numbers
from tests.support.raw_client import comes_in, wait_until
from tests.support.raw_login import RawClient
from tests.support.users import add_user
from tests.testbed.serving import TIMEOUT, serve

METRICS = ("--metrics", "127.0.0.1:0")


def test_the_client_knows_the_port_on_which_the_server_listens() -> None:
    with pytest.raises(colonnade.OperationalError) as failed:
        colonnade.connect("colonnade://u@no-such-host.invalid/d")
    assert f"no-such-host.invalid:{DEFAULT_LISTEN.partition(':')[2]}/d" in str(failed.value)


def test_the_numbers_count_what_happens(tmp_path: Path) -> None:
    add_user(tmp_path / "users", "alice", "secret")
    with serve("--users", tmp_path / "users", *METRICS) as server:
        url = base(server)
        assert set(numbers(url).values()) == {0}
        dsn = server.dsn.replace("tester", "alice")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn, password="wrong")
        with psycopg.connect(dsn, password="secret", autocommit=True) as client:
            client.execute("select repeat('x', 100000)")
            with pytest.raises(psycopg.Error):
                client.execute("select nothing")
            seen = numbers(url)
            # Only what is executed counts.
            for sql in ("begin", "select 1", "commit"):
                client.execute(sql, prepare=True)
            with pytest.raises(psycopg.errors.UndefinedColumn):
                client.execute("select nothing", prepare=True)
            then = numbers(url)
            assert then["statements_total"] == seen["statements_total"] + 3
            assert then["errors_total"] == seen["errors_total"] + 1
        assert seen["sessions"] == 1
        assert (seen["connections_total"], seen["logins_total"], seen["failed_logins_total"]) == (2, 1, 1)
        assert (seen["statements_total"], seen["errors_total"]) == (2, 1)
        assert seen["sent_bytes_total"] > 100_000
        wait_until(lambda: numbers(url)["sessions"] == 0)
        assert numbers(url)["sent_bytes_total"] >= seen["sent_bytes_total"]


def test_health_says_when_new_sessions_are_not_welcome() -> None:
    with serve("--grace", "60", *METRICS) as server:
        url = base(server)
        assert fetched(f"{url}/health") == "ok\n"
        within = psycopg.connect(server.dsn, autocommit=True)
        within.execute("begin")
        server.process.send_signal(signal.SIGTERM)

        def is_refused() -> bool:
            try:
                return fetched(f"{url}/health") != "ok\n"
            except urllib.error.HTTPError as error:
                assert error.code == 503
                error.close()
                return True

        wait_until(is_refused)
        within.execute("commit")
        within.close()
        assert server.process.wait(TIMEOUT) == 0


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 "),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
        (b"\xff\xff\r\n\r\n", b"HTTP/1.1 400 "),
        (b"x" * 20000, b""),
        (b"GET /metrics", b""),
    ],
)
def test_other_requests_do_no_harm(request_: bytes, answer: bytes) -> None:
    with serve(*METRICS) as server:
        url = base(server)
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as client:
            client.sendall(request_)
            try:
                found = client.recv(100)
            except ConnectionResetError:
                found = b""
        assert found.startswith(answer) and bool(found) == bool(answer)
        assert fetched(f"{url}/health") == "ok\n"


def test_numbers_are_for_this_machine_only() -> None:
    with pytest.raises(RuntimeError, match="use a loopback address"), serve("--metrics", "0.0.0.0:0"):
        pass


def test_the_log_has_a_line_an_event_and_no_secrets(tmp_path: Path) -> None:
    add_user(tmp_path / "users", "alice", "pa55word")
    log = tmp_path / "log"
    with serve("--users", tmp_path / "users", "--log", log) as server:
        dsn = server.dsn.replace("tester", "alice")
        with psycopg.connect(dsn, password="pa55word", autocommit=True) as client:
            client.execute("select 'in private'")
            with pytest.raises(psycopg.Error):
                client.execute("select 'not for the log'::integer")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn, password="gue55ed")
        with RawClient(server.host, server.port) as forger:
            forger.start("eve\ntime=0 event=login user=root")
            forger.first()
            forger.send(b"p", b"c=biws,r=x,p=" + b"A" * 43 + b"=")
            forger.rest()
        wait_until(lambda: log.read_text().count("event=refused") == 2 and "event=end" in log.read_text())
    lines = log.read_text().splitlines()
    events = [re.fullmatch(r"time=\d+\.\d{3} event=(\w+) .*", line) for line in lines]
    assert all(events)
    assert sorted(event[1] for event in events if event) == ["end", "error", "login", "refused", "refused", "worker"]
    text = "\n".join(lines)
    assert "user=alice role=read-write tls=no" in text
    assert "code=28P01" in text and "code=22P02" in text
    for secret in ("pa55word", "gue55ed", "in private", "not for the log", "SCRAM-SHA-256$"):
        assert secret not in text


@pytest.mark.parametrize("which", ["supervisor", "worker"])
def test_without_descriptors_the_server_waits_for_some(which: str) -> None:
    """Clients beyond the limit wait or are turned away; those that are there stay, and later ones come in again."""
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            process = server.worker if which == "worker" else server.process.pid
            # What is loaded at the first query needs descriptors for a moment.
            client.execute("select count(*) from range(1000)")
            limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
            used = len(list(Path(f"/proc/{process}/fd").iterdir()))
            resource.prlimit(process, resource.RLIMIT_NOFILE, (used + 5, limits[1]))
            crowd = [socket.create_connection((server.host, server.port)) for _ in range(20)]
            assert client.execute("select count(*) from range(1000)").fetchone() == (1000,)
            for one in crowd:
                one.close()
        wait_until(lambda: comes_in(server))


def test_statements_are_logged_if_the_operator_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="--log-statements needs --log"), serve("--log-statements"):
        pass
    log = tmp_path / "log"
    with serve("--log", log, "--log-statements") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        client.execute("select %s || '!'", ["h1dden"])
        client.execute("select 'plain'", prepare=True)
        with pytest.raises(psycopg.Error):
            client.execute("alter user x password 'h1dden'")
    lines = [line for line in log.read_text().splitlines() if "event=statement" in line]
    assert [line.partition(" sql=")[2] for line in lines] == [
        "\"select $1 || '!'\"",
        "\"select 'plain'\"",
        '"alter user … (withheld)"',
    ]
    assert "h1dden" not in log.read_text()
