"""The results that the server's function has for saved inputs."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from colonnade._core import column_type

from . import memory
from .inputs import quoted

if TYPE_CHECKING:
    from colonnade._connection import Connection

    from .declaration import Declaration
    from .inputs import Inputs


def results(connection: Connection, declaration: Declaration, inputs: Inputs) -> list[Any]:
    """Call the server's function with inputs, in the order of their rows or groups. They are a temporary table for that
    time."""
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
            f"CAST(p{number} AS {type_})" for number, (_, type_, _) in enumerate(description.parameters)
        )
        path = [part for part in (declaration.schema, declaration.name) if part is not None]
        call = f"{'.'.join(map(quoted, path))}({arguments})"
        if description.has_groups:
            query = f"SELECT result FROM (SELECT k0, {call} AS result FROM {name} GROUP BY k0) ORDER BY k0"
        else:
            query = f"SELECT result FROM (SELECT place, {call} AS result FROM {name}) ORDER BY place"
        found = connection.query(query).to_arrow().column(0).combine_chunks()
    finally:
        connection.execute(f"DROP TABLE {name}")
    # In the form that results have here.
    ring = memory.LocalRing()
    result_type = json.loads(column_type(description.result))
    memory.write(ring, found, result_type)
    return memory.read(ring, result_type, ring.columns)
