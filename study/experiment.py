"""An experiment: a question of a paper, a way to measure the answer, and how to show it.

Each module of `EXPERIMENTS` has one, as `EXPERIMENT`. A measurement is a list of flat rows, which is stored in a JSON
file. Tables, plots and findings are made only from these rows, so a report can be written again without measuring.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """The size of the measurements."""

    name: str
    #: The maximum number of rows of a table.
    rows: int
    #: Readings of each cell; the median is shown.
    rounds: int
    #: The minimum number of readings of a cell that takes very little time.
    short_rounds: int
    #: Seconds after which a reading on a slow link is stopped.
    time_limit: float


SIZES = {
    # For the tests: everything runs, but the times have no meaning.
    "tiny": Size("tiny", 2_000, 1, 1, 60),
    "quick": Size("quick", 500_000, 1, 3, 30),
    "full": Size("full", sys.maxsize, 5, 5, 900),
}


@dataclass(frozen=True)
class Context:
    """The environment of an experiment."""

    size: Size
    #: The interpreter in whose environment the peers are (tools/requirements/peers.txt).
    peers: str
    #: `colonnade-bench` and `colonnade-shaper`.
    programs: Path
    #: A directory for files that only this run needs; it is emptied afterwards.
    scratch: Path

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Unmeasurable(Exception):
    """This machine cannot run the experiment; the message has the reason: no root, no program. The report shows it."""


@dataclass(frozen=True)
class Spread:
    """The result of several readings of the same cell."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Table:
    """Cells as they are shown: text is aligned left, all else right. `None` is an empty cell."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int | Spread | None]]


@dataclass(frozen=True)
class Plot:
    """A figure, drawn by matplotlib."""

    caption: str
    draw: Callable[[Axes], None]
    #: Inches.
    width: float = 7.0
    height: float = 3.6
    #: The name by which README shows it, if it does.
    name: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph. With `is_code`, lines that are shown unchanged, such as the bytes of a message."""

    text: str
    is_code: bool = False


Part = Table | Plot | Text


@dataclass(frozen=True)
class Finding:
    """A finding of a paper, and today's measurement."""

    #: In the paper's meaning, with its figures.
    claim: str
    #: With today's figures.
    today: str
    #: Whether the claim still holds; `None` if the measurement cannot tell.
    holds: bool | None


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, or several that one measurement answers."""

    title: str
    #: The paper's tables and figures: `VLDB 2017, Table 3`.
    source: str
    #: One or two sentences: the question, and how it is measured here.
    question: str
    run: Callable[[Context], list[Row]]
    show: Callable[[list[Row]], list[Part]]
    findings: Callable[[list[Row]], list[Finding]] = field(default=lambda rows: [])


def cells(rows: list[Row], line: str, column: str, value: str, caption: str, first: str = "") -> Table:
    """A table with a line for each value of one field and a column for each of another, both in order of appearance."""
    lines = list(dict.fromkeys(row[line] for row in rows))
    columns = list(dict.fromkeys(row[column] for row in rows))
    found = {(row[line], row[column]): row.get(value) for row in rows}
    return Table(caption, [first, *columns], [[one, *(found.get((one, other)) for other in columns)] for one in lines])
