"""Calls of functions between two statements as `TableCall` takes them, and the SQL of their arguments and rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal, quoted

from .conversions import argument as argument_of
from .conversions import is_converted
from .conversions import result as result_of
from .function_entry import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade_serve._core import TableCall

    from .function_entry import Definition


def block_call(
    definition: Definition, parameters: list[tuple[str, str, bool, int]]
) -> tuple[str, str, list[tuple[str, str, bool, int]], str, str, bool, bool]:
    """A call in a block as `TableCall.block` takes it. Processes keep a function for each way in which it is called."""
    identity = definition.id
    if definition.is_variadic:
        types = [type_ for _, type_, _, _ in parameters]
        # CREATE has compiled it as a function without arguments that returns a table.
        identity = hashlib.sha256(canonical([definition.id, "column", types])).hexdigest()[:16]
    name = f"{definition.schema}.{definition.name}"
    is_arrow = definition.style == "arrow"
    result = definition.results[0][1]
    return identity, name, parameters, result, definition.source, definition.strict, is_arrow


def cast(source: str, type_: str) -> str:
    """A value of a type, as it is collected."""
    return argument_of(f"CAST({source} AS {type_})", type_)


def rows_of(call: TableCall, columns: Sequence[tuple[str, str]]) -> str:
    """What stands for the rows of a result with these columns."""
    rows = f"system.main.colonnade_rows({literal(call.name)})"
    if not any(is_converted(type_) for _, type_ in columns):
        return rows
    # By their numbers: a SELECT may have several columns of a name.
    names = [f"r{number}" for number in range(len(columns))]
    pairs = zip(names, columns, strict=True)
    items = ", ".join(f"{result_of(name, type_)} AS {quoted(column)}" for name, (column, type_) in pairs)
    return f"(SELECT {items} FROM {rows} AS r({', '.join(names)}))"
