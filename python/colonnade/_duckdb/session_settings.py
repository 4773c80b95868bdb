"""The settings of a session: the catalog stays on the search path, and the queries of functions follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .catalog import CATALOG, keep_catalog, search_path
from .exact import literal
from .fences import OWN_SETTINGS, in_sql, refuse

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .fences import ReadOnlyConnection

#: The settings that the queries of functions follow, besides the search path.
FOLLOWED = tuple(name for name in OWN_SETTINGS if name not in ("schema", "search_path", "enable_progress_bar"))


class SessionSettings:
    """What a session's client has set. It is known without a statement, because the session may be running one."""

    def __init__(self, connection: DuckDBPyConnection | ReadOnlyConnection) -> None:
        self._path = self._first_path = search_path(connection)
        #: The values of `FOLLOWED`, after the client has set any.
        self._values: dict[str, object] = {}

    def changed(self, connection: DuckDBPyConnection | ReadOnlyConnection, *, are_followed: bool) -> None:
        """Append PostgreSQL's catalog to the search path, if a setting has removed it. The database `system` is refused
        there, because its functions would come before the macros of `fences.hide_files`."""
        path = search_path(connection)
        if any(part.partition(".")[0].strip('" ').lower() == "system" for part in path.split(",")):
            connection.execute(f"SET search_path = {literal(self._path)}")
            refuse("the database system on the search path")
        if path in ("", f"{CATALOG}.main"):
            # RESET has removed the served database, too.
            connection.execute(f"SET search_path = {literal(self._first_path)}")
        keep_catalog(connection)
        self._path = search_path(connection)
        if are_followed:
            # Without its schema, this is a macro of PostgreSQL's catalog, which joins tables and takes milliseconds.
            settings = (f"system.main.current_setting({literal(name)})" for name in FOLLOWED)
            (values,) = connection.execute(f"SELECT {', '.join(settings)}").fetchall()
            self._values = dict(zip(FOLLOWED, values, strict=True))

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
