"""DuckDB's functions that open files, hidden from names of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import Fence

#: The name of a table that does not exist.
NO_FILES = "files, which are not allowed"


def hide_files(connection: DuckDBPyConnection, fence: Fence, schema: str) -> None:
    """Create macros that fail, with the names of the functions that open files, in a schema of the catalog.

    If the name of a table looks like a file's name, DuckDB calls such a function by its name. It finds the macros
    first, because their schema is on the search path of every session, and DuckDB's own schema comes last.
    """
    connection.execute(f"CREATE TABLE {schema}.{quoted(NO_FILES)} (i INT)")
    names = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
    for (name,) in connection.execute(names).fetchall():
        if fence.decision("functions", name) == "files":
            body = f"AS TABLE SELECT * FROM {schema}.{quoted(NO_FILES)}"
            connection.execute(f"CREATE MACRO {schema}.{quoted(name)}(name) {body}")
    connection.execute(f"DROP TABLE {schema}.{quoted(NO_FILES)}")
