"""The process of a command: its standard streams, and the signals that end it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from colonnade._system.process import ENDING_SIGNALS


def reserve_standard_streams() -> None:
    """Opens the standard streams that are closed, with the null device.

    Otherwise the next file that is opened, such as a database or an output, has the number of a standard stream, and
    gets what a library writes there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one. A worker process needs it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


@contextmanager
def ending_by_exception() -> Iterator[None]:
    """Makes the signals that end a process, such as SIGTERM, an exception, as Ctrl-C is: incomplete files are removed,
    and the database is told. `nohup` has SIGHUP ignored, which stays."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler == signal.SIG_DFL:
                signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    # A second one ends the process at once.
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
