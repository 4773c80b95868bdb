"""DuckDB's names of types, as `typeof` writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from colonnade._sources.duckdb_types.exact import quoted

#: A text or a name in quotes, a bracket, a comma, blanks, or anything else.
TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[()\[\],]|\s+|[^'\"()\[\],\s]+")


@dataclass(frozen=True)
class TypeTree:
    """A type with the types below it."""

    #: DuckDB's name.
    name: str
    #: LIST, ARRAY, STRUCT, MAP, UNION, or an empty text for others.
    kind: str = ""
    #: The types of items, fields, keys and values, or members.
    children: tuple[TypeTree, ...] = ()
    #: The names of fields or members.
    names: tuple[str, ...] = ()
    #: The number of an array's items.
    size: int = 0

    def any(self, *names: str) -> bool:
        """Whether it or a type below it has one of these names or kinds."""
        return self.name in names or self.kind in names or any(child.any(*names) for child in self.children)


def read_type(name: str) -> TypeTree:
    """The tree of a type. Unknown forms are types without children."""
    if name.endswith("]"):
        item, _, size = name[:-1].rpartition("[")
        if not size:
            return TypeTree(name, "LIST", (read_type(item),))
        return TypeTree(name, "ARRAY", (read_type(item),), size=int(size))
    kind, _, inner = name.partition("(")
    if kind not in ("STRUCT", "MAP", "UNION") or not name.endswith(")"):
        return TypeTree(name)
    parts = split(inner[:-1])
    if kind == "MAP":
        return TypeTree(name, kind, tuple(map(read_type, parts)))
    fields = [read_field(part) for part in parts]
    return TypeTree(name, kind, tuple(type_ for _, type_ in fields), tuple(name for name, _ in fields))


def split(text: str) -> list[str]:
    """The parts between commas that are within no brackets."""
    parts, depth = [""], 0
    for match in TOKEN.finditer(text):
        token = match[0]
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def read_field(text: str) -> tuple[str, TypeTree]:
    """The name and the type of a field."""
    name = TOKEN.match(text)
    if name is None:
        return "", TypeTree("")
    plain = name[0][1:-1].replace('""', '"') if name[0].startswith('"') else name[0]
    return plain, read_type(text[name.end() :].strip())


def written(kind: str, names: tuple[str, ...], types: list[str]) -> str:
    """The name of a STRUCT or UNION."""
    fields = zip(names, types, strict=True)
    return f"{kind}({', '.join(f'{quoted(name)} {type_}' for name, type_ in fields)})"
