"""Output to the terminal. Control characters are escaped, so that text of a database cannot control the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from colonnade._core import printable
from colonnade._secrets import redacted


def shown(text: str, *, lines: bool = False) -> str:
    """The text with escapes for control characters and for characters that change the direction of text."""
    # Surrogates represent bytes that are not Unicode, such as those of a file's name.
    return printable(text.encode("utf-8", "backslashreplace").decode("utf-8"), lines=lines)


def say(text: str, file: TextIO | None = None) -> None:
    """Writes lines to standard output, or to `file`."""
    print(shown(text, lines=True), file=sys.stdout if file is None else file)


#: The secrets of the arguments.
_hidden: list[str] = []


def hide(secrets: list[str]) -> None:
    """Keep secrets out of standard error, whoever writes there, and out of what `tell` writes."""
    # A message may show the directory of what was taken for a path.
    parts = {part for secret in secrets for part in re.split(r"[/\\]+", secret) if len(part) > 3}
    _hidden[:] = [*secrets, *sorted(parts - set(secrets), key=len, reverse=True)]
    if secrets and sys.stderr is not None:
        sys.stderr = Redacting(sys.stderr, _hidden)


def tell(text: str) -> None:
    """Writes to standard output what a command has done. Results are written by `say` and `table`, as they are."""
    say(redacted(text, _hidden))


class Redacting:
    """A text stream without secrets."""

    def __init__(self, stream: TextIO, hidden: list[str]) -> None:
        self._stream = stream
        self._hidden = hidden

    def write(self, text: str) -> int:
        self._stream.write(redacted(text, self._hidden))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
