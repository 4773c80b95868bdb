"""What an experiment is: a question that a paper asked, a way to measure the answer, and how to show it.

Each module of `EXPERIMENTS` has one, as `EXPERIMENT`. What is measured is a list of flat rows, which go to a JSON file;
what is shown is made of nothing but those rows, so that a report can be drawn anew without measuring.
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
    """How much is measured."""

    name: str
    #: Rows of a table, at most.
    rows: int
    #: Readings of each cell, of which the median is shown.
    rounds: int
    #: Of those that take but a moment, at least so many.
    short_rounds: int
    #: Seconds after which a reading on a slow link is given up.
    patience: float


SIZES = {
    # For the tests: everything runs, no time means anything.
    "tiny": Size("tiny", 2_000, 1, 1, 60),
    "quick": Size("quick", 500_000, 1, 3, 30),
    "full": Size("full", sys.maxsize, 5, 5, 900),
}


@dataclass(frozen=True)
class Context:
    """What an experiment is given."""

    size: Size
    #: The interpreter that has the peers (requirements/peers.txt).
    peers: str
    #: `colonnade-bench` and `colonnade-shaper`.
    programs: Path
    #: For files that only this run needs; it is emptied afterwards.
    scratch: Path

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Unmeasurable(Exception):
    """This machine cannot do the experiment, and why: no root, no program. The report says so."""


@dataclass(frozen=True)
class Spread:
    """What several readings of the same gave."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Table:
    """Cells as they are to be read: text stands left, all else right. `None` is a cell without a value."""

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
    #: The name by which README shows it, where it does.
    name: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph; with `is_code`, lines to be kept as they are, such as the bytes of a message."""

    text: str
    is_code: bool = False


Part = Table | Plot | Text


@dataclass(frozen=True)
class Finding:
    """What a paper found, and what is measured today."""

    #: In the paper's sense, with its figures.
    claim: str
    #: With today's figures.
    today: str
    #: Whether it still holds; `None` where the measurement cannot tell.
    holds: bool | None


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, or some that one measurement answers."""

    title: str
    #: The paper's tables and figures: `VLDB 2017, Table 3`.
    source: str
    #: A sentence or two: what is asked, and how it is measured here.
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
