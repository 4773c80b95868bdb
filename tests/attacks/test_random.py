"""Statements at random, always the same ones, as a reader. `make fuzz` sends others, for as long as one likes."""

from __future__ import annotations

from tests.attacks.fuzz_statements import LIMITS, fuzz

STATEMENTS = 600
#: The limit of time is not what is tried here.
OPTIONS = (*LIMITS, "--statement-timeout", "60")


def test_a_reader_changes_nothing_and_the_engine_stays() -> None:
    report = fuzz(7, 2, statements=STATEMENTS, options=OPTIONS)
    assert report.progress.statements >= STATEMENTS
    assert report.faults == []
    assert report.deaths == 0, report.progress.suspects
    # The statements are not all refused: half of them at least reach the engine.
    refused = sum(report.progress.codes[code] for code in ("42501", "42601", "54001"))
    assert refused < report.progress.statements / 2
