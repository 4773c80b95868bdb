"""PostgreSQL's numbers of users' types. DuckDB says of a column only what its type is made of.

Of several enumerations with the same labels, or composite types with the same attributes, a column has the number of
the oldest one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .catalog_epoch import ROWS
from .type_names import TOKEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection

#: What all types with a number begin with.
ENUM, STRUCT = "ENUM(", "STRUCT("
#: How many types a session remembers with their numbers.
MAX_SHOWN = 256
#: The oldest last, so that it stays.
QUERY = "SELECT duckdb, oid FROM colonnade_catalog.pg.user_types WHERE duckdb IS NOT NULL ORDER BY oid DESC"


def is_numbered(type_: str) -> bool:
    """Whether the type or one within it may have a number."""
    return ENUM in type_ or STRUCT in type_


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
        #: What `shown` has found.
        self._shown: dict[str, str] = {}

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
        """The type with its number and those of the types within it, for the server (`types.rs`)."""
        if not is_numbered(type_) or not (numbers := self._numbers()):
            return type_
        if (shown := self._shown.get(type_)) is None:
            if len(self._shown) >= MAX_SHOWN:
                self._shown.clear()
            shown = self._shown[type_] = numbered(type_, numbers)
        return shown

    def _numbers(self) -> dict[str, int]:
        state = self.state
        if self._found is None or self._found[0] != state:
            self._found = state, dict(self._connection.execute(QUERY).fetchall())
            self._shown.clear()
        return self._found[1]


def numbered(type_: str, numbers: dict[str, int]) -> str:
    """The type with the numbers behind it and the types within it. A type may be nested deeper than Python's stack."""
    pieces: list[str] = []
    #: Where the names before open parentheses begin, and the last part.
    opened, before = [], 0
    for match in TOKEN.finditer(type_):
        pieces.append(match[0])
        if match[0] == "(":
            opened.append(before)
        elif match[0] == ")":
            number = numbers.get(type_[opened.pop() : match.end()])
            pieces += [] if number is None else [f" #{number}"]
        before = match.start()
    return "".join(pieces)
