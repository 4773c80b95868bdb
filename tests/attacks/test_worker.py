"""The process that holds the engine dies: what becomes of its clients, of the data, and of the server."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import psycopg
import pytest
from psycopg import errors

from testbed.serving import TIMEOUT, cpu_ticks, function_options, serve
from tests.attacks.killing import has_new_worker, kill
from tests.support.certificates import Authority
from tests.support.metrics import base, fetched, numbers
from tests.support.raw_client import comes_in, wait_until

CRASHES = [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGKILL]


@pytest.mark.parametrize("how", CRASHES, ids=lambda how: how.name)
def test_clients_at_rest_are_told_and_can_connect_again(tmp_path: Path, how: signal.Signals) -> None:
    with serve(tmp_path / "shop.duckdb", "--create") as server:
        clients = [psycopg.connect(server.dsn, autocommit=True) for _ in range(3)]
        clients[0].execute("create table t as select range as i from range(1000)")
        kill(server, how, resting=3)
        for client in clients:
            with pytest.raises(errors.CrashShutdown) as error:
                client.execute("select 1")
            assert error.value.diag.severity_nonlocalized == "FATAL"
            assert "Connect again" in (error.value.diag.message_hint or "")
        # A client that comes while the next worker starts waits for it.
        with psycopg.connect(server.dsn, autocommit=True) as client:
            assert client.execute("select count(*) from t").fetchone() == (1000,)


def test_what_was_not_committed_is_not_there(tmp_path: Path) -> None:
    with serve(tmp_path / "shop.duckdb", "--create") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t (i integer)")
            client.execute("insert into t values (1)")
        # A connection that has just ended still has its record, which would be counted.
        wait_until(lambda: server.connections() == 0)
        within = psycopg.connect(server.dsn)
        within.execute("insert into t values (2)")
        kill(server, resting=1)
        with pytest.raises(errors.CrashShutdown):
            within.commit()
        with psycopg.connect(server.dsn) as client:
            assert client.execute("select i from t").fetchall() == [(1,)]


def test_a_result_that_was_under_way_is_an_error_and_never_a_short_one() -> None:
    with serve() as server:
        # By this client, which takes chunk after chunk, and by one that takes rows of text.
        with colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/") as connection:
            result = connection.query("select i, repeat('x', 1000) from range(10000000) t(i)")
            assert next(iter(result)).num_rows > 0
            kill(server)
            with pytest.raises(colonnade.Error):
                for _ in result:
                    pass
        client = psycopg.connect(server.dsn)
        with client.cursor() as cursor, pytest.raises(psycopg.OperationalError) as error:
            copy = "copy (select i, repeat('x', 1000) from range(10000000) t(i)) to stdout"
            with cursor.copy(copy) as rows:
                next(iter(rows))
                kill(server)
                for _ in rows:
                    pass
        # In the middle of rows nobody can put in an error: the connection just ends.
        assert error.value.sqlstate is None


def test_over_tls_the_connection_ends(tmp_path: Path) -> None:
    pair = Authority(tmp_path / "ca", "Ours").sign("server", "IP:127.0.0.1")
    with serve("--tls-certificate", pair.certificate, "--tls-key", pair.key) as server:
        with socket.create_connection((server.host, server.port), timeout=TIMEOUT) as raw:
            raw.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
            assert raw.recv(1) == b"S"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(raw, suppress_ragged_eofs=False) as client:
                client.sendall(b"\0\0\0\x10\0\x03\0\0user\0x\0\0")
                answer = b""
                while not answer.endswith(b"Z\0\0\0\x05I"):
                    part = client.recv(4096)
                    assert part, answer
                    answer += part
                kill(server)
                # No byte in the clear is put behind encrypted ones.
                with pytest.raises((ssl.SSLEOFError, ConnectionResetError)):
                    client.recv(4096)
        with psycopg.connect(server.dsn + " sslmode=require") as client:
            assert client.execute("select 1").fetchone() == (1,)


def test_the_operator_is_told_whose_statement_it_was_without_its_values(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serve("--metrics", "127.0.0.1:0", "--log", log) as server:
        url = base(server)
        assert numbers(url)["worker_restarts_total"] == 0
        idle = psycopg.connect(server.dsn.replace("tester", "idler"), autocommit=True)
        idle.execute("select 'idle'")
        busy = psycopg.connect(server.dsn.replace("tester", "mallory"), autocommit=True)
        statement = "select count(*), 'a value' from range(1000000000000) t(i) where hash(i) % 77777 = 12345"
        busy.pgconn.send_query(statement.encode())
        wait_until(lambda: "event=login" in log.read_text() and numbers(url)["statements_total"] == 2)
        # The statement is known when it runs.
        begun = cpu_ticks(server.worker)
        wait_until(lambda: cpu_ticks(server.worker) > begun + 20)
        old = kill(server)
        wait_until(lambda: has_new_worker(server, old))
        wait_until(lambda: fetched_or_nothing(f"{url}/health") == "ok\n")
        text = fetched(f"{url}/metrics")
        idle.close()
        busy.close()
    outline = "select count ( * ) , ? from range ( ? ) t ( i ) where hash ( i ) % ? = ?"
    died = [line.partition(" event=")[2] for line in log.read_text().splitlines() if "worker_died" in line]
    assert died == ["worker_died reason=SIGKILL connections=2", f'worker_died_during user=mallory sql="{outline}"']
    assert "colonnade_worker_restarts_total 1\n" in text
    label = f'{{reason="SIGKILL",user="mallory",statement="{outline}"}}'
    assert f"colonnade_worker_last_death_info{label} 1\n" in text
    assert "a value" not in text + log.read_text() and "12345" not in text + log.read_text()


def fetched_or_nothing(url: str) -> str:
    try:
        return fetched(url)
    except OSError:
        return ""


def test_health_says_when_there_is_no_worker_and_clients_are_told_to_come_later(tmp_path: Path) -> None:
    """The file cannot be opened by the next worker: it is tried again, and in the end works."""
    path = tmp_path / "shop.duckdb"
    with serve(path, "--create", "--metrics", "127.0.0.1:0") as server:
        url = base(server)
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute("create table t as select 7 as i")
            client.execute("checkpoint")
        path.rename(tmp_path / "elsewhere")
        path.write_bytes(b"this is no database" * 1000)
        kill(server)
        with pytest.raises(psycopg.OperationalError, match="starting up"):
            psycopg.connect(server.dsn)
        assert fetched_or_nothing(f"{url}/health") == ""
        (tmp_path / "elsewhere").replace(path)
        wait_until(lambda: comes_in(server))
        with psycopg.connect(server.dsn) as client:
            assert client.execute("select i from t").fetchall() == [(7,)]
        assert fetched(f"{url}/health") == "ok\n"


def test_a_worker_does_not_outlive_its_supervisor(tmp_path: Path) -> None:
    with serve(tmp_path / "shop.duckdb", "--create") as server:
        worker = server.worker
        client = psycopg.connect(server.dsn, autocommit=True)
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not Path(f"/proc/{worker}").exists())
        with pytest.raises(psycopg.OperationalError):
            client.execute("select 1")
    # So the next one finds the file free.
    with serve(tmp_path / "shop.duckdb", "--create") as server, psycopg.connect(server.dsn) as client:
        assert client.execute("select 1").fetchone() == (1,)


def test_signals_of_a_terminal_leave_the_worker_to_its_supervisor() -> None:
    with serve() as server, psycopg.connect(server.dsn, autocommit=True) as client:
        worker = server.worker
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(worker, number)
            assert client.execute("select 1").fetchone() == (1,)
        assert server.worker == worker


CONFINED = """
import errno, os, socket, sys
from pathlib import Path
from typing import Any
from colonnade._core import Worker

allowed, other = map(Path, sys.argv[1:])
assert Worker.confine([allowed]) is None

def refused(what):
    try:
        what()
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM, errno.EXDEV)
    return False

(allowed / "new").write_text("x")
(allowed / "sub").mkdir()
(allowed / "new").rename(allowed / "sub" / "moved")
assert (allowed / "sub" / "moved").read_text() == "x"
for what in (
    lambda: (other / "secret").read_text(),
    lambda: (other / "new").write_text("x"),
    lambda: list(other.iterdir()),
    lambda: (other / "secret").unlink(),
    lambda: (allowed / "sub" / "moved").rename(other / "moved"),
    lambda: os.link(other / "secret", allowed / "linked"),
    lambda: Path("/etc/passwd").read_text(),
    lambda: Path("/proc/self/environ").read_text(),
    lambda: Path("/dev/null").write_text(""),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: socket.create_server(("127.0.0.1", 0)),
    lambda: os.kill(os.getppid(), 0),
):
    assert refused(what), what.__code__.co_firstlineno
print("confined")
"""


def test_the_sandbox_leaves_the_databases_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret").write_text("secret")
    command = [sys.executable, "-c", CONFINED, str(tmp_path / "allowed"), str(tmp_path / "other")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if "lacks some of the rules" in done.stderr or "has no Landlock" in done.stderr:
        pytest.skip("this kernel has no Landlock, or an older one")
    assert (done.stdout, done.stderr) == ("confined\n", "")
    assert (tmp_path / "other" / "secret").read_text() == "secret"


@pytest.mark.parametrize("database", ["memory", "new", "file", "read-only", "udf"])
@pytest.mark.parametrize(("arguments", "is_confined"), [((), "1"), (("--allow-files",), "0")])
def test_the_worker_is_in_the_sandbox_unless_clients_may_have_files(
    arguments: tuple[str, ...], is_confined: str, database: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.duckdb"
    if database in ("file", "read-only", "udf"):
        duckdb.connect(str(file)).close()
    more: dict[str, list[Any]] = {
        "memory": [],
        "new": [file, "--create"],
        "file": [file],
        "read-only": [file, "--read-only"],
        "udf": [file, *function_options()],
    }
    with serve(*more[database], *arguments) as server:
        status = Path(f"/proc/{server.worker}/status").read_text()
        # Landlock wants it, and nothing else here sets it.
        assert f"NoNewPrivs:\t{is_confined}" in status
        assert "NoNewPrivs:\t0" in Path(f"/proc/{server.process.pid}/status").read_text()


def test_threads_that_the_sandbox_would_leave_out_are_refused(tmp_path: Path) -> None:
    """Here those of a module that Python loads at its start."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, threading, time\n"
        "if '_serve.worker' in ' '.join(sys.orig_argv):\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    command = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert "2 threads run before the sandbox" in done.stderr


def test_the_supervisor_sees_no_byte_of_a_conversation(tmp_path: Path) -> None:
    """What passes through a process is counted by the kernel."""

    def passed(process: int) -> int:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar", "wchar")))

    with serve() as server, psycopg.connect(server.dsn, autocommit=True) as client:
        before = passed(server.process.pid)
        [(text,)] = client.execute("select repeat('x', 50000000)").fetchall()
        assert len(text) == 50_000_000
        assert passed(server.process.pid) - before < 100_000
        assert passed(server.worker) > 50_000_000


def test_a_server_that_is_stopped_while_a_worker_starts_ends_soon(tmp_path: Path) -> None:
    """The new worker is told what was requested before it was ready."""
    with serve(tmp_path / "shop.duckdb", "--create", "--grace", "3600") as server:
        old = kill(server)
        wait_until(lambda: has_new_worker(server, old))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(TIMEOUT) == 0
