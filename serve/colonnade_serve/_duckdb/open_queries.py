"""The query from which DuckDB tells the types that decide a statement's open places (`open_places.py`)."""

from __future__ import annotations

from .open_places import BOOLEAN, COUNT, EXPECTED, TEXT, OpenPlaces
from .tree_nodes import CROSS, NULL, ONE, TRUE, Node, column_of, derived, only, select

#: The parts of a SELECT that `Round` writes.
WRITTEN = {"select_list", "where_clause", "having", "qualify", "group_expressions", "modifiers", "cte_map"}


class Round(OpenPlaces):
    """One walk through a statement's tree: the places that can be decided now, and the query that tells their types."""

    def query(self, node: Node, expected: list[str] | None = None) -> Node:
        """The query that tells the types of a query's places. If it has open values, its columns mean nothing.
        `expected` are the types of the columns that take its columns."""
        if not self.has_open(node):
            return self.copy(node)
        ctes = node.get("cte_map", {}).get("map", [])
        for position, cte in enumerate(ctes):
            if self.has_open(cte):
                # What comes after it may depend on its types.
                before = {"map": self.copy(ctes[:position])} if position else {}
                return select([ONE], derived([self.query(cte["value"]["query_node"])]), before)
        map_ = {"map": self.copy(ctes)} if ctes else {}
        if node["type"] == "SET_OPERATION_NODE":
            return self._set_operation(node, map_)
        if node["type"] == "RECURSIVE_CTE_NODE":
            if self.has_open(node["left"]):
                return self.query(node["left"])
            right = self.query(node["right"])
            name = node["cte_name"]
            value = {"materialized": "CTE_MATERIALIZE_DEFAULT", "query_node": self.copy(node["left"])}
            if "aliases" in node:
                value["aliases"] = node["aliases"]
            return select([ONE], derived([right]), {"map": [{"key": name, "value": value}]})
        if node["type"] != "SELECT_NODE":
            return select([ONE], {"type": "EMPTY"}, {})
        expected = node.get(EXPECTED, expected)
        source = node["from_table"]
        if source["type"] == "EXPRESSION_LIST" and self.has_open(source):
            return select([self._values(source["values"], expected)], {"type": "EMPTY"}, map_)
        if self.has_open(source):
            return select([ONE], self._source(source), map_)
        return self._select_node(node, map_, expected)

    def _select_node(self, node: Node, map_: Node, expected: list[str] | None) -> Node:
        def item(node: Node, position: int) -> Node:
            is_assigned = expected is not None and position < len(expected)
            return self.clause(node, (expected or [])[position] if is_assigned else TEXT, is_assigned=is_assigned)

        written = self.copy({name: part for name, part in node.items() if name not in WRITTEN | {EXPECTED}})
        items = node.get("select_list", [])
        if EXPECTED in node and "where_clause" in node:
            # PostgreSQL reads the condition of an UPDATE before what it sets.
            written["where_clause"] = self.clause(node["where_clause"], BOOLEAN)
        written["select_list"] = [item(one, at) for at, one in enumerate(items)]
        for name in ("where_clause", "having", "qualify"):
            if name in node and name not in written:
                written[name] = self.clause(node[name], BOOLEAN)
        if "group_expressions" in node:
            written["group_expressions"] = [self.clause(item) for item in node["group_expressions"]]
        written["modifiers"] = [found for one in node.get("modifiers", []) if (found := self._modifier(one))]
        written["cte_map"] = map_
        return written

    def _modifier(self, node: Node) -> Node | None:
        if not self.has_open(node):
            return self.copy(node)
        if node["type"] == "LIMIT_MODIFIER":
            for name in ("limit", "offset"):
                if name in node:
                    self.decided(node[name], COUNT)
            return None
        if node["type"] == "ORDER_MODIFIER":
            return {**node, "orders": [{**one, "expression": self.clause(one["expression"])} for one in node["orders"]]}
        return None

    def _set_operation(self, node: Node, map_: Node) -> Node:
        children: list[Node] = node["children"]
        asking = []
        for at, child in enumerate(children):
            if not self.has_open(child):
                continue
            others = [other for position, other in enumerate(children) if position != at]
            if child["type"] == "SELECT_NODE" and child["from_table"]["type"] != "EXPRESSION_LIST":
                asking.append(self._branch(child, others))
            else:
                asking.append(self.query(child))
        written = select([ONE], derived(asking), map_) if asking else select([ONE], {"type": "EMPTY"}, map_)
        for modifier in node.get("modifiers", []):
            self._modifier(modifier)
        return written

    def _branch(self, child: Node, others: list[Node]) -> Node:
        """A side of a set operation. A value alone has the type of the other sides' columns."""
        items = child["select_list"]
        if any(item.get("class") == "STAR" for item in items) or self.has_open(child["from_table"]):
            return self.query(child)
        found: list[Node] = []
        for position, item in enumerate(items):
            if not self.is_open(item):
                continue
            peers = [self._closed(other) for other in others if not self._is_unknown_column(other, position)]
            if any(self.has_open(peer) for peer in peers):
                continue
            found += self.as_peers(item, [column_of(peer, position) for peer in peers])
        rest = {**child, "select_list": [NULL if self.is_open(item) else item for item in items]}
        inner = self.query(rest)
        return {**inner, "select_list": [*inner["select_list"], self.carrier(found)]} if found else inner

    def _is_unknown_column(self, node: Node, position: int) -> bool:
        if node["type"] == "SET_OPERATION_NODE":
            return all(self._is_unknown_column(child, position) for child in node["children"])
        if node.get("from_table", {}).get("type") == "EXPRESSION_LIST":
            rows = node["from_table"]["values"]
            return all(position < len(row) and self.is_unknown(row[position]) for row in rows)
        items = node.get("select_list", [])
        return position < len(items) and self.is_unknown(items[position])

    def _closed(self, node: Node) -> Node:
        """A side of a set operation without its values alone."""
        if node["type"] == "SET_OPERATION_NODE":
            return {**node, "children": [self._closed(child) for child in node["children"]], "modifiers": []}
        if node["type"] != "SELECT_NODE" or not self.has_open(node.get("select_list", [])):
            return node
        return {**node, "select_list": [NULL if self.is_open(item) else item for item in node["select_list"]]}

    def _values(self, rows: list[list[Node]], expected: list[str] | None) -> Node:
        found: list[Node] = []
        if expected is not None:
            for row in rows:
                for position, item in enumerate(row):
                    if position < len(expected):
                        found += self.decided(item, expected[position], is_assigned=True)
            return self.carrier(found)
        for column in zip(*rows, strict=False):
            found += self.alike(column)
        return self.carrier(found)

    def _source(self, node: Node) -> Node:
        """What stands in FROM instead of a source with open values."""
        if not self.has_open(node):
            return self.copy(node)
        kind = node["type"]
        if kind == "JOIN":
            # The right side may refer to the left one.
            if self.has_open(node["left"]):
                return self._source(node["left"])
            left = self.copy(node["left"])
            if self.has_open(node["right"]):
                return {**CROSS, "left": left, "right": self._source(node["right"])}
            condition = self.clause(node["condition"], BOOLEAN)
            return {**CROSS, "left": self.copy({**node, "condition": TRUE}), "right": derived([only(condition)])}
        if kind == "SUBQUERY":
            return derived([self.query(node["subquery"]["node"], node.get(EXPECTED))])
        if kind == "EXPRESSION_LIST":
            return derived([only(self._values(node["values"], None))])
        if kind == "TABLE_FUNCTION":
            return derived([only(self.carrier(self._call(node["function"])))])
        return derived([only(NULL)])
