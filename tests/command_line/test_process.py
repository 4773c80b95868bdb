"""Signals that end a command, and standard streams that are closed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.command_line.commands import run
from tests.support.raw_client import wait_until
from tests.testbed.serving import TIMEOUT, Server

ENDLESS = "select i % 3 as k, i from range(1000000000000) t(i)"


def after(code: str) -> list[str]:
    """The command in a process that has run some code. A signal that whoever runs the tests ignores is ignored in it
    too."""
    then = f"import os, signal, sys; {code}; os.execv(sys.executable, sys.argv[1:])"
    return [sys.executable, "-c", then, sys.executable, "-m", "colonnade"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("options", [["-o", "out.parquet"], ["-o", "out", "--partition-by", "k"]])
def test_a_signal_that_ends_a_read_leaves_no_file(
    server: Server, uri: str, tmp_path: Path, number: signal.Signals, options: list[str]
) -> None:
    command = [*after(f"signal.signal({int(number)}, signal.SIG_DFL)"), "read", uri, ENDLESS, *options]
    before = server.connections()
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        # Python has set its handlers long before there is a file.
        wait_until(lambda: any(tmp_path.iterdir()))
        process.send_signal(number)
        assert process.wait(TIMEOUT) == 128 + number
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: server.connections() <= before)
    with psycopg.connect(server.dsn) as client:
        assert client.execute("select 1").fetchone() == (1,)


def test_a_signal_that_is_ignored_stays_so(uri: str, tmp_path: Path) -> None:
    """As `nohup` has it."""
    read = [*after("signal.signal(signal.SIGHUP, signal.SIG_IGN)"), "read", uri, ENDLESS, "-o", "out.parquet"]
    with subprocess.Popen(read, cwd=tmp_path) as process:
        wait_until(lambda: any(tmp_path.iterdir()))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) == 128 + signal.SIGTERM


def test_an_output_is_never_the_standard_error_that_is_closed(uri: str, tmp_path: Path) -> None:
    """The file would have its number, and get what a library writes there."""
    read = [*after("os.close(2)"), "read", uri, ENDLESS, "-o", "out.csv"]
    with subprocess.Popen(read, cwd=tmp_path) as process:
        wait_until(lambda: any(tmp_path.iterdir()))
        assert Path(f"/proc/{process.pid}/fd/2").readlink() == Path("/dev/null")
        process.terminate()
        process.wait(TIMEOUT)
    assert run("read", uri, "select 1", "-o", tmp_path / "out.csv").returncode == 0
