"""A worker process, from its fork to its end. It confines itself before it runs any code of a user."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import sys
from dataclasses import dataclass

import numpy

from . import ring as layout
from . import system
from .calls import Call, define
from .failures import Failures
from .loopback import Connection
from .ring import Ring


@dataclass
class Start:
    """What the template gives a worker."""

    template: int
    ring: int
    ring_limit: int
    memory: int
    #: The descriptor of a Landlock ruleset. Without one there is no sandbox.
    rules: int | None = None
    #: Where this process's id belongs in the filter (4 bytes), and the filter.
    filter: bytes = b""


def main(start: Start) -> None:
    """Answer requests until this process is killed."""
    try:
        ring = Ring(start.ring, start.ring_limit)
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
    functions: dict[int, Call] = {}
    connection = Connection(ring)
    while True:
        head = ring.wait()
        kind, number, rows, groups_at, groups, data_end, ring.capacity, words = head
        ring.at = data_end
        try:
            if kind == layout.DEFINE:
                description = json.loads(bytes(ring.memory[layout.DATA : layout.DATA + rows]))
                functions[number] = define(description, failures, connection)
                ring.answer(layout.DONE)
            else:
                ring.is_called = True
                functions[number].call(ring, rows, groups_at, groups, words)
        except BaseException as error:
            try:
                record = failures.record_of(error)
            except BaseException:
                record = failures.record("38000", f"{type(error).__name__} (its text could not be made)")
            del error
            ring.fail(record)


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
    if start.rules is not None:
        rules = os.dup2(start.rules, 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        # The sandbox's own descriptor in /proc must be readable, so it comes before the limits.
        system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
        system.restrict_files(rules)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for name in ("RLIMIT_CORE", "RLIMIT_FSIZE"):
        resource.setrlimit(getattr(resource, name), (0, 0))
    limit = start.memory + present_memory()
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    reseed()
    if start.rules is not None:
        system.drop_capabilities()
        at = int.from_bytes(start.filter[:4], "little")
        program = bytearray(start.filter[4:])
        program[at : at + 4] = os.getpid().to_bytes(4, sys.byteorder)
        system.filter_calls(bytes(program))


def present_memory() -> int:
    """The bytes that RLIMIT_DATA counts, as far as the template has them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[5]) * resource.getpagesize()


def reseed() -> None:
    """Give numpy's global generator a state of its own; Python's own does that after a fork. And divide by zero without
    a warning, which nobody would read."""
    numpy.seterr(all="ignore")
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


class Printed(io.TextIOBase):
    """What functions print. It becomes a notice of the statement."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes a str, not {type(text).__name__}")
        if not self.ring.printed:
            self.size = 0
        room = layout.MAX_NOTICES - self.size
        if room > 0 and text:
            self.ring.printed.append(text[:room])
            self.size += len(text)
        return len(text)
