"""Checks that DuckDB's own function reads what a connection registers.

DuckDB's package reads registered Arrow data by the function `python_arrow_scan`, in a view whose text names it without
a schema. So a macro of the database or of the session with this name would give other rows (duckdb 2.0.1). No text can
call the function instead, because its input is no value of SQL.
"""

from __future__ import annotations

from typing import Any

#: A call that finds what the view finds.
CALL = "FROM python_arrow_scan()"
#: How DuckDB's function refuses this call. Any other outcome is that of a macro.
OWN_REFUSAL = "Binder Error: python_arrow_scan requires a Python Arrow source bind input"
MESSAGE = "a macro named python_arrow_scan takes the place of the function by which DuckDB reads the rows"
HINT = "Rename or drop it: DROP MACRO TABLE python_arrow_scan."


def is_duckdbs(connection: Any) -> bool:
    """Whether the search path of a connection, or of what stands for one, finds DuckDB's function. An open
    transaction continues."""
    # This module is imported without the package too.
    import duckdb

    try:
        connection._bind(CALL)
    except duckdb.Error as error:
        return str(error).startswith(OWN_REFUSAL)
    return False
