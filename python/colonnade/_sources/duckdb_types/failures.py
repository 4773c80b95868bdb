"""What an error of DuckDB says of a statement."""

from __future__ import annotations

import duckdb


def is_passing(error: Exception) -> bool:
    """Whether an error says nothing of the statement, which may run later: no memory, no space, an interrupt."""
    return isinstance(error, (duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.IOException))


def is_serious(error: Exception) -> bool:
    """Whether an error does not depend on the statement. Most of these abort DuckDB's transaction."""
    return is_passing(error) or isinstance(error, (duckdb.FatalException, duckdb.InternalException))
