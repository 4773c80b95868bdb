"""Values of UNION types as structs, which the wire and all readers of Arrow have, and back.

`UNION(num INTEGER, str VARCHAR)` is `STRUCT(member VARCHAR, values STRUCT(num INTEGER, str VARCHAR))`: the name of the
member, and the values of all members, of which the others are NULL. The extension module makes the same structs of
captured arguments (`serve/bridge/src/duckdb_api/capture/array.rs`).
"""

from __future__ import annotations

from dataclasses import replace

from colonnade._sources.duckdb_types.exact import literal, quoted

from .conversions import OWN, Turn, rebuilt
from .type_names import TypeTree, read_type, written

MEMBER = "member"
VALUES = "values"


def struct_type(type_: str) -> str:
    """The name of a type, in which each UNION is a STRUCT."""
    return without_unions(read_type(type_)).name


def to_structs(value: str, type_: str) -> str:
    """An expression of a type, with structs in the place of unions."""
    return forth(value, read_type(type_), 0)


def from_structs(value: str, type_: str) -> str:
    """An expression of a type, from one that has structs in the place of its unions."""
    return back(value, read_type(type_), 0)


def without_unions(tree: TypeTree) -> TypeTree:
    """The tree of a type, in which each UNION is a STRUCT."""
    children = tuple(map(without_unions, tree.children))
    types = [child.name for child in children]
    match tree.kind:
        case "LIST":
            return replace(tree, name=f"{types[0]}[]", children=children)
        case "ARRAY":
            return replace(tree, name=f"{types[0]}[{tree.size}]", children=children)
        case "MAP":
            return replace(tree, name=f"MAP({', '.join(types)})", children=children)
        case "STRUCT":
            return replace(tree, name=written("STRUCT", tree.names, types), children=children)
        case "UNION":
            values = TypeTree(written("STRUCT", tree.names, types), "STRUCT", children, tree.names)
            name = written("STRUCT", (MEMBER, VALUES), ["VARCHAR", values.name])
            return TypeTree(name, "STRUCT", (TypeTree("VARCHAR"), values), (MEMBER, VALUES))
        case _:
            return tree


def forth(value: str, tree: TypeTree, depth: int) -> str:
    if not tree.any("UNION"):
        return value
    if tree.kind == "MAP":
        return map_of(value, tree, depth, forth)
    return rebuilt(value, tree, depth, forth, without_unions(tree).name, struct_of_union)


def back(value: str, tree: TypeTree, depth: int) -> str:
    if not tree.any("UNION"):
        return value
    if tree.kind == "MAP":
        return map_of(value, tree, depth, back)
    return rebuilt(value, tree, depth, back, tree.name, union_of_struct)


def map_of(value: str, tree: TypeTree, depth: int, turn: Turn) -> str:
    """A MAP with its keys and values turned."""
    names = ("key", "value")
    entry = TypeTree(written("STRUCT", names, [child.name for child in tree.children]), "STRUCT", tree.children, names)
    entries = turn(f"{OWN}map_entries({value})", TypeTree(f"{entry.name}[]", "LIST", (entry,)), depth)
    return f"{OWN}map_from_entries({entries})"


def struct_of_union(value: str, tree: TypeTree, depth: int, turn: Turn, _: str) -> str:
    members = []
    for member, type_ in zip(tree.names, tree.children, strict=True):
        given = turn(f"{OWN}union_extract({value}, {literal(member)})", type_, depth + 1)
        members.append(f"{quoted(member)} := {given}")
    fields = [
        f"{quoted(MEMBER)} := CAST({OWN}union_tag({value}) AS VARCHAR)",
        f"{quoted(VALUES)} := {OWN}struct_pack({', '.join(members)})",
    ]
    return f"CASE WHEN {value} IS NOT NULL THEN {OWN}struct_pack({', '.join(fields)}) END"


def union_of_struct(value: str, tree: TypeTree, depth: int, turn: Turn, name: str) -> str:
    members = []
    for member, type_ in zip(tree.names, tree.children, strict=True):
        values = f"{OWN}struct_extract({value}, {literal(VALUES)})"
        given = turn(f"{OWN}struct_extract({values}, {literal(member)})", type_, depth + 1)
        made = f"CAST({OWN}union_value({quoted(member)} := {given}) AS {name})"
        members.append(f"WHEN {literal(member)} THEN {made}")
    return f"CASE {OWN}struct_extract({value}, {literal(MEMBER)}) {' '.join(members)} END"
