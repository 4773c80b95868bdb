"""Output to the terminal. Control characters are escaped, so that text of a database cannot control the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from colonnade._core import printable


def shown(text: str, *, lines: bool = False) -> str:
    """The text with escapes for control characters and for characters that change the direction of text."""
    # Surrogates represent bytes that are not Unicode, such as those of a file's name.
    return printable(text.encode("utf-8", "backslashreplace").decode("utf-8"), lines=lines)


def say(text: str, file: TextIO | None = None) -> None:
    """Writes lines to standard output, or to `file`."""
    print(shown(text, lines=True), file=sys.stdout if file is None else file)


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Writes a table to standard output."""
    lines = [[_cell(value) for value in line] for line in (header, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        say(" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            say("-+-".join("-" * width for width in widths))


def _cell(value: object) -> str:
    """The value as one line of at most 60 characters."""
    text = shown("NULL" if value is None else str(value))
    return text if len(text) <= 60 else f"{text[:59]}…"
