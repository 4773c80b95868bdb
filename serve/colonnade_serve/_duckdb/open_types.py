"""The types that a statement leaves open: of its parameters, and of literals that DuckDB reads in another form than
PostgreSQL. `open_places.py` finds what decides them, and `overloads.py` has PostgreSQL's rules for calls."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.failures import is_serious

from colonnade_serve._core import Refused

from . import parse_tree
from .lowered import Lowering
from .merged import Piece, joined, parts, written_at
from .open_places import TEXT, Key, Place
from .open_queries import Round
from .overloads import is_alike, seen
from .tree_nodes import ONE, derived, select

if TYPE_CHECKING:
    from .library import Library
    from .overloads import Overloads
    from .tree_nodes import Node

#: The parse tree of a longer statement, as JSON, would be about 40 times as long.
MAX_BYTES = 131_072
#: How often a tree is walked, by the length of its statement. What is not decided then stays open.
FEWEST_WALKS, MAX_WALKS, MAX_WALKED_BYTES = 10, 300, 1_000_000
#: A parameter of `open_places.py` that stands for a value with a type.
STAND = re.compile(r"\$colonnade_typed_(\d+)")
#: DuckDB writes the tree of a statement that changes rows only as a part of a query.
BEFORE, BEHIND = "WITH colonnade_statement AS (", "\n) SELECT 1"

#: An operator next to a parameter, of which DuckDB may take another one than PostgreSQL.
OPERATED = re.compile(r"[-+*/%^|&#~@]\s*\$\d|\$\d+\s*[-+*/%^|&#~@]")
#: A parameter without the cast that the server writes (serve/duckdb/src/placeholder.rs).
BARE = re.compile(r"(?<!CAST\(\()\$(\d+)")
UNKNOWN = "UNKNOWN"


class OpenTypes:
    """The open types of a statement that DuckDB's binder has accepted."""

    def __init__(self, library: Library, overloads: Overloads) -> None:
        self._library, self._overloads = library, overloads
        self._lowering = Lowering(library)

    def of_parameters(self, sql: str, inferred: dict[str, str]) -> list[tuple[str, str]]:
        """The types of a statement's parameters by their names; `UNKNOWN` is what PostgreSQL leaves open, too. DuckDB
        has inferred the types `inferred`. It does not find all that PostgreSQL does, nor that two places of one
        parameter disagree."""
        numbers = BARE.findall(sql)
        is_inferred = UNKNOWN not in inferred.values() and len(numbers) == len(set(numbers))
        if is_inferred and OPERATED.search(sql) is None:
            return list(inferred.items())
        found = self.of(sql)
        if found is None:
            # Nothing is known of the statement's places.
            return [(name, TEXT if type_ == UNKNOWN else type_) for name, type_ in inferred.items()]
        decided = {str(number): type_ for (kind, number), type_ in found.items() if kind == "$"}
        return [(name, decided.get(name) or type_) for name, type_ in inferred.items()]

    def of_literals(self, sql: str) -> list[tuple[int, str]]:
        """The types of the literals that their places decide, by their first byte, in order."""
        found = self.of(sql, literals=True) or {}
        return sorted((at, type_) for (kind, at), type_ in found.items() if kind == "'" and type_ is not None)

    def of(self, sql: str, *, literals: bool = False) -> dict[Key, str | None] | None:
        """The type of each open value; None for a value that PostgreSQL leaves open, too. A literal's key is its
        place in bytes. None if the statement has no tree."""
        if len(sql) > MAX_BYTES:
            return None
        try:
            nodes = self._trees(sql)
            if not nodes:
                return None
            walks = min(MAX_WALKS, max(FEWEST_WALKS, MAX_WALKED_BYTES // len(sql)))
            of = (self._library, self._overloads, _together(nodes))
            return Solver(*of, literals=literals, walks=walks).types()
        except (RecursionError, LookupError, ValueError, TypeError, duckdb.Error) as error:
            if is_serious(error):
                raise
            # A part is unknown, or too deep.
            return None

    def _trees(self, sql: str) -> list[Node]:
        """The trees of a statement as queries. Literals have their places in the statement."""
        written = sql.encode()
        whole = [[Piece(0, len(written))]]
        found = []
        for pieces in parts(sql) or whole:
            node = self._tree(joined(written, pieces).decode())
            if node is None:
                return []
            found.append(self._lowering.lowered(_placed(node, pieces)))
        return found

    def _tree(self, sql: str) -> Node | None:
        options = "skip_null := true, skip_empty := true, skip_default := true"
        query = f"SELECT system.main.json_serialize_sql($1, {options})"
        ((text,),) = self._library.parser.execute(query, [BEFORE + sql + BEHIND]).fetchall()
        tree = json.loads(text)
        if tree["error"] or len(tree["statements"]) != 1:
            return None
        (entry,) = tree["statements"][0]["node"]["cte_map"]["map"]
        return entry["value"]["query_node"]


class Solver:
    """Decides the open values of one tree, round by round: what is decided may decide more."""

    def __init__(
        self,
        library: Library,
        overloads: Overloads,
        node: Node,
        *,
        literals: bool,
        walks: int,
    ) -> None:
        self._library, self._overloads = library, overloads
        self._node, self._literals = node, literals
        #: How often the tree may be walked, which takes as long as it is.
        self._walks = walks
        self._types: dict[Key, str | None] = {}
        self._assigned: set[Key] = set()

    def types(self) -> dict[Key, str | None]:
        occurrences = _parameters(self._node)
        counts = {("$", number): len(places) for number, places in occurrences.items()}
        while found := self._decided():
            # The first place of a parameter decides: so the others wait for it, and what becomes a text waits for all.
            ready = Counter(place.key for place, _ in found)
            first = [one for one in found if not one[0].is_last and ready[one[0].key] >= counts.get(one[0].key, 1)]
            for place, type_ in first or [one for one in found if not one[0].is_last] or found:
                if place.key not in self._types:
                    self._types[place.key] = type_
                    if place.is_assigned:
                        self._assigned.add(place.key)
        if not self._literals:
            self._check(occurrences)
        return self._types

    def _check(self, occurrences: dict[int, list[Node]]) -> None:
        """Refuse a parameter that has one type in one place and another in another, as PostgreSQL does: its value would
        be read as the first one, and the second place would get another text."""
        for number, places in occurrences.items():
            key, type_ = ("$", number), self._types.get(("$", number))
            if type_ is None or len(places) == 1:
                continue
            for place, other in self._decided(frozenset(map(id, places))) if self._walks > 0 else []:
                is_strict = place.is_assigned and key in self._assigned
                # A column of texts takes the text of any value.
                is_text = place.is_assigned and key not in self._assigned and other == TEXT
                is_refused = other is not None and not is_text and not place.accepts(type_)
                if is_refused and not is_alike(type_, other or TEXT, is_strict=is_strict):
                    text = f"inconsistent types deduced for parameter ${number}"
                    hint = f"Cast it where it stands, as in ${number}::text, or use two parameters."
                    raise Refused(text, "42P08", None, f"{seen(type_)} versus {seen(other or TEXT)}", hint)

    def _decided(self, reopened: frozenset[int] = frozenset()) -> list[tuple[Place, str | None]]:
        """The places that can be decided next, and their types."""
        round_, told = self._walked(reopened, None)
        places = round_.places
        found: dict[int, tuple[Place, str | None]] = {}
        pending = [([at for at, place in enumerate(places) if place.numbers], round_, told)]
        while pending:
            some, round_, told = pending.pop()
            if told is None and len(some) > 1 and self._walks > 0:
                # One that DuckDB cannot tell hides the others: so each half is asked for alone.
                for half in (some[: len(some) // 2], some[len(some) // 2 :]):
                    pending.append((half, *self._walked(reopened, frozenset(half))))
                continue
            for at in some:
                place = round_.places[at]
                found[at] = (place, place.otherwise if told is None else _decide(place, told))
        return [found.get(at) or (place, place.decide([])) for at, place in enumerate(places)]

    def _walked(self, reopened: frozenset[int], only: frozenset[int] | None) -> tuple[Round, dict[str, str] | None]:
        self._walks -= 1
        round_ = Round(self._types, self._overloads, literals=self._literals, only=only, reopened=reopened)
        tree = round_.query(self._node)
        return round_, self._told(round_, tree) if self._walks > 0 else None

    def _told(self, round_: Round, tree: Node) -> dict[str, str] | None:
        """What DuckDB tells of the round's parameters; None if it cannot tell all of them."""
        if not round_.count:
            return {}
        text = json.dumps({"error": False, "statements": [{"node": tree}]})
        try:
            query = "SELECT system.main.json_deserialize_sql($1::JSON)"
            ((sql,),) = self._library.parser.execute(query, [text]).fetchall()
            sql = STAND.sub(lambda found: f"CAST(NULL AS {round_.stands[int(found[1]) - 1]})", sql)
            bound = self._library.bind(sql)
        except duckdb.Error as error:
            if is_serious(error):
                raise
            return None
        told = {name: str(type_) for name, type_ in bound.parameters}
        needed = {f"colonnade_{number}" for place in round_.places for number in place.numbers}
        is_told = all(told.get(name, UNKNOWN) not in (UNKNOWN, '"NULL"') for name in needed)
        return told if is_told else None


def _decide(place: Place, told: dict[str, str]) -> str | None:
    return place.decide([told[f"colonnade_{number}"] for number in place.numbers])


def _together(nodes: list[Node]) -> Node:
    """One query with the places of all."""
    return nodes[0] if len(nodes) == 1 else select([ONE], derived(nodes), {})


def _placed(item: Any, pieces: list[Piece]) -> Any:
    """A tree in which literals have their places in the statement."""
    if isinstance(item, list):
        return [_placed(part, pieces) for part in item]
    if not isinstance(item, dict):
        return item
    if item.get("class") == "CONSTANT" and "query_location" in item:
        place = written_at(pieces, item["query_location"] - len(BEFORE))
        bare = {name: part for name, part in item.items() if name != "query_location"}
        return bare if place is None else {**bare, "query_location": place}
    return {name: _placed(part, pieces) for name, part in item.items()}


def _parameters(item: object) -> dict[int, list[Node]]:
    """The places of each parameter."""
    found: dict[int, list[Node]] = {}
    for part in parse_tree.parts(item, subqueries=True):
        if part.get("class") == "PARAMETER" and part["identifier"].isdecimal():
            found.setdefault(int(part["identifier"]), []).append(part)
    return found
