"""A short load; `make soak` has a long one."""

from __future__ import annotations

from tests.soak.server import watched


def test_many_clients_for_a_moment() -> None:
    with watched(most=60) as server:
        server.load(connections=24, seconds=8, think=0.1)
        server.come_and_go(200)
        server.idle(50)
        assert server.faults == []
