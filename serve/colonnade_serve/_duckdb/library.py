"""The `duckdb` package, as far as statements need it: what a statement is before it runs, its parse tree, and its rows
as a stream. No other module uses the private interface of the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .named_types import NamedTypes
from .parse_tree import query_nodes

if TYPE_CHECKING:
    from _duckdb import RelationResult
    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

    from .deferred_calls import BoundCalls
    from .named_types import Definitions
    from .read_only_connection import ReadOnlyConnection


@dataclass(frozen=True)
class Bound:
    """A statement that may run, as DuckDB has bound it."""

    sql: str
    #: DuckDB's name of its kind.
    kind: str
    columns: list[str] = field(default_factory=list)
    types: list[DuckDBPyType] = field(default_factory=list)
    #: Their names and types.
    parameters: list[tuple[str, DuckDBPyType]] = field(default_factory=list)
    #: `query_result`, `changed_rows` or `nothing`.
    gives: str = "nothing"
    #: Whether the columns are unknown until parameters have values, or until it runs.
    is_late: bool = False
    #: Whether it changes a database, including sequences, and including changes within a query.
    changes: bool = False
    #: The statement within it, such as that of EXPLAIN.
    inner: str = ""
    #: The calls of functions in Python within it, if they were recorded when it was bound.
    calls: BoundCalls | None = None

    @property
    def is_query(self) -> bool:
        """Whether it returns rows, other than those in which DuckDB reports a statement's success."""
        return self.gives == "query_result"


class Library:
    """One connection, and another one that serializes parse trees independently of the state of its transaction."""

    def __init__(
        self,
        connection: DuckDBPyConnection | ReadOnlyConnection,
        parser: DuckDBPyConnection,
        definitions: Definitions,
    ) -> None:
        self.connection = connection
        self.parser = parser
        self.named_types = NamedTypes(connection, definitions)

    def bind(self, sql: str, values: dict[str, object] | None = None) -> Bound:
        """What DuckDB finds a statement to be. It does not run. `values` are those of its parameters."""
        # The overload with values needs `with_writes`. The fence has decided whether the client may write.
        names, types, parameters, gives, is_late, kind, changes = self.connection._bind(
            sql, with_type=True, with_writes=True, values=values
        )
        return Bound(sql, kind, names, types, parameters, gives, is_late, changes)

    def rows(self, sql: str, values: dict[str, object] | None, batch_rows: int) -> RelationResult:
        """Run a statement. DuckDB computes its rows while they are read, in batches of so many.

        DuckDB's relations use this method. Its public methods bind a statement twice, or copy the rows."""
        return self.connection._submit(sql, values, "stream", batch_rows)

    def tree(self, sql: str) -> list[dict[str, Any]]:
        """`parse_tree.query_nodes`."""
        return query_nodes(self.parser, sql)
