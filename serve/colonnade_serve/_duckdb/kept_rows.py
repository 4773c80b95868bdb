"""The rows of queries of functions, kept as long as nobody changes rows.

A function may ask the same small question at each call, such as for the newest version of a model. DuckDB takes a
millisecond to answer it, which is longer than the prediction for one row.

Rows are kept only of queries that depend on nothing but the rows of one table of the served database: its columns,
compared with constants. The query calls no function and reads no view, so nothing can run code behind a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.failures import is_passing

from .answers import Answer
from .parse_tree import is_plain_select, parts, query_nodes
from .snapshot_cache import SnapshotCache

if TYPE_CHECKING:
    from colonnade._core import ArrowStream
    from duckdb import DuckDBPyConnection

    from .catalog_epoch import RowSnapshot, SessionEpoch
    from .read_only_connection import ReadOnlyConnection

#: How many results a session keeps. `serve/bridge/src/serve/rows.rs` limits the bytes of one.
MAX_RESULTS = 8
#: How many queries it remembers as such ones or others, and the longest.
MAX_QUERIES = 64
MAX_CHARACTERS = 2048

#: DuckDB's classes of expressions whose values depend on nothing else.
PLAIN = frozenset(("COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION"))
#: The parts of a table's name in a query.
TABLE = frozenset(
    ("type", "query_location", "query_location_length", "catalog_name", "schema_name", "table_name", "qualified_name")
)
#: Whether a name can only be that of a table of a database, and the columns can only be its columns. A name that no
#: column has may be a function, such as current_timestamp; a generated column may call functions.
IS_PLAIN = """
    SELECT system.main.count_star() > 0 AND system.main.bool_and(database_name = $2 AND NOT temporary AND NOT internal
        AND NOT system.main.contains(system.main.upper(sql), 'GENERATED') AND system.main.list_has_all(names, $3))
        AND NOT EXISTS (FROM system.main.duckdb_views() WHERE system.main.lower(view_name) = $1)
    FROM system.main.duckdb_tables() JOIN (
        SELECT database_oid, table_oid, system.main.list(system.main.lower(column_name)) AS names
        FROM system.main.duckdb_columns() WHERE system.main.lower(table_name) = $1 GROUP BY database_oid, table_oid
    ) USING (database_oid, table_oid)
"""


@dataclass(frozen=True)
class Keeping:
    """A query whose rows are kept once all of them have been read."""

    rows: KeptRows
    sql: str
    answer: Answer
    #: What the session saw before the query began.
    snapshot: RowSnapshot

    def __call__(self, table: ArrowStream) -> None:
        """Keep all rows."""
        kept = Answer(stream=table, names=self.answer.names, types=self.answer.types, cast=self.answer.cast)
        self.rows.results.keep(self.sql, kept, self.snapshot)


class KeptRows:
    """What one session keeps."""

    def __init__(
        self,
        connection: DuckDBPyConnection | ReadOnlyConnection,
        parser: DuckDBPyConnection,
        epoch: SessionEpoch,
        database: str,
    ) -> None:
        self._connection = connection
        self._parser = parser
        self._epoch = epoch
        self._database = database
        self.results: SnapshotCache[Answer] = SnapshotCache(epoch.rows, MAX_RESULTS)
        self._are_plain: SnapshotCache[bool] = SnapshotCache(epoch, MAX_QUERIES)

    def snapshot(self, sql: str) -> RowSnapshot | None:
        """What the session sees of rows, if those of the query can be kept. Before the query runs."""
        snapshot = self._epoch.row_snapshot
        if snapshot is None or len(sql) > MAX_CHARACTERS:
            return None
        known = self._are_plain.find(sql)
        if known is None:
            known = self._is_plain(sql)
            self._are_plain.keep(sql, known, snapshot.snapshot)
        return snapshot if known else None

    def _is_plain(self, sql: str) -> bool:
        """Whether the rows depend on nothing but the rows of one table."""
        try:
            (node,) = query_nodes(self._parser, sql)
            table, columns = names_of(node)
        except (LookupError, TypeError, ValueError, RecursionError, duckdb.Error) as error:
            if is_passing(error):
                raise
            return False
        if not columns:
            return False
        ((is_plain,),) = self._connection.execute(IS_PLAIN, [table, self._database, columns]).fetchall()
        return bool(is_plain)


def names_of(node: dict[str, Any]) -> tuple[str, list[str]]:
    """The name of the table of a query, and those of its columns, in lower case. LookupError or ValueError if the query
    has anything but these and constants."""
    source = node["from_table"]
    is_plain = is_plain_select(node, "ORDER_MODIFIER", "LIMIT_MODIFIER") and not node.get("cte_map")
    if not is_plain or source["type"] != "BASE_TABLE" or not set(source) <= TABLE:
        raise LookupError
    columns = set()
    for part in parts([node["select_list"], node.get("where_clause"), node.get("modifiers")]):
        # Other parts are values and clauses, whose expressions come later.
        if "class" not in part:
            continue
        if part["class"] not in PLAIN:
            raise LookupError
        if part["class"] == "COLUMN_REF":
            (name,) = part["column_names"]
            columns.add(name.lower())
    return source["table_name"].lower(), sorted(columns)
