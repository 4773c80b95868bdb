"""SQLite files made by Python's own sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote


def make(path: Path, script: str, table: str = "", rows: Iterable[Sequence[Any]] = ()) -> str:
    """A database with what `script` makes and with `rows` in `table`; its URI."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        rows = list(rows)
        if rows:
            marks = ",".join("?" * len(rows[0]))
            connection.executemany(f"insert into {table} values ({marks})", rows)
        connection.commit()
    return uri(path)


def uri(path: Path) -> str:
    return f"sqlite:///{quote(str(path))}"


def fetched(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """What Python's sqlite3 makes of a query."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()
