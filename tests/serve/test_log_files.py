"""The log of `colonnade serve` where its file is replaced, its disk is full, or nobody reads it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.support import disks
from tests.support.raw_client import wait_until
from tests.testbed.serving import TIMEOUT, Server, children, command_line, listening, serve

#: A pipe holds 64 KiB.
MORE_THAN_A_PIPE = 2000


def logins(log: Path) -> int:
    return log.read_text().count("event=login")


def log_in(server: Server) -> None:
    with psycopg.connect(server.dsn) as client:
        assert client.execute("select 1").fetchone() == (1,)


def test_a_log_is_opened_again_on_sighup(tmp_path: Path) -> None:
    """By both processes: logrotate renames the file, and sends the signal."""
    log, old = tmp_path / "log", tmp_path / "log.1"
    with serve("--log", log) as server:
        log_in(server)
        log.rename(old)
        server.process.send_signal(signal.SIGHUP)
        wait_until(log.exists)
        # The worker may still have the old file for a moment.
        wait_until(lambda: log_in(server) or logins(log) > 0)
        before = old.read_text()
        assert logins(old) > 0
        os.kill(server.worker, signal.SIGKILL)
        wait_until(lambda: log.read_text().count("event=worker ") == 1)
        log_in(server)
        wait_until(lambda: logins(log) > 1)
        assert "event=worker_died" in log.read_text()
        assert old.read_text() == before


def test_a_log_that_cannot_be_opened_again_stays(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    log.parent.mkdir()
    with serve("--log", log) as server:
        log.parent.rename(tmp_path / "elsewhere")
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stderr is not None
        assert f"cannot write the log to {log}" in server.process.stderr.readline()
        log_in(server)
        wait_until(lambda: logins(tmp_path / "elsewhere" / "log") == 1)


def test_a_reader_of_the_log_that_stalls_stops_nobody() -> None:
    """Standard error is a pipe here, which nobody reads. At the end the lines that were lost are counted."""
    with serve("--log", "-", "--log-statements") as server:
        assert server.process.stderr is not None
        with psycopg.connect(server.dsn, autocommit=True) as client:
            for number in range(MORE_THAN_A_PIPE):
                client.execute(f"select {number}, '{'x' * 1000}'")
        log_in(server)
        text = ""
        while not (lost := re.search(r"event=log_lost lines=(\d+)", text)):
            text += server.process.stderr.readline()
        assert text.count("event=statement") + int(lost[1]) >= MORE_THAN_A_PIPE
        with psycopg.connect(server.dsn, autocommit=True) as client:
            for number in range(MORE_THAN_A_PIPE):
                client.execute(f"select {number}, '{'x' * 1000}'")
        server.process.terminate()
        assert server.process.wait(TIMEOUT) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    with disks.small_disk(tmp_path / "disk", "64k") as path:
        yield path


def test_a_full_disk_loses_lines_and_tears_none(small_disk: Path) -> None:
    log = small_disk / "log"
    with serve("--log", log, "--log-statements") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            for number in range(200):
                client.execute(f"select {number}, '{'x' * 1000}'")
            disks.resize(small_disk, "1m")
            client.execute("select 'there is room'")
        wait_until(lambda: "event=end" in log.read_text())
    lines = log.read_text().splitlines()
    (lost,) = [int(found[1]) for line in lines if (found := re.search(r"event=log_lost lines=(\d+)", line))]
    # A line whose end did not fit stays as it is, and is counted.
    whole = [line for line in lines if re.fullmatch(r"time=\S+ event=statement user=tester sql=\".*\"", line)]
    assert len(whole) + lost == 201
    assert all(line.startswith("time=") and line.count("event=") == 1 for line in lines)
    assert "there is room" in whole[-1]


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_closed_standard_streams_are_no_files_of_the_server(tmp_path: Path, closed: tuple[int, ...]) -> None:
    """What a library writes to standard error would be written into the file that has its number."""
    path, unix = tmp_path / "shop.duckdb", tmp_path / "socket"
    script = "import os, sys; [os.close(int(number)) for number in sys.argv[1].split()]; " + (
        "os.execv(sys.executable, [sys.executable, '-m', 'colonnade', *sys.argv[2:]])"
    )
    arguments = ["serve", "--create", str(path), "--unix", str(unix), "--log", "-"]
    command = [sys.executable, "-c", script, " ".join(map(str, closed)), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            if 1 not in closed:
                assert listening(process, expected=1).unix == unix
            wait_until(unix.exists)
            wait_until(path.exists)
            processes = [process.pid, *(child for child in children(process.pid) if b"worker" in command_line(child))]
            assert len(processes) == 2
            for one in processes:
                assert [str(Path(f"/proc/{one}/fd/{number}").readlink()) for number in closed if number] == [
                    "/dev/null" for number in closed if number
                ]
        finally:
            process.terminate()
            process.wait(TIMEOUT)
    with duckdb.connect(str(path)) as database:
        assert database.execute("select 1").fetchone() == (1,)
