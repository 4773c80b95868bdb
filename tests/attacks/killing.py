"""Kills the process that holds the engine."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.support.raw_client import wait_until
from tests.testbed.serving import Server

#: Bytes of a connection's record on the board that both processes have; the first says whether it is at rest.
RECORD = 1024


def at_rest(server: Server) -> int:
    """How many sessions wait for their client, as the supervisor will see it."""
    for descriptor in Path(f"/proc/{server.worker}/fd").iterdir():
        # One that has been closed since it was listed is not it.
        with contextlib.suppress(FileNotFoundError):
            if "colonnade-board" in str(descriptor.readlink()):
                return descriptor.read_bytes()[::RECORD].count(1)
    return 0


def kill(server: Server, how: signal.Signals = signal.SIGKILL, *, resting: int = 0) -> int:
    """End the worker, once so many sessions are at rest; the process that was there."""
    # A client may have its answer a moment before the session notes that.
    wait_until(lambda: at_rest(server) >= resting)
    worker = server.worker
    os.kill(worker, how)
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    return worker


def has_new_worker(server: Server, old: int) -> bool:
    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    return any(child != str(old) for task in tasks for child in (task / "children").read_text().split())
