"""A client that waits for notifications."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg

from tests.testbed.serving import TIMEOUT


def waited_for(dsn: str, notify: Callable[[str], object]) -> list[tuple[str, int]]:
    """What a session receives that waits for two notifications of a channel, which `notify` sends one by one: the texts
    and the numbers of their senders."""
    received: list[tuple[str, int]] = []
    arrived = threading.Event()

    def wait() -> None:
        for notification in listener.notifies(stop_after=2, timeout=TIMEOUT):
            received.append((notification.payload, notification.pid))
            arrived.set()

    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("listen alarm")
        waiting = threading.Thread(target=wait)
        waiting.start()
        notify("one")
        assert arrived.wait(TIMEOUT)
        notify("two")
        waiting.join(TIMEOUT)
        # The session goes on.
        assert listener.execute("select 3").fetchone() == (3,)
    return received
