"""PostgreSQL's numbers of users' types. DuckDB says of a column only what its type is made of.

Of several enumerations with the same labels, a column has the number of the oldest one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .catalog_epoch import ROWS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection

#: What all types with a number begin with.
PREFIX = "ENUM("
#: The oldest first.
QUERY = "SELECT duckdb, oid FROM colonnade_catalog.pg.enums ORDER BY oid DESC"


def is_numbered(type_: str) -> bool:
    """Whether the type may have a number."""
    return type_.startswith(PREFIX)


class Definitions:
    """How often the sessions of one engine have made or dropped something."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def changed(self) -> None:
        with self._lock:
            self.count += 1


class NamedTypes:
    """The types of users that one session sees."""

    def __init__(self, connection: DuckDBPyConnection | ReadOnlyConnection, definitions: Definitions) -> None:
        self._connection = connection
        self._definitions = definitions
        #: How many statements of this session may have changed what it sees, and whether one of its transaction has.
        self._own, self._has_defined = 0, False
        self._found: tuple[tuple[int, int], dict[str, int]] | None = None

    @property
    def state(self) -> tuple[int, int]:
        """Another one after each change that the session may see."""
        return self._definitions.count, self._own

    def ran(self, kind: str) -> None:
        """After a statement of this kind, and after its own transaction."""
        if kind in ROWS:
            return
        self._own += 1
        if kind != "transaction" or self._has_defined:
            self._definitions.changed()
        self._has_defined = kind != "transaction"

    def shown(self, type_: str) -> str:
        """The type with its number, for the server (`types.rs`)."""
        if not is_numbered(type_):
            return type_
        # A list's dimensions stand after the type.
        end = type_.rindex(")") + 1
        number = self._numbers().get(type_[:end])
        return type_ if number is None else f"{type_[:end]} #{number}{type_[end:]}"

    def _numbers(self) -> dict[str, int]:
        state = self.state
        if self._found is None or self._found[0] != state:
            self._found = state, dict(self._connection.execute(QUERY).fetchall())
        return self._found[1]
