"""Creates PostgreSQL's catalog with the schema of everything that it names.

DuckDB resolves the names in a macro where the macro is called, and those in a view partly by the caller's search path.
The caller's macros come before DuckDB's functions, and the session's temporary objects before all. Operators,
subscripts, `[…]`, `{…}`, fields and list comprehensions are functions for DuckDB too. So what `catalog.sql` and the
files beside it write with short names is created from DuckDB's parse tree, in which each name gets its database and
schema.

DuckDB's own macros and views have the same weakness. The catalog gets a copy of each one that it uses, in the schema
`ENGINE`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from duckdb import DuckDBPyConnection

#: A part of a parse tree of `json_serialize_sql`.
Node = dict[str, Any]

#: The schema with the catalog's relations and functions. It is not `main`: DuckDB stores a view's text without the
#: database, and each session has a schema `main` for temporary objects.
SCHEMA = "pg"
#: The schema with the copies of DuckDB's macros and views.
ENGINE = "engine"
#: The functions behind DuckDB's syntax for subscripts and fields.
SUBSCRIPTS = {"ARRAY_EXTRACT": "array_extract", "ARRAY_SLICE": "array_slice", "STRUCT_EXTRACT": "struct_extract"}
#: Types of DuckDB's whose names users can give to types of their own.
TYPES = ("json",)
#: A view, or one variant of a macro: the kind, the schema, the name, the parameters, and the query or expression.
CREATED = re.compile(r"CREATE (VIEW|MACRO) (?:(\w+)\.)?(\w+)(?:\(([^)]*)\))?\s+AS\s+(TABLE\s+)?(.*)", re.DOTALL)


class Variant(NamedTuple):
    """A macro with one number of parameters."""

    parameters: list[str]
    #: An expression, or the query of a macro that gives a table.
    text: str


class Place(NamedTuple):
    """Where a function is."""

    database: str
    schema: str
    name: str
    gives_table: bool


class Part(NamedTuple):
    """A part of a statement: the text of a tree."""

    number: int
    #: Whether it is the expression of `SELECT …`, without the SELECT.
    is_expression: bool


def with_columns(statement: str, more: Mapping[tuple[str, str], str]) -> str:
    """The statement; a view gets its further columns."""
    found = CREATED.search(statement)
    columns = more.get((found[2] or SCHEMA, found[3])) if found is not None and found[1] == "VIEW" else None
    if found is None or columns is None:
        return statement
    # The text may end with a comment.
    return f"{statement[: found.start(6)]}SELECT *, {columns} FROM ({text_of(found)}\n)"


class QualifiedCatalog:
    """Creates the objects of a database, with the schemas of all names."""

    def __init__(self, connection: DuckDBPyConnection, database: str) -> None:
        """The connection must have no objects of users."""
        self._connection = connection
        self._database = database
        #: The macros of the database and of DuckDB, which may not exist yet.
        self._macros: dict[Place, list[Variant]] = {}
        #: The schema that has a function of DuckDB's, by its name and whether it gives a table.
        self._schemas: dict[tuple[str, bool], str] = {}
        #: The macros and the copies of views that exist.
        self._created: set[Place] = set()
        #: The parse trees of queries, as JSON. DuckDB is asked for all at once, which takes a tenth of the time.
        self._trees: dict[str, str] = {}
        #: The statements that are to run, in order, and the trees with schemas that are parts of them.
        self._steps: list[list[str | Part]] = []
        self._parts: list[str] = []
        query = (
            "SELECT schema_name, function_name, function_type IN ('table', 'table_macro'), parameters, "
            "macro_definition FROM duckdb_functions() WHERE database_name = 'system' ORDER BY schema_name"
        )
        for schema, name, gives_table, parameters, text in connection.execute(query).fetchall():
            # `main` comes before `pg_catalog`.
            self._schemas.setdefault((name, gives_table), schema)
            if text is not None:
                place = Place("system", schema, name, gives_table)
                self._macros.setdefault(place, []).append(Variant(parameters, text))
        query = "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = 'system'"
        #: The queries of DuckDB's views.
        self._views = {
            (schema, name): sql.partition(" AS ")[2].rstrip().removesuffix(";")
            for schema, name, sql in connection.execute(query).fetchall()
        }
        self._types: set[str] = set()

    def create(self, sql: str, more: Mapping[tuple[str, str], str]) -> None:
        """Run the statements of a text. Each CREATE VIEW and each variant of a macro is a statement of its own, and a
        view is behind the views that it uses. `more` has further columns of a view, by its schema and name."""
        statements = [with_columns(statement.query, more) for statement in self._connection.extract_statements(sql)]
        created = [CREATED.search(statement) for statement in statements]
        for found in filter(None, created):
            kind, schema, name, parameters, table, _ = found.groups()
            if kind == "MACRO":
                place = Place(self._database, schema or SCHEMA, name, table is not None)
                variant = Variant(re.findall(r"\w+(?: := \w+)?", parameters), text_of(found))
                self._macros.setdefault(place, []).append(variant)
        self._trees = self._serialized(map(query_of, filter(None, created)))
        for statement, found in zip(statements, created, strict=True):
            if found is None:
                self._steps.append([statement])
                if type_ := re.search(r"CREATE TYPE (\w+)", statement):
                    self._types.add(type_[1])
            elif found[1] == "VIEW":
                self._create_view(found[2] or SCHEMA, found[3], text_of(found))
            elif variants := self._macros.get(
                Place(self._database, found[2] or SCHEMA, found[3], found[5] is not None)
            ):
                # All variants are created with the first.
                self._create_macro(found[2] or SCHEMA, found[3], found[5] is not None, variants)
        self._run()

    def stand_ins(self) -> Iterator[str]:
        """Statements that create macros and types with short names, which stand for the scalar macros and the types of
        the database. They are for places where DuckDB has no search path."""
        for place, variants in self._macros.items():
            if place[:2] == (self._database, SCHEMA) and not place.gives_table:
                called = self._written(SCHEMA, place.name)
                listed = [list(map(written_parameter, parameters)) for parameters, _ in variants]
                passed = [[quoted(parameter.split(" ")[0]) for parameter in parameters] for parameters, _ in variants]
                pairs = zip(listed, passed, strict=True)
                calls = (f"({', '.join(given)}) AS {called}({', '.join(names)})" for given, names in pairs)
                yield f"CREATE MACRO {quoted(place.name)}{', '.join(calls)}"
        for name in sorted(self._types):
            yield f"CREATE TYPE {quoted(name)} AS {self._written(SCHEMA, name)}"

    def _create_view(self, schema: str, name: str, text: str) -> None:
        query = self._qualified(text)
        self._steps.append([f"CREATE VIEW {self._written(schema, name)} AS ", query])

    def _create_macro(self, schema: str, name: str, gives_table: bool, variants: Iterable[Variant]) -> None:
        place = Place(self._database, schema, name, gives_table)
        if place in self._created:
            return
        self._created.add(place)
        step: list[str | Part] = [f"CREATE MACRO {self._written(schema, name)}"]
        for number, (parameters, text) in enumerate(variants):
            listed = ", ".join(map(written_parameter, parameters))
            step.append(f"{', ' if number else ''}({listed}) AS {'TABLE ' if gives_table else ''}")
            step.append(self._qualified(text if gives_table else f"SELECT {text}", is_expression=not gives_table))
        # What it calls is a step before it.
        self._steps.append(step)

    def _written(self, schema: str, name: str) -> str:
        return f"{self._database}.{quoted(schema)}.{quoted(name)}"

    def _qualified(self, query: str, *, is_expression: bool = False) -> Part:
        """A query with the schemas of all names."""
        if query not in self._trees:
            # It is one of DuckDB's own.
            self._trees |= self._serialized([query])
        tree = self._changed(json.loads(self._trees[query]), frozenset())
        self._parts.append(json.dumps(tree))
        return Part(len(self._parts) - 1, is_expression)

    def _serialized(self, queries: Iterable[str]) -> dict[str, str]:
        sql = "SELECT query, json_serialize_sql(query) FROM (SELECT unnest($1::VARCHAR[]) AS query)"
        return dict(self._connection.execute(sql, [list(queries)]).fetchall())

    def _run(self) -> None:
        """Run the statements."""
        sql = "SELECT json_deserialize_sql(tree::JSON) FROM (SELECT unnest($1::VARCHAR[]) AS tree)"
        texts = [text for (text,) in self._connection.execute(sql, [self._parts]).fetchall()]

        def written(part: str | Part) -> str:
            if isinstance(part, str):
                return part
            text = texts[part.number]
            return text.removeprefix("SELECT ") if part.is_expression else text

        self._connection.execute(f"USE {self._database}.{SCHEMA}")
        for step in self._steps:
            self._connection.execute("".join(map(written, step)))

    def _changed(self, node: Any, variables: frozenset[str]) -> Any:
        """A part of a tree with schemas. `variables` are those of the lambda expressions around it."""
        if not node or not isinstance(node, (dict, list)):
            return node
        if isinstance(node, list):
            return [self._changed(part, variables) for part in node]
        kind = node.get("class") or node.get("type")
        if kind == "LAMBDA":
            inside = variables | {reference["column_names"][0] for reference in references(node["lhs"])}
            return {**node, "expr": self._changed(node["expr"], inside)}
        if kind == "TABLE_FUNCTION":
            others = {name: part for name, part in node.items() if name != "function"}
            call = self._changed_parts(node["function"], variables)
            return {**self._changed_parts(others, variables), "function": self._call(call, gives_table=True)}
        node = self._changed_parts(node, variables)
        match kind:
            case "FUNCTION" | "WINDOW":
                return self._call(node, gives_table=False)
            case "OPERATOR" if node["type"] in SUBSCRIPTS:
                return self._call(call_of(SUBSCRIPTS[node["type"]], node["children"], node["alias"]), gives_table=False)
            case "COLUMN_REF":
                return self._field(node, variables)
            case "TYPE":
                return self._type(node)
            case "BASE_TABLE":
                return self._table(node)
            case _:
                return node

    def _changed_parts(self, node: Node, variables: frozenset[str]) -> Node:
        # Most parts are no nodes. The call alone would take most of the time.
        return {
            name: self._changed(part, variables) if isinstance(part, (dict, list)) and part else part
            for name, part in node.items()
        }

    def _call(self, call: Node, *, gives_table: bool) -> Node:
        """A call with the schema of its function. The catalog's functions come before DuckDB's."""
        path, name = call["qualified_name"]["path"], call["function_name"]
        if name == "unnest" and not gives_table:
            # It is syntax, and no macro takes its place.
            return call
        if len(path) == 1:
            is_own = Place(self._database, SCHEMA, name, gives_table) in self._macros
            path = [SCHEMA, name] if is_own else ["system", self._schemas[name, gives_table], name]
        if len(path) == 2:
            path = [self._database, *path]
        database, schema, _ = path
        if variants := self._macros.get(Place(database, schema, name, gives_table)):
            # DuckDB binds what a macro calls when it creates the macro.
            schema = ENGINE if database == "system" else schema
            self._create_macro(schema, name, gives_table, variants)
            path = [self._database, schema, name]
        resolved = {**call, "catalog": path[0], "schema": path[1], "qualified_name": {"path": path}}
        if "is_operator" in call:
            # DuckDB writes an operator without its schema.
            resolved["is_operator"] = False
        return resolved

    def _field(self, reference: Node, variables: frozenset[str]) -> Node:
        """A reference to a column, or to a field of a variable of a lambda expression."""
        first, *fields = reference["column_names"]
        if first not in variables:
            return reference
        found: Node = {**reference, "column_names": [first]}
        for field in fields:
            name = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", **NOWHERE}
            name["literal"] = {"kind": "STRING", "text": field}
            found = self._call(call_of("struct_extract", [found, name], reference["alias"]), gives_table=False)
        return found

    def _type(self, type_: Node) -> Node:
        name = type_["type_name"]
        if len(type_["qualified_name"]["path"]) > 1:
            return type_
        if name in self._types:
            path = [self._database, SCHEMA, name]
        elif name.lower() in TYPES:
            path = ["system", "main", name]
        else:
            return type_
        return {**type_, "catalog": path[0], "schema": path[1], "qualified_name": {"path": path}}

    def _table(self, table: Node) -> Node:
        """A table or view with its schema. A view of DuckDB's is copied."""
        path = table["qualified_name"]["path"]
        if len(path) == 1:
            path = ["system", "main", *path] if ("main", path[0]) in self._views else [SCHEMA, *path]
        if len(path) == 2:
            path = [self._database, *path]
        database, schema, name = path
        if database == "system":
            copy = f"{schema}_{name}"
            place = Place(self._database, ENGINE, copy, True)
            if place not in self._created:
                self._created.add(place)
                self._create_view(ENGINE, copy, self._views[schema, name])
            path, table = [self._database, ENGINE, copy], {**table, "alias": table["alias"] or name}
        names = dict(zip(("catalog_name", "schema_name", "table_name"), path, strict=True))
        return {**table, **names, "qualified_name": {"path": path}}


def text_of(created: re.Match[str]) -> str:
    """The query of a view, or the query or expression of a variant of a macro."""
    return created[6].rstrip("; \n")


def query_of(created: re.Match[str]) -> str:
    """The same as a query."""
    is_query = created[1] == "VIEW" or created[5] is not None
    return text_of(created) if is_query else f"SELECT {text_of(created)}"


#: The position of what is in no text.
NOWHERE = {"query_location": 0, "query_location_length": 0}


def written_parameter(parameter: str) -> str:
    """The parameter of a macro, which may have a default: `days := 0`."""
    name, *default = parameter.partition(" := ")
    return "".join((quoted(name), *default))


def call_of(name: str, arguments: list[Node], alias: str) -> Node:
    """A call of a function."""
    return {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "alias": alias,
        **NOWHERE,
        "function_name": name,
        "schema": "",
        "catalog": "",
        "qualified_name": {"path": [name]},
        "arguments": [{"name": "", "expression": argument} for argument in arguments],
        "filter": None,
        "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
        "distinct": False,
        "is_operator": False,
        "export_state": False,
        "is_legacy_function_call": False,
    }


def references(node: Any) -> Iterable[Node]:
    """The references to columns in a part of a tree."""
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from references(part)
