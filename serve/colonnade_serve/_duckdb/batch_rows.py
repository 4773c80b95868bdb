"""The batches of a DuckDB result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

try:
    # The import takes longer than most statements, and all sessions would wait for it. So it is done at start.
    import pyarrow
except ImportError:
    pyarrow = None

from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._core import ArrowStream
    from duckdb import DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

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
    #: The most columns, because of the form in which the client gets them. `StatementCheck` has a limit too.
    columns: int = sys.maxsize
    #: Whether the rows may be gathered (`vector_rows.py`), which gives texts and decimals in other Arrow types.
    may_be_encoded: bool = False
    #: Whether the origins of the columns are asked for (`column_origins.py`).
    has_origins: bool = False


def reader(relation: DuckDBPyRelation, limits: Limits) -> ArrowStream:
    """The relation's rows as a stream. Without pyarrow, DuckDB chooses the rows of a batch. `PyRows` has the same types
    as the relation, which the stream may not have (`have_no_bytes`)."""
    types = relation.types
    if have_no_bytes(types):
        columns = [f"#{number} AS {quoted(name)}" for number, name in enumerate(relation.columns, 1)]
        relation = relation.project(", ".join((f"CAST(#1 AS BOOLEAN) AS {quoted(relation.columns[0])}", *columns[1:])))
    if pyarrow is None:
        return relation
    return relation.to_arrow_reader(rows_per_batch(row_bytes(types), limits))


def have_no_bytes(types: Sequence[DuckDBPyType]) -> bool:
    """Whether all columns are NULLs without a type. DuckDB computes a stream ahead of its reader up to a number of
    bytes, and a chunk of such columns has none, so that it would fill the memory, which it does not count either. So
    one of the columns is streamed with another type."""
    return all(type_.id == "null" for type_ in types)


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
