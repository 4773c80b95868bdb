"""A short load of functions; `make soak-functions` has a long one."""

from __future__ import annotations

from tests.soak.functions import soak


def test_random_statements_for_a_moment() -> None:
    said: list[str] = []
    assert soak(sessions=2, seconds=6, rounds=2, say=said.append) == [], "\n".join(said)
