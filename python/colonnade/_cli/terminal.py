"""Output to the terminal. Control characters are escaped, so that text of a database cannot control the terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from colonnade._core import printable


def shown(text: str, *, lines: bool = False) -> str:
    """The text with escapes for control characters and for characters that change the direction of text."""
    # Surrogates represent bytes that are not Unicode, such as those of a file's name.
    return printable(text.encode("utf-8", "backslashreplace").decode("utf-8"), lines=lines)


def say(text: str, file: TextIO | None = None) -> None:
    """Writes lines to standard output, or to `file`."""
    print(shown(text, lines=True), file=sys.stdout if file is None else file)
