"""Completes PostgreSQL's catalog: relations and columns for which this database has no rows or values
(`catalog_columns.txt`). Tools name them all in one query, and do not mind that nothing is there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

# It is read on import, because the process gives up its access to files later.
TEXT = Path(__file__).with_name("catalog_columns.txt").read_text(encoding="utf-8")


class Missing(NamedTuple):
    """What PostgreSQL has and the catalog's SQL has not."""

    #: The query of each missing view, by schema and name.
    views: dict[tuple[str, str], str]
    #: The missing columns of a view, as they stand in a list of SELECT.
    columns: dict[tuple[str, str], str]


def missing(text: str = TEXT) -> Missing:
    """Reads the file."""
    found = Missing({}, {})
    lines = (line for line in text.replace("\n    ", " ").splitlines() if not line.startswith("#"))
    for line in lines:
        place, *columns = line.split()
        schema, _, name = place.partition(".")
        if columns[0] == "+":
            found.columns[schema, name] = _listed(columns[1:])
        else:
            found.views[schema, name] = f"SELECT {_listed(columns)} LIMIT 0"
    return found


def _listed(columns: list[str]) -> str:
    pairs = (column.partition(":") for column in columns)
    return ", ".join(f'NULL::{type_ or "VARCHAR"} AS "{name}"' for name, _, type_ in pairs)
