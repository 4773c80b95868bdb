"""The results that the server's function has for saved inputs."""

from __future__ import annotations

import itertools
import json
import secrets
from typing import TYPE_CHECKING, Any

from colonnade_serve._core import column_type
from colonnade_serve._duckdb.unions import from_structs, to_structs

from . import memory
from .inputs import quoted

if TYPE_CHECKING:
    from colonnade._connection import Connection

    from .declaration import Declaration
    from .inputs import Description, Inputs


def results(connection: Connection, declaration: Declaration, inputs: Inputs) -> list[Any]:
    """Call the server's function with inputs, which are a temporary table for that time. Results are in the order of
    rows or groups; those of a table function are the rows that it gives."""
    import pyarrow as pa

    description = inputs.description
    table = inputs.table
    for index, (_, type_, _) in enumerate(description.parameters):
        if type_ == "HUGEINT":
            # The exported form, a decimal with 38 digits, does not take the values with 39.
            items = table.column(index).to_pylist()
            texts = pa.array([None if item is None else str(int(item)) for item in items], pa.string())
            table = table.set_column(index, table.column_names[index], texts)
    count = len(description.parameters)
    names = [f"p{number}" for number in range(count)] + [f"k{number}" for number in range(table.num_columns - count)]
    renamed = table.rename_columns(names).replace_schema_metadata(None)
    place = pa.array(range(table.num_rows), pa.int64())
    renamed = renamed.append_column("place", place)
    name = f"colonnade_inputs_{secrets.token_hex(8)}"
    connection.write(renamed, name, temporary=True)
    try:
        arguments = ", ".join(
            argument(f"p{number}", type_) for number, (_, type_, _) in enumerate(description.parameters)
        )
        path = [part for part in (declaration.schema, declaration.name) if part is not None]
        call = f"{'.'.join(map(quoted, path))}({arguments})"
        if description.is_table:
            query = f"SELECT * FROM {table_call(description, declaration, '.'.join(map(quoted, path)), name)}"
        elif description.has_groups:
            query = f"SELECT result FROM (SELECT k0, {call} AS result FROM {name} GROUP BY k0) ORDER BY k0"
        else:
            query = f"SELECT result FROM (SELECT place, {call} AS result FROM {name}) ORDER BY place"
        types = [(row["column_name"], row["column_type"]) for row in described(connection, query, description)]
        names = [f"r{number}" for number in range(len(types))]
        shown = [to_structs(name, type_) for name, (_, type_) in zip(names, types, strict=True)]
        if shown != names:
            query = f"SELECT {', '.join(shown)} FROM ({query}) AS r({', '.join(names)})"
        table = connection.query(query).to_arrow()
    finally:
        connection.execute(f"DROP TABLE {name}")
    # In the form that results have here.
    ring = memory.LocalRing()
    columns = []
    for index, (_, type_) in enumerate(types):
        ring.begin()
        memory.write(ring, table.column(index).combine_chunks(), json.loads(column_type(type_)))
        columns.append(memory.read(ring, json.loads(column_type(type_)), ring.columns))
    return [list(row) for row in zip(*columns, strict=True)] if description.is_table else columns[0]


def argument(value: str, type_: str) -> str:
    """The value of a parameter, from one of its inputs."""
    return f"CAST({from_structs(value, type_)} AS {type_})"


def described(connection: Connection, query: str, description: Description) -> list[dict[str, str]]:
    """The columns of the results."""
    if description.has_any_columns:
        return connection.query(f"DESCRIBE {query}").to_arrow().to_pylist()
    columns = description.columns if description.is_table else [("result", description.result)]
    return [{"column_name": name, "column_type": type_} for name, type_ in columns]


def table_call(description: Description, declaration: Declaration, function: str, table: str) -> str:
    """The call of a table function with the rows of a table of inputs: a subquery for each query, and values."""
    given: list[str] = []
    values = 0
    pairs = zip(itertools.count(), description.parameters, description.sources, strict=False)
    for source, group in itertools.groupby(pairs, key=lambda pair: pair[2]):
        for number, (name, type_, _), _ in [] if source else group:
            values += 1
            # The names of values that have none are known to functions that take any arguments.
            is_named = declaration.is_variadic and name != f"arg{values}"
            # An expression: a subquery would be a query of the function.
            value = argument(f"(SELECT p{number} FROM {table} WHERE k0 = 0)", type_)
            given.append(f"{name} => {value}" if is_named else value)
        if source:
            casts = [f"{argument(f'p{number}', type_)} AS {quoted(name)}" for number, (name, type_, _), _ in group]
            given.append(f"(SELECT {', '.join(casts)} FROM {table} WHERE k0 = {source} ORDER BY place)")
    return f"{function}({', '.join(given)})"
