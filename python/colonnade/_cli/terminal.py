"""Output to the terminal. Text of databases is escaped, so that it cannot control the terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from colonnade._core import printable


def shown(text: str, *, lines: bool = False) -> str:
    """The text with escapes for control characters and for what turns the direction of text."""
    # What is no Unicode, such as a file's name, has surrogates.
    return printable(text.encode("utf-8", "backslashreplace").decode("utf-8"), lines=lines)


def say(text: str, file: TextIO | None = None) -> None:
    """Writes lines to standard output, or to `file`."""
    print(shown(text, lines=True), file=sys.stdout if file is None else file)
