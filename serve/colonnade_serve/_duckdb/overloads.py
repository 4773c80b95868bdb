"""Which function or operator PostgreSQL would call, if the types of some arguments are open.

The rules are those of func_select_candidate (src/backend/parser/parse_func.c) and oper (parse_oper.c). The operators
are PostgreSQL's (pg_operator.dat), as far as DuckDB has their types. The functions are DuckDB's own.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection

TEXT, TIMETZ, TIMESTAMPTZ = "VARCHAR", "TIME WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"
_INTEGERS = ("SMALLINT", "INTEGER", "BIGINT")
_NUMBERS = (*_INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_RANGES = ("int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange")
_ZONED = ("TIMESTAMP", TIMESTAMPTZ, "TIME", TIMETZ)


def _alike(types: Iterable[str]) -> list[tuple[str, ...]]:
    return [(type_, type_) for type_ in types]


_UNARY = [(type_,) for type_ in (*_NUMBERS, "INTERVAL")]
_JSON = [("JSON", TEXT), ("JSON", "INTEGER")]
_DATES = [("DATE", "INTEGER"), ("DATE", "INTERVAL"), ("DATE", "TIME"), ("DATE", TIMETZ)]
OPERATORS: dict[str, list[tuple[str, ...]]] = {
    "+": [
        *_UNARY[:-1],
        *_alike((*_NUMBERS, "INTERVAL")),
        *_DATES,
        *((right, left) for left, right in _DATES),
        *((type_, "INTERVAL") for type_ in _ZONED),
        *(("INTERVAL", type_) for type_ in _ZONED),
    ],
    "-": [
        *_UNARY,
        *_alike((*_NUMBERS, "INTERVAL", "DATE", "TIME", "TIMESTAMP", TIMESTAMPTZ)),
        *_DATES[:2],
        *((type_, "INTERVAL") for type_ in _ZONED),
        *(("JSON", type_) for type_ in (TEXT, "INTEGER", "VARCHAR[]")),
    ],
    "*": [*_alike(_NUMBERS), ("INTERVAL", "DOUBLE"), ("DOUBLE", "INTERVAL")],
    "/": [*_alike(_NUMBERS), ("INTERVAL", "DOUBLE")],
    "//": _alike(_NUMBERS),
    "%": _alike((*_INTEGERS, "DECIMAL")),
    "^": _alike(("DOUBLE", "DECIMAL")),
    "**": _alike(("DOUBLE", "DECIMAL")),
    "||": [*_alike((TEXT, "BLOB", "BIT", "JSON")), (TEXT, "ANY"), ("ANY", TEXT)],
    "&": _alike((*_INTEGERS, "BIT")),
    "|": _alike((*_INTEGERS, "BIT")),
    "<<": [(type_, "INTEGER") for type_ in (*_INTEGERS, "BIT")],
    ">>": [(type_, "INTEGER") for type_ in (*_INTEGERS, "BIT")],
    "->": _JSON,
    "->>": _JSON,
    "#>": [("JSON", "VARCHAR[]")],
    "#>>": [("JSON", "VARCHAR[]")],
    "@>": _alike(("JSON", *_RANGES)),
    "<@": _alike(("JSON", *_RANGES)),
}
#: PostgreSQL's implicit casts (pg_cast.dat).
_CASTS: dict[str, tuple[str, ...]] = {
    "SMALLINT": ("INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"),
    "INTEGER": ("BIGINT", "DECIMAL", "FLOAT", "DOUBLE"),
    "BIGINT": ("DECIMAL", "FLOAT", "DOUBLE"),
    "DECIMAL": ("FLOAT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
    "DATE": ("TIMESTAMP", TIMESTAMPTZ),
    "TIMESTAMP": (TIMESTAMPTZ,),
    "TIME": (TIMETZ, "INTERVAL"),
}
_CATEGORIES = {
    **dict.fromkeys(_NUMBERS, "N"),
    **dict.fromkeys(("DATE", *_ZONED), "D"),
    TEXT: "S",
    "INTERVAL": "T",
    "BOOLEAN": "B",
    "BIT": "V",
}
_TIMES = ("TIME", TIMETZ)
_PREFERRED = {"DOUBLE", TEXT, TIMESTAMPTZ, "INTERVAL", "BOOLEAN", "BIT"}
#: DuckDB's types that PostgreSQL lacks, and the types as which clients see them.
_SEEN_AS = {
    "TINYINT": "SMALLINT",
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM"), "DECIMAL"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "TIMESTAMP"),
    "TIMESTAMPTZ_NS": TIMESTAMPTZ,
    "TIME_NS": "TIME",
}


def seen(type_: str) -> str:
    """A type as PostgreSQL's clients see it, without digits."""
    if type_.endswith("]"):
        return type_
    base = type_.partition("(")[0]
    return TEXT if base == "ENUM" else _SEEN_AS.get(base, base)


def is_alike(type_: str, other: str, *, is_strict: bool) -> bool:
    """Whether a value that is read as a type may stand where another one is meant."""
    type_, other = seen(type_), seen(other)
    is_same = _category(type_) == _category(other) and (type_ in _TIMES) == (other in _TIMES)
    return type_ == other or (is_same and not is_strict)


class Overload(NamedTuple):
    """A function of DuckDB."""

    kind: str
    types: tuple[str | None, ...]
    varargs: str | None


class Overloads:
    """DuckDB's functions. They are read when they are first asked for."""

    def __init__(self, parser: DuckDBPyConnection) -> None:
        self._parser = parser
        self._lock = threading.Lock()
        self._functions: dict[str, list[Overload]] | None = None

    def _of(self, name: str) -> list[Overload]:
        with self._lock:
            if self._functions is None:
                self._functions = self._read()
        return self._functions.get(name.lower(), [])

    def _read(self) -> dict[str, list[Overload]]:
        functions: dict[str, list[Overload]] = {}
        query = (
            "SELECT function_name, function_type, parameter_types, varargs FROM system.main.duckdb_functions() "
            "WHERE database_name = 'system'"
        )
        for name, kind, types, varargs in self._parser.execute(query).fetchall():
            functions.setdefault(name.lower(), []).append(Overload(kind, tuple(types), varargs))
        return functions

    def is_aggregate(self, node: dict[str, Any]) -> bool:
        return any(overload.kind == "aggregate" for overload in self._of(node["function_name"]))

    def is_known(self, node: dict[str, Any]) -> bool:
        """Whether the rules decide a call. DuckDB infers the arguments of others, such as macros."""
        if node.get("is_operator") and node["function_name"] in OPERATORS:
            return True
        found = self._of(node["function_name"])
        return bool(found) and all(overload.kind != "macro" for overload in found)

    def accepts(self, node: dict[str, Any], arguments: list[str | None]) -> bool:
        """Whether there is an operator for arguments of these types."""
        candidates = OPERATORS.get(node["function_name"], []) if node.get("is_operator") else []
        given = [None if type_ is None else seen(type_) for type_ in arguments]
        alike = [types for types in candidates if len(types) == len(given)]
        return any(all(map(_accepts, types, given)) for types in alike)

    def choose(self, node: dict[str, Any], arguments: list[str | None], position: int) -> str | None:
        """The type of the open argument at a position. None for an argument is an open type; None as the result is
        what PostgreSQL leaves open, too."""
        name = node["function_name"]
        if node.get("is_operator") and name in OPERATORS:
            return _of_operator([types for types in OPERATORS[name] if len(types) == len(arguments)], arguments)
        return _of_function(self._of(name), arguments, position)


def _of_operator(candidates: list[tuple[str, ...]], arguments: list[str | None]) -> str | None:
    known = next((type_ for type_ in arguments if type_ is not None), None)
    # First, both sides are taken to have one type.
    is_array = known is not None and known.endswith("]")
    if known is not None and len(arguments) == 2 and (is_array or (seen(known), seen(known)) in candidates):
        return known if is_array or seen(known) == known.partition("(")[0] else seen(known)
    chosen = _selected(candidates, [None if type_ is None else seen(type_) for type_ in arguments])
    found = chosen[arguments.index(None)] if chosen is not None else None
    return None if found == "ANY" else found


def _of_function(overloads: list[Overload], arguments: list[str | None], position: int) -> str | None:
    candidates: list[tuple[str, ...]] = []
    for overload in overloads:
        types = [*overload.types, *[overload.varargs] * (len(arguments) - len(overload.types))]
        if len(types) != len(arguments) or any(type_ is None for type_ in types):
            continue
        written = [str(type_) for type_ in types]
        # Of several that clients see as one, PostgreSQL has one.
        if all(seen(type_) == type_ for type_ in written):
            candidates.append(_bound(written, arguments))
    candidates = list(dict.fromkeys(candidates))
    chosen = _selected(candidates, [None if type_ is None else seen(type_) for type_ in arguments])
    found = chosen[position] if chosen is not None else None
    return None if found in ("ANY", "ANY[]", "T", "T[]", "K", "V") else found


def _bound(types: list[str], arguments: list[str | None]) -> tuple[str, ...]:
    """The types of parameters, in which those of another argument's type have it."""
    item = None
    for type_, argument in zip(types, arguments, strict=True):
        if argument is not None and type_ == "T":
            item = argument
        elif argument is not None and type_ == "T[]" and argument.endswith("]"):
            item = argument.rpartition("[")[0]
    if item is None:
        return tuple(types)
    return tuple({"T": item, "T[]": f"{item}[]"}.get(type_, type_) for type_ in types)


def _selected(candidates: list[tuple[str, ...]], arguments: list[str | None]) -> tuple[str, ...] | None:
    """PostgreSQL's choice (func_select_candidate)."""

    def count(types: tuple[str, ...], is_preferred: bool) -> int:
        pairs = [(given, seen(type_)) for given, type_ in zip(arguments, types, strict=True) if given is not None]
        return sum(given == type_ or (is_preferred and type_ in _PREFERRED) for given, type_ in pairs)

    found = [types for types in candidates if all(map(_accepts, types, arguments))]
    for is_preferred in (False, True):
        if len(found) > 1:
            best = max(count(types, is_preferred) for types in found)
            found = [types for types in found if count(types, is_preferred) == best]
    if len(found) <= 1:
        return found[0] if found else None
    for position, given in enumerate(arguments):
        if given is not None:
            continue
        categories = {_category(types[position]) for types in found}
        if "S" not in categories and len(categories) > 1:
            break
        category = "S" if "S" in categories else categories.pop()
        found = [types for types in found if _category(types[position]) == category]
        preferred = [types for types in found if types[position] in _PREFERRED]
        found = preferred or found
    if len(found) == 1:
        return found[0]
    known = {given for given in arguments if given is not None}
    if len(known) == 1:
        (only,) = known
        alike = [types for types in found if all(_accepts(type_, only) for type_ in types)]
        return alike[0] if len(alike) == 1 else None
    return None


def _category(type_: str) -> str:
    return _CATEGORIES.get(seen(type_), type_)


def _accepts(type_: str, given: str | None) -> bool:
    type_ = seen(type_)
    if given is None or given == type_ or type_ in ("ANY", "T"):
        return True
    if type_ in ("ANY[]", "T[]"):
        return given.endswith("]")
    return type_ in _CASTS.get(given, ())
