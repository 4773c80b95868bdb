"""What a file is that DuckDB is to open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

#: The first bytes of every SQLite database (https://www.sqlite.org/fileformat.html, section 1.3).
_SQLITE = b"SQLite format 3\0"


def is_sqlite(path: str) -> bool:
    """Whether it is an SQLite database, for which DuckDB downloads an extension."""
    with suppress(OSError), Path(path).open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
    return False
