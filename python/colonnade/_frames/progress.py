"""How far a read or a write is: for a function of the caller, or as a bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from colonnade._libraries import require
from colonnade._options.query import Progress, ProgressOption

if TYPE_CHECKING:
    from colonnade._core import Batch, Stream

#: Seconds between two reports.
_INTERVAL = 0.1
#: The bar while the number of rows is only estimated: `~` marks what follows from the estimate.
_ESTIMATED = "~{percentage:.0f}%|{bar}| {n_fmt} of ~{total_fmt} [{elapsed}<~{remaining}, {rate_fmt}{postfix}]"


class Reporter:
    """Reports the progress of one read or write."""

    def __init__(self, show: Callable[[Progress], object], estimated_rows: int | None) -> None:
        self._show = show
        self._estimated_rows = estimated_rows
        self._start = self._reported = monotonic()

    @classmethod
    def of(
        cls, option: ProgressOption, estimate: Callable[[], int | None], bytes_are: str = "on the wire"
    ) -> Reporter | None:
        """The reporter that the option asks for. Only then the number of rows is estimated. `bytes_are` follows the
        bytes on a bar."""
        show = _bar(bytes_are) if option is True else option
        return cls(show, estimate()) if callable(show) else None

    def __call__(self, rows: int, wire_bytes: int) -> None:
        """Reports, unless the last report was a moment ago."""
        now = monotonic()
        if now - self._reported >= _INTERVAL:
            self._reported = now
            self._show(Progress(rows, wire_bytes, now - self._start, self._estimated_rows))

    @contextmanager
    def reading(self, stream: Stream) -> Iterator[Reporter]:
        """Makes the first report, and the last one when the read ends, however it ends. An error ends the stream."""
        self._start = self._reported = monotonic()
        is_complete = False
        try:
            self._show(Progress(0, 0, 0.0, self._estimated_rows))
            yield self
            is_complete = True
        except Exception:
            stream.close()
            raise
        finally:
            stats, seconds = stream.stats(), monotonic() - self._start
            self._show(
                Progress(stats["rows"], stats["wire_bytes"], seconds, self._estimated_rows, is_complete, is_last=True)
            )

    def batches(self, stream: Stream) -> Iterator[Batch]:
        """The stream's batches, with a report between them too."""
        with self.reading(stream) as report:
            while (batch := stream.next(report)) is not None:
                yield batch
                del batch
                stats = stream.stats()
                report(stats["rows"], stats["wire_bytes"])


def _bar(bytes_are: str) -> Callable[[Progress], object] | None:
    """A function that shows a bar in a notebook or on a terminal; None where there is neither."""
    if not _is_notebook() and not sys.stderr.isatty():
        return None
    # In a notebook this is a widget.
    bar = require("tqdm.auto", "progress=True", "progress").tqdm
    shown: list[Any] = []

    def show(progress: Progress) -> None:
        if not shown:
            total = progress.estimated_rows
            form = None if total is None else _ESTIMATED
            shown.append(bar(total=total, bar_format=form, unit=" rows", unit_scale=True, dynamic_ncols=True))
        _update(shown[0], progress, bytes_are)

    return show


def _update(bar: Any, progress: Progress, bytes_are: str) -> None:
    is_estimate = progress.fraction is not None and not progress.is_complete
    bar.total = progress.estimated_rows if is_estimate else progress.rows if progress.is_complete else None
    bar.bar_format = _ESTIMATED if is_estimate else None
    bar.n = progress.rows
    if progress.wire_bytes:
        bar.set_postfix_str(f"{bar.format_sizeof(progress.wire_bytes, 'B')} {bytes_are}", refresh=False)
    bar.refresh()
    if progress.is_last:
        bar.close()


def _is_notebook() -> bool:
    """Whether this is a kernel of Jupyter."""
    library = sys.modules.get("IPython")
    shell = library.get_ipython() if library is not None else None
    return getattr(shell, "kernel", None) is not None
