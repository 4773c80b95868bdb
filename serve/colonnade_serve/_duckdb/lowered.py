"""Statements that change rows, as queries with the same expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._sources.duckdb_types.exact import quoted

from .open_places import EXPECTED, TEXT
from .tree_nodes import CROSS, NULL, SELECT, Node, is_literal, may_have_rows

if TYPE_CHECKING:
    from .library import Library


class Lowering:
    """Writes the tree of a statement as that of a query. Its items are what the statement returns, and what it assigns
    to columns of the types `EXPECTED`."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def lowered(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self.lowered(part) for part in item]
        if not isinstance(item, dict):
            return item
        if item.get("class") == "DEFAULT":
            return NULL
        if item.get("class") == "CAST" and is_literal(item["child"]) and not may_have_rows(item["child"]):
            # It has a type, and the server has translated it (serve/duckdb/src/literal.rs).
            child = {name: part for name, part in item["child"].items() if name != "query_location"}
            return {**item, "child": child}
        node = {name: self.lowered(part) for name, part in item.items()}
        kind = node.get("type")
        if kind == "UPDATE_QUERY_NODE":
            sources = [node["table"], *([node["from_table"]] if "from_table" in node else [])]
            set_ = node["set_info"]
            return self._query(node, sources, self._assigned(node["table"], set_), set_.get("condition"))
        if kind == "DELETE_QUERY_NODE":
            return self._query(node, [node["table"], *node.get("using_clauses", [])], [], node.get("condition"))
        if kind == "INSERT_QUERY_NODE":
            return self._insert(node)
        return node

    def _insert(self, node: Node) -> Node:
        names = ("table", "schema", "catalog")
        table = node.get("table_ref") or {
            "type": "BASE_TABLE",
            "table_name": node["table"],
            "qualified_name": node["qualified_name"],
            **{f"{name}_name": node[name] for name in names[1:] if name in node},
        }
        alias = table.get("alias", table["table_name"])
        types = self._columns(table)
        sources = [table]
        conflict = node.get("on_conflict_info", {})
        set_ = conflict.get("set_info", {})
        if set_:
            star = {"class": "STAR", "type": "STAR"}
            existing = {**SELECT, "select_list": [star], "from_table": {**table, "alias": "colonnade_excluded"}}
            sources.append({"type": "SUBQUERY", "alias": "excluded", "subquery": {"node": existing}})
        if "select_statement" in node:
            columns = node.get("columns") or list(types)
            expected = [types.get(name.lower(), TEXT) for name in columns]
            rows = {"type": "SUBQUERY", "alias": "colonnade_rows", "subquery": node["select_statement"]}
            sources.append({**rows, EXPECTED: expected})
        assigned = [(_qualified(item, alias), type_) for item, type_ in self._assigned(table, set_)] if set_ else []
        returning = [_qualified(item, alias) for item in node.get("returning_list", [])]
        conditions = [set_.get("condition"), conflict.get("condition")]
        found = [_qualified(condition, alias) for condition in conditions if condition is not None]
        return self._query({**node, "returning_list": returning}, sources, assigned, *found)

    def _query(
        self, node: Node, sources: list[Node], assigned: list[tuple[Node, str]], *conditions: Node | None
    ) -> Node:
        source = sources[0]
        for right in sources[1:]:
            source = {**CROSS, "left": source, "right": right}
        returning = node.get("returning_list", [])
        items = [*returning, *(item for item, _ in assigned)] or [NULL]
        expected = [TEXT] * len(returning) + [type_ for _, type_ in assigned]
        found = [condition for condition in conditions if condition is not None]
        condition = {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": found}
        where = {"where_clause": condition} if found else {}
        return {
            **SELECT,
            "cte_map": node.get("cte_map", {}),
            "select_list": items,
            "from_table": source,
            **where,
            EXPECTED: expected,
        }

    def _assigned(self, table: Node, set_: Node) -> list[tuple[Node, str]]:
        types = self._columns(table)
        columns = [types.get(name.lower(), TEXT) for name in set_["columns"]]
        return list(zip(set_["expressions"], columns, strict=True))

    def _columns(self, table: Node) -> dict[str, str]:
        """The types of a table's columns, by their names in lower case."""
        path = table.get("qualified_name", {}).get("path") or [table["table_name"]]
        name = ".".join(map(quoted, path))
        bound = self._library.bind(f"SELECT * FROM {name}")
        return {name.lower(): str(type_) for name, type_ in zip(bound.columns, bound.types, strict=True)}


def _qualified(item: Any, alias: str) -> Any:
    """An expression whose names without a table are the target's. In a subquery they may be others."""
    if isinstance(item, list):
        return [_qualified(part, alias) for part in item]
    if not isinstance(item, dict):
        return item
    if item.get("class") == "COLUMN_REF" and len(item["column_names"]) == 1:
        return {**item, "column_names": [alias, *item["column_names"]]}
    return {name: part if name == "subquery" else _qualified(part, alias) for name, part in item.items()}
