"""What `colonnade serve --metrics` tells."""

from __future__ import annotations

import re
import urllib.request

from tests.testbed.serving import TIMEOUT, Server


def base(server: Server) -> str:
    """Where its metrics are, from what it said after its addresses."""
    assert server.process.stdout is not None
    line = server.process.stdout.readline()
    assert line.startswith("metrics on http://127.0.0.1:")
    return line.removeprefix("metrics on ").removesuffix("/metrics\n")


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        return answer.read().decode()


def numbers(url: str) -> dict[str, int]:
    text = fetched(f"{url}/metrics")
    for name in re.findall(r"^(\w+) \d+$", text, re.MULTILINE):
        assert f"# TYPE {name} " in text and f"# HELP {name} " in text
    found = re.findall(r"^colonnade_(\w+) (\d+)$", text, re.MULTILINE)
    return {name: int(value) for name, value in found}
