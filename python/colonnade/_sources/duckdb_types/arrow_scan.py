"""Checks that DuckDB's own function reads what a connection registers.

DuckDB's package reads registered Arrow data by the function `python_arrow_scan`, in a view whose text names it without
a schema. So a macro of the database or of the session with this name would give other rows (duckdb 2.0.1). No text can
call the function instead, because its input is no value of SQL.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

#: A call that finds what the view finds.
CALL = "FROM python_arrow_scan()"
#: How DuckDB's function refuses this call. Any other outcome is that of a macro.
OWN_REFUSAL = "Binder Error: python_arrow_scan requires a Python Arrow source bind input"
#: How the refusal begins while there is no function of this name. The package lets other threads open a database before
#: the thread that opened it first has registered the package's functions (duckdb 2.0.1).
_NOT_YET = "Catalog Error: Table Function with name python_arrow_scan does not exist!"
_LONGEST_WAIT = 5.0
MESSAGE = "a macro named python_arrow_scan takes the place of the function by which DuckDB reads the rows"
HINT = "Rename or drop it: DROP MACRO TABLE python_arrow_scan."


def is_duckdbs(connection: Any) -> bool:
    """Whether the search path of a connection, or of what stands for one, finds DuckDB's function. An open
    transaction continues.

    This waits, for at most 5 seconds, until the package has registered the function."""
    # This module is imported without the package too.
    import duckdb

    limit = monotonic() + _LONGEST_WAIT
    while True:
        try:
            connection._bind(CALL)
        except duckdb.Error as error:
            refusal = str(error)
        else:
            return False
        if not refusal.startswith(_NOT_YET) or monotonic() > limit:
            return refusal.startswith(OWN_REFUSAL)
        sleep(0.001)
