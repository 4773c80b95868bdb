"""Which tests of a tool fail on the server, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping


def check(output: str, pattern: str, expected: Mapping[str, str]) -> None:
    """Compares the tests that a program says have failed, by the pattern of its line about one, with those that are
    known to fail. The program must say the words of each of these."""
    failed = set(re.findall(pattern, output, re.MULTILINE))
    assert failed == set(expected), output
    for words in expected.values():
        assert words in output, output
