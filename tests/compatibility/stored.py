"""The files of a release's recordings. Those of the first release are whole; a later one has what differs from them."""

from __future__ import annotations

import hashlib
import json
from difflib import SequenceMatcher
from pathlib import Path

RELEASES = Path(__file__).parent / "releases"
FIRST = RELEASES / "0.1.0"
#: In the folder of a later release: for each file the lines that stand for lines of the first release's file, and the
#: SHA-256 of the whole.
CHANGES = "changes.json"
NAMES = ("postgres.json", "serve.json", "vectors.sha256")


def text(release: Path, name: str) -> str:
    """A file of a release, byte for byte as it was recorded.

    Raises:
        ValueError: The file, or that of the first release, is not what it was.
    """
    lines = (FIRST / name).read_text().splitlines(keepends=True)
    if release == FIRST:
        return "".join(lines)
    changed = json.loads((release / CHANGES).read_text())[name]
    for start, end, instead in reversed(changed["lines"]):
        lines[start:end] = instead
    whole = "".join(lines)
    if _digest(whole) != changed["sha256"]:
        raise ValueError(f"{name} of {release.name} is not what was recorded")
    return whole


def save(release: Path, texts: dict[str, str]) -> None:
    """Writes the files of a later release."""
    changes = {
        name: {"sha256": _digest(whole), "lines": _changes((FIRST / name).read_text(), whole)}
        for name, whole in texts.items()
    }
    release.mkdir(parents=True)
    (release / CHANGES).write_text(json.dumps(changes, indent=1) + "\n")


def _changes(first: str, whole: str) -> list[tuple[int, int, list[str]]]:
    before, after = first.splitlines(keepends=True), whole.splitlines(keepends=True)
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(start, end, after[low:high]) for step, start, end, low, high in steps if step != "equal"]


def _digest(whole: str) -> str:
    return hashlib.sha256(whole.encode()).hexdigest()
