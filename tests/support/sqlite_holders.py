"""Libraries of this process that hold an SQLite file by Python's sqlite3, and what another process can do with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

import pytest

#: Runs statements of another process, which waits for no lock.
_ELSEWHERE = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
try:
    rows = [row for sql in sys.argv[2:] for row in connection.execute(sql).fetchall()]
    connection.commit()
    print(json.dumps(rows))
except sqlite3.OperationalError as error:
    print(json.dumps(str(error)))
"""
LOCKED = "database is locked"


class Holder(Protocol):
    """A connection of another library. The first statement that changes something begins a transaction."""

    def execute(self, sql: str) -> list[tuple[Any, ...]]: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class Sqlite3:
    """Python's sqlite3."""

    def __init__(self, path: Path) -> None:
        import sqlite3

        self._connection = sqlite3.connect(path, timeout=0)

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


class Sqlalchemy:
    """An engine of SQLAlchemy."""

    def __init__(self, path: Path) -> None:
        import sqlalchemy

        self._engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0})
        self._connection = self._engine.connect()

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        found = self._connection.exec_driver_sql(sql)
        return [tuple(row) for row in found] if found.returns_rows else []

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


class Django:
    """A connection of Django's ORM."""

    def __init__(self, path: Path) -> None:
        django = pytest.importorskip("django")
        from django.conf import settings
        from django.db.utils import ConnectionHandler

        if not settings.configured:
            settings.configure()
            django.setup()
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": {"timeout": 0}}
        self._connection = ConnectionHandler({"default": database})["default"]
        self._connection.set_autocommit(False)

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return [] if cursor.description is None else cursor.fetchall()

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


HOLDERS = [Sqlite3, Sqlalchemy, Django]


def elsewhere(path: Path, *statements: str) -> Any:
    """The rows that another process gets, after it has committed, or SQLite's error."""
    command = [sys.executable, "-c", _ELSEWHERE, str(path), *statements]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
