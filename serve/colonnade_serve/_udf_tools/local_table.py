"""The arguments of each call of a table function, from its inputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from .inputs import Inputs


@dataclass(frozen=True)
class TableArguments:
    """The arguments of one call. Those that are one value have one row."""

    columns: list[pa.ChunkedArray]
    #: The rows of the first query; 1 without one, as the server counts.
    rows: int


def table_calls(inputs: Inputs) -> Iterator[TableArguments]:
    """The calls: one with all rows, or for LANGUAGE PYTHON_MAP one for each batch of its query. None if STRICT leaves
    the call out."""
    description, table = inputs.description, inputs.table
    if table.num_rows == 0:
        return
    queries = np.asarray(table.column(table.num_columns - 2))
    # The rows of a query are together, and those of the values come first.
    parts = [table.slice(start, stop - start) for start, stop in places(queries, max(0, *description.sources))]
    if description.language != "python_map":
        yield arguments(inputs, parts)
        return
    values, rows = parts[0], parts[1]
    numbers = np.asarray(rows.column(rows.num_columns - 1))
    bounds = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(numbers)]
    batches = [rows.slice(start, stop - start) for start, stop in itertools.pairwise(bounds)]
    if not batches and description.has_any_columns:
        # Only a call can tell the columns.
        batches = [rows]
    for batch in batches:
        yield arguments(inputs, [values, batch])


def places(queries: np.ndarray, last: int) -> list[tuple[int, int]]:
    """Where the rows of each query begin and end, from the values, which have the number 0."""
    return [
        (int(np.searchsorted(queries, number)), int(np.searchsorted(queries, number, "right")))
        for number in range(last + 1)
    ]


def arguments(inputs: Inputs, parts: list[pa.Table]) -> TableArguments:
    """The arguments of a call with these rows. Raises `ValueError` for a SCALAR parameter that has several values."""
    description = inputs.description
    columns = []
    for index, ((name, _, is_scalar), source) in enumerate(
        zip(description.parameters, description.sources, strict=True)
    ):
        column = parts[source].column(index)
        if is_scalar and source:
            if len(column.unique()) > 1:
                raise ValueError(f'argument "{name}" of {description.name} has more than one value')
            column = column.slice(0, 1)
        columns.append(column)
    return TableArguments(columns, parts[1].num_rows if len(parts) > 1 else 1)
