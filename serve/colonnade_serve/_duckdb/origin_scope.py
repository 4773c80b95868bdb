"""The names that a query's expressions can use, and the origins of their columns (`column_origins.py`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .column_names import is_user_name
from .relation_names import Relation, folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tree_nodes import Node

#: The numbers of a relation and of its column.
Origin = tuple[int, int]


class Column(NamedTuple):
    """A column of a query or a source."""

    #: None if it is not known.
    name: str | None = None
    origin: Origin | None = None
    #: Whether it stands for any number of columns.
    is_several: bool = False


Columns = list[Column]
#: Any number of columns of which nothing is known.
SEVERAL = Column(is_several=True)


class Undecided(Exception):
    """The tree does not tell which columns a source has."""


@dataclass(frozen=True)
class Source:
    """A table, a view or a query in FROM."""

    alias: str | None
    columns: Columns
    #: The relation, if it is one.
    relation: Relation | None = None

    def column(self, name: str) -> Column | None:
        found = [one for one in self.columns if one.name is not None and folded(one.name) == folded(name)]
        return found[0] if len(found) == 1 else None

    def is_in(self, places: list[str]) -> bool:
        """Whether it is a table of this schema, or of this database, or of both."""
        table = self.relation
        if table is None or folded(self.alias or "") != folded(table.name):
            return False
        schema, database = folded(table.schema), folded(table.database)
        return [folded(place) for place in places] in ([schema], [database], [database, schema])


@dataclass(frozen=True)
class Named:
    """What a name means that has no source in front of it."""

    origin: Origin | None
    #: The sources that have it, by their identity: several if a join by USING has merged their columns.
    sources: frozenset[int]


@dataclass(frozen=True)
class Scope:
    """What a FROM clause has, in order."""

    sources: list[Source]
    #: The columns that joins have merged.
    merged: dict[str, Named] = field(default_factory=dict)

    def named(self, name: str) -> Named | None:
        """The only column with this name."""
        if (merged := self.merged.get(folded(name))) is not None:
            return merged
        found = [(column, source) for source in self.sources if (column := source.column(name)) is not None]
        return Named(found[0][0].origin, frozenset((id(found[0][1]),))) if len(found) == 1 else None

    def find(self, names: Sequence[str]) -> Origin | None:
        """The origin of a column with this name, in front of which the names of its source may stand. DuckDB has
        accepted it: so no other source has the same, not even one with unknown columns."""
        *path, name = names
        if not path:
            found = self.named(name)
            return None if found is None else found.origin
        *places, alias = path
        if places and self._sources(places[0]):
            # It may be this source, and what follows a column and its fields.
            return None
        sources = [one for one in self._sources(alias) if not places or one.is_in(places)]
        column = sources[0].column(name) if len(sources) == 1 else None
        return None if column is None else column.origin

    def star(self, alias: str | None) -> Columns:
        """The columns of `*`, or of `alias.*`."""
        if alias is not None:
            sources = self._sources(alias)
            return sources[0].columns if len(sources) == 1 else [SEVERAL]
        columns: Columns = []
        written: set[str] = set()
        for source in self.sources:
            for column in source.columns:
                merged = None if column.name is None else self.merged.get(folded(column.name))
                if merged is None or column.name is None or id(source) not in merged.sources:
                    columns.append(column)
                elif folded(column.name) not in written:
                    # DuckDB writes it where its first source has it.
                    written.add(folded(column.name))
                    columns.append(Column(column.name, merged.origin))
        return columns

    def _sources(self, alias: str) -> list[Source]:
        return [one for one in self.sources if one.alias is not None and folded(one.alias) == folded(alias)]


def renamed(columns: Columns, names: Sequence[str]) -> Columns:
    """The columns of a source for what reads it. `names` are those in the parentheses behind its alias."""
    if SEVERAL in columns[: len(names)]:
        return [SEVERAL]
    first = [column._replace(name=name) for name, column in zip(names, columns, strict=False)]
    columns = [*first, *columns[len(names) :]]
    # DuckDB changes a name that another column before it has: the second `a` becomes `a_1`.
    counts = Counter(folded(column.name) for column in columns if column.name is not None)
    changed = tuple(f"{name}_" for name, count in counts.items() if count > 1)
    found: set[str] = set()
    has_several = has_expressions = False
    result: Columns = []
    for column in columns:
        has_several |= column.is_several
        has_expressions |= column.name is None
        name = folded(column.name or "")
        is_free = name not in found and not name.startswith(changed)
        # DuckDB names an expression by its text.
        is_known = is_free and not has_several and (is_user_name(name) or not has_expressions)
        found.add(name)
        result.append(column if is_known else column._replace(name=None))
    return result


def joined(node: Node, left: Scope, right: Scope) -> Scope:
    """What a join has of its sides."""
    kind = node["join_type"]
    if kind in ("SEMI", "ANTI"):
        return left
    names = node.get("using_columns", [])
    if node["ref_type"] == "NATURAL":
        names = common(left, right)
    if set(left.merged) & set(right.merged) - set(map(folded, names)):
        # Such a name alone would mean either.
        raise Undecided
    merged = {**left.merged, **right.merged}
    for name in names:
        one, other = left.named(name), right.named(name)
        if one is None or other is None:
            raise Undecided
        # PostgreSQL's buildMergedJoinVar: a value of a full join is a COALESCE of both.
        origin = {"INNER": one.origin, "LEFT": one.origin, "RIGHT": other.origin}.get(kind)
        if node["ref_type"] not in ("REGULAR", "NATURAL"):
            origin = None
        merged[folded(name)] = Named(origin, one.sources | other.sources)
    return Scope([*left.sources, *right.sources], merged)


def common(left: Scope, right: Scope) -> list[str]:
    """The names that both sides of a join have."""
    sides = (left.star(None), right.star(None))
    if SEVERAL in sides[0] or SEVERAL in sides[1]:
        raise Undecided
    others = {folded(column.name) for column in sides[1] if column.name is not None}
    return [column.name for column in sides[0] if column.name is not None and folded(column.name) in others]
