"""Where a statement leaves the type of a value open, and what PostgreSQL decides it by.

A parameter, and a literal without a cast, get their type from their place: the other operand, the column that takes
them, the other side of a set operation, the argument of a function; text if nothing else decides (PostgreSQL's manual,
"Type Conversion"; parse_coerce.c, parse_oper.c, parse_func.c, parse_param.c). `Round` finds these places in DuckDB's
parse tree and writes a query from which DuckDB's binder tells the types that decide. It has the statement's FROM
clauses, and of its expressions only those whose types are asked for, each with a parameter of its own:
`CASE WHEN true THEN expression ELSE $colonnade_1 END`. DuckDB gives this parameter the expression's type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .tree_nodes import NULL, TRUE, Node, column_of, expressions, is_literal, may_differ, row_parts, without_places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .overloads import Overloads

#: A parameter's number, or the place of a literal.
Key = tuple[str, int]

#: The key of a query's tree for the types of the columns that take its columns.
EXPECTED = "colonnade_expected"
TEXT, BOOLEAN, COUNT = "VARCHAR", "BOOLEAN", "BIGINT"
#: Functions of which all arguments have one type.
ALIKE_FUNCTIONS = {"nullif", "greatest", "least", "list_value"}
ALIKE_OPERATORS = {"OPERATOR_COALESCE", "COMPARE_IN", "COMPARE_NOT_IN", "ARRAY_CONSTRUCTOR", "OPERATOR_NULLIF"}


def refuses(_: str) -> bool:
    return False


@dataclass
class Place:
    """A place of an open value, whose type `decide` finds from the types that DuckDB tells for `asked`."""

    key: Key
    decide: Callable[[list[str]], str | None]
    #: Whether a column takes the value, so that its type is exactly this.
    is_assigned: bool = False
    #: Whether it makes a text of a value that nothing else decides.
    is_last: bool = False
    #: Whether it also accepts a value of a type.
    accepts: Callable[[str], bool] = refuses
    #: What the types are asked of. Each of them is an expression, or the place itself within an expression.
    asked: list[Node] = field(default_factory=list)
    #: The numbers of the parameters that tell them.
    numbers: list[int] = field(default_factory=list)
    #: The type if DuckDB cannot tell them.
    otherwise: str | None = None


def of_rows(types: list[str]) -> str | None:
    """The type of a literal with a cast, if the server cannot read the literal without it."""
    return types[0] if types[0].startswith("STRUCT(") or types[0].endswith("]") else None


def same(types: list[str]) -> str:
    return types[0]


class Call:
    """An open argument of a function or an operator."""

    def __init__(self, overloads: Overloads, node: Node, unknown: list[bool], position: int) -> None:
        self._overloads, self._node, self._unknown, self._position = overloads, node, unknown, position
        self._types: list[str | None] = []

    def decide(self, told: list[str]) -> str | None:
        rest = iter(told)
        self._types = [None if is_unknown else next(rest) for is_unknown in self._unknown]
        return self._overloads.choose(self._node, self._types, self._position)

    def accepts(self, type_: str) -> bool:
        """Whether the operator takes a value of a type there, too."""
        types: list[str | None] = list(self._types)
        types[self._position] = type_
        return self._overloads.accepts(self._node, types)


class OpenPlaces(ABC):
    """The open values of a tree, and the places within its expressions that can be decided now."""

    def __init__(
        self,
        types: dict[Key, str | None],
        overloads: Overloads,
        *,
        literals: bool,
        only: frozenset[int] | None = None,
        reopened: frozenset[int] = frozenset(),
    ) -> None:
        #: The places, in PostgreSQL's order, and the types of the numbered parameters that stand for decided values.
        self.places: list[Place] = []
        self.stands: list[str] = []
        self.count = 0
        self._types, self._overloads = types, overloads
        #: Which places alone are asked for, and the parameters that are taken to be open again, by their identity.
        self._literals, self._only, self._reopened = literals, only, reopened
        #: What `has_open` has found, by the identity of a part, which is kept.
        self._open: dict[int, tuple[object, bool]] = {}
        self._shared: dict[str, int] = {}

    # Open values.

    def key(self, node: Node) -> Key | None:
        """The key of an open value."""
        kind = node.get("class")
        if kind == "PARAMETER":
            return "$", int(node["identifier"]) if node["identifier"].isdecimal() else -1
        if self._literals and kind == "CONSTANT" and "query_location" in node and may_differ(node):
            return "'", node["query_location"]
        return None

    def is_open(self, node: Node) -> bool:
        return (key := self.key(node)) is not None and (key not in self._types or id(node) in self._reopened)

    def has_open(self, item: object) -> bool:
        """Whether there is an open value anywhere in a part of the tree."""
        if isinstance(item, list):
            return any(map(self.has_open, item))
        if not isinstance(item, dict):
            return False
        if (known := self._open.get(id(item))) is None:
            found = self.is_open(item) or any(map(self.has_open, item.values()))
            known = self._open[id(item)] = (item, found)
        return known[1]

    def is_unknown(self, node: Node) -> bool:
        """Whether an expression has PostgreSQL's type `unknown`."""
        return self.is_open(node) or (is_literal(node) and self._types.get(self.key(node) or ("", 0)) is None)

    def copy(self, item: Any) -> Any:
        """A part of the tree in which decided values have their types. None is what PostgreSQL leaves open."""
        if isinstance(item, list):
            return [self.copy(part) for part in item]
        if not isinstance(item, dict):
            return item
        if (key := self.key(item)) is not None:
            if (type_ := self._types.get(key)) is None:
                return {**NULL, **{name: item[name] for name in ("alias",) if name in item}}
            self.stands.append(type_)
            return {**self.parameter(-len(self.stands)), **({"alias": item["alias"]} if "alias" in item else {})}
        return {name: self.copy(part) for name, part in item.items()}

    @staticmethod
    def parameter(number: int) -> Node:
        name = f"colonnade_{number}" if number > 0 else f"colonnade_typed_{-number}"
        return {"class": "PARAMETER", "type": "VALUE_PARAMETER", "identifier": name}

    # Places.

    def decided(self, node: Node, type_: str, *, is_assigned: bool = False) -> list[Node]:
        """A place that the statement's form alone decides."""
        if self.is_open(node):
            place = Place(self.key(node) or ("", 0), lambda _: type_, is_assigned)
            if type_ == TEXT and not is_assigned:
                place.is_last, place.accepts = True, lambda _: True
            self._add(place)
            return []
        return self.probes(node)

    def alike(self, nodes: Sequence[Node], of: Callable[[str], str] = str) -> list[Node]:
        """Values of one type. Without any that has a type, they are texts."""
        found: list[Node] = []
        for node in nodes:
            if not self.is_open(node):
                found += self.probes(node)
        for node in nodes:
            if self.is_open(node):
                peers = [peer for peer in nodes if not self.is_unknown(peer)]
                found += self.as_peers(node, peers, of)
        return found

    def as_peers(self, node: Node, peers: list[Node], of: Callable[[str], str] = str) -> list[Node]:
        key = self.key(node) or ("", 0)
        if not peers:
            return self._ask(Place(key, lambda _: of(TEXT)))
        if self.has_open(peers):
            return []
        return self._ask(Place(key, lambda types: of(types[0]), asked=[self._beside(peers)]))

    def arguments(self, node: Node, arguments: list[Node]) -> list[Node]:
        """The arguments of a function or an operator."""
        found: list[Node] = []
        for argument in arguments:
            if not self.is_open(argument):
                found += self.probes(argument)
        at = [position for position, argument in enumerate(arguments) if self.is_open(argument)]
        known = [argument for argument in arguments if not self.is_unknown(argument)]
        if not at or self.has_open(known):
            return found
        if not self._overloads.is_known(node):
            # A macro takes anything, so PostgreSQL's rule for it is the one for text.
            return found + self.inferred(node, [arguments[position] for position in at], TEXT)
        asked = [self._beside([argument]) for argument in known]
        unknown = [self.is_unknown(argument) for argument in arguments]
        for position in at:
            call = Call(self._overloads, node, unknown, position)
            key = self.key(arguments[position]) or ("", 0)
            found += self._ask(Place(key, call.decide, accepts=call.accepts, asked=list(asked)))
        return found

    def inferred(
        self,
        node: Node,
        open_: list[Node],
        otherwise: str | None = None,
        accepts: Callable[[str], bool] = refuses,
        decide: Callable[[list[str]], str | None] = same,
    ) -> list[Node]:
        """Values whose types DuckDB infers within the expression `node`."""
        found = []
        for value in open_:
            place = Place(self.key(value) or ("", 0), decide, otherwise=otherwise, accepts=accepts)
            if self._add(place):
                self.count += 1
                place.numbers.append(self.count)
                found.append(self._with_parameter(node, value, self.count))
        return found

    def _with_parameter(self, item: Any, value: Node, number: int) -> Any:
        if item is value:
            return self.parameter(number)
        if isinstance(item, list):
            return [self._with_parameter(part, value, number) for part in item]
        if not isinstance(item, dict) or self.key(item) is not None:
            return self.copy(item)
        return {name: self._with_parameter(part, value, number) for name, part in item.items()}

    def _add(self, place: Place) -> bool:
        self.places.append(place)
        return self._only is None or len(self.places) - 1 in self._only

    def _ask(self, place: Place) -> list[Node]:
        if not self._add(place):
            return []
        found = []
        for expression in place.asked:
            # Equal expressions stay equal, for GROUP BY.
            name = repr(expression)
            if (number := self._shared.get(name)) is None:
                self.count += 1
                number = self._shared[name] = self.count
            place.numbers.append(number)
            check = {"when_expr": TRUE, "then_expr": expression["then"][0]}
            rest = [{"when_expr": TRUE, "then_expr": part} for part in expression["then"][1:]]
            found.append(
                {
                    "class": "CASE",
                    "type": "CASE_EXPR",
                    "case_checks": [check, *rest],
                    "else_expr": self.parameter(number),
                }
            )
        return found

    def _beside(self, peers: list[Node]) -> Node:
        bare = [{name: part for name, part in peer.items() if name != "alias"} for peer in peers]
        return {"then": [without_places(self.copy(peer)) for peer in bare]}

    @abstractmethod
    def query(self, node: Node, expected: list[str] | None = None) -> Node:
        """The query that tells the types of a query's places (`open_queries.py`)."""

    # Expressions.

    def carrier(self, found: list[Node]) -> Node:
        """An expression with these, which is NULL and so fits anywhere."""
        if not found:
            return NULL
        checks = [
            {
                "when_expr": {"class": "OPERATOR", "type": "OPERATOR_IS_NULL", "children": [one]},
                "then_expr": NULL,
            }
            for one in found
        ]
        return {"class": "CASE", "type": "CASE_EXPR", "case_checks": checks, "else_expr": NULL}

    def clause(self, node: Node, type_: str = TEXT, *, is_assigned: bool = False) -> Node:
        """An expression of a clause. A value alone has this type."""
        if not self.has_open(node):
            return self.copy(node)
        carrier = self.carrier(self.decided(node, type_, is_assigned=is_assigned))
        return {**carrier, **({"alias": node["alias"]} if "alias" in node else {})}

    def probes(self, node: Node) -> list[Node]:
        """What is asked for within an expression."""
        if not self.has_open(node) or self.is_open(node):
            return []
        kind, type_ = node.get("class"), node.get("type")
        children: list[Node] = node.get("children", [])
        if kind == "COMPARISON":
            return self._comparison(node["left"], node["right"])
        if kind == "BETWEEN":
            given, lower, upper = node["input"], node["lower"], node["upper"]
            if self.is_open(given):
                return self.alike([given, lower, upper])
            return [*self.probes(given), *self._beside_one(given, lower), *self._beside_one(given, upper)]
        if kind == "CONJUNCTION" or type_ == "OPERATOR_NOT":
            return [one for child in children for one in self.decided(child, BOOLEAN)]
        if kind == "CASE":
            checks = node["case_checks"]
            whens = [one for check in checks for one in self.decided(check["when_expr"], BOOLEAN)]
            return whens + self.alike([*(check["then_expr"] for check in checks), node.get("else_expr", NULL)])
        if kind == "OPERATOR" and type_ in ALIKE_OPERATORS:
            rows = [row_parts(child) for child in children]
            if type_ == "COMPARE_IN" and all(row is not None and len(row) == len(rows[0] or []) for row in rows):
                return [one for column in zip(*[row or [] for row in rows], strict=True) for one in self.alike(column)]
            return self.alike(children)
        if kind == "COLLATE":
            return self.decided(node["child"], TEXT)
        if kind == "CAST" and self.is_open(node["child"]):
            decide = of_rows if is_literal(node["child"]) else same
            return self.inferred(node, [node["child"]], accepts=lambda _: True, decide=decide)
        if kind == "SUBQUERY":
            return self._subquery(node)
        if kind in ("FUNCTION", "WINDOW"):
            return self._call(node)
        if kind == "LAMBDA":
            # `j -> 'key'`, or a function, whose expression has names that nothing else has.
            is_arrow = node.get("syntax_type") == "SINGLE_ARROW" and self.is_open(node["expr"])
            return self.decided(node["expr"], TEXT) if is_arrow else []
        if kind == "OPERATOR" and type_ in ("ARRAY_EXTRACT", "ARRAY_SLICE") and not self.has_open(children[0]):
            return self.inferred(node, [child for child in children if self.is_open(child)]) + [
                one for child in children for one in self.probes(child)
            ]
        return [one for part in expressions(node) for one in self.probes(part)]

    def _comparison(self, left: Node, right: Node) -> list[Node]:
        lefts, rights = row_parts(left), row_parts(right)
        if lefts is not None and rights is not None and len(lefts) == len(rights):
            return [one for pair in zip(lefts, rights, strict=True) for one in self._comparison(*pair)]
        return self.alike([left, right])

    def _beside_one(self, given: Node, node: Node) -> list[Node]:
        return self.alike([given, node]) if self.is_open(node) else self.probes(node)

    def _subquery(self, node: Node) -> list[Node]:
        child, query = node.get("child"), node["subquery"]["node"]
        items = query.get("select_list", [])
        unnested = items[0] if len(items) == 1 and items[0].get("function_name") == "unnest" else None
        found: list[Node] = []
        if child is not None and unnested is not None and len(unnested["arguments"]) == 1:
            # `child = ANY (list)`.
            list_ = unnested["arguments"][0]["expression"]
            if self.is_open(list_):
                if self.is_unknown(child):
                    found += self.alike([child]) if self.is_open(child) else []
                    return found + self._ask(Place(self.key(list_) or ("", 0), lambda _: f"{TEXT}[]"))
                return self.probes(child) + self.as_peers(list_, [child], lambda type_: f"{type_}[]")
        if child is not None:
            parts = row_parts(child) or [child]
            for position, part in enumerate(parts):
                if self.is_open(part) and not self.has_open(query):
                    found += self.as_peers(part, [column_of(query, position)])
                else:
                    found += self.probes(part)
        if self.has_open(query):
            inner = self.query(query)
            exists = {"class": "SUBQUERY", "type": "SUBQUERY", "subquery_type": "EXISTS", "comparison_type": "INVALID"}
            found.append({**exists, "subquery": {"node": inner}})
        return found

    def _call(self, node: Node) -> list[Node]:
        arguments = [argument["expression"] for argument in node.get("arguments", [])]
        if node["function_name"] in ALIKE_FUNCTIONS:
            found = self.alike(arguments)
        elif node["function_name"] == "row" or not arguments:
            found = [one for argument in arguments for one in self.probes(argument)]
        else:
            found = self.arguments(node, arguments)
        for name in ("filter", "filter_expr"):
            if isinstance(node.get(name), dict):
                found += self.decided(node[name], BOOLEAN)
        for part in expressions({name: part for name, part in node.items() if name in ("partitions", "orders")}):
            found += self.decided(part, TEXT)
        for part in expressions(node.get("order_bys", {})):
            found += self.decided(part, TEXT)
        if found and node.get("class") == "FUNCTION" and self._overloads.is_aggregate(node):
            count = {"class": "FUNCTION", "type": "FUNCTION", "function_name": "count"}
            path = {"path": ["system", "main", "count"]}
            of = {"arguments": [{"expression": self.carrier(found)}], "order_bys": {"type": "ORDER_MODIFIER"}}
            return [{**count, **of, "qualified_name": path}]
        return found
