"""The unit tests of the client's crates as programs for Windows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.testbed import wine

ROOT = Path(__file__).parents[2]
TARGET = "x86_64-pc-windows-gnu"
CRATES = tuple(f"colonnade-{name}" for name in ("wire", "tcp", "login", "sql", "client", "adbc"))


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    """The program with the tests of each crate."""
    command = ["cargo", "test", "--locked", "--no-run", "--lib", "--target", TARGET, "--message-format", "json"]
    chosen = [word for crate in CRATES for word in ("-p", crate)]
    built = subprocess.run([*command, *chosen], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    return {
        message["target"]["name"].replace("_", "-"): message["executable"]
        for message in messages
        if message.get("executable") and message["profile"]["test"]
    }


@pytest.mark.parametrize("crate", CRATES)
def test_the_tests_of_a_crate(programs: dict[str, str], crate: str) -> None:
    wine.interpreter()
    name = crate if crate in programs else "adbc-driver-colonnade"
    done = subprocess.run(
        ["wine", programs[name]],
        cwd=ROOT,
        env=os.environ | wine.prefix(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "test result: ok" in done.stdout
