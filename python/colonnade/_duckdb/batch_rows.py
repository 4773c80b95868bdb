"""How many rows of a DuckDB result make a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb.sqltypes import DuckDBPyType

# DuckDB's own unit of work; a batch of fewer rows costs more than it saves.
VECTOR_ROWS = 2048
# Bytes of a value in Arrow; what varies is guessed, which is good enough for the size of a batch.
WIDTHS = {"boolean": 1, "tinyint": 1, "utinyint": 1, "smallint": 2, "usmallint": 2, "enum": 2}
WIDTHS |= dict.fromkeys(("integer", "uinteger", "float", "date"), 4)
WIDTHS |= dict.fromkeys(("hugeint", "decimal", "interval"), 16)
WIDTHS |= dict.fromkeys(("varchar", "blob", "uuid", "uhugeint", "bignum", "json", "geometry", "variant"), 32)
OTHER_WIDTH = 8
LIST_ITEMS = 4


def row_bytes(types: Sequence[DuckDBPyType]) -> int:
    return max(1, sum(map(width, types)))


def rows_per_batch(row_bytes: int, batch_rows: int, batch_bytes: int) -> int:
    """How many rows stay within both limits, in whole vectors where that is possible."""
    fitting = batch_bytes // row_bytes
    vectors = max(VECTOR_ROWS, fitting // VECTOR_ROWS * VECTOR_ROWS)
    return min(batch_rows, vectors)


def width(type_: DuckDBPyType) -> int:
    if type_.id in ("list", "map", "array"):
        return LIST_ITEMS * sum(width(child) for child in children(type_))
    if type_.id in ("struct", "tuple"):
        return sum(width(child) for child in children(type_))
    return WIDTHS.get(type_.id, OTHER_WIDTH)


def children(type_: DuckDBPyType) -> list[DuckDBPyType]:
    """The types nested in one; an array's size is not among them."""
    parts = (part[1] for part in type_.children)
    return [part for part in parts if not isinstance(part, (int, list))]
