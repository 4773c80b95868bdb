"""What a function process may use at most: memory, and what it shares with all processes of its user or machine."""

from __future__ import annotations

import resource
from pathlib import Path

#: Descriptors. Buffers of sockets and pipes are the kernel's memory, which RLIMIT_DATA does not count.
MAX_DESCRIPTORS = 512
#: Signals that wait, which timers of POSIX reserve. The kernel counts those of all processes of the user.
MAX_PENDING_SIGNALS = 1024
#: Addresses for each byte of memory. Mapped memory that is only read needs a byte of page tables for 512, which
#: RLIMIT_DATA does not count either.
ADDRESSES = 512

#: Bytes of a thread's stack: what Linux gives programs. RLIMIT_DATA counts all of it, also that of a thread that was
#: joined and that the kernel has not ended yet. The server has a larger RLIMIT_STACK, for the threads of its engine.
THREAD_STACK = 8 << 20

#: Files with numbers of threads that there can be.
KERNEL_LIMITS = ("/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max")
CGROUPS = Path("/sys/fs/cgroup")


def limit(memory: int, most_threads: int) -> None:
    """Lower the limits of this process, for good."""
    for name in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(name, (0, 0))
    addresses, data = sizes()
    lower(resource.RLIMIT_DATA, memory + data)
    lower(resource.RLIMIT_AS, ADDRESSES * memory + addresses)
    # RLIMIT_DATA does not count the stack.
    lower(resource.RLIMIT_STACK, memory)
    # Half of what the template has: the kernel counts the descriptors that are on their way through sockets for all
    # processes of the user, and the template sends some.
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    lower(resource.RLIMIT_NOFILE, MAX_DESCRIPTORS if descriptors < 0 else min(MAX_DESCRIPTORS, descriptors // 2))
    lower(resource.RLIMIT_SIGPENDING, MAX_PENDING_SIGNALS)
    lower(resource.RLIMIT_NPROC, most_threads)


def lower(name: int, most: int) -> None:
    """Set a limit, unless it is lower."""
    present, _ = resource.getrlimit(name)
    found = most if present == resource.RLIM_INFINITY else min(present, most)
    resource.setrlimit(name, (found, found))


def sizes() -> tuple[int, int]:
    """The bytes that RLIMIT_AS and RLIMIT_DATA count, as far as the template has them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        numbers = file.read().split()
    return int(numbers[0]) * resource.getpagesize(), int(numbers[5]) * resource.getpagesize()


def most_threads() -> int:
    """Half of the threads that the user of this process can have, so that functions leave the others to the server."""
    paths = (*map(Path, KERNEL_LIMITS), *cgroup_files("pids", "pids.max"))
    found = [number for path in paths if (number := read(path)) is not None]
    present, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if present != resource.RLIM_INFINITY:
        found.append(present)
    return min(found) // 2


def cgroup_files(controller: str, *names: str) -> list[Path]:
    """The files with these names of the cgroup of this process, and of those around it, that has a controller."""
    found = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # Version 2 has one group for all controllers.
        if controllers == "" or controller in controllers.split(","):
            # A container may see its own cgroup as the root.
            at = CGROUPS / controllers
            folders = [at, *(at := at / part for part in path.strip("/").split("/"))]
            found += [folder / name for folder in folders for name in names]
    return found


def read(path: Path) -> int | None:
    """The number in a file; None if it has none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
