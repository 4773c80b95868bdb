"""The settings of a session: the catalog stays on the search path, and the queries of functions follow them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal

from .catalog import CATALOG, keep_catalog, search_path
from .refusal import refuse
from .resource_limits import OWN_SETTINGS, in_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .read_only_connection import ReadOnlyConnection

#: The settings that the queries of functions follow, besides the search path.
FOLLOWED = tuple(name for name in OWN_SETTINGS if name not in ("schema", "search_path", "enable_progress_bar"))
#: The settings that RESET ALL resets here. The server resets the others, which a client may set when it connects.
RESET = tuple(name for name in OWN_SETTINGS if name not in ("TimeZone", "schema", "search_path"))


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
        #: The values of `FOLLOWED`, after the client has set any.
        self._values: dict[str, object] = {}

    def changed(self, connection: DuckDBPyConnection | ReadOnlyConnection, *, are_followed: bool) -> None:
        """Append PostgreSQL's catalog to the search path, if a setting has removed it. The database `system` is refused
        there, because its functions would come before the macros of `hidden_files.hide_files`."""
        path = search_path(connection)
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
