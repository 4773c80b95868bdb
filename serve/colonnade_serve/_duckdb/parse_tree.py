"""The parse trees of queries, as DuckDB serializes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

#: The parts of a SELECT's tree that do not use the values of its items.
HARMLESS = frozenset(
    ("type", "modifiers", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling")
)


def query_nodes(parser: DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    """The tree of each statement of a text; none if one of them is no query.

    Raises:
        LookupError: A part is missing, as in other versions of DuckDB.
        RecursionError: The tree is too deep.
        duckdb.Error: DuckDB cannot serialize it.
    """
    options = "skip_null := true, skip_empty := true, skip_default := true"
    ((text,),) = parser.execute(f"SELECT system.main.json_serialize_sql($1, {options})", [sql]).fetchall()
    tree = json.loads(text)
    return [] if tree["error"] else [statement["node"] for statement in tree["statements"]]


def is_plain_select(node: dict[str, Any], *modifiers: str) -> bool:
    """Whether a query is a SELECT without grouping, windows and so on. Of the clauses after it, it has only these."""
    return (
        node["type"] == "SELECT_NODE"
        and set(node) <= HARMLESS
        and node["aggregate_handling"] == "STANDARD_HANDLING"
        and all(modifier["type"] in modifiers for modifier in node.get("modifiers", []))
    )


def parts(item: object, *, subqueries: bool = False) -> Iterator[dict[str, Any]]:
    """An expression and all expressions within it, without those of subqueries unless `subqueries` is set."""
    pending = [item]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            yield part
            pending += [inner for key, inner in part.items() if subqueries or key != "subquery"]
