"""A query around a query, which chooses columns and rows of its result."""

from __future__ import annotations

from collections.abc import Sequence

from .names import quoted


def in_from(query: str) -> str:
    """The query as a table of FROM with the name q. The line break ends a comment in the query's last line."""
    return f"(\n{query}\n) AS q"


def column(dialect: str, name: str) -> str:
    """A column of the query that stands in FROM."""
    # SQLite takes an unknown name in double quotes for a text, unless the table stands before it.
    return f"q.{quoted(dialect, name)}"


def around(
    dialect: str, source: str, columns: Sequence[str] | None, condition: str | None = None, limit: int | None = None
) -> str:
    """The query that reads some columns and rows.

    Args:
        dialect: The dialect of the source.
        source: What stands in FROM, with the name q (`in_from`).
        columns: The columns to read; None is all. Without columns, the rows are still counted.
        condition: A condition in SQL.
        limit: The largest number of rows.
    """
    shown = "*"
    if columns is not None:
        shown = ", ".join(f"{column(dialect, name)} AS {quoted(dialect, name)}" for name in columns) or "1 AS one"
    parts = [f"SELECT {shown} FROM {source}"]
    if condition is not None:
        parts.append(f"WHERE {condition}")
    if limit is not None:
        parts.append(f"LIMIT {limit}")
    return "\n".join(parts)
