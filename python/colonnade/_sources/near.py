"""What to write in place of the name of a table that does not exist."""

from __future__ import annotations

import difflib
import re
from typing import Any

from colonnade._errors import ProgrammingError

_LISTS = "`colonnade tables URI` lists the tables, and so does colonnade.tables(conn) in Python"
#: How databases name the table.
_NAMES = re.compile(r"""no such table: (.+)|Table with name (.+) does not exist|"([^"]+)"|'([^']+)'""")


def name_tables(source: Any, error: BaseException) -> None:
    """Adds the tables with similar names to the error of one that does not exist."""
    if not isinstance(error, ProgrammingError) or error.hint is not None:
        return
    if error.sqlstate in ("42P01", "42S02") or "no such table" in error.message:
        error.hint = _hint(source, error.message)


def _hint(source: Any, message: str) -> str:
    found = _NAMES.search(message)
    missing = next(filter(None, found.groups())).strip('"').rpartition(".")[2] if found else ""
    near = _near(missing, _tables(source))
    return f'did you mean "{near}"? {_LISTS}' if near is not None else _LISTS


def _near(missing: str, tables: list[tuple[str, str]]) -> str | None:
    """The name that may have been meant; with its schema, if the name itself is right."""
    for schema, name in tables:
        if name == missing:
            return f"{schema}.{name}"
    folded = {name.lower(): name for _, name in tables}
    close = difflib.get_close_matches(missing.lower(), folded, 1)
    return folded[close[0]] if close else None


def _tables(source: Any) -> list[tuple[str, str]]:
    """The schemas and names of tables, as far as the source can say them now."""
    try:
        import pyarrow as pa

        rows = pa.RecordBatchReader.from_stream(source.tables()).read_all().to_pylist()
    except Exception:
        # A failed transaction answers nothing, and a session may have ended: the statement's own error is to be told.
        return []
    return [(row["schema"], row["name"]) for row in rows]
