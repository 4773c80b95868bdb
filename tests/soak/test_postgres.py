"""A short soak; `make soak` does a long one."""

from __future__ import annotations

from tests.soak.postgres import WORK, faults_of, soaked


def test_everything_at_once_for_a_moment() -> None:
    with soaked(5) as soak:
        assert faults_of(soak) == []
        assert soak.done.keys() == {work.__name__ for work in WORK}
