"""The constraints of a table, for the error of a statement that has violated one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from .library import Library

#: As `TableConstraint` in `serve/duckdb/src/violations.rs` has them.
Constraint = tuple[str, str, str, str, list[str], str | None, str | None, list[str], bool]

#: Of all schemas: constraints of the table and to it, and its unique indexes. The catalog's other views would take
#: four times as long, and a client may repeat statements that fail.
QUERY = """
SELECT kind, name,
       CASE database_name WHEN 'temp' THEN 'pg_temp_1' ELSE colonnade_catalog.pg.client_schema(schema_name) END,
       table_name, constraint_column_names, expression, referenced_table, coalesce(referenced_column_names, []),
       database_name = 'temp'
FROM colonnade_catalog.pg.named_constraints
WHERE system.main.lower($1) IN (system.main.lower(table_name), system.main.lower(referenced_table))
UNION ALL
SELECT 'u', index_name,
       CASE database_name WHEN 'temp' THEN 'pg_temp_1' ELSE colonnade_catalog.pg.client_schema(schema_name) END,
       table_name, [colonnade_catalog.pg.unquoted(element) for element in expressions::VARCHAR[]], NULL, NULL, [],
       database_name = 'temp'
FROM system.main.duckdb_indexes()
WHERE colonnade_catalog.pg.is_visible(database_name) AND is_unique
      AND system.main.lower(table_name) = system.main.lower($1)
"""


def constraints(library: Library, table: str) -> list[Constraint]:
    """Constraints of the tables with this name. In a transaction, which the error has aborted, those that were
    committed before: a table of the transaction itself has none then."""
    try:
        return library.connection.execute(QUERY, [table]).fetchall()
    except duckdb.TransactionException:
        return library.parser.execute(QUERY, [table]).fetchall()
