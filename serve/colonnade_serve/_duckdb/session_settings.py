"""The settings of a session: the catalog stays on the search path, and the queries of functions follow them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal

from .catalog import CATALOG, keep_catalog, search_path
from .qualified import SCHEMA
from .refusal import refuse
from .resource_limits import OWN_SETTINGS, in_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection

#: The settings that the queries of functions follow, besides the search path.
FOLLOWED = tuple(name for name in OWN_SETTINGS if name not in ("schema", "search_path", "enable_progress_bar"))
#: The settings that RESET ALL resets here. The server resets the others, which a client may set when it connects.
RESET = tuple(name for name in OWN_SETTINGS if name not in ("TimeZone", "schema", "search_path"))

#: The search path in the form that the server writes.
SET_PATH = re.compile(r"\s*SET\s+(?:SESSION\s+)?search_path\s*(?:=|TO)\s*'((?:[^']|'')*)'\s*;?\s*", re.IGNORECASE)
#: A search path on which no table can be created without a schema.
NOWHERE = f"information_schema,{CATALOG}.{SCHEMA}"


def values(connection: DuckDBPyConnection | ReadOnlyConnection, names: Sequence[str]) -> dict[str, object]:
    """The session's values of settings."""
    # Without its schema, this is a macro of PostgreSQL's catalog, which joins tables and takes milliseconds.
    settings = (f"system.main.current_setting({literal(name)})" for name in names)
    (found,) = connection.execute(f"SELECT {', '.join(settings)}").fetchall()
    return dict(zip(names, found, strict=True))


class SessionSettings:
    """What a session's client has set. It is known without a statement, because the session may be running one."""

    def __init__(self, connection: DuckDBPyConnection | ReadOnlyConnection) -> None:
        self._path = self._first_path = search_path(connection)
        #: The schemas of the client's search path, if some of them did not exist when it was set.
        self._awaited: list[str] = []
        #: The values of `FOLLOWED`, after the client has set any.
        self._values: dict[str, object] = {}

    def with_existing_schemas(self, connection: DuckDBPyConnection | ReadOnlyConnection, sql: str) -> str:
        """A statement that sets something. A search path leaves out schemas that do not exist, as PostgreSQL does: a
        client may name one before it creates it. Without any, tables can only be created with a schema."""
        found = SET_PATH.fullmatch(sql)
        if found is None:
            return sql
        self._await(connection, [])
        names = [name.strip() for name in found[1].replace("''", "'").split(",")]
        query = (
            "SELECT DISTINCT unnest([schema_name, database_name, database_name || '.' || schema_name]) "
            "FROM system.main.duckdb_schemas()"
        )
        known = {name.lower() for (name,) in connection.execute(query).fetchall()}
        existing = [name for name in names if name.strip('"').lower() in known]
        # A name with a comma or quotes in it is DuckDB's to read.
        if len(existing) == len(names) or any('"' in name.strip('"') or name.count('"') == 1 for name in names):
            return sql
        self._await(connection, names)
        return f"SET search_path = {literal(','.join(existing) or NOWHERE)}"

    def _await(self, connection: DuckDBPyConnection | ReadOnlyConnection, names: list[str]) -> None:
        """Remember the client's search path, or that all of its schemas exist. The catalog shows it
        (`catalog_settings.sql`)."""
        if names != self._awaited:
            path = in_sql([name.strip('"') for name in names]) if names else "NULL"
            connection.execute(f"SET VARIABLE colonnade_search_path = {path}")
            self._awaited = names

    def created(self, connection: DuckDBPyConnection | ReadOnlyConnection) -> None:
        """Put schemas on the search path that exist now."""
        if self._awaited:
            path = literal(",".join(self._awaited))
            connection.execute(self.with_existing_schemas(connection, f"SET search_path = {path}"))
            keep_catalog(connection)
            self._path = search_path(connection)

    def changed(self, connection: DuckDBPyConnection | ReadOnlyConnection, sql: str, *, are_followed: bool) -> None:
        """After a statement that sets something, append PostgreSQL's catalog to the search path, if it was removed. The
        database `system` is refused there, because its functions would come before the macros of
        `hidden_files.hide_files`."""
        path = search_path(connection)
        if path != self._path and SET_PATH.fullmatch(sql) is None:
            # By USE or SET schema, whose schema exists.
            self._await(connection, [])
        databases = {part.partition(".")[0].strip('" ').lower() for part in path.split(",")}
        if "system" in databases:
            connection.execute(f"SET search_path = {literal(self._path)}")
            refuse("the database system on the search path")
        if databases <= {"", "temp", CATALOG}:
            # RESET has removed the served database, too. Without one on the path, DuckDB would not find its schemas for
            # later paths either. Temporary objects are found anyway.
            connection.execute(f"SET search_path = {literal(self._first_path)}")
        keep_catalog(connection)
        self._path = search_path(connection)
        if are_followed:
            self._values = values(connection, FOLLOWED)

    def resets(self, connection: DuckDBPyConnection | ReadOnlyConnection) -> list[str]:
        """The statements for RESET ALL. USE may have changed the database, to which later names of schemas belong."""
        path = [] if self._path == self._first_path else [f"SET search_path = {literal(self._first_path)}"]
        # A new session has the values that this one had at first. Each session would otherwise ask for them.
        with connection.cursor() as new:
            first, now = values(new, RESET), values(connection, RESET)
        return path + [f"RESET {name}" for name in RESET if now[name] != first[name]]

    def follow(self, connection: DuckDBPyConnection | ReadOnlyConnection, others: SessionSettings) -> bool:
        """Take over those of another session. Returns whether any has changed."""
        has_changed = self._path != others._path
        if has_changed:
            connection.execute(f"SET search_path = {literal(others._path)}")
            self._path = others._path
        for name, value in others._values.items():
            if self._values.get(name) != value:
                connection.execute(f"SET {name} = {in_sql(value)}")
                has_changed = True
        self._values = dict(others._values)
        return has_changed
