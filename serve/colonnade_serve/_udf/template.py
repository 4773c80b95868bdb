"""The template process. It imports libraries, and forks a function process at each request. It runs no code of
a user.

Messages are those of `serve/udf/src/template.rs`."""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import os
import signal
import socket
import struct
import sys
import sysconfig
from pathlib import Path

from . import limits, system

FORK_HEAD = struct.Struct("<QQQ")
MAX_MESSAGE = 64 << 10
#: The limits on CPU time of cgroups, of version 2 and of version 1.
CPU_LIMITS = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
#: The prefixes of the system's interpreters. Their directories belong to all programs.
SYSTEM_PREFIXES = {"/", "/usr", "/usr/local"}
#: How often the threads of a function process are listed until there are no new ones.
FREE_ROUNDS = 5


def main(modules: list[str]) -> None:
    """Serve requests until the server closes the socket."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    server = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    try:
        system.set_thread_stacks(limits.THREAD_STACK)
        for name in ("numpy", *modules):
            importlib.import_module(name)
        # Not above: these modules import numpy, whose absence is reported here.
        importlib.import_module(".process", __package__)
        processes = Processes()
        files = readable()
    except BaseException as error:
        server.send(b"e" + f"{type(error).__name__}: {error}".encode()[:1000])
        raise SystemExit(1) from None
    # What exists now is never collected: a collection in a function process would copy its pages.
    gc.collect()
    gc.freeze()
    server.send(b"h" + b"\0".join(os.fsencode(path) for path in files))
    while True:
        message, descriptors = receive(server)
        if not message:
            processes.end_all()
            return
        kind, text = message[:1], message[1:]
        if kind == b"F":
            processes.fork(server, text, descriptors)
        elif kind == b"K":
            processes.end(int.from_bytes(text, "little"))
        elif kind == b"A":
            processes.free_threads(int.from_bytes(text, "little"))
        elif kind == b"S":
            server.send(b"s" + struct.pack("<i", processes.status(int.from_bytes(text, "little"))))


def readable() -> list[str]:
    """What the interpreter reads: itself, its libraries and its packages. Never all of an environment, because people
    also keep their data there. Libraries also read time zones, and how many CPUs they have."""
    variables = sysconfig.get_config_vars("LIBDIR", "TZPATH")
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix} - SYSTEM_PREFIXES
    found = [sys.executable, *sys.path, *(path for text in variables if text for path in str(text).split(":"))]
    # Wheels install shared libraries and data there.
    shared = [Path(prefix, name) for prefix in prefixes for name in ("lib", "share")]
    paths = [Path(__file__).parent, *shared, *map(Path, filter(None, found))]
    return sorted({str(path.resolve()) for path in (*paths, *limits.cgroup_files("cpu", *CPU_LIMITS)) if exists(path)})


def exists(path: Path) -> bool:
    """Whether there is such a file that this user may reach."""
    try:
        return path.exists()
    except OSError:
        return False


def receive(server: socket.socket) -> tuple[bytes, list[int]]:
    """A message and the descriptors in it; empty when the server has ended."""
    try:
        message, ancillary, _, _ = server.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(2 * array.array("i").itemsize))
    except ConnectionError:
        return b"", []
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return message, list(descriptors)


class Processes:
    """The function processes of this template, by the server's numbers."""

    def __init__(self) -> None:
        self.processes: dict[int, int] = {}
        self.processors = os.sched_getaffinity(0)
        self.threads = limits.most_threads()
        #: How those ended that were waited for.
        self.statuses: dict[int, int] = {}

    def fork(self, server: socket.socket, request: bytes, descriptors: list[int]) -> None:
        """Fork a function process, and send its process id and a descriptor of it."""
        from . import process as function_process

        number, ring_limit, memory = FORK_HEAD.unpack_from(request)
        try:
            ring, *rules = descriptors
            template = os.getpid()
            process = os.fork()
            if process == 0:
                try:
                    own = request[FORK_HEAD.size :]
                    limits = ring_limit, memory, self.threads
                    start = function_process.Start(template, ring, *limits, *rules[:1], filter=own)
                    function_process.main(start)
                finally:
                    # A function process never returns into the template's code.
                    os._exit(1)
            # A group of its own, with what it may start.
            os.setpgid(process, process)
            self.processes[number] = process
            descriptor = os.pidfd_open(process)
        except (OSError, ValueError) as error:
            server.send(b"e" + str(error).encode())
            return
        finally:
            for given in descriptors:
                os.close(given)
        socket.send_fds(server, [b"f" + struct.pack("<i", process)], [descriptor])
        os.close(descriptor)

    def status(self, number: int) -> int:
        """The exit status of a process, or its signal as a negative number. Kills it, unless it has ended, and the
        processes that it has started."""
        if number not in self.statuses and number in self.processes:
            # Before it is waited for: afterwards another process may have its number.
            os.killpg(self.processes[number], signal.SIGKILL)
            _, status = os.waitpid(self.processes[number], 0)
            self.statuses[number] = os.waitstatus_to_exitcode(status)
        return self.statuses.get(number, 0)

    def end(self, number: int) -> None:
        """Kill a function process, unless it has ended, and forget it."""
        self.status(number)
        self.processes.pop(number, None)
        self.statuses.pop(number, None)

    def free_threads(self, number: int) -> None:
        """Let all threads of a function process but the first one run on all CPUs."""
        process = self.processes.get(number)
        if process is None or number in self.statuses:
            return
        known = {process}
        # Threads may start others meanwhile, which inherit what their starter has.
        for _ in range(FREE_ROUNDS):
            try:
                found = {int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()} - known
            except OSError:
                return
            if not found:
                return
            known |= found
            for thread in found:
                # It may have ended.
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(thread, self.processors)

    def end_all(self) -> None:
        for number in list(self.processes):
            self.end(number)
