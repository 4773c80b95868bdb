"""Selects values from an experiment's rows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from study.experiment import Row, Spread


def those(rows: Iterable[Row], **where: Any) -> list[Row]:
    """The measured rows with these values."""
    return [
        row for row in rows if not row.get("paper") and all(row.get(field) == value for field, value in where.items())
    ]


def names(rows: Iterable[Row], field: str = "system") -> list[str]:
    """The values of a field in the rows that were measured or tried, in that order."""
    return list(dict.fromkeys(row[field] for row in those(rows)))


def median(rows: Iterable[Row], field: str, **where: Any) -> float | None:
    """The median of a field, over the rows where it is known."""
    found = [row[field] for row in those(rows, **where) if row.get(field) is not None]
    return statistics.median(found) if found else None


def reason(rows: Iterable[Row], **where: Any) -> str | None:
    """The reason why there is no measurement."""
    return next((row["error"] for row in those(rows, **where) if "error" in row), None)


def spread(rows: Iterable[Row], field: str, times: float = 1.0, **where: Any) -> float | Spread | None:
    """The median of a field, multiplied, with the minimum and the maximum if there are several readings."""
    found = [row[field] * times for row in those(rows, **where) if row.get(field) is not None]
    if not found:
        return None
    middle = statistics.median(found)
    return middle if len(found) == 1 else Spread(middle, min(found), max(found))


def cell(rows: Iterable[Row], field: str, times: float = 1.0, **where: Any) -> float | str | Spread | None:
    """The same, or the reason why there is none."""
    rows = list(rows)
    found = spread(rows, field, times, **where)
    return reason(rows, **where) if found is None else found


def ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def span(values: Iterable[float | None]) -> str:
    """From the minimum to the maximum."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "not measured"
    ends = short(known[0]), short(known[-1])
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def short(value: float) -> str:
    """Two significant digits, or all digits before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
