"""HTML for notebooks. All text of a database is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(caption: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table. `head` may be empty."""
    titles = "".join(f"<th>{_cell(title)}</th>" for title in head)
    lines = [f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows]
    return (
        f"<table><caption>{_cell(caption)}</caption>"
        + (f"<thead><tr>{titles}</tr></thead>" if titles else "")
        + f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _cell(value: object) -> str:
    return escape(str(value))
