"""Parts of DuckDB's parse trees, as `json_serialize_sql` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = dict[str, Any]

NULL: Node = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": "NULL_LITERAL"}}
TRUE: Node = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": "BOOLEAN", "text": "true"}}
ONE: Node = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": "INTEGER", "text": "1"}}
SELECT: Node = {"type": "SELECT_NODE", "cte_map": {}, "aggregate_handling": "STANDARD_HANDLING"}
CROSS: Node = {"type": "JOIN", "join_type": "INNER", "ref_type": "CROSS"}
SPACE = " \t\n\v\f\r"


def select(items: list[Node], source: Node, map_: Node) -> Node:
    return {
        "type": "SELECT_NODE",
        "cte_map": map_,
        "select_list": items,
        "from_table": source,
        "aggregate_handling": "STANDARD_HANDLING",
    }


def only(item: Node) -> Node:
    return select([item], {"type": "EMPTY"}, {})


def derived(queries: list[Node]) -> Node:
    """The queries as sources of FROM."""
    found: Node = {}
    for at, query in enumerate(queries):
        source = {"type": "SUBQUERY", "alias": f"colonnade_{at}", "subquery": {"node": query}}
        found = {**CROSS, "left": found, "right": source} if found else source
    return found


def column_of(query: Node, position: int) -> Node:
    """A column of a query, as an expression."""
    names = [f"colonnade_{at}" for at in range(position + 1)]
    source = {"type": "SUBQUERY", "alias": "colonnade", "subquery": {"node": query}, "column_name_alias": names}
    item = {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [names[-1]]}
    scalar = {"class": "SUBQUERY", "type": "SUBQUERY", "subquery_type": "SCALAR", "comparison_type": "INVALID"}
    return {**scalar, "subquery": {"node": select([item], source, {})}}


def row_parts(node: Node) -> list[Node] | None:
    if node.get("class") != "FUNCTION" or node["function_name"] != "row":
        return None
    return [argument["expression"] for argument in node.get("arguments", [])]


def expressions(item: object) -> Iterator[Node]:
    """The outermost expressions within a part of a tree."""
    if isinstance(item, list):
        for part in item:
            yield from [part] if is_expression(part) else expressions(part)
    elif isinstance(item, dict):
        yield from expressions([part for name, part in item.items() if name not in ("subquery", "type_expr")])


def is_expression(item: object) -> bool:
    return isinstance(item, dict) and "class" in item


def without_places(item: Any) -> Any:
    """A part of a tree without what only its text has, so that equal expressions are equal."""
    if isinstance(item, list):
        return [without_places(part) for part in item]
    if not isinstance(item, dict):
        return item
    places = ("query_location", "query_location_length")
    return {name: without_places(part) for name, part in item.items() if name not in places}


def is_literal(node: Node) -> bool:
    """Whether an expression is a literal without a type: a string, or NULL."""
    return node.get("class") == "CONSTANT" and node["literal"]["kind"] in ("STRING", "NULL_LITERAL")


def may_differ(node: Node) -> bool:
    """Whether DuckDB may read a literal in another form than PostgreSQL: bytes, an array, or a row."""
    text = node["literal"].get("text", "")
    return is_literal(node) and ((len(text) > 1 and "\\" in text) or may_have_rows(node))


def may_have_rows(node: Node) -> bool:
    """Whether a literal may be a row or an array."""
    return node["literal"].get("text", "").lstrip(SPACE).startswith(("{", "("))
