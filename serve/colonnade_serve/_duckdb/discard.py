"""DISCARD TEMP, RESET ALL and DEALLOCATE ALL: the statements that remove a part of what a session has for its client.

For DISCARD ALL the server ends the session and opens another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection
    from .session_settings import SessionSettings

#: What can be temporary, with the name of DuckDB's function and the prefix of its columns. The queries use no operator
#: and no other function, because a macro of the database or of the client could have its name.
OBJECTS = {"TABLE": "table", "VIEW": "view", "SEQUENCE": "sequence", "TYPE": "type"}
MACROS = {"macro": "MACRO", "table_macro": "MACRO TABLE"}


def removals(connection: DuckDBPyConnection | ReadOnlyConnection, sql: str, settings: SessionSettings) -> list[str]:
    """The statements to run for one of these."""
    if sql == "RESET ALL":
        return settings.resets(connection)
    if sql == "DEALLOCATE ALL":
        return list(deallocations(connection))
    # Dependents are younger than what they depend on.
    found = sorted(temporary(connection), reverse=True)
    return [f"DROP {kind} IF EXISTS temp.main.{quoted(name)} CASCADE" for _, kind, name in found]


def deallocations(connection: DuckDBPyConnection | ReadOnlyConnection) -> Iterator[str]:
    """A statement for each one of PREPARE."""
    for (name,) in connection.execute("SELECT name FROM system.main.duckdb_prepared_statements()").fetchall():
        yield f"DEALLOCATE {quoted(name)}"


def temporary(connection: DuckDBPyConnection | ReadOnlyConnection) -> Iterator[tuple[int, str, str]]:
    """The numbers, kinds and names of the session's temporary objects."""
    for kind, prefix in OBJECTS.items():
        internal = "temporary" if kind == "SEQUENCE" else "internal"
        columns = f"database_name, {prefix}_oid, {prefix}_name, {internal}"
        for database, number, name, flag in connection.execute(
            f"SELECT {columns} FROM system.main.duckdb_{prefix}s()"
        ).fetchall():
            if database == "temp" and flag == (kind == "SEQUENCE"):
                yield number, kind, name
    query = "SELECT database_name, function_oid, function_name, function_type FROM system.main.duckdb_functions()"
    macros = {
        (kind, name): number
        for database, number, name, type_ in connection.execute(query).fetchall()
        if database == "temp" and (kind := MACROS.get(type_)) is not None
    }
    for (kind, name), number in macros.items():
        yield number, kind, name
