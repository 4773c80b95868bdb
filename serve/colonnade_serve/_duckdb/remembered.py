"""The statements that a session need not check again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .deferred_calls import Proof

#: How many statements a session remembers, and the longest and widest of these. Together they take about 100 KB.
MAX_STATEMENTS = 32
MAX_CHARACTERS = 2048
MAX_COLUMNS = 64


@dataclass(frozen=True)
class RememberedStatement:
    """The columns of a statement at its last run. The statement only reads, and its columns need no conversion.

    DuckDB binds a statement again on each run. If its columns then differ, because a table or a setting was changed,
    the statement is checked and run again. That has no visible effect, because the statement only reads.
    """

    #: DuckDB's names and types of the columns; with a proof, the texts of the types alone.
    columns: Sequence[object]
    names: tuple[str, ...]
    types: tuple[str, ...]
    row_bytes: int
    #: If its functions run beside the plan: the proof that they can.
    proof: Proof | None = None
    #: The state of `NamedTypes` if a column has, or may get, a number.
    named_types: tuple[int, int] | None = None


class RememberedStatements:
    """The statements of a session, by their texts."""

    def __init__(self) -> None:
        #: The oldest entry is the first.
        self._known: dict[str, RememberedStatement] = {}

    def __contains__(self, sql: str) -> bool:
        return sql in self._known

    def find(self, sql: str) -> RememberedStatement | None:
        return self._known.get(sql)

    def keep(self, sql: str, statement: RememberedStatement) -> None:
        """Remember a statement, unless it is too long or too wide."""
        if len(sql) > MAX_CHARACTERS or len(statement.types) > MAX_COLUMNS:
            return
        if len(self._known) >= MAX_STATEMENTS:
            self.forget(next(iter(self._known)))
        self._known[sql] = statement

    def forget(self, sql: str) -> None:
        del self._known[sql]
