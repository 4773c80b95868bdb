"""The kernel's information about a process: CPU time, memory, bytes received and sent."""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

TICKS = os.sysconf("SC_CLK_TCK")

# The offsets of tcpi_bytes_received and tcpi_bytes_acked in struct tcp_info (linux/tcp.h).
BYTES_RECEIVED = struct.Struct("=128xQ")
BYTES_ACKNOWLEDGED = struct.Struct("=120xQ")


def children(pid: int) -> list[int]:
    """The running child processes. For `colonnade serve`, this is the process with the engine."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended since it was listed
            found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of the process, its children and theirs, including those that have ended: a
    PostgreSQL server has a process for each connection, and a session has its own processes for functions."""
    return own_cpu_seconds(pid) + ended_cpu_seconds(pid) + sum(cpu_seconds(child) for child in children(pid))


def ended_cpu_seconds(pid: int) -> float:
    """User and system time of the children that have ended and for which the process has waited, and of theirs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS


def own_cpu_seconds(pid: int) -> float:
    # The second field, the program's name, may contain any character; the other fields follow its closing
    # parenthesis.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def thread_cpu_seconds(pid: int) -> float:
    """User and system time of the threads that the process has now, to the nanosecond. Threads that have ended do not
    count."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended since it was listed
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def memory(pid: int, field: str) -> int:
    """Bytes of a field of /proc/PID/status, including its children: VmRSS (current) or VmHWM (peak)."""
    return sum(own_memory(process, field) for process in (pid, *children(pid)))


def own_memory(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def proportional_memory(pid: int) -> int:
    """Bytes of memory of the process, its children and theirs. A page that several processes share counts once in all
    (Pss of /proc/PID/smaps_rollup: each process has its part of it)."""
    total = 0
    with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended since it was listed
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        total += sum(map(proportional_memory, children(pid)))
    return total


class PeakMemory:
    """The most `proportional_memory` that a process had within a `with` block, as looked at every 20 ms."""

    INTERVAL = 0.02

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._is_over.is_set():
            self.bytes = max(self.bytes, proportional_memory(self.pid))
            self._is_over.wait(self.INTERVAL)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()


def forget_peak(pid: int) -> None:
    """Resets VmHWM to the current use of the process."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def received_bytes() -> int:
    """Payload bytes that the TCP sockets of this process have received, for every library."""
    return tcp_bytes(BYTES_RECEIVED)


def sent_bytes() -> int:
    """Payload bytes that the TCP sockets of this process have sent and the other side has received."""
    return tcp_bytes(BYTES_ACKNOWLEDGED)


def tcp_bytes(field: struct.Struct) -> int:
    """The sum of a field of struct tcp_info over this process's sockets that are open."""
    # By the socket's name, because a library may have several descriptors of one socket.
    found: dict[str, int] = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            name = str(entry.readlink())
            if not name.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as copy:
                if copy.type == socket.SOCK_STREAM and copy.family in (socket.AF_INET, socket.AF_INET6):
                    info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, field.size)
                    [found[name]] = field.unpack(info)
        except OSError:
            continue  # closed in the meantime, or listening
    return sum(found.values())
