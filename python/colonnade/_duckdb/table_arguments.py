"""Arguments of table functions in Python: as they are written, with their columns, and for each parameter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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
class Bound:
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
