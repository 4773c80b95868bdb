"""A function process, from its fork to its end. It confines itself before it runs any code of a user."""

from __future__ import annotations

import os
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy

from . import limits, system
from .failures import Failures
from .loopback import Connection
from .requests import Printed, Requests
from .ring import Ring


@dataclass
class Start:
    """What the template gives a function process."""

    template: int
    ring: int
    ring_limit: int
    memory: int
    #: The threads that the process's user may have, with those of its other processes.
    threads: int
    #: The descriptor of a Landlock ruleset. Without one there is no sandbox.
    rules: int | None = None
    #: Where this process's id belongs in the filter (4 bytes), and the filter.
    filter: bytes = b""


def main(start: Start) -> None:
    """Answer requests until this process is killed."""
    try:
        ring = Ring(system.map_shared(start.ring, start.ring_limit), start.ring_limit)
    except BaseException:
        os._exit(1)
    failures = Failures()
    try:
        confine(start)
    except BaseException as error:
        # The server hears of it at its first request.
        ring.wait()
        ring.fail(failures.record("58000", f"a worker process could not confine itself: {error}"))
        os._exit(1)
    sys.stdout = Printed(ring)
    requests = Requests(ring, failures, {"_conn": Connection(ring)})
    while True:
        requests.handle(ring.wait_kind())


def confine(start: Start) -> None:
    """Give up everything but the ring, the processor, some memory and reading libraries."""
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != start.template:
        raise RuntimeError("the template process has ended")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.environ.clear()
    system.prctl(system.PR_SET_DUMPABLE, 0)
    if start.rules is None:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    else:
        if len(list(Path("/proc/self/task").iterdir())) != 1:
            raise RuntimeError("a library has started threads, which the sandbox would not hold")
        rules = os.dup2(start.rules, 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
        system.restrict_files(rules)
        os.close(rules)
    limits.limit(start.memory, start.threads)
    reseed()
    if start.rules is not None:
        system.drop_capabilities()
        at = int.from_bytes(start.filter[:4], "little")
        program = bytearray(start.filter[4:])
        program[at : at + 4] = os.getpid().to_bytes(4, sys.byteorder)
        lowest = system.stack_end() - resource.getrlimit(resource.RLIMIT_STACK)[0]
        system.filter_calls(system.stack_rule(lowest) + bytes(program))


def reseed() -> None:
    """Give numpy's global generator a state of its own; Python's own does that after a fork. And divide by zero without
    a warning, which nobody would read."""
    numpy.seterr(all="ignore")
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()
