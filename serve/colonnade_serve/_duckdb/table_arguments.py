"""Arguments of table functions in Python: as they are written, with their columns, and for each parameter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .function_failure import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .function_entry import Definition, Parameter

#: DuckDB's names of the type of a value whose type is not known.
UNKNOWN = ("UNKNOWN", '"NULL"', "NULL")

#: A value with a name, as in `f((SELECT 1), name => 'x')`.
NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=>")


class Input(NamedTuple):
    """An argument as it is written: the SQL, whether it is a query, and the names of its parameters."""

    sql: str
    is_query: bool
    parameters: list[str]
    #: Of a value for a function with the parameters `(*)`.
    name: str | None = None

    @classmethod
    def of(cls, given: tuple[str, bool, list[str]]) -> Input:
        sql, is_query, parameters = given
        named = None if is_query else NAMED.match(sql)
        if named is None:
            return cls(sql, is_query, parameters)
        return cls(sql[named.end() :], is_query, parameters, named[1].lower())

    @property
    def query(self) -> str:
        """A query with its columns."""
        return self.sql if self.is_query else f"SELECT {self.sql}"

    @property
    def key(self) -> tuple[str, bool]:
        return self.sql, self.is_query


@dataclass(frozen=True)
class BoundArgument:
    """An argument with its columns. A single value has one, without a name."""

    given: Input
    columns: list[tuple[str, str]]

    @property
    def is_query(self) -> bool:
        return self.given.is_query


@dataclass(frozen=True)
class Argument:
    """What a parameter gets: a column of a query, or a value. Queries are numbered from 1."""

    parameter: Parameter
    query: int
    #: The name of the column, or the value in SQL.
    source: str
    values: list[str] = field(default_factory=list)


def known(type_: str) -> str:
    """A type for a value without one."""
    return "VARCHAR" if type_ in UNKNOWN else type_


def replaced(definition: Definition, name: str, type_: str) -> Parameter:
    """A parameter of a function that takes any."""
    (parameter,) = definition.parameters
    return type(parameter)(name, type_, None, parameter.scalar)


def may_take(definition: Definition, inputs: list[Input]) -> bool:
    """Whether it may take so many arguments; a query has at least one column."""
    if definition.is_variadic:
        return True
    required = sum(parameter.default is None for parameter in definition.parameters)
    has_query = any(found.is_query for found in inputs)
    return len(inputs) <= len(definition.parameters) and (has_query or required <= len(inputs))


def must_have_no_names(definitions: Iterable[Definition], inputs: Iterable[Input]) -> None:
    """Refuse a value with a name, unless one of these functions takes any arguments, which have names."""
    named = next((found.name for found in inputs if found.name is not None), None)
    if named is not None and not any(definition.is_variadic for definition in definitions):
        hint = "Write the arguments in the order of the parameters."
        raise refused(f"argument {named} by its name", "0A000", hint)


def must_be_sortable(keys: Sequence[str], names: Sequence[tuple[str, str]]) -> None:
    """Refuse ORDER BY a name that would be another column than without the calls: one of several of this name, or an
    expression that has the name for clients only. `names` are those for clients, and those of DuckDB."""
    for key in keys:
        found = [(shown, own) for shown, own in names if shown.lower() == key]
        if len(found) > 1:
            hint = "Write its number in ORDER BY, or give the columns different names."
            raise refused(f'ORDER BY "{key}" is ambiguous', "42702", hint)
        if any(shown != own for shown, own in found):
            raise refused(f'ORDER BY "{key}", which is no name of the list', "0A000", "Give the column a name by AS.")
