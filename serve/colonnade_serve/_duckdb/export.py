"""EXPORT DATABASE without a name: DuckDB exports the tables of all databases on the search path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection


def with_database(sql: str, connection: DuckDBPyConnection | ReadOnlyConnection) -> str:
    """An EXPORT DATABASE of the session's database alone, and not of PostgreSQL's catalog too. DuckDB could not import
    that, because it has no schema for it."""
    tokens = [at for at in duckdb.tokenize(sql) if at[1] != duckdb.token_type.comment]
    place, kind = tokens[2]
    if kind != duckdb.token_type.string_const:
        return sql
    ((name,),) = connection.execute("SELECT system.main.current_database()").fetchall()
    text = sql.encode()
    return (text[:place] + f"{quoted(name)} TO ".encode() + text[place:]).decode()
