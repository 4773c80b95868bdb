"""The table or view, and its column, from which each column of a result comes unchanged, for RowDescription.

The rules are those of PostgreSQL's markTargetListOrigin (src/backend/parser/parse_target.c), applied to DuckDB's parse
tree: the column of a table or a view has its numbers, also through subqueries and common table expressions, and every
expression has none. A column of which the tree does not tell has none, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import duckdb
from colonnade._sources.duckdb_types.failures import is_passing

from .catalog import CATALOG
from .column_names import MAX_CHARACTERS, gives_several
from .origin_scope import SEVERAL, Column, Columns, Origin, Scope, Source, Undecided, joined, renamed
from .relation_names import Relation, folded, relation
from .snapshot_cache import SnapshotCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade_serve._core import AllowedStatement

    from .catalog_epoch import CatalogSnapshot, SessionEpoch
    from .library import Bound, Library
    from .tree_nodes import Node

#: The columns of common table expressions, which are found when they are used.
Expressions = dict[str, Callable[[], Columns]]

NOWHERE: Origin = (0, 0)
#: Kinds of statements whose tree DuckDB writes only as a part of a query.
CHANGES = ("insert", "update", "delete")
CHANGE_NODES = ("INSERT_QUERY_NODE", "UPDATE_QUERY_NODE", "DELETE_QUERY_NODE")
#: What a star has that neither leaves out columns nor changes them.
PLAIN_STAR = {"class", "type", "query_location", "query_location_length", "relation_name"}
#: How many names and forms of statements a session remembers, and the longest form.
MAX_KNOWN = 256
MAX_FORM = 2048


class Found(NamedTuple):
    """The origins of a statement's columns."""

    origins: tuple[Origin, ...]
    #: Whether all statements of its form have them.
    is_general: bool


class ColumnOrigins:
    """The origins of the columns of one session's statements."""

    #: The relations of PostgreSQL's catalog, for all sessions.
    _of_catalog: ClassVar[dict[tuple[str, ...], Relation | None]] = {}

    def __init__(self, library: Library, epoch: SessionEpoch) -> None:
        self._library = library
        self._epoch = epoch
        #: By the texts of statements, and by their forms, which take longer to make.
        self._texts: SnapshotCache[tuple[Origin, ...]] = SnapshotCache(epoch, MAX_KNOWN)
        self._forms: SnapshotCache[tuple[Origin, ...]] = SnapshotCache(epoch, MAX_KNOWN)
        self._relations: SnapshotCache[tuple[Relation | None]] = SnapshotCache(epoch, MAX_KNOWN)
        #: What the session saw before the statement began.
        self.seen: CatalogSnapshot | None = None

    @property
    def now(self) -> CatalogSnapshot | None:
        """What the session sees for certain."""
        return self._epoch.now

    def find(self, statement: AllowedStatement) -> tuple[Origin, ...] | None:
        """What is known of a statement before its transaction begins; None if nothing is known."""
        self.seen, text = self.now, statement.sql
        if len(text) > MAX_FORM:
            return None
        found = self._texts.find(text)
        if found is None and (found := self._forms.find(statement.form())) is not None:
            self._texts.keep(text, found, self.seen)
        return found

    def of(self, statement: AllowedStatement, bound: Bound) -> tuple[Origin, ...]:
        """The origins of a bound statement's columns; none if no column has one. `find` was called before."""
        if not bound.is_query or bound.is_late or len(bound.sql) > MAX_CHARACTERS:
            return ()
        try:
            found = self._found(bound)
        except (RecursionError, LookupError, ValueError, duckdb.Error) as error:
            if is_passing(error):
                # Numbers that depend on the moment would be another column's for the client.
                raise
            # The tree is too deep or has unknown parts. The statement must run nevertheless.
            return ()
        if found.is_general and len(statement.sql) <= MAX_FORM:
            self._forms.keep(statement.form(), found.origins, self.seen)
        return found.origins

    def _found(self, bound: Bound) -> Found:
        if bound.kind in CHANGES:
            nodes = self._library.tree(f"WITH colonnade_statement AS ({bound.sql}\n) SELECT 1")
            nodes = [entry["value"]["query_node"] for node in nodes for entry in node["cte_map"]["map"]]
        else:
            nodes = self._library.tree(bound.sql)
        if len(nodes) != 1:
            return Found((), False)
        columns = self._columns(nodes[0], {})
        return Found(of_result(columns, bound.columns), SEVERAL not in columns)

    # Queries.

    def _columns(self, node: Node, ctes: Expressions) -> Columns:
        """The columns of a query, in which the common table expressions `ctes` are known."""
        for entry in node.get("cte_map", {}).get("map", []):
            ctes = {**ctes, folded(entry["key"]): cache(partial(self._expression, entry["value"], ctes))}
        if node["type"] == "SELECT_NODE":
            return self._items(node["select_list"], self._scope(node["from_table"], ctes))
        if node["type"] in CHANGE_NODES and "returning_list" in node:
            table = node["table"]
            # An INSERT has a name there.
            source = table if isinstance(table, dict) else {**node, "type": "BASE_TABLE"}
            return self._items(node["returning_list"], self._scope(source, {}))
        if node["type"] == "SET_OPERATION_NODE" and "BY_NAME" not in node["setop_type"]:
            return [column._replace(origin=None) for column in self._columns(node["children"][0], ctes)]
        return [SEVERAL]

    def _expression(self, value: Node, ctes: Expressions) -> Columns:
        """The columns of a common table expression."""
        return renamed(self._columns(value["query_node"], ctes), value.get("aliases", []))

    def _items(self, items: list[Node], scope: Scope) -> Columns:
        columns: Columns = []
        for item in items:
            if item["class"] == "STAR" and set(item) <= PLAIN_STAR:
                columns += scope.star(item.get("relation_name"))
            elif item["class"] == "COLUMN_REF":
                names = item["column_names"]
                columns.append(Column(item.get("alias") or names[-1], scope.find(names)))
            elif gives_several(item):
                columns.append(SEVERAL)
            else:
                columns.append(Column(item.get("alias"), None))
        return columns

    # What stands in FROM.

    def _scope(self, source: Node, ctes: Expressions) -> Scope:
        try:
            return self._sources(source, ctes)
        except Undecided:
            return Scope([Source(None, [SEVERAL])])

    def _sources(self, node: Node, ctes: Expressions) -> Scope:
        kind, names = node["type"], node.get("column_name_alias", [])
        if kind == "EMPTY":
            return Scope([])
        if kind == "JOIN":
            return joined(node, self._sources(node["left"], ctes), self._sources(node["right"], ctes))
        if kind == "SUBQUERY":
            columns = renamed(self._columns(node["subquery"]["node"], ctes), names)
            return Scope([Source(node.get("alias"), columns)])
        if kind != "BASE_TABLE":
            return Scope([Source(node.get("alias"), [SEVERAL])])
        path: list[str] = node["qualified_name"]["path"]
        alias = node.get("alias") or path[-1]
        if len(path) == 1 and (known := ctes.get(folded(path[0]))) is not None:
            return Scope([Source(alias, renamed(known(), names))])
        table = self._relation(path)
        if table is None:
            return Scope([Source(alias, [SEVERAL])])
        numbered = enumerate(table.columns, 1)
        columns = [Column(name, (table.oid, number) if table.oid else None) for number, name in numbered]
        return Scope([Source(alias, renamed(columns, names), table)])

    def _relation(self, path: Sequence[str]) -> Relation | None:
        key = tuple(map(folded, path))
        if key[0] == CATALOG and len(key) == 3:
            # Nobody can change it.
            if key not in self._of_catalog:
                self._of_catalog[key] = relation(self._library, path)
            return self._of_catalog[key]
        if (known := self._relations.find(key)) is None:
            known = (relation(self._library, path),)
            self._relations.keep(key, known, self.seen)
        return known[0]


def of_result(columns: Columns, names: Sequence[str]) -> tuple[Origin, ...]:
    """The origins of a result's columns. `names` are DuckDB's names of them. If the tree has others, nothing is
    certain."""
    several = [at for at, column in enumerate(columns) if column.is_several]
    if several:
        before, behind = columns[: several[0]], columns[several[-1] + 1 :]
        between = len(names) - len(before) - len(behind)
        columns = [*before, *[Column()] * between, *behind]
    if len(columns) != len(names):
        return ()
    for column, name in zip(columns, names, strict=True):
        if column.origin is not None and folded(column.name or name) != folded(name):
            return ()
    origins = tuple(column.origin or NOWHERE for column in columns)
    return origins if any(column.origin for column in columns) else ()
