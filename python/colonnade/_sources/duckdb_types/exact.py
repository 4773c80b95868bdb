"""Makes DuckDB's Arrow export exact (spec/TYPES.md).

DuckDB's export drops the offset of TIMETZ, overflows for UHUGEINT beyond 2^127 and for INTERVAL beyond 292 years of
hours, and has a private binary form of BIT and BIGNUM. DuckDB's setting `arrow_lossless_conversion` corrects some of
this, but changes every BOOLEAN into a byte and HUGEINT into opaque bytes. So it stays off, and the query casts these
types. A column without an exact form is refused by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from duckdb import DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType


#: A key and a value for the metadata of fields, by the place of each field: the number of a column, of its child, and
#: so on. The child of a map is its entries.
FieldNotes: TypeAlias = "dict[tuple[int, ...], tuple[str, str]]"

EXACT_TYPES = {
    *("null", "boolean", "float", "double", "decimal", "varchar", "blob", "enum", "uuid", "variant", "geometry"),
    *("tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint"),
    *("date", "time", "time_ns", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    *("timestamp with time zone", "timestamptz_ns"),
}
TYPES_AS_TEXT = {"uhugeint", "bignum", "bit", "time with time zone", "type"}
ADVICE = {
    "union": "cast it to VARCHAR, or use to_json()",
    "interval": "cast it to VARCHAR: within a nested type its range cannot be checked",
}
# 2^63 nanoseconds are 2562047.8 hours.
MAX_INTERVAL_HOURS = 2562046


#: The keys of a metadata: the type of a column that was cast to text, and one whose values arrive in an Arrow type that
#: others have too.
TEXT_KEY, NAME_KEY = "colonnade.type", "colonnade.type_name"


class UnsupportedType(TypeError):
    """A column whose type has no exact form in Arrow."""

    def __init__(self, column: str, type_name: str, advice: str) -> None:
        super().__init__(f'column "{column}" has type {type_name}, which has no exact Arrow form: {advice}')


class Exact(NamedTuple):
    """A relation whose Arrow export is exact, and the DuckDB type of each column that was cast, by position."""

    relation: DuckDBPyRelation
    cast_from: dict[int, str]


def exact(relation: DuckDBPyRelation) -> Exact:
    """The same rows in the same order. A relation that needs no cast is returned unchanged.

    Raises `UnsupportedType` for a column that has no exact form.
    """
    expressions: list[str] = []
    cast_from: dict[int, str] = {}
    checked = False
    seen: set[str] = set()
    for position, (name, type_) in enumerate(zip(relation.columns, relation.types, strict=True)):
        source = f"#{position + 1}"
        if type_.id == "interval":
            # DuckDB binds equal expressions in quadratic time, and these are equal for DuckDB's hash but for the text.
            source = checked_interval(source, f"{position + 1}, {name}" if name in seen else name)
            seen.add(name)
            checked = True
        elif (target := cast_target(type_, name)) is not None:
            source = f"CAST({source} AS {target})"
            cast_from[position] = str(type_)
        expressions.append(f"{source} AS {quoted(name)}")
    if not cast_from and not checked:
        return Exact(relation, cast_from)
    return Exact(relation.project(", ".join(expressions)), cast_from)


def described(relation: DuckDBPyRelation) -> tuple[DuckDBPyRelation, FieldNotes]:
    """The same rows by an exact export, and what it does not tell of their types (`Stream.from_arrow`)."""
    converted, cast_from = exact(relation)
    notes: FieldNotes = {(position,): (TEXT_KEY, name) for position, name in cast_from.items()}
    return converted, notes | named(relation.types)


def named(types: Iterable[DuckDBPyType]) -> FieldNotes:
    """What an export does not tell of these types."""
    notes: FieldNotes = {}
    for position, type_ in enumerate(types):
        notes |= {place: (NAME_KEY, name) for place, name in type_names(type_, (position,))}
    return notes


def type_names(type_: DuckDBPyType, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    """The types within a type that its export makes plain texts or dictionaries of texts, by their places."""
    match type_.id:
        case "uuid" | "enum":
            yield place, str(type_)
        case "varchar" if str(type_) == "JSON":
            yield place, "JSON"
        case "list" | "array" | "map" | "struct" | "tuple":
            # A map has entries, which have a key and a value.
            inner = (*place, 0) if type_.id == "map" else place
            for number, child in enumerate(inner_types(type_)):
                yield from type_names(child, (*inner, number))


def inner_types(type_: DuckDBPyType) -> list[DuckDBPyType]:
    # An array's children are its item type and its size.
    return [child for _, child in type_.children if not isinstance(child, (int, list))]


def check(columns: Iterable[tuple[str, DuckDBPyType]]) -> None:
    """Raise `UnsupportedType` for a column that has no exact form."""
    for name, type_ in columns:
        if type_.id != "interval":
            cast_target(type_, name)


def cast_target(type_: DuckDBPyType, column: str) -> str | None:
    """The SQL type to cast to, or None if the export is exact without a cast."""
    kind = type_.id
    if kind in EXACT_TYPES:
        return None
    if kind in TYPES_AS_TEXT:
        return "VARCHAR"
    if kind in ("list", "array", "map", "struct", "tuple"):
        return nested_target(type_, column)
    raise UnsupportedType(column, str(type_), ADVICE.get(kind, "cast it to VARCHAR"))


def nested_target(type_: DuckDBPyType, column: str) -> str | None:
    # An array's children are its item type and its size.
    children = [(name, child) for name, child in type_.children if not isinstance(child, (int, list))]
    targets = [(name, child, cast_target(child, column)) for name, child in children]
    if all(target is None for _, _, target in targets):
        return None
    types = [(name, target or str(child)) for name, child, target in targets]
    match type_.id:
        case "list":
            return f"{types[0][1]}[]"
        case "array":
            return f"{types[0][1]}[{dict(type_.children)['size']}]"
        case "map":
            return f"MAP({types[0][1]}, {types[1][1]})"
        case "tuple":
            return f"TUPLE({', '.join(child for _, child in types)})"
        case _:
            return f"STRUCT({', '.join(f'{quoted(name)} {child}' for name, child in types)})"


def checked_interval(source: str, column: str) -> str:
    problem = f'column "{column}" has an interval that does not fit Arrow\'s nanoseconds: cast it to VARCHAR'
    beyond = f"system.main.hour({source}) NOT BETWEEN -{MAX_INTERVAL_HOURS} AND {MAX_INTERVAL_HOURS}"
    return f"CASE WHEN {beyond} THEN system.main.error({literal(problem)}) ELSE {source} END"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
