"""The batches of a DuckDB result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

try:
    # The import takes longer than most statements, and all sessions would wait for it. So it is done at start.
    import pyarrow
except ImportError:
    pyarrow = None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import ArrowStream

# The rows that DuckDB processes at once. A smaller batch costs more time than it saves memory.
VECTOR_ROWS = 2048
# Bytes of a value in Arrow. For values of varying length this is an estimate, which is enough to size a batch.
WIDTHS = {"boolean": 1, "tinyint": 1, "utinyint": 1, "smallint": 2, "usmallint": 2, "enum": 2}
WIDTHS |= dict.fromkeys(("integer", "uinteger", "float", "date"), 4)
WIDTHS |= dict.fromkeys(("hugeint", "decimal", "interval"), 16)
WIDTHS |= dict.fromkeys(("varchar", "blob", "uuid", "uhugeint", "bignum", "json", "geometry", "variant"), 32)
OTHER_WIDTH = 8
LIST_ITEMS = 4


class Limits(NamedTuple):
    """The limits of a result."""

    #: The most rows and bytes of a batch.
    batch_rows: int
    batch_bytes: int
    #: The most columns, because of the form in which the client gets them. `Gate` has a limit too.
    columns: int


def reader(relation: DuckDBPyRelation, limits: Limits) -> ArrowStream:
    """The relation's rows as a stream. Without pyarrow, DuckDB chooses the rows of a batch."""
    if pyarrow is None:
        return relation
    return relation.to_arrow_reader(rows_per_batch(row_bytes(relation.types), limits))


def row_bytes(types: Sequence[DuckDBPyType]) -> int:
    return max(1, sum(map(width, types)))


def rows_per_batch(row_bytes: int, limits: Limits) -> int:
    """The rows of a batch within both limits: whole vectors, unless the limit is less than one vector."""
    fitting = limits.batch_bytes // row_bytes
    vectors = max(VECTOR_ROWS, fitting // VECTOR_ROWS * VECTOR_ROWS)
    return min(limits.batch_rows, vectors)


def width(type_: DuckDBPyType) -> int:
    if type_.id in ("list", "map", "array"):
        return LIST_ITEMS * sum(width(child) for child in children(type_))
    if type_.id in ("struct", "tuple"):
        return sum(width(child) for child in children(type_))
    return WIDTHS.get(type_.id, OTHER_WIDTH)


def children(type_: DuckDBPyType) -> list[DuckDBPyType]:
    """The types nested in a type, without an array's size, which DuckDB lists among them."""
    parts = (part[1] for part in type_.children)
    return [part for part in parts if not isinstance(part, (int, list))]
