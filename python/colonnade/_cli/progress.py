"""The line on a terminal that shows how far a read or a write is, and the line after it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .terminal import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from colonnade._frames.result import Result, Stats
    from colonnade._options.query import Progress

    from .destination import Destination


class ProgressLine:
    """Writes the progress over itself. With `verbose`, it shows the configuration of the last chunk too."""

    def __init__(self, *, verbose: bool, bytes_are: str = "on the wire") -> None:
        self._verbose = verbose
        self._bytes_are = bytes_are
        self._configuration = ""

    @classmethod
    def of(cls, args: argparse.Namespace, output: Destination | None) -> ProgressLine | None:
        """The line, if there is a terminal and a whole result is read to another place."""
        if output is None or not sys.stderr.isatty() or (output.path is None and sys.stdout.isatty()):
            return None
        return cls(verbose=bool(args.verbose))

    @classmethod
    def of_write(cls) -> ProgressLine | None:
        """The line of a write, if there is a terminal."""
        return cls(verbose=False, bytes_are="of data") if sys.stderr.isatty() else None

    def __call__(self, progress: Progress) -> None:
        text = summary(progress, self._bytes_are) + _expected(progress) + self._configuration
        text = "" if progress.is_last else text
        print(f"\r\x1b[K{shown(text)}", end="", file=sys.stderr, flush=True)

    def watched(self, result: Result) -> Iterator[Any]:
        """The batches. Between them the configuration is known."""
        for batch in result:
            if self._verbose and (configuration := result.stats.configuration):
                self._configuration = f", {configuration}"
            yield batch


def summary(counts: Progress | Stats, bytes_are: str = "on the wire") -> str:
    """Rows, bytes, seconds and rates."""
    seconds = max(counts.seconds, 1e-9)
    text = f"{counts.rows:,} rows in {counts.seconds:.1f} s, {scaled(counts.rows / seconds, ' rows')}/s"
    if counts.wire_bytes:
        text += f", {scaled(counts.wire_bytes, 'B')} {bytes_are}, {scaled(counts.wire_bytes / seconds, 'B')}/s"
    return text


def _expected(progress: Progress) -> str:
    """What follows from the planner's estimate, marked with `~`."""
    if progress.fraction is None or progress.seconds_left is None:
        return ""
    rows = scaled(progress.estimated_rows or 0, " rows")
    return f", ~{progress.fraction:.0%} of ~{rows}, ~{progress.seconds_left:.0f} s left"


def scaled(number: float, unit: str) -> str:
    """The number with a prefix of its unit."""
    prefix = ""
    for larger in ("k", "M", "G", "T"):
        if number < 1000:
            break
        number /= 1000
        prefix = larger
    return f"{number:.3g} {(prefix + unit).lstrip()}"
