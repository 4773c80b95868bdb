"""A `colonnade serve` of one's own, for the time of a `with` block."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import psycopg

TIMEOUT = 60


@dataclass(frozen=True)
class Server:
    """A running server and where it is: a TCP address, a unix socket, or both."""

    process: subprocess.Popen[str]
    host: str | None
    port: int | None
    unix: Path | None

    @property
    def dsn(self) -> str:
        """For libpq, over TCP."""
        return f"host={self.host} port={self.port} user=tester"

    @property
    def unix_dsn(self) -> str:
        """For libpq, over the socket `.s.PGSQL.<port>` in a directory."""
        assert self.unix is not None
        return f"host={self.unix.parent} port={self.unix.suffix[1:]} user=tester"

    @property
    def worker(self) -> int:
        """The process that holds the engine."""
        (worker,) = (child for child in self.children if b"_serve.worker" in command_line(child))
        return worker

    @property
    def template(self) -> int:
        """The process that forks function processes."""
        (template,) = (child for child in self.children if b"_udf/__main__.py" in command_line(child))
        return template

    @property
    def children(self) -> list[int]:
        """The processes that the supervisor has started."""
        return children(self.process.pid)

    def address_only(self) -> Server:
        """What another process may be told of it."""
        return replace(self, process=None)

    def memory(self, line: str = "VmRSS") -> int:
        """Bytes of a line of the worker's status: VmRSS now, VmHWM at most so far."""
        status = Path(f"/proc/{self.worker}/status").read_text()
        return next(int(text.split()[1]) * 1024 for text in status.splitlines() if text.startswith(line + ":"))

    def connections(self) -> int:
        """How many clients hold a socket of the supervisor's; it closes its own after a session has freed all else."""
        descriptors = Path(f"/proc/{self.process.pid}/fd")
        sockets = [entry for entry in descriptors.iterdir() if is_socket(entry)]
        # Beside those that listen there is the one to the worker.
        return len(sockets) - (self.port is not None) - (self.unix is not None) - 1


def children(process: int) -> list[int]:
    """The processes that a process has started, with all its threads."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def cpu_ticks(process: int) -> int:
    """The CPU time of a process, in ticks of the system's clock."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def command_line(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def is_socket(descriptor: Path) -> bool:
    try:
        return str(descriptor.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False  # closed since it was listed


@contextmanager
def serve(*arguments: str | os.PathLike[str]) -> Iterator[Server]:
    """Start a server on a free port (unless the arguments name an address) and stop it at the end of the block."""
    arguments = tuple(map(str, arguments))
    if not {"--listen", "--unix"} & set(arguments):
        arguments += ("--listen", "127.0.0.1:0")
    command = [sys.executable, "-m", "colonnade", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield listening(process, expected=sum(argument in ("--listen", "--unix") for argument in arguments))
        finally:
            process.terminate()
            try:
                process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


@cache
def function_options() -> tuple[str, ...]:
    """Options that a server with functions needs here. As root, functions run as `nobody`, unless that user cannot read
    the interpreter."""
    if os.geteuid() != 0:
        return ("--udf",)
    program = [sys.executable, "-I", "-c", "import numpy"]
    try:
        can = subprocess.run(program, user="nobody", cwd="/", stderr=subprocess.DEVNULL, check=False).returncode == 0
    except PermissionError:
        can = False
    return ("--udf", "--udf-user", "nobody" if can else "root")


def own_server() -> Iterator[Server]:
    """A server over an empty database, for `server = pytest.fixture(own_server, scope="module")`."""
    with serve() as server:
        yield server


def connected(server: Server) -> Iterator[psycopg.Connection]:
    """A session of psycopg's, for `connection = pytest.fixture(connected)`."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def listening(process: subprocess.Popen[str], expected: int) -> Server:
    """The server, once it has said where it listens."""
    host, port, unix = None, None, None
    assert process.stdout is not None
    for _ in range(expected):
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            assert process.stderr is not None
            raise RuntimeError(f"colonnade serve did not start: {line}{process.stderr.read()}")
        address = line.removeprefix("listening on ").rstrip("\n")
        if address.startswith("/"):
            unix = Path(address)
        else:
            host, _, digits = address.rpartition(":")
            port = int(digits)
    return Server(process, host, port, unix)
