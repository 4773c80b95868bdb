"""PostgreSQL's names of columns without an alias (`count`, `int4`, `?column?`), which DuckDB names by the expression.

The rules are those of PostgreSQL's FigureColname (src/backend/parser/parse_target.c), applied to DuckDB's parse tree. A
column with an alias, or of a table, keeps the name that DuckDB gives it.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.failures import is_passing

from .parse_tree import parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .library import Library

UNNAMED = "?column?"
#: A longer statement keeps DuckDB's names, because its parse tree as JSON would be about 40 times as long.
MAX_CHARACTERS = 65_536
#: DuckDB's names of constants and of the columns of VALUES. All its other generated names contain punctuation.
GENERATED_NAME = re.compile("NULL|true|false|col[0-9]+")

#: PostgreSQL's names of types, where DuckDB's parser has other names.
TYPES = {
    "BOOLEAN": "bool",
    "TINYINT": "int2",
    "SMALLINT": "int2",
    "INTEGER": "int4",
    "BIGINT": "int8",
    "FLOAT": "float4",
    "DOUBLE": "float8",
    "DECIMAL": "numeric",
    "BLOB": "bytea",
    "TIME WITH TIME ZONE": "timetz",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
#: The functions to which casts are rewritten (serve/duckdb/src/catalog/casts.rs).
CATALOG_CASTS = re.compile("(regclass|regtype|regnamespace|regproc|regprocedure)_(name|number|oid)")
#: A call that the server writes for an aggregate in Python, with its name (serve/duckdb/src/aggregates.rs).
AGGREGATE = re.compile(rb"system\.main\.colonnade_aggregate\(/\*(.*?)\*/")
#: Functions with their own syntax: the written word and DuckDB's function, and PostgreSQL's name.
SYNTAX_FUNCTIONS = {
    ("count", "count_star"): "count",
    ("extract", "date_part"): "extract",
    ("trim", "trim"): "btrim",
    ("trim", "ltrim"): "ltrim",
    ("trim", "rtrim"): "rtrim",
}
#: DuckDB's functions for syntax without a function name, and PostgreSQL's names.
SYNTAX = {"row": "row", "struct_pack": "row", "list_value": "array", "map": "map", "timezone": "timezone"}
OPERATORS = {"OPERATOR_COALESCE": "coalesce", "ARRAY_CONSTRUCTOR": "array", "GROUPING_FUNCTION": "grouping"}
#: The beginnings of casts that the server adds: to a parameter (serve/duckdb/src/placeholder.rs), and to a list or a
#: row in the place of a literal (serve/duckdb/src/literal/open.rs).
OWN_CASTS = (b"CAST(($", b"CAST((system.main.list_value(", b"CAST(('(")

#: What stands before the columns that a change returns.
RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
#: In how many places it is looked for.
MAX_TRIED = 4

#: FigureColname's strength of a name: none, a type or `case`, or a name of the value.
NOTHING, WEAK, STRONG = range(3)


def column_names(library: Library, sql: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The names of a query's columns. `columns` are DuckDB's names."""
    if all(map(is_user_name, columns)) or len(sql) > MAX_CHARACTERS:
        return tuple(columns)
    try:
        found = tree_names(library, sql, len(columns))
    except (RecursionError, LookupError, duckdb.Error) as error:
        if is_passing(error):
            # A name that depends on the moment would be another column.
            raise
        # The tree is too deep or has unknown parts. The statement must run nevertheless.
        return tuple(columns)
    return tuple(own if name is None else name for name, own in zip(found, columns, strict=True))


def tree_names(library: Library, sql: str, count: int) -> list[str | None]:
    # The word may also be in a literal, and then no query follows it.
    returned = [f"SELECT {sql[found.end() :]}" for found in islice(RETURNING.finditer(sql), MAX_TRIED)]
    for query in (sql, *returned):
        if nodes := library.tree(query):
            return Tree(query.encode()).columns(nodes[-1], count)
    return [None] * count


def is_user_name(name: str) -> bool:
    """Whether a name is certainly not the text of an expression."""
    return name.isidentifier() and GENERATED_NAME.fullmatch(name) is None


class Tree:
    """The parse tree of a statement, with its text."""

    def __init__(self, sql: bytes) -> None:
        self._sql = sql

    def columns(self, node: dict[str, Any], count: int) -> list[str | None]:
        """The names of a query's `count` columns; None for a column that keeps its name."""
        if node["type"] == "SET_OPERATION_NODE":
            return self.columns(node["children"][0], count)
        unknown: list[str | None] = [None] * count
        if node["type"] != "SELECT_NODE":
            return unknown
        items = node["select_list"]
        several = [at for at, item in enumerate(items) if gives_several(item)]
        names = [self.name(item) for item in items]
        if not several or (len(items) == count and not any(item["class"] == "STAR" for item in items)):
            return names if len(names) == count else unknown
        first, last = several[0], several[-1]
        behind = names[last + 1 :]
        between = count - first - len(behind)
        if between < 0:
            return unknown
        middle = self.of_star(node, items[first], between) if first == last else [None] * between
        return names[:first] + middle + behind

    def of_star(self, node: dict[str, Any], star: dict[str, Any], count: int) -> list[str | None]:
        """The names of a star's `count` columns, if FROM is VALUES or a query; otherwise None for each."""
        source = node.get("from_table", {})
        plain = {"class", "type", "query_location", "query_location_length", "relation_name"}
        is_plain = star["class"] == "STAR" and set(star) <= plain and not source.get("column_name_alias")
        if is_plain and source.get("type") == "EXPRESSION_LIST":
            return [f"column{at + 1}" for at in range(count)]
        if is_plain and source.get("type") == "SUBQUERY":
            return self.columns(source["subquery"]["node"], count)
        return [None] * count

    def name(self, item: dict[str, Any]) -> str | None:
        """The name of a column; None if it keeps its name."""
        if item.get("alias") or item["class"] in ("COLUMN_REF", "POSITIONAL_REFERENCE"):
            return None
        return self.figure(item)[1] or UNNAMED

    def figure(self, item: dict[str, Any]) -> tuple[int, str]:
        """The strength and the name that FigureColname finds for an expression."""
        kind, type_ = item["class"], item["type"]
        if kind == "COLUMN_REF":
            return STRONG, item["column_names"][-1]
        if kind in ("FUNCTION", "WINDOW"):
            return self.function(item)
        if kind == "CAST":
            if self.text(item).startswith(OWN_CASTS):
                return NOTHING, ""
            return self.cast(item["child"], type_name(item["type_expr"]))
        if kind == "CASE":
            strength, name = self.figure(item["else_expr"])
            return (strength, name) if strength == STRONG else (WEAK, "case")
        if kind == "COLLATE":
            return self.figure(item["child"])
        if kind == "SUBQUERY":
            return self.subquery(item)
        if type_ in ("ARRAY_EXTRACT", "ARRAY_SLICE"):
            return self.figure(item["children"][0])
        if type_ == "STRUCT_EXTRACT":
            return STRONG, item["children"][1]["literal"]["text"]
        name = OPERATORS.get(type_)
        return (STRONG, name) if name else (NOTHING, "")

    def function(self, item: dict[str, Any]) -> tuple[int, str]:
        name = item["function_name"]
        if item.get("is_operator"):
            return NOTHING, ""
        if (cast := CATALOG_CASTS.fullmatch(name)) is not None:
            return self.cast(item["arguments"][0]["expression"], cast[1])
        if (aggregate := AGGREGATE.match(self.text(item))) is not None:
            return STRONG, aggregate[1].decode()
        if item["class"] == "WINDOW":
            return STRONG, name
        written = self.called(item)
        if (written, name) in SYNTAX_FUNCTIONS:
            return STRONG, SYNTAX_FUNCTIONS[written, name]
        if written == name:
            return STRONG, name
        if self.text(item)[:8].lower() == b"interval":
            return WEAK, "interval"
        return (STRONG, SYNTAX[name]) if name in SYNTAX else (NOTHING, "")

    def cast(self, child: dict[str, Any], type_: str) -> tuple[int, str]:
        strength, name = self.figure(child)
        return (strength, name) if strength == STRONG else (WEAK, type_)

    def subquery(self, item: dict[str, Any]) -> tuple[int, str]:
        if item["subquery_type"] == "EXISTS":
            return STRONG, "exists"
        if item["subquery_type"] != "SCALAR":
            return NOTHING, ""
        if self.text(item)[:5].lower() == b"array":
            return STRONG, "array"
        node = item["subquery"]["node"]
        while node["type"] == "SET_OPERATION_NODE":
            node = node["children"][0]
        first = node.get("select_list", [{"class": "STAR", "type": "STAR"}])[0]
        return STRONG, first.get("alias") or self.figure(first)[1] or UNNAMED

    def text(self, item: dict[str, Any]) -> bytes:
        """The text of an expression."""
        start = item.get("query_location", 0)
        return self._sql[start : start + item.get("query_location_length", 0)]

    def called(self, item: dict[str, Any]) -> str:
        """The function's name as written, if the expression begins with a call; otherwise nothing."""
        called = re.match(rb'(?:[\w\x80-\xff]+\s*\.\s*|"[^"]*"\s*\.\s*)*([\w\x80-\xff]+|"[^"]*")\s*\(', self.text(item))
        return called[1].decode().strip('"').lower() if called else ""


def type_name(type_: dict[str, Any]) -> str:
    """PostgreSQL's name of a type; for an array, the name of its items' type."""
    while type_["type_name"].lower() in ("list", "array") and type_.get("children"):
        type_ = type_["children"][0]
    name: str = type_["type_name"]
    return TYPES.get(name.upper(), name.lower())


def gives_several(item: dict[str, Any]) -> bool:
    """Whether an expression may become several columns: it contains a star, or unnest, which expands structs."""
    return any(part.get("type") == "STAR" or part.get("function_name") == "unnest" for part in parts(item))
