"""The resources of the machine that clients may use, and the settings that are locked for them.

DuckDB's switches (no access to files, locked configuration) are a second barrier behind `statement_check.py`. They are
not enough, because they allow clients to open the files of the database itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: The longest statement by default. Long values cost little; serve/duckdb/src/fence/depth.rs limits the tokens.
MAX_STATEMENT_BYTES = 16_000_000
#: The most columns of a result by default, and the most fields within them. `bench/limits.py` measures what they take.
MAX_COLUMNS = 5000


@dataclass(frozen=True)
class ResourceLimits:
    """The resources of the machine that clients may use. None is DuckDB's default."""

    #: Whether statements may read and write files, with the permissions of the server's process.
    files: bool = False
    #: In DuckDB's notation, such as `4GB`.
    memory: str | None = None
    threads: int | None = None
    #: The directory for data that does not fit into the memory, and the largest size of that data.
    temp_directory: str | None = None
    temp_size: str | None = None
    max_statement_bytes: int = MAX_STATEMENT_BYTES
    max_columns: int = MAX_COLUMNS


#: The settings that a client may change, because they affect only its session. Some of DuckDB's session settings affect
#: other sessions too (default_order, default_null_order and default_collation). Drivers use the first ones.
OWN_SETTINGS = (
    "TimeZone",
    "schema",
    "search_path",
    "Calendar",
    "enable_progress_bar",
    "ieee_floating_point_ops",
    "integer_division",
    "order_by_non_integer_literal",
    "scalar_subquery_error_on_multiple_rows",
)

#: The settings that the server changes for its own statements (`vector_rows.py`). The fence refuses them to clients.
STATEMENT_SETTINGS = ("streaming_buffer_size",)


def configure(root: DuckDBPyConnection, limits: ResourceLimits) -> None:
    """Configure the database and lock the configuration, except for the settings of a session."""
    settings: dict[str, object] = {
        # Queries must not read Python variables of this process.
        "python_enable_replacements": False,
        # The server reports this zone to clients, and the text of times with a zone depends on it.
        "TimeZone": "UTC",
        "memory_limit": limits.memory,
        "threads": limits.threads,
        "temp_directory": limits.temp_directory,
        "max_temp_directory_size": limits.temp_size,
        # Extensions are code, which would run with the rights of the server's process.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "allowed_configs": [*OWN_SETTINGS, *STATEMENT_SETTINGS],
    }
    for name, value in settings.items():
        if value is not None:
            root.execute(f"SET GLOBAL {name} = {in_sql(value)}")
    if not limits.files:
        root.execute("SET GLOBAL enable_external_access = false")
    root.execute("SET GLOBAL lock_configuration = true")


def in_sql(value: object) -> str:
    if isinstance(value, list):
        # Not `[…]`, which calls a macro with the name list_value, if the database has one.
        return f"system.main.list_value({', '.join(map(in_sql, value))})"
    return str(value).lower() if isinstance(value, (bool, int)) else literal(str(value))
