"""Values of types that DuckDB's C interface hides, as others that `serve/bridge/src/duckdb_api/` reads, and back.

A BIT and a TIME WITH TIME ZONE become texts, a MAP becomes a list of structs, also within other types. The expressions
use an argument once, because it may give another value each time.
"""

from __future__ import annotations

from collections.abc import Callable

from colonnade._sources.duckdb_types.exact import literal, quoted

from .type_names import TypeTree, read_type, written

#: Where the functions are. Anyone who may write can create macros with their names in another schema.
OWN = "system.main."
#: Types that functions get and give as text.
AS_TEXT = ("BIT", "TIME WITH TIME ZONE")


def is_converted(type_: str) -> bool:
    """Whether values of the type are converted."""
    return read_type(type_).any(*AS_TEXT, "MAP")


def argument(value: str, type_: str) -> str:
    """An argument as the dispatcher gets it."""
    tree = read_type(type_)
    return forth(value, tree, 0) if tree.any(*AS_TEXT, "MAP") else value


def result(call: str, type_: str) -> str:
    """The result of a dispatcher in the function's type."""
    tree = read_type(type_)
    return back(call, tree, 0) if tree.any(*AS_TEXT, "MAP") else call


def converted(tree: TypeTree) -> str:
    """The name of the type that values are converted to."""
    types = [converted(child) for child in tree.children]
    match tree.kind:
        case "LIST":
            return f"{types[0]}[]"
        case "ARRAY":
            return f"{types[0]}[{tree.size}]"
        case "STRUCT" | "UNION":
            return written(tree.kind, tree.names, types)
        case "MAP":
            return written("STRUCT", ("key", "value"), types) + "[]"
        case _:
            return "VARCHAR" if tree.name in AS_TEXT else tree.name


def forth(value: str, tree: TypeTree, depth: int) -> str:
    """A value in the converted type."""
    if not tree.any("MAP"):
        return f"CAST({value} AS {converted(tree)})" if tree.any(*AS_TEXT) else value
    if tree.kind == "MAP":
        value = f"{OWN}map_entries({value})"
        entry = TypeTree("", "STRUCT", tree.children, ("key", "value"))
        return forth(value, TypeTree("", "LIST", (entry,)), depth)
    return rebuilt(value, tree, depth, forth, converted(tree))


def back(value: str, tree: TypeTree, depth: int) -> str:
    """A value in the type, from the converted one."""
    if not tree.any("MAP"):
        return f"CAST({value} AS {tree.name})" if tree.any(*AS_TEXT) else value
    if tree.kind == "MAP":
        name = written("STRUCT", ("key", "value"), [child.name for child in tree.children])
        entry = TypeTree(name, "STRUCT", tree.children, ("key", "value"))
        return f"{OWN}map_from_entries({back(value, TypeTree(f'{name}[]', 'LIST', (entry,)), depth)})"
    return rebuilt(value, tree, depth, back, tree.name)


Turn = Callable[[str, TypeTree, int], str]


def rebuilt(
    value: str, tree: TypeTree, depth: int, turn: Turn, name: str, union: Callable[..., str] | None = None
) -> str:
    """A value of the type `name`, with its items, fields or members turned. Values below the first level are those of a
    lambda's variable, so they may be used several times. `union` makes the value of a UNION, as `union_of` does."""
    one = f"e{depth}"
    if tree.kind in ("LIST", "ARRAY"):
        listed = f"{OWN}list_transform({value}, lambda {one}: {turn(one, tree.children[0], depth + 1)})"
        return listed if tree.kind == "LIST" else f"CAST({listed} AS {name})"
    of = struct_of if tree.kind == "STRUCT" else union or union_of
    if depth > 0:
        return of(value, tree, depth, turn, name)
    whole = of(one, tree, depth + 1, turn, name)
    return f"{OWN}list_extract({OWN}list_transform({OWN}list_value({value}), lambda {one}: {whole}), 1)"


def struct_of(value: str, tree: TypeTree, depth: int, turn: Turn, _: str) -> str:
    fields = []
    for field, type_ in zip(tree.names, tree.children, strict=True):
        given = f"{OWN}struct_extract({value}, {literal(field)})"
        fields.append(f"{quoted(field)} := {turn(given, type_, depth + 1)}")
    return f"CASE WHEN {value} IS NOT NULL THEN {OWN}struct_pack({', '.join(fields)}) END"


def union_of(value: str, tree: TypeTree, depth: int, turn: Turn, name: str) -> str:
    members = []
    for member, type_ in zip(tree.names, tree.children, strict=True):
        given = turn(f"{OWN}union_extract({value}, {literal(member)})", type_, depth + 1)
        made = f"CAST({OWN}union_value({quoted(member)} := {given}) AS {name})"
        members.append(f"WHEN {literal(member)} THEN {made}")
    return f"CASE {OWN}union_tag({value}) {' '.join(members)} END"
