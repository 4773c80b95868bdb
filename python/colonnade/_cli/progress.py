"""The line on a terminal that shows how far a read is, and the line after it."""

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

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._configuration = ""

    @classmethod
    def of(cls, args: argparse.Namespace, output: Destination | None) -> ProgressLine | None:
        """The line, if there is a terminal and a whole result is read to another place."""
        if output is None or not sys.stderr.isatty() or (output.path is None and sys.stdout.isatty()):
            return None
        return cls(verbose=bool(args.verbose))

    def __call__(self, progress: Progress) -> None:
        text = "" if progress.is_last else summary(progress) + _expected(progress) + self._configuration
        print(f"\r\x1b[K{shown(text)}", end="", file=sys.stderr, flush=True)

    def watched(self, result: Result) -> Iterator[Any]:
        """The batches. Between them the configuration is known."""
        for batch in result:
            if self._verbose and (configuration := result.stats.configuration):
                self._configuration = f", {configuration}"
            yield batch


def summary(counts: Progress | Stats) -> str:
    """Rows, bytes, seconds and rates."""
    seconds = max(counts.seconds, 1e-9)
    text = f"{counts.rows:,} rows in {counts.seconds:.1f} s, {_scaled(counts.rows / seconds, ' rows')}/s"
    if counts.wire_bytes:
        text += f", {_scaled(counts.wire_bytes, 'B')} on the wire, {_scaled(counts.wire_bytes / seconds, 'B')}/s"
    return text


def _expected(progress: Progress) -> str:
    """What follows from the planner's estimate, marked with `~`."""
    if progress.fraction is None or progress.seconds_left is None:
        return ""
    rows = _scaled(progress.estimated_rows or 0, " rows")
    return f", ~{progress.fraction:.0%} of ~{rows}, ~{progress.seconds_left:.0f} s left"


def _scaled(number: float, unit: str) -> str:
    prefix = ""
    for larger in ("k", "M", "G", "T"):
        if number < 1000:
            break
        number /= 1000
        prefix = larger
    return f"{number:.3g} {prefix}{unit}"
