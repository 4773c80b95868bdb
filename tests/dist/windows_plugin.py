"""A plugin of pytest for tests in a Python for Windows: their servers are on Linux, and some tests are skipped.

pytest -p tests.dist.windows_plugin tests/sqlite
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.testbed import remote

#: A line is a test or a file, in which `*` stands for any text, a colon and a reason.
SKIPS = Path(__file__).with_name("windows_skips.txt")

#: What of other modules of tests runs programs of Linux.
REPLACED = (
    remote.Replaced("tests.support.certificates", functions=("Authority",)),
    remote.Replaced("tests.support.users", functions=("add_user",)),
    remote.Replaced("tests.support.poolers", contexts=("pooled",)),
    remote.Replaced("tests.postgres.secured", contexts=("server",), methods=("Secured.show",)),
)

remote.guest(*REPLACED)


@cache
def skips() -> list[tuple[re.Pattern[str], str]]:
    """The patterns of tests with their reasons."""
    lines = [line for line in SKIPS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    found = (line.rpartition(": ") for line in lines)
    return [(re.compile(re.escape(test).replace(r"\*", ".*")), reason) for test, _, reason in found]


def reason_of(test: str) -> str | None:
    """Why a test or a file is skipped."""
    return next((reason for pattern, reason in skips() if pattern.fullmatch(test)), None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files are skipped as a whole, because some cannot be imported."""
    if collection_path.suffix != ".py":
        return None
    return True if reason_of(collection_path.relative_to(config.rootpath).as_posix()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := reason_of(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason))
