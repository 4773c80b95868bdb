"""How the files of a folder and the functions of a database differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .folder import LocalFunction, partner

if TYPE_CHECKING:
    from pathlib import Path

    from .catalog import DatabaseFunction

SAME = "same"
NEW = "only here"
REMOTE = "only in the database"
CHANGED_HERE = "changed here"
CHANGED_THERE = "changed in the database"
CHANGED_BOTH = "changed in both"
DROPPED = "dropped in the database"
UNREADABLE = "not readable"


@dataclass(frozen=True)
class Pair:
    """A function with its file; one of both may be missing."""

    remote: DatabaseFunction | None
    local: LocalFunction | None

    @property
    def name(self) -> str:
        if self.remote is not None:
            return self.remote.signature
        assert self.local is not None
        if self.local.file is None:
            return f"{self.local.schema}.{self.local.name}"
        return f"{self.local.schema}.{self.local.name}({', '.join(self.local.file.declaration.types)})"

    @property
    def path(self) -> Path | None:
        return None if self.local is None else self.local.path

    @property
    def state(self) -> str:
        if self.local is None:
            return REMOTE
        file = self.local.file
        if file is None:
            return UNREADABLE
        if self.remote is None:
            return NEW if file.pulled is None else DROPPED
        if file.id == self.remote.id:
            return SAME
        if not file.is_changed:
            return CHANGED_THERE
        return CHANGED_HERE if file.pulled == self.remote.id else CHANGED_BOTH

    def to_json(self) -> dict[str, str | None]:
        """The pair for programs."""
        file = None if self.local is None else self.local.file
        function = self.remote or self.local
        assert function is not None
        return {
            "name": self.name,
            "schema": function.schema,
            "function": function.name,
            "state": self.state,
            "path": None if self.path is None else str(self.path),
            "id": None if self.remote is None else self.remote.id,
            "pulled": None if file is None else file.pulled,
            "language": None if self.remote is None else self.remote.language,
        }


def pairs(remote: list[DatabaseFunction], local: list[LocalFunction]) -> list[Pair]:
    """Each function with its file, then the files without a function."""
    rest = list(local)
    found = []
    for function in remote:
        one = partner(function, rest)
        if one is not None:
            rest.remove(one)
        found.append(Pair(function, one))
    return found + [Pair(None, one) for one in rest]
